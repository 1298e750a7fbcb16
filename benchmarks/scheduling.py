"""Progress of a program over time: recorded curves of several tasks, replayed under different schedules.

A curve is the best time of a task over its trials, as a tuner has recorded it. A program is some tasks with weights, the
number of their calls. A schedule gives out time. What counts is the time of the program, the sum of the best times of
its tasks by weight, after a part of the budget.

    python benchmarks/scheduling.py [--table FILE...] [--tasks N]

A table whose trials are in the order in which they were measured is a curve; the trials of others are shuffled.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tuninglink.tuning.scheduling import Pace, Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARES = (0.125, 0.25, 0.5, 1.0)
"""The parts of the budget after which the program's time is printed."""


@dataclass(frozen=True)
class Curve:
    """The trials of a task in their order.

    Attributes:
        name: the table.
        calls: the number of runs of the task in the program.
        default_us: the time of the compiler's choice.
        times: the time of each trial; None for one that failed.
    """

    name: str
    calls: float
    default_us: float
    times: tuple[float | None, ...]


@dataclass
class ReplayedTask:
    """A task that is replayed.

    Attributes:
        curve: its trials.
        progress: how its best time has fallen.
    """

    curve: Curve
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.progress = Progress(self.curve.default_us)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to replay."""
        return self.progress.trials >= len(self.curve.times)

    @property
    def weight(self) -> float:
        """The time of the task in the program, now."""
        return self.curve.calls * self.progress.best_us

    def advance(self, pace: Pace) -> float:
        """Try a candidate; return the seconds that it took, with those before the first one."""
        start = 0.0 if self.progress.trials else pace.start_seconds
        self.progress.seconds += pace.trial_seconds
        self.progress.add(self.curve.times[self.progress.trials])
        return start + pace.trial_seconds


Choice = tuple[ReplayedTask, float]
"""A task and the seconds of its turn."""


def by_shares(tasks: Sequence[ReplayedTask], left: float, pace: Pace) -> Choice | None:
    """Give each task its share of the time in turn, the heaviest first."""
    rest = [each for each in tasks if not each.progress.trials]
    if not rest:
        return None
    heaviest = max(rest, key=lambda each: each.weight)
    share = heaviest.weight / sum(each.weight for each in rest)
    return heaviest, left * share - pace.start_seconds


def by_shares_until_converged(
    tasks: Sequence[ReplayedTask], left: float, pace: Pace
) -> Choice | None:
    """Give each task its share in turn; the rest goes to the heaviest that has not converged."""
    choice = by_shares(tasks, left, pace)
    if choice is not None:
        return choice
    running = [each for each in tasks if not each.progress.has_converged and not each.is_over]
    return (max(running, key=lambda each: each.weight), 5.0) if running else None


def by_gain(tasks: Sequence[ReplayedTask], _: float, pace: Pace) -> Choice | None:
    """Choose the task with the largest expected gain, as the tuner does."""
    running = [each for each in tasks if not each.is_over and not each.progress.has_converged]
    if not running:
        return None
    task = max(running, key=lambda each: pace.expected_gain(each.curve.calls, each.progress))
    return task, pace.turn_seconds(task.progress)


SCHEDULES = {
    "shares": (by_shares, False),
    "shares until converged": (by_shares_until_converged, True),
    "expected gain": (by_gain, True),
}
"""Schedules, and whether a turn ends when its task has converged."""


def replay(curves: Sequence[Curve], schedule: str, seconds: float, pace: Pace) -> list[float]:
    """Return the program's time after each part of the budget, as a part of its time by default."""
    choose, stops = SCHEDULES[schedule]
    tasks = [ReplayedTask(each) for each in curves]
    default = sum(each.weight for each in tasks)
    parts: list[float] = []
    spent = 0.0
    while spent < seconds and (choice := choose(tasks, seconds - spent, pace)) is not None:
        task, turn = choice
        end = spent + turn + (0.0 if task.progress.trials else pace.start_seconds)
        while True:
            before = sum(each.weight for each in tasks) / default
            spent += task.advance(pace)
            parts += [before] * (sum(spent > share * seconds for share in SHARES) - len(parts))
            if spent >= end or task.is_over or (stops and task.progress.has_converged):
                break
    last = sum(each.weight for each in tasks) / default
    return parts + [last] * (len(SHARES) - len(parts))


def load(path: Path, calls: float, chance: random.Random) -> Curve:
    """Read a table as a curve."""
    table = json.loads(path.read_text())
    times = [each.get("microseconds") for each in table["trials"]]
    if "knobs" not in table["default"]:  # drawn at random, and written in some order
        chance.shuffle(times)
    return Curve(path.stem, calls, table["default"]["microseconds"], tuple(times))


def main() -> None:
    """Replay random programs of recorded tasks, and print the medians."""
    parser = argparse.ArgumentParser(description="Judges schedules by recorded curves.")
    tables = sorted((Path(__file__).parent / "tables").glob("*.json"))
    parser.add_argument("--table", type=Path, nargs="+", default=tables, metavar="FILE")
    parser.add_argument("--tasks", type=int, default=11, help="tasks of a program")
    parser.add_argument("--programs", type=int, default=50, help="random programs")
    parser.add_argument("--budget", type=float, nargs="+", default=[60.0, 120.0, 360.0])
    parser.add_argument("--trial-seconds", type=float, default=Pace().trial_seconds)
    parser.add_argument("--start-seconds", type=float, default=Pace().start_seconds)
    arguments = parser.parse_args()
    pace = Pace(arguments.start_seconds, arguments.trial_seconds)
    chance = random.Random(0)
    programs = []
    for _ in range(arguments.programs):
        # Weights as in models: a few tasks take most of the time.
        paths = chance.choices(arguments.table, k=arguments.tasks)
        weights = [chance.paretovariate(0.8) for _ in paths]
        programs.append(
            [load(path, weight, chance) for path, weight in zip(paths, weights, strict=True)]
        )
    print(
        f"{'budget':>7}  {'schedule':28}" + "".join(f"{f'after {each:.1%}':>14}" for each in SHARES)
    )
    for seconds in arguments.budget:
        for name in SCHEDULES:
            parts = [replay(each, name, seconds, pace) for each in programs]
            cells = [statistics.geometric_mean(column) for column in zip(*parts, strict=True)]
            print(f"{seconds:>6.0f}s  {name:28}" + "".join(f"{each:14.3f}" for each in cells))


if __name__ == "__main__":
    main()
