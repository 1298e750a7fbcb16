"""How often does a race declare a winner among identical programs? At most 5 % of the times.

Run by hand, on a machine that does nothing else. Each pair is a race of several finalists, all the same code as the
default, so that the best of many is the luckiest, as in tuning:

    python test/campaigns/same_code.py --pairs 100
    python test/campaigns/same_code.py --pairs 100 --device cuda://0 -- --iree-hal-target-device=cuda \
        --iree-cuda-target=sm_80
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.decision import Outcome
from tuninglink.tuning.deciding.race import race
from tuninglink.tuning.devices.device_process import DeviceProcess
from tuninglink.tuning.devices.timing import CompiledProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.deciding.race import RaceResult
    from tuninglink.tuning.devices.timing import Rounds
    from tuninglink.tuning.results.failures import Failure

SIZES: Final = ((1, 1024, 1024), (64, 64, 64), (8, 768, 768), (128, 256, 256), (384, 384, 384))
HOST: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
MOST_WINNERS: Final = 0.05


@dataclass(frozen=True)
class Whole:
    """A device on which races are run by whole programs."""

    process: DeviceProcess

    def rounds(
        self, programs: Sequence[CompiledProgram], count: int, seed: int
    ) -> Rounds | Failure:
        """Measures programs against each other."""
        return self.process.program_rounds(programs, count, seed)

    def compare(
        self, program: CompiledProgram, reference: CompiledProgram, reduction: int = 1
    ) -> None:
        """Agrees: the code is the same."""


def matmul(sizes: tuple[int, int, int], flags: Sequence[str]) -> CompiledProgram:
    """Returns a compiled matmul."""
    m, n, k = sizes
    left, right, result = (
        f"tensor<{rows}x{columns}xf32>" for rows, columns in ((m, k), (k, n), (m, n))
    )
    text = f"""
    func.func @main(%left: {left}, %right: {right}, %start: {result}) -> {result} {{
      %0 = linalg.matmul ins(%left, %right : {left}, {right}) outs(%start : {result}) -> {result}
      return %0 : {result}
    }}"""
    command = Path(sys.executable).with_name("iree-compile")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "program.vmfb"
        subprocess.run([command, *flags, "-", "-o", path], input=text, text=True, check=True)
        image = path.read_bytes()
    return CompiledProgram(image, "main", (((m, k), "f32"), ((k, n), "f32"), ((m, n), "f32")))


def run(arguments: argparse.Namespace) -> list[RaceResult]:
    """Runs the races and says what came of each."""
    programs = {each: matmul(each, arguments.flags or HOST) for each in SIZES}
    found = []
    with DeviceProcess(arguments.device) as process:
        for seed, (sizes, program) in zip(
            range(arguments.pairs), itertools.cycle(programs.items())
        ):
            started = time.monotonic()
            finalists = [program] * arguments.finalists
            result = race(Whole(process), program, finalists, seed=seed, gap_seconds=arguments.gap)
            found.append(result)
            decision = result.decision
            words = f"{decision.outcome.value} {decision.speedup}" if decision else "nobody left"
            taken = time.monotonic() - started
            print(
                f"{seed + 1:4} {'x'.join(map(str, sizes)):14} {taken:5.1f} s  {words}", flush=True
            )
    return found


def main() -> None:
    """Runs the campaign; the exit code is 1 if there were too many winners."""
    parser = argparse.ArgumentParser(description="Races identical programs against each other.")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--finalists", type=int, default=4)
    parser.add_argument("--device", default="local-task")
    parser.add_argument("--gap", type=float, default=2.0, help="seconds between blocks")
    parser.add_argument(
        "flags", nargs="*", help="flags of iree-compile; for the host's CPU by default"
    )
    found = run(parser.parse_args())
    decisions = [each.decision for each in found if each.decision is not None]
    outcomes = Counter(each.outcome for each in decisions)
    winners = outcomes[Outcome.FASTER]
    print(
        f"\n{len(found)} races: {winners} winners ({100 * winners / len(found):.1f} %), "
        f"{outcomes[Outcome.UNDECIDED]} undecided, {outcomes[Outcome.NOT_FASTER]} not faster, "
        f"{len(found) - len(decisions)} without a finalist in the end"
    )
    if decisions:
        medians = [each.speedup.median for each in decisions]
        widths = [each.speedup.high - each.speedup.low for each in decisions]
        print(
            f"speedups of the confirmations: {min(medians):.3f} to {max(medians):.3f}; "
            f"median width of their intervals {statistics.median(widths):.3f}"
        )
    sys.exit(1 if winners > MOST_WINNERS * len(found) else 0)


if __name__ == "__main__":
    main()
