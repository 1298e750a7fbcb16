"""Compiles random configurations for CPUs, and compares what becomes of them with what the constraints say.

Run it by hand for as many configurations as there is time for:
`python test/python/cpu_validity_campaign.py --configurations 500`. Each is compiled in a process of its own.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpu_dispatches import (
    CPUS,
    PIPELINES_OF,
    Outcome,
    compile_configured,
    dispatch_of,
    judge,
    random_configuration,
    random_cpu_program,
    sources_for,
)

from tuninglink.spaces.cpu.provider import CpuProvider

if TYPE_CHECKING:
    from iree.compiler import ir as mlir


@dataclass
class Tally:
    """What a campaign has found.

    Attributes:
        counts: for each pipeline, kind of operation and verdict, what became of the configurations.
        contradictions: those that were valid and did not compile, or refuted and did.
    """

    counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)

    def add(self, pipeline: str, kind: str, verdict: str, outcome: Outcome, what: str) -> None:
        """Counts one configuration."""
        self.counts[pipeline, kind, verdict, outcome.result] += 1
        compiled = outcome.result == "compiled"
        if (verdict, compiled) in (("proven", False), ("sampled", False), ("refuted", True)):
            self.contradictions.append(
                f"{verdict}, but {outcome.result}: {what}\n{outcome.message}"
            )

    def table(self) -> str:
        """Returns the counts as lines."""
        rows = sorted(self.counts.items())
        return "\n".join(f"{count:6} {' '.join(key)}" for key, count in rows)


def try_one(seed: int, number: int, seconds: float, tally: Tally) -> None:
    """Compiles one random configuration of a random operation, and one that the constraints propose."""
    choice = random.Random(f"{seed}/{number}")
    kind, program = random_cpu_program(choice)
    cpu = choice.choice(sorted(CPUS))
    sources = sources_for(program, cpu)
    dispatch = dispatch_of(sources)
    pipeline = choice.choice(PIPELINES_OF[kind])
    (space,) = CpuProvider().spaces(dispatch, pipeline)
    chosen: list[tuple[str, mlir.Attribute]] = []
    configuration = random_configuration(choice, dispatch, pipeline)
    chosen.append((judge(dispatch, configuration).verdict.value, configuration))
    sampled = space.constraints.sample(1, seed=number)
    chosen += [("sampled", space.compilation_info(each)) for each in sampled]
    for verdict, each in chosen:
        outcome = compile_configured(sources, cpu, each, seconds)
        what = f"configuration {number} of {kind} for {cpu}: {each}\n{program}"
        tally.add(pipeline.split("<")[1][:-1], kind, verdict, outcome, what)


def main() -> None:
    """Runs a campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    tally = Tally()
    for number in range(arguments.configurations):
        try_one(arguments.seed, number, arguments.seconds, tally)
    sys.stdout.write("\n".join([tally.table(), *tally.contradictions, ""]))
    sys.exit(bool(tally.contradictions))


if __name__ == "__main__":
    main()
