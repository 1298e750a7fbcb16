"""The selection of a task's finalists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.contestants import Contestant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.results.task_result import TrialResult

FINALISTS: Final = 6
_NEAR: Final = 1.05
"""Slowdown in the first samples up to which a candidate may still prove faster than the default."""

_FAR: Final = 2.0
"""The same limit for candidates that always race, which get no further samples before."""


def best_trials(
    trials: Sequence[TrialResult], default_us: float, *, at_any_speed: bool = False
) -> list[TrialResult]:
    """Return the candidates that may win: those that always race, then the others, best first.

    Args:
        trials: all trials.
        default_us: the time of the compiler's choice.
        at_any_speed: whether slower candidates may win.
    """
    near, far = (math.inf, math.inf) if at_any_speed else (_NEAR, _FAR)
    timed = sorted(
        (trial.microseconds, position, trial)
        for position, trial in enumerate(trials)
        if trial.microseconds is not None
    )
    always = [trial for us, _, trial in timed if trial.always_races and us < default_us * far]
    others = [trial for us, _, trial in timed if not trial.always_races and us < default_us * near]
    return always + others


def contestant(trial: TrialResult, default: Contestant) -> Contestant:
    """Return a trial as a contestant of a race with the compiler's choice."""
    return Contestant(
        trial.benchmark or default.benchmark,
        trial.microseconds or default.microseconds,
        trial.always_races,
        default.stretch,
    )
