"""How often do configurations that constraints take for valid compile, and do those fail that break a hard rule?

Run by hand; the figures go into docs/constraints.md. Every compilation is a process of its own:

    python test/python/gpu_validity_campaign.py --samples 20 --targets gfx942 sm_80
"""

from __future__ import annotations

import argparse
import io
import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from configured_programs import TARGETS
from gpu_programs import attention, configured_source, matmul

from tuninglink.mlir import names
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.assertions import Grade
from tuninglink.spaces.compiler_provider import CompilerProvider
from tuninglink.spaces.gpu.provider import TILE_AND_FUSE, VECTOR_DISTRIBUTE, GpuProvider
from tuninglink.spaces.gpu.space import GpuSpace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.providers import Provider, Space
    from tuninglink.spaces.workload import Workload

PROGRAMS = {
    "matmul f16": matmul(192, 320, 640),
    "matmul f16, transposed": matmul(256, 384, 512, transposed=True),
    "matmul f16, uneven": matmul(48, 40, 72),
    "batched matmul f16": matmul(192, 320, 640, batch=4),
    "batched matmul f16, transposed": matmul(64, 96, 128, batch=6, transposed=True),
    "matmul f32": matmul(192, 320, 640, "f32"),
    "batched matmul f32": matmul(64, 96, 128, "f32", batch=4),
    "matmul i8": matmul(128, 256, 512, "i8", result="i32"),
    "attention f16": attention(4, 384, 96, 64, 320),
    "attention f16, small": attention(2, 64, 64, 64, 128),
}
_MOST_TRIES = 4000


@dataclass
class Compiler:
    """Compiles a dispatch with other configurations.

    Attributes:
        dispatch: what is configured.
        target: what it is compiled for.
        seconds: how long a compilation may take.
    """

    dispatch: Workload
    target: str
    seconds: float

    def configured(self, space: Space, assignment: Mapping[str, int]) -> bytes:
        """Returns the program with a configuration, as bytecode."""
        attributes = self.dispatch.root.attributes
        info = space.compilation_info(assignment)
        attributes[names.LOWERING_CONFIG] = info.lowering_config
        self.dispatch.function.attributes[names.TRANSLATION_INFO] = info.translation_info
        if isinstance(space, GpuSpace):
            decomposition = space.decomposition_config(assignment)
            if decomposition is not None:
                attributes[names.DECOMPOSITION_CONFIG] = decomposition
        module = self.dispatch.function
        while module.parent is not None:
            module = module.parent.operation
        buffer = io.BytesIO()
        module.write_bytecode(buffer)
        return buffer.getvalue()

    def failure(self, bytecode: bytes) -> str:
        """Compiles a program to what the driver loads, and returns why that fails, or nothing."""
        command = [
            str(Path(sys.executable).with_name("iree-compile")),
            "-",
            *TARGETS[self.target],
            "--compile-from=executable-configurations",
            "--compile-to=hal",
            "-o",
            "/dev/null",
        ]
        try:
            result = subprocess.run(
                command, input=bytecode, capture_output=True, timeout=self.seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no end within {self.seconds:g} s"
        if result.returncode == 0:
            return ""
        errors = [
            line.partition(b"error: ")[2].decode(errors="replace")
            for line in result.stderr.splitlines()
            if b"error: " in line
        ]
        return errors[0] if errors else f"exit code {result.returncode}"


def breaking(space: Space, count: int, seed: int) -> list[dict[str, int]]:
    """Returns assignments that break hard rules, and no others."""
    chance = random.Random(seed)
    try:
        valid = space.constraints.sample(50, seed=seed)
    except UndecidedError:
        return []
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for _ in range(_MOST_TRIES if valid else 0):
        changed = dict(chance.choice(valid))
        for knob in chance.sample(space.constraints.knobs, chance.choice((1, 2, 2, 3))):
            value = changed[knob.name]
            near = (value + 1, value * 2, value * 3, value // 2, chance.choice(valid)[knob.name])
            changed[knob.name] = chance.choice(near)
        answer = space.constraints.check(changed)
        if {each.grade for each in answer.violations} == {Grade.NECESSARY}:
            found[tuple(changed.values())] = changed
        if len(found) == count:
            break
    return list(found.values())


def judge(
    compiler: Compiler, space: Space, assignments: Sequence[Mapping[str, int]]
) -> Counter[str]:
    """Counts why configurations fail to compile."""
    programs = [compiler.configured(space, each) for each in assignments]
    with ThreadPoolExecutor(2) as workers:
        return Counter(workers.map(compiler.failure, programs))


def report(label: str, failures: Counter[str], *, wanted: str) -> None:
    """Writes a row of the table, and under it the most frequent reason against it."""
    total, compiled = failures.total(), failures[""]
    count = compiled if wanted == "compile" else total - compiled
    share = f"{100 * count / total:.0f} %" if total else "none"
    sys.stdout.write(f"| {label} | {count} of {total} {wanted} | {share} |\n")
    for reason, number in failures.most_common(3):
        if reason and wanted == "compile":
            sys.stdout.write(f"    {number} x {reason[:120]}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--targets", nargs="+", default=["gfx942", "gfx1100", "sm_80"])
    parser.add_argument("--programs", default="", help="only those with this in their name")
    arguments = parser.parse_args()
    providers: Sequence[Provider] = (CompilerProvider(), GpuProvider())
    for name, source in PROGRAMS.items():
        if arguments.programs not in name:
            continue
        for target in arguments.targets:
            dispatch = configured_source(source, target)
            compiler = Compiler(dispatch, target, arguments.seconds)
            for pipeline in (TILE_AND_FUSE, VECTOR_DISTRIBUTE):
                for provider in providers:
                    campaign(provider, pipeline, compiler, f"{name} | {target}", arguments)


def campaign(
    provider: Provider, pipeline: str, compiler: Compiler, label: str, arguments: argparse.Namespace
) -> None:
    """Measures the spaces of a provider."""
    label = f"{label} | {pipeline.partition('<')[2].rstrip('>')} | {provider.name}"
    try:
        spaces = provider.spaces(compiler.dispatch, pipeline)
    except UndecidedError as failure:
        sys.stdout.write(f"| {label} | not decided: {failure.reason} |\n")
        return
    if not spaces:
        sys.stdout.write(f"| {label} | has no constraints |\n")
    for space in spaces:
        try:
            valid = space.constraints.sample(arguments.samples, seed=arguments.seed)
        except UndecidedError as failure:
            sys.stdout.write(f"| {label} | no sample: {failure.reason} |\n")
            continue
        report(label, judge(compiler, space, valid), wanted="compile")
        if provider.name == GpuProvider.name:
            broken = breaking(space, arguments.samples, arguments.seed)
            report(f"{label}, hard rules broken", judge(compiler, space, broken), wanted="fail")


if __name__ == "__main__":
    main()
