"""Counts the winners that races declare among identical programs: at most 2 % of the races.

Run by hand, on a busy machine, too. Each pair is a race of several finalists, all the same code as the
default, so that the best of many is the luckiest, as in tuning:

    python test/campaigns/same_code.py --pairs 200
    python test/campaigns/same_code.py --pairs 200 --device cuda://0 -- --iree-hal-target-device=cuda \
        --iree-cuda-target=sm_80
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.compiler import set_up_command_line
from tuninglink.devices import Device, DeviceProcess, Rounds
from tuninglink.programs import read_program
from tuninglink.tuning.candidates import compile_program
from tuninglink.tuning.deciding import Contestant, Outcome, Race, RaceRules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.devices import Answer, DeviceDescription, Request
    from tuninglink.programs import Benchmark, Failure
    from tuninglink.tuning.deciding import RaceResult

SIZES: Final = ((1, 1024, 1024), (64, 64, 64), (8, 768, 768), (128, 256, 256), (384, 384, 384))
HOST: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
MOST_WINNERS: Final = 0.02


class ProgramDevice(Device):
    """A device on which all but the first benchmark of a round may be faster than measured.

    In some measurements, other work makes the default or all others 1.5 to 2 times as slow.
    """

    def __init__(self, process: DeviceProcess, gain: float, bursts: float) -> None:
        self._process = process
        self._gain = gain
        self._bursts = bursts
        self._chance = random.Random(0)

    @property
    def description(self) -> DeviceDescription:
        """The description of the device."""
        return self._process.description

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """See `Device`."""
        answer = self._process.ask(request)
        return self._sped_up(answer) if isinstance(answer, Rounds) else answer

    def _sped_up(self, rounds: Rounds) -> Rounds:
        """Return rounds as they would be if all but the default were faster, or beside a burst of other work."""
        speedup = 1 + self._gain
        if self._chance.random() < self._bursts:
            speedup *= self._chance.uniform(1.5, 2.0) ** self._chance.choice((-1, 1))
        samples = (
            (default, *(us / speedup for us in finalists)) for default, *finalists in rounds.samples
        )
        return replace(rounds, samples=tuple(samples))


def matmul(sizes: tuple[int, int, int], flags: Sequence[str]) -> Benchmark:
    """Return the compiled benchmark of a matmul."""
    m, n, k = sizes
    left, right, result = (
        f"tensor<{rows}x{columns}xf32>" for rows, columns in ((m, k), (k, n), (m, n))
    )
    text = f"""
    func.func @main(%left: {left}, %right: {right}, %start: {result}) -> {result} {{
      %0 = linalg.matmul ins(%left, %right : {left}, {right}) outs(%start : {result}) -> {result}
      return %0 : {result}
    }}"""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "program.mlir"
        path.write_text(text)
        (task,) = read_program(str(path), flags).tasks
    compiled = compile_program(task.source, "")
    assert not isinstance(compiled, str), compiled
    return task.benchmark(compiled.image)


def run(arguments: argparse.Namespace) -> list[RaceResult]:
    """Run the races and return their outcomes."""
    flags = arguments.flags or HOST
    set_up_command_line("tuninglink", flags)
    programs = {each: matmul(each, flags) for each in SIZES}
    results = []
    rules, end = RaceRules(gap_seconds=arguments.gap), time.monotonic() + arguments.seconds
    rules = rules.within(arguments.budget)
    with DeviceProcess(arguments.device) as process:
        device = ProgramDevice(process, arguments.gain, arguments.bursts)
        for seed, (sizes, program) in zip(
            range(arguments.pairs), itertools.cycle(programs.items())
        ):
            started = time.monotonic()
            if started >= end:
                break
            default = Contestant(program, microseconds=1.0 + arguments.gain)
            finalists = [Contestant(program, microseconds=1.0)] * arguments.finalists
            race = Race(device, default, finalists, lambda _: None, replace(rules, seed=seed))
            result = race.run()
            results.append(result)
            decision = result.decision
            words = f"{decision.outcome.value} {decision}" if decision else "none is left"
            taken = time.monotonic() - started
            print(
                f"{seed + 1:4} {'x'.join(map(str, sizes)):14} {taken:5.1f} s  {words}", flush=True
            )
    return results


def main() -> None:
    """Run the campaign; the exit code is 1 if there were too many winners."""
    parser = argparse.ArgumentParser(description="Races identical programs against each other.")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--finalists", type=int, default=4)
    parser.add_argument("--device", default="local-task")
    parser.add_argument(
        "--gain",
        type=float,
        default=0.0,
        help="divide the times of the finalists by so much more than 1, to see which gains are found",
    )
    parser.add_argument(
        "--bursts",
        type=float,
        default=0.0,
        help="the probability that other work makes one side of a measurement 1.5 to 2 times as slow",
    )
    parser.add_argument("--gap", type=float, default=2.0, help="seconds between blocks")
    parser.add_argument(
        "--budget", type=float, default=math.inf, help="race as a run of these seconds does"
    )
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="begin no race after these seconds"
    )
    parser.add_argument(
        "flags", nargs="*", help="flags of iree-compile; for the host's CPU by default"
    )
    arguments = parser.parse_args()
    found = run(arguments)
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
    sys.exit(1 if not arguments.gain and winners > MOST_WINNERS * len(found) else 0)


if __name__ == "__main__":
    main()
