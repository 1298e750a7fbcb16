"""Insights of a database as tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tuninglink.cli.terminal import print_table

if TYPE_CHECKING:
    from tuninglink.tuning.database.insights import Heuristic, Insights


def print_insights(insights: Insights) -> None:
    """Print a table for each heuristic, and one of the rules of failures."""
    for heuristic in insights.heuristics:
        _print_heuristic(heuristic)
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
    print_table(("candidates", "fail if", "failures", "successes", "problems", "reason"), rows)


def _print_heuristic(heuristic: Heuristic) -> None:
    problems, defaults = heuristic.problems, heuristic.known_defaults
    regrets = {
        "of the compiler's choice": heuristic.regret_of_defaults,
        "on problems that it was not learned from": heuristic.regret_elsewhere,
    }
    regret = ", ".join(f"{value:.2f} {name}" for name, value in regrets.items() if value)
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
    print_table(
        ("prefer", "regret", "winners", "compiler's choices"),
        rows,
        title=f"{heuristic.kind} {heuristic.target}: {heuristic.candidates} candidates; regret {regret}",
    )
    sys.stdout.write("\n")
