"""The number of measurements that a search needs, from replayed tables.

A search chooses among the configurations of a table without seeing their times, and receives the time of each chosen
one. What counts is how many it takes until one is within 5 % of the table's best. It sees what a search on a
device sees: the program, the target, the knobs and the time of the compiler's own choice.

    python benchmarks/search.py --table FILE...
    python benchmarks/search.py --leave-one-out --table FILE...

With `--leave-one-out`, each table is also searched with the others of its kind in a database. With
`--without-predictions`, the search does not use the shipped model of gains of a target. `--suggest 8` only prints how fast
the best of the eight configurations of a table is that the estimate prefers.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tuninglink.tuning.database import Database, PriorData
from tuninglink.tuning.search import fastest_first, search_named

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "support"))

from recorded_pool import RecordedPool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.tuning.search import Search

SEARCHES = ("random", "neighbors", "model")
GOAL = 1.05
"""A search has arrived at this many times the best time of the table."""

AT_ONCE = 4
"""The number of candidates that are requested at a time, as by a pool of compile workers."""

FIRST = 8
"""The number of measurements after which the share of the best speedup is taken."""


@dataclass(frozen=True)
class Judged:
    """A table that is replayed.

    Attributes:
        path: its file.
        pool: its candidates.
    """

    path: Path
    pool: RecordedPool

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a table."""
        return cls(path, RecordedPool(path))

    def is_like(self, other: Judged) -> bool:
        """Return whether a search can learn from another table."""
        kinds = self.pool.problem.kind, other.pool.problem.kind
        return kinds[0] == kinds[1] and self.pool.target == other.pool.target


@dataclass(frozen=True)
class Replay:
    """The result of a search in a table.

    Attributes:
        measured: the number of measurements until it arrived.
        first: the best speedup among the first ones, as a part of the table's best.
    """

    measured: int
    first: float


@dataclass(frozen=True)
class Replays:
    """The results of a search in a table, one for each seed."""

    found: tuple[Replay, ...]

    @property
    def median(self) -> float:
        """The median of the measurements."""
        return statistics.median(each.measured for each in self.found)

    @property
    def ninth(self) -> float:
        """The 90th percentile of the measurements."""
        taken = [each.measured for each in self.found]
        return statistics.quantiles(taken, n=10)[-1] if len(taken) > 1 else taken[0]

    @property
    def mean(self) -> float:
        """The mean of the measurements."""
        return statistics.mean(each.measured for each in self.found)

    @property
    def first(self) -> float:
        """The median part of the best speedup after the first measurements."""
        return statistics.median(each.first for each in self.found)

    def __str__(self) -> str:
        return f"{self.median:g} ({self.ninth:.0f})"


def replay(name: str, judged: Judged, seeds: int, prior: PriorData | None = None) -> Replays:
    """Replay a table until a search has arrived, with each seed."""
    known = prior.winners(judged.pool) if prior else []
    measured = prior.measured() if prior else []
    make = search_named(name)
    pool = judged.pool
    return Replays(
        tuple(
            arrive(make(pool, seed, pool.default_us, known, measured), pool)
            for seed in range(seeds)
        )
    )


def arrive(search: Search, pool: RecordedPool) -> Replay:
    """Answer a search until it has arrived."""
    goal = pool.best_us * GOAL
    measured, first = 0, pool.default_us
    while chosen := search.ask(AT_ONCE):
        for each in chosen:
            measured += 1
            microseconds = pool.times[each.key]
            if microseconds is not None and measured <= FIRST:
                first = min(first, microseconds)
            if microseconds is not None and microseconds <= goal:
                return Replay(measured, pool.best_us / first)
            search.tell(each, microseconds)
    raise AssertionError(f"{search.name} ended after {measured} of {len(pool.times)}")


