"""Priorities: the expected gain of the program from the next turn of each task.

They follow the gradient of Ansor's task scheduler (Zheng et al., OSDI 2020, section 6.2): the weight of a task times the
rate at which its best time is expected to fall, which is partly the rate at which it has fallen lately.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tuninglink.tuning.scheduling.progress import Progress

_RECENT: Final = 0.5
"""The fraction of a task's time that counts as recent."""

_PROMISE: Final = 0.5
"""The fraction of its default time that a task is expected to save in the end."""

_HALF_TRIALS: Final = 60
"""The trials after which half of that is saved."""


@dataclass(frozen=True)
class Pace:
    """The pace of tuning on a device.

    Attributes:
        start_seconds: the time of a task before its first trial and for its race.
        trial_seconds: the time of a trial.
    """

    start_seconds: float = 6.0
    trial_seconds: float = 0.15

    def turn_seconds(self, progress: Progress) -> float:
        """Return the time of the next turn of a task: a fraction of its past time, but at least some trials."""
        return max(_TURN_TRIALS * self.trial_seconds, _TURN * progress.seconds)

    def expected_gain(self, calls: float, progress: Progress) -> float:
        """Return the microseconds that a program gains in each second of a task's next turn.

        Args:
            calls: the calls of the task's dispatches in a run of the program.
            progress: the progress of its best time.
        """
        spent, turn = progress.seconds, self.turn_seconds(progress)
        half = _HALF_TRIALS * self.trial_seconds
        promise = (
            _PROMISE * progress.best_us * half * turn / ((spent + half) * (spent + turn + half))
        )
        if not progress.trials:
            return calls * promise / (turn + self.start_seconds)
        window = max(_RECENT * spent, turn)
        recent = max(0.0, progress.best_at(spent - window) - progress.best_us)
        return calls * (promise / turn + recent / window) / 2


_TURN: Final = 0.25
_TURN_TRIALS: Final = 20
"""The length of a turn: a fraction of the task's past time, but at least so many trials."""
