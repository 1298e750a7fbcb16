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


def replay(name: str, table: RecordedTable, pool: RecordedPool, seed: int) -> int:
    """Returns how many measurements a search takes."""
    recorded = {each.candidate.key: each.microseconds for each in table.trials}
    search = search_named(name)(pool, seed, table.default_us)
    goal = table.best_us * GOAL
    measured = 0
    while chosen := search.ask(AT_ONCE):
        for each in chosen:
            measured += 1
            microseconds = recorded[each.key]
            if microseconds is not None and microseconds <= goal:
                return measured
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
    print(
        f"{'table':34} {'trials':>6}  " + "".join(f"{name + ' median (p90)':>24}" for name in names)
    )
    for path in arguments.table:
        table = load_table(path)
        pool = RecordedPool(problem_of_table(table), table)
        medians = {}
        cells = []
        for name in names:
            taken = [replay(name, table, pool, seed) for seed in range(arguments.seeds)]
            medians[name] = statistics.median(taken)
            ninth = statistics.quantiles(taken, n=10)[-1] if len(taken) > 1 else taken[0]
            ratio = medians[name] / medians["random"]
            ratios[name].append(ratio)
            cells.append(f"{f'{medians[name]:g} ({ninth:.0f}) {ratio:.2f}':>24}")
        print(f"{path.stem:34} {len(table.trials):6}  " + "".join(cells))
        sys.stdout.flush()
    for name in names[1:]:
        worst = max(ratios[name])
        print(f"{name} against random, worst table: ratio {worst:.2f}")
    for name in names[1:]:
        print(f"{name} against random, median: ratio {statistics.median(ratios[name]):.2f}")


if __name__ == "__main__":
    main()
