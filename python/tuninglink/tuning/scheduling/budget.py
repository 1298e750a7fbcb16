"""What tuning may cost: time and trials, and being told to stop."""

from __future__ import annotations

import math
import threading
import time


class Budget:
    """Time that runs, and a flag that ends it early.

    Args:
        seconds: how long, from now on; infinity for no limit.
        trials: how many candidates of a dispatch may be tried; None for as many as there are time and candidates.
        stopped: the flag, shared with the budget that this one is a part of.

    Attributes:
        began: when it began, in the seconds of `time.monotonic()`.
        deadline: when it ends, likewise.
        trials: how many candidates of a dispatch may be tried.
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
        """The seconds that are left, 0 if none are."""
        return 0.0 if self.is_stopped else max(0.0, self.deadline - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether there is no time left."""
        return self.remaining <= 0.0

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped, which is not the same as having run out."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """End it; may be called from a signal handler."""
        self._stopped.set()

    def until(self, deadline: float) -> Budget:
        """Return a budget that ends at a moment of `time.monotonic()`, or with this one."""
        seconds = min(deadline, self.deadline) - time.monotonic()
        return Budget(seconds, self.trials, self._stopped)

    def limited(self, trials: int) -> Budget:
        """Return this budget with at most so many trials."""
        seconds = self.deadline - time.monotonic()
        return Budget(seconds, min(trials, self.trials or trials), self._stopped)

    def part(self, fraction: float) -> Budget:
        """Return a budget of a part of the time that is left, which stops with this one."""
        return Budget(self.remaining * fraction, self.trials, self._stopped)
