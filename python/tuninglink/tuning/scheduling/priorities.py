"""Priorities: the task from which the program is expected to gain most in the time to come.

They follow the gradient of Ansor's task scheduler (Zheng et al., OSDI 2020, section 6.2): the weight of a task times the
rate at which its best time is expected to fall, which is partly the rate at which it has fallen lately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tuninglink.tuning.scheduling.progress import Progress

_RECENT: Final = 0.5
"""The part of a task's time that counts as lately."""

_OPTIMISM: Final = 0.2
"""The part of its best time that a task may still lose in as much time as it has had."""

START_SECONDS: Final = 3.0
"""The time that passes until the first candidates of a task are measured."""


def expected_gain(calls: float, progress: Progress) -> float:
    """Returns the microseconds that a program gains in each second that goes into a task.

    Args:
        calls: how often the program runs the dispatches of the task.
        progress: how its best time has fallen.
    """
    spent = progress.seconds
    window = max(_RECENT * spent, START_SECONDS)
    recent = (progress.best_at(spent - window) - progress.best_us) / window
    optimistic = _OPTIMISM * progress.best_us / (spent + START_SECONDS)
    return calls * (recent + optimistic) / 2