def leave_one_out(tables: Sequence[Judged], alone: Mapping[Path, Replays], seeds: int) -> None:
    """Print the results of the model with the other tables in a database, as in `tune --database`."""
    print(
        f"\n{f'left out, after {FIRST} measurements':34} {'others':>6}  {'alone':>8} {'with':>8}"
        f"{'alone median (p90)':>24}{'with median (p90)':>24}"
    )
    firsts = []
    for each in tables:
        others = [other for other in tables if other is not each and each.is_like(other)]
        if not others:
            continue
        # The database holds the other tables of the same kind of problem.
        with Database() as database:
            for other in others:
                database.record_all(other.pool.recorded)
            (own, *_) = each.pool.recorded
            prior = PriorData.read(database, each.pool.problem, own.problem.key, own.environment)
        found = replay("model", each, seeds, prior)
        firsts.append(found.first)
        print(
            f"{each.path.stem:34} {len(others):6}  {alone[each.path].first:8.0%} {found.first:8.0%}"
            f"{alone[each.path]!s:>24}{found!s:>24}"
        )
        sys.stdout.flush()
    if firsts:
        share = statistics.median(firsts)
        print(
            f"model with a database after {FIRST} measurements: {share:.0%} of the best speedup (median)"
        )


def suggest(tables: Sequence[Judged], count: int) -> None:
    """Print the speed of the best of the configurations that are first by their estimates, against the table's best."""
    shares = []
    for judged in tables:
        pool = judged.pool
        valid = [one for one in pool.candidates if pool.times[one.key] is not None]
        first = fastest_first(pool.problem, valid)[:count]
        share = pool.best_us / min(pool.times[one.key] or 0.0 for one in first)
        shares.append(share)
        print(f"{judged.path.stem:40} {len(valid):6} {share:8.0%}")
    print(f"best of {count} suggestions: {statistics.median(shares):.0%} (median)")


def main() -> None:
    """Replay tables and print the ratios."""
    parser = argparse.ArgumentParser(description="Judges searches by recorded tables.")
    parser.add_argument("--table", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--search", nargs="+", default=SEARCHES, metavar="NAME")
    parser.add_argument("--leave-one-out", action="store_true")
    parser.add_argument("--without-predictions", action="store_true")
    parser.add_argument("--suggest", type=int, metavar="COUNT")
    arguments = parser.parse_args()
    if arguments.suggest:
        suggest(list(map(Judged.load, arguments.table)), arguments.suggest)
        return
    names = list(dict.fromkeys(["random", *arguments.search]))
    tables = list(map(Judged.load, arguments.table))
    for each in tables if arguments.without_predictions else ():
        each.pool.target = None
    found: dict[str, dict[Path, Replays]] = {name: {} for name in names}
    print(
        f"{'table':34} {'trials':>6}  " + "".join(f"{name + ' median (p90)':>24}" for name in names)
    )
    # A row for each table.
    for each in tables:
        cells = []
        for name in names:
            replays = found[name][each.path] = replay(name, each, arguments.seeds)
            ratio = replays.median / found["random"][each.path].median
            cells.append(f"{f'{replays} {ratio:.2f}':>24}")
        print(f"{each.path.stem:34} {len(each.pool.candidates):6}  " + "".join(cells))
        sys.stdout.flush()
    if arguments.leave_one_out:
        leave_one_out(tables, found["model"], arguments.seeds)
        print()
    # Summaries over all tables.
    for name in names:
        share = statistics.median(each.first for each in found[name].values())
        least = min(each.first for each in found[name].values())
        print(
            f"{name} after {FIRST} measurements: {share:.0%} of the best speedup (median), "
            f"{least:.0%} (worst table)"
        )
    ratios = {
        name: [each.median / found["random"][path].median for path, each in found[name].items()]
        for name in names[1:]
    }
    for name, values in ratios.items():
        print(f"{name} against random, worst table: ratio {max(values):.2f}")
    for name in names:
        means = [each.mean for each in found[name].values()]
        ninth = statistics.quantiles(means, n=10)[-1] if len(means) > 1 else means[0]
        print(
            f"{name}, mean trials of a table: median {statistics.median(means):.1f}, p90 {ninth:.1f}, "
            f"mean {statistics.mean(means):.1f}"
        )
    for name in names[1:]:
        ninths = [found[name][path].ninth for path in found[name]]
        print(
            f"{name}, p90 of the trials: {statistics.geometric_mean(ninths):.1f} (geometric mean)"
        )
    for name, values in ratios.items():
        print(f"{name} against random, median: ratio {statistics.median(values):.2f}")


if __name__ == "__main__":
    main()
