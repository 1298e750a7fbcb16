"""Compares every form that linking and the optimizations give random specs with the specs one by one.

The results are compared with the meaning of linking in `test/support/sequential.py`, which runs the compiler's
interpreter on each op and each matcher separately. A difference that linking warns about is counted, and
does not fail the campaign. The seed and the number of a scenario determine it, so that

    python test/campaigns/linking.py --seed 1 --scenario 123

repeats a scenario, and prints what differs. Without `--scenario` it goes on until there are `--comparisons`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from link_forms import Outcome, run_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 100
"""The number of scenarios in one process: the compiler's memory grows with each program."""


def run_batch(seed: int, first: int, count: int) -> Outcome:
    """Compare on some scenarios."""
    outcome = Outcome(Counter())
    for number in range(first, first + count):
        run_scenario(seed, number, outcome)
    return outcome


def outcomes(seed: int, jobs: int) -> Iterator[Outcome]:
    """Yield the results of batches of scenarios, in order, each from its own process."""
    first = 0
    while True:
        starts = range(first, first + jobs * BATCH, BATCH)
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            found = [pool.submit(run_batch, seed, start, BATCH) for start in starts]
            for start, each in zip(starts, found, strict=True):
                try:
                    yield each.result()
                except BrokenProcessPool:
                    yield Outcome(Counter(), [f"a process ended, from scenario {start} on"])
        first += jobs * BATCH


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenario", type=int, help="compare on this one only")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.scenario is not None:
        total = run_batch(arguments.seed, arguments.scenario, 1)
    else:
        total = Outcome(Counter())
        for each in outcomes(arguments.seed, arguments.jobs):
            total.counts.update(each.counts)
            total.failures += each.failures
            done = total.counts["comparisons"]
            for failure in each.failures:
                sys.stderr.write(f"{failure.partition(chr(10))[0]}\n")
            sys.stderr.write(
                f"{done:,} comparisons, {len(total.failures)} scenarios with a difference,"
                f" {total.counts['comparisons that differ, with a warning']:,} warned about in"
                f" {total.counts['scenarios with a warning that differ']:,} of"
                f" {total.counts['scenarios with a warning']:,} scenarios with a warning,"
                f" {total.counts['scenarios']:,} scenarios\n"
            )
            if done >= arguments.comparisons or not each.counts:
                break
    for failure in total.failures[:20]:
        sys.stdout.write(f"{failure}\n\n")
    for what, count in sorted(total.counts.items()):
        sys.stdout.write(f"{count:>9,} {what}\n")
    sys.stdout.write(
        f"{total.counts['comparisons']:,} comparisons in {total.counts['scenarios']:,} scenarios, seed"
        f" {arguments.seed}: {len(total.failures)} scenarios with a difference\n"
    )
    sys.exit(bool(total.failures))


if __name__ == "__main__":
    main()
