"""How many measurements a search needs: recorded tables, replayed.

A search chooses among the configurations of a table without seeing their times, and is told the time of each that it
chooses. What counts is how many it takes until one is within 5 % of the table's best. It sees what a search on a
device sees: the program, the target, the knobs and the time of the compiler's own choice.

    python benchmarks/search.py --table FILE...
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tuninglink.tuning.recorded_problems import problem_of_table
from tuninglink.tuning.search import search_named
from tuninglink.tuning.tables import RecordedPool, load_table

if TYPE_CHECKING:
    from tuninglink.tuning.tables import RecordedTable

SEARCHES = ("random", "neighbors", "model")
GOAL = 1.05
"""A search has arrived at this many times the best time of the table."""

AT_ONCE = 4
"""How many candidates are asked for at a time, as a pool of compile workers would."""

FIRST = 10
"""After so many measurements it is looked at how much of the best speedup is there."""


@dataclass(frozen=True)
class Replay:
    """What a search found in a table.

    Attributes:
        measured: how many measurements it took to arrive.
        first: the best speedup among the first ones, as a part of the table's best.
    """

    measured: int
    first: float


def replay(name: str, table: RecordedTable, pool: RecordedPool, seed: int) -> Replay:
    """Replays a table until a search has arrived."""
    recorded = {each.candidate.key: each.microseconds for each in table.trials}
    search = search_named(name)(pool, seed, table.default_us)
    goal = table.best_us * GOAL
    measured, first = 0, table.default_us
    while chosen := search.ask(AT_ONCE):
        for each in chosen:
            measured += 1
            microseconds = recorded[each.key]
            if microseconds is not None and measured <= FIRST:
                first = min(first, microseconds)
            if microseconds is not None and microseconds <= goal:
                return Replay(measured, table.best_us / first)
            search.tell(each, microseconds)
    raise AssertionError(f"{name} ended after {measured} of {len(recorded)}")


def main() -> None:
    """Replays tables and prints the ratios."""
    parser = argparse.ArgumentParser(description="Judges searches by recorded tables.")
    parser.add_argument("--table", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--search", nargs="+", default=SEARCHES, metavar="NAME")
    arguments = parser.parse_args()
    names = list(dict.fromkeys(["random", *arguments.search]))
    ratios: dict[str, list[float]] = {name: [] for name in names}
    firsts: dict[str, list[float]] = {name: [] for name in names}
    print(
        f"{'table':34} {'trials':>6}  " + "".join(f"{name + ' median (p90)':>24}" for name in names)
    )
    for path in arguments.table:
        table = load_table(path)
        pool = RecordedPool(problem_of_table(table), table)
        medians = {}
        cells = []
        for name in names:
            found = [replay(name, table, pool, seed) for seed in range(arguments.seeds)]
            taken = [each.measured for each in found]
            firsts[name].append(statistics.median(each.first for each in found))
            medians[name] = statistics.median(taken)
            ninth = statistics.quantiles(taken, n=10)[-1] if len(taken) > 1 else taken[0]
            ratio = medians[name] / medians["random"]
            ratios[name].append(ratio)
            cells.append(f"{f'{medians[name]:g} ({ninth:.0f}) {ratio:.2f}':>24}")
        print(f"{path.stem:34} {len(table.trials):6}  " + "".join(cells))
        sys.stdout.flush()
    for name in names:
        share = 100 * statistics.median(firsts[name])
        print(f"{name} after {FIRST} measurements: {share:.0f} % of the best speedup (median)")
    for name in names[1:]:
        worst = max(ratios[name])
        print(f"{name} against random, worst table: ratio {worst:.2f}")
    for name in names[1:]:
        print(f"{name} against random, median: ratio {statistics.median(ratios[name]):.2f}")


if __name__ == "__main__":
    main()
