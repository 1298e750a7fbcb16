"""Asks for a verdict about each configuration that the compiler chooses itself in some models, and prints a table.

    python test/campaigns/models.py
    python test/campaigns/models.py --model BERT --target sm_80 --undecided

With `--undecided` it lists what was not decided, and why. The exit code is 1 if less than 90 % of the configurations
were decided for a target, or one was refuted: the compiler can compile what it chooses.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from iree.compiler import ir as mlir
from model_programs import MODELS, program

from tuninglink.compiler import compile_flags
from tuninglink.errors import Severity
from tuninglink.iree import Target, find_root_ops
from tuninglink.solver import Limits
from tuninglink.spaces import ProviderRegistry, verify_configuration
from tuninglink.spaces.model import read_configuration, read_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.spaces import ConfigurationAnswer

TARGETS: Final = {
    "gfx942": ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"),
    "sm_80": ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
    "llvm-cpu": (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=znver4",
        "--iree-llvmcpu-target-triple=x86_64-unknown-unknown-eabi-elf",
    ),
    **{
        board: tuple(compile_flags(Target.parse(board)))
        for board in ("cortex-a76", "neoverse-v1", "spacemit-x60")
    },
}
"""Flags of the compiler for each target."""

LEAST: Final = 0.9
"""The share of configurations that is to be decided."""

_ANSWERS: Final = {
    None: "valid",
    Severity.WARNING: "warning",
    Severity.ERROR: "invalid",
    Severity.REMARK: "undecided",
}


@dataclass(frozen=True)
class Judged:
    """A root op that the compiler has configured.

    Attributes:
        problem: what it computes.
        pipeline: how it is compiled.
        answer: the verdict on its configuration.
    """

    problem: str
    pipeline: str
    answer: ConfigurationAnswer

    @property
    def verdict(self) -> str:
        """The column of the table."""
        return _ANSWERS[self.answer.severity]


def configured(model: str, target: str) -> str:
    """Return a model with the compiler's own configurations."""
    command = [Path(sys.executable).with_name("iree-compile"), *TARGETS[target]]
    result = subprocess.run(
        [*command, "--compile-to=executable-configurations", "-"],
        input="\n".join(program(model)),
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        sys.exit(f"{model} does not compile for {target}: {result.stderr[:2000]}")
    return result.stdout


def judge(text: str, seconds: int) -> Iterator[Judged]:
    """Yield the answer about each configured root op of a program."""
    registry = ProviderRegistry(lambda warning: print(warning, file=sys.stderr))
    module = mlir.Module.parse(text, mlir.Context())
    for found in find_root_ops(module.operation):
        for root in found.roots:
            configuration = read_configuration(root, found.function)
            if configuration is None:
                continue
            workload = read_workload(root, found.function)
            answer = verify_configuration(workload, configuration, registry, Limits(seconds))
            what = f"{root.name} ({workload.problem})"
            yield Judged(what, str(configuration.pipeline), answer)


def row(*cells: object) -> str:
    """Return a row of the table."""
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", choices=MODELS)
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=20, help="for each question to the solver")
    parser.add_argument("--undecided", action="store_true", help="list what was not decided")
    arguments = parser.parse_args()
    print(row("target", "model", "configured", *_ANSWERS.values(), "decided"))
    print(row("---", "---", *["---:"] * (len(_ANSWERS) + 2)))
    is_good = True
    listed: list[str] = []
    for target in arguments.target or TARGETS:
        total: Counter[str] = Counter()
        for model in arguments.model or MODELS:
            counts: Counter[str] = Counter()
            for each in judge(configured(model, target), arguments.seconds):
                counts[each.verdict] += 1
                if each.verdict in ("undecided", "invalid"):
                    listed.append(
                        f"{target} {model}: {each.problem} {each.pipeline}: {each.answer}"
                    )
            print(_counted(target, model, counts), flush=True)
            total += counts
        print(_counted(target, "all", total), flush=True)
        is_good &= not total["invalid"] and total["undecided"] <= (1 - LEAST) * total.total()
    if arguments.undecided:
        print("\n".join(["", *listed]))
    sys.exit(not is_good)


def _counted(target: str, model: str, counts: Counter[str]) -> str:
    total = counts.total()
    decided = total - counts["undecided"]
    share = f"{100 * decided / max(total, 1):.0f} %"
    return row(target, model, total, *(counts[each] for each in _ANSWERS.values()), share)


if __name__ == "__main__":
    main()
