"""The history of problems: their times over compilers and drivers, judged by intervals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from tuninglink.comparing import LEAST_CHANGE, ChangeKind, Estimate, time_change
from tuninglink.plain_data import written
from tuninglink.tuning.database.database import (
    RIGHT,
    EnvironmentRecord,
    Trial,
    grouped_trials,
    ranked_among,
    results_of,
)
from tuninglink.tuning.deciding import interval


@dataclass(frozen=True)
class HistoryFilter:
    """A selection of problems.

    Attributes:
        words: words that must all occur in the description of the problem.
        kinds: kinds of operations; if empty, any kind.
        targets: names of targets; if empty, any target.
        devices: words of which the name of the device must contain one; if empty, any device.
        is_everything: whether problems with a single environment are shown, too.
        is_changed: whether only problems with a changed time are shown.
    """

    words: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    is_everything: bool = False
    is_changed: bool = False

    def has(self, trial: Trial) -> bool:
        """Return whether a trial belongs to a selected problem."""
        problem, environment = trial.problem, trial.environment
        description, device = problem.description.lower(), environment.device.lower()
        targets = {environment.target, environment.sku}
        return (
            all(word.lower() in description for word in self.words)
            and (not self.kinds or problem.kind in self.kinds)
            and (not self.targets or not targets.isdisjoint(self.targets))
            and (not self.devices or any(name.lower() in device for name in self.devices))
        )


@dataclass(frozen=True)
class HistoryPoint:
    """A problem under one compiler, runtime and driver.

    Attributes:
        compiler: the version of the compiler.
        runtime: the version of the runtime.
        driver: the driver, with its version.
        date: the time of the first trial, in ISO 8601.
        trials: the number of trials.
        failures: the number of failed trials.
        default_us: the time of the compiler's choice, with the interval of its median; None if it was not measured.
        best_us: the time of the fastest configuration with correct results; None without one.
        best: the pipeline and the knobs of that configuration; empty without one.
        default_change: the change of the time of the compiler's choice since the previous point; None without one.
        best_change: the change of the best time.
    """

    compiler: str
    runtime: str
    driver: str
    date: str
    trials: int
    failures: int
    default_us: Estimate | None
    best_us: Estimate | None
    best: str
    default_change: ChangeKind | None = None
    best_change: ChangeKind | None = None

    @property
    @written()
    def speedup(self) -> float | None:
        """The time of the compiler's choice over the best time; None if one is unknown."""
        if self.default_us is None or self.best_us is None:
            return None
        return self.default_us.value / self.best_us.value


@dataclass(frozen=True)
class ProblemHistory:
    """A problem on one device over compilers and drivers.

    Attributes:
        problem: the problem in words.
        target: the target architecture or SKU.
        cores: the number of threads of a CPU device; 0 for other devices.
        points: its times, by version.
    """

    problem: str
    kind: str
    target: str
    device: str
    flags: str
    cores: int
    points: tuple[HistoryPoint, ...]

    @property
    @written("changed")
    def is_changed(self) -> bool:
        """Whether a time became longer or shorter."""
        return any(point.default_change or point.best_change for point in self.points)


@dataclass(frozen=True)
class History:
    """The history of the problems of a database, as a JSON document.

    Attributes:
        problems: the problems, in the order of their first trials.
        hidden: the number of selected problems that are not shown, since they have one environment or no change.
    """

    format: Literal["tuninglink.history"] = field(default="tuninglink.history", init=False)
    version: Literal[1] = field(default=1, init=False)
    problems: tuple[ProblemHistory, ...]
    hidden: int


def history_among(
    trials: Iterable[Trial], selected: HistoryFilter, least: float = LEAST_CHANGE
) -> History:
    """Return the history of the problems among trials.

    `least` is the smallest relevant change of a time, as a fraction.
    """
    # The trials of each problem on each device, with the same flags. Another version of the compiler may form a different
    # dispatch for the same computation, so that its hash differs. Then the words identify the problem, unless two problems
    # of one version have the same words.
    series: list[list[Trial]] = []
    for group in grouped_trials(filter(selected.has, trials), _described):
        versions = grouped_trials(group, _software)
        keys = ({trial.problem.key for trial in version} for version in versions)
        is_one = all(len(distinct) == 1 for distinct in keys)
        series += [group] if is_one else grouped_trials(group, lambda trial: trial.problem.key)
    histories = [_history(group, least) for group in series]
    shown = tuple(
        history
        for history in histories
        if history.is_changed
        or (not selected.is_changed and (selected.is_everything or len(history.points) > 1))
    )
    return History(shown, len(histories) - len(shown))


def _software(trial: Trial) -> tuple[str, str, str]:
    environment = trial.environment
    return environment.compiler, environment.runtime, environment.driver


def _described(trial: Trial) -> tuple[str, str, EnvironmentRecord]:
    place = replace(trial.environment, compiler="", runtime="", driver="")
    return trial.problem.kind, trial.problem.description, place


def _history(trials: Sequence[Trial], least: float) -> ProblemHistory:
    def order(group: list[Trial]) -> tuple[object, str]:
        parts = re.split(r"(\d+)", " ".join(_software(group[0])))
        numbers = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
        return numbers, group[0].time

    points: list[HistoryPoint] = []
    default_before: Estimate | None = None
    best_before: Estimate | None = None
    for group in sorted(grouped_trials(trials, _software), key=order):
        results = results_of(group)
        ranked = [trial for measured in ranked_among(group) for trial in measured]
        default = next((trial for trial in ranked if trial.origin == "default"), None)
        best = next((trial for trial in ranked if results[trial.configuration.key] == RIGHT), None)
        default_us, best_us = map(_estimate, (default, best))
        # The best configuration in words. A tile of 0 leaves its loop alone.
        words = ""
        if best is not None and best.origin == "default":
            words = "the compiler's choice"
        elif best is not None:
            pipeline, values = best.configuration.pipeline, best.configuration.knobs.items()
            knobs = ", ".join(f"{name} = {n}" for name, n in values if n or "[" not in name)
            words = f"{pipeline}: {knobs}" if knobs else pipeline
        default_change, best_change = (
            time_change(earlier, later, least) if earlier and later else None
            for earlier, later in ((default_before, default_us), (best_before, best_us))
        )
        default_before, best_before = default_us, best_us
        points.append(
            HistoryPoint(
                *_software(group[0]),
                date=min(trial.time for trial in group),
                trials=len(group),
                failures=sum(trial.failure is not None for trial in group),
                default_us=default_us,
                best_us=best_us,
                best=words,
                default_change=default_change,
                best_change=best_change,
            )
        )
    problem, environment = trials[0].problem, trials[0].environment
    return ProblemHistory(
        problem=problem.description,
        kind=problem.kind,
        target=environment.sku or environment.target,
        device=environment.device,
        flags=environment.flags,
        cores=environment.cores,
        points=tuple(points),
    )


_FEWEST: Final = 3
"""The least number of samples with an interval."""


def _estimate(trial: Trial | None) -> Estimate | None:
    if trial is None:
        return None
    times = interval(trial.samples)
    bounds = times.interval if len(trial.samples) >= _FEWEST else (None, None)
    return Estimate(times.median, *bounds)
