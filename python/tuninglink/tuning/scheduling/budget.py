"""The budget of tuning: time, trials and early stops."""

from __future__ import annotations

import math
import threading
import time


class Budget:
    """A time limit with a flag that ends it early.

    Args:
        seconds: the duration, from now on; infinity for no limit.
        trials: the limit on the candidates of a dispatch; None for no limit.
        stopped: the flag, shared with the budget that contains this one.

    Attributes:
        began: its start, in seconds of `time.monotonic()`.
        deadline: its end, likewise.
        trials: the limit on the candidates of a dispatch.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        trials: int | None = None,
        stopped: threading.Event | None = None,
    ) -> None:
        self.began = time.monotonic()
        self.deadline = self.began + seconds
        self.trials = trials
        self._stopped = stopped or threading.Event()

    @property
    def remaining(self) -> float:
        """The seconds that are left, at least 0."""
        return 0.0 if self.is_stopped else max(0.0, self.deadline - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether the time has run out."""
        return self.remaining <= 0.0

    @property
    def is_stopped(self) -> bool:
        """Whether the budget was stopped, as opposed to used up."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End the budget; safe in a signal handler."""
        self._stopped.set()

    def until(self, deadline: float) -> Budget:
        """Return a budget that ends at a time of `time.monotonic()`, or with this one."""
        seconds = min(deadline, self.deadline) - time.monotonic()
        return Budget(seconds, self.trials, self._stopped)

    def limited(self, trials: int) -> Budget:
        """Return this budget with a limit on trials."""
        seconds = self.deadline - time.monotonic()
        return Budget(seconds, min(trials, self.trials or trials), self._stopped)

    def part(self, fraction: float) -> Budget:
        """Return a budget for a fraction of the remaining time; it stops with this one."""
        return Budget(self.remaining * fraction, self.trials, self._stopped)
