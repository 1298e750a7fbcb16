"""Databases of trials as tables: their problems, their trials, their history, and insights."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from tuninglink.cli.terminal import print_table, render_table
from tuninglink.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.comparing.changes import Estimate
    from tuninglink.tuning.database import EnvironmentRecord, Trial
    from tuninglink.tuning.database.history import History, HistoryPoint, ProblemHistory
    from tuninglink.tuning.database.insights import Heuristic, Insights


def print_problems(trials: Sequence[Trial], *, with_trials: bool) -> None:
    """Print a table of the problems in each environment and, with `with_trials`, a table of each problem's trials.

    Args:
        trials: all trials.
        with_trials: whether the trials are also printed.
    """
    groups: dict[tuple[str, EnvironmentRecord], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.problem.key, trial.environment), []).append(trial)
    columns = ("problem", "target", "device", "compiler", "trials", "failed")
    times = ("default µs", "best µs", "speedup", "not checked")
    print_table((*columns, *times), [_summary(group) for group in groups.values()])
    if with_trials:
        for group in groups.values():
            _print_trials(group)


def _summary(group: Sequence[Trial]) -> tuple[str, ...]:
    from tuninglink.tuning.database.database import (  # noqa: PLC0415
        NOT_CHECKED,
        results_of,
        winners_among,
    )

    first = group[0]
    unchecked = list(results_of(group).values()).count(NOT_CHECKED)
    (winner,) = winners_among(group) or (None,)
    best = winner.trial.median if winner else None
    default = winner.default_us if winner else None
    return (
        first.problem.description,
        first.environment.target,
        first.environment.device,
        first.environment.compiler,
        str(len(group)),
        str(sum(trial.failure is not None for trial in group)),
        _figure(default),
        _figure(best),
        f"{default / best:.2f}" if default and best else "",
        str(unchecked),
    )


def _print_trials(group: Sequence[Trial]) -> None:
    from tuninglink.tuning.database.database import RIGHT, results_of  # noqa: PLC0415

    results = results_of(group)

    def rank(trial: Trial) -> tuple[bool, bool, float]:
        """Rank verified configurations before faster unverified ones."""
        is_right = results[trial.configuration.key] == RIGHT
        return trial.median is None, not is_right, trial.median or 0.0

    # Right and fast configurations come first.
    ranked = sorted(group, key=rank)
    rows = [
        (
            _figure(trial.median) or (trial.failure.kind.value if trial.failure else ""),
            results[trial.configuration.key],
            trial.stage,
            trial.origin,
            trial.configuration.pipeline,
            ", ".join(f"{name} = {value}" for name, value in trial.configuration.knobs.items()),
        )
        for trial in ranked
    ]
    sys.stdout.write("\n")
    print_table(
        ("µs", "result", "stage", "origin", "pipeline", "knobs"),
        rows,
        title=group[0].problem.description,
    )


def _figure(microseconds: float | None) -> str:
    return "" if microseconds is None else f"{microseconds:.2f}"


def insights_table(insights: Insights, stream: TextIO) -> str:
    """Return a table for each heuristic, and a table of the rules for failures."""
    parts = [_heuristic(heuristic, stream) for heuristic in insights.heuristics]
    rows = [
        (
            f"{rule.kind} {rule.target}",
            " and ".join(map(str, rule.conditions)),
            f"{rule.explained} of {rule.failures}",
            f"0 of {rule.successes}",
            str(rule.problems),
            f"{rule.failure}: {rule.reason}",
        )
        for rule in insights.failures
    ]
    columns = ("candidates", "fail if", "failures", "successes", "problems", "reason")
    if rows:
        parts.append(render_table(columns, rows, "", stream))
    return "\n".join(parts)


def _heuristic(heuristic: Heuristic, stream: TextIO) -> str:
    problems, defaults = heuristic.problems, heuristic.known_defaults
    regrets = {
        "of the compiler's choice": heuristic.regret_of_defaults,
        "on problems that it was not learned from": heuristic.regret_elsewhere,
    }
    regret = ", ".join(f"{value:.2f} {name}" for name, value in regrets.items() if value)
    if heuristic.is_worse_elsewhere:
        regret += " (worse than the compiler's choice)"
    rows = [("all candidates", f"{heuristic.regret_of_all:.2f}", "", "")]
    rows += [
        (
            str(step.condition),
            f"{step.regret:.2f}",
            f"{step.winners} of {problems}",
            f"{step.defaults} of {defaults}",
        )
        for step in heuristic.steps
    ]
    title = (
        f"{heuristic.kind} {heuristic.target}: {heuristic.candidates} candidates; regret {regret}"
    )
    return render_table(("prefer", "regret", "winners", "compiler's choices"), rows, title, stream)


def history_table(history: History, stream: TextIO, why_hidden: str) -> str:
    """Return a table for each problem, and the number of hidden problems.

    Args:
        history: the history.
        stream: the output stream.
        why_hidden: the common property of hidden problems.
    """
    parts = [_history(problem, stream) for problem in history.problems]
    if history.hidden:
        count = f"{history.hidden:,} other {'problem' if history.hidden == 1 else 'problems'}"
        parts.append(f"not shown: {count} {why_hidden}\n")
    elif not history.problems:
        parts.append("no problem fits\n")
    return "\n".join(parts)


def _history(problem: ProblemHistory, stream: TextIO) -> str:
    place = [f"for {problem.target} on {problem.device}", problem.flags]
    if problem.cores:
        place.insert(1, counted(problem.cores, "thread"))
    columns = ("compiler", "driver", "since", "trials", "default µs", "", "best µs", "")
    return render_table(
        (*columns, "speedup", "best"),
        [tuple(_point(point)) for point in problem.points],
        f"{problem.problem} {', '.join(filter(None, place))}",
        stream,
    )


_WORDS = {"regression": "slower", "improvement": "faster"}


def _point(point: HistoryPoint) -> Iterator[str]:
    software = point.software
    is_plain = software.runtime in ("", software.compiler)
    yield software.compiler if is_plain else f"{software.compiler}, runtime {software.runtime}"
    yield software.driver
    yield point.date[: len("2026-11-21")]
    yield str(point.trials)
    for estimate, change in (
        (point.default_us, point.default_change),
        (point.best_us, point.best_change),
    ):
        yield _bounded(estimate)
        yield _WORDS[change.value] if change else ""
    yield "" if point.speedup is None else f"{point.speedup:.2f}"
    yield point.best


def _bounded(estimate: Estimate | None) -> str:
    if estimate is None or estimate.low is None:
        return _figure(estimate.value if estimate else None)
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
