"""The ledger of a run: one account for each use of its time."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.scheduling.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator


class Account(Enum):
    """A use of the time of a run."""

    TASKS = "tasks"
    """Candidates of tasks are tried, and the best ones race. Has whatever is not reserved."""

    FLAGS = "flags"
    """Sets of compiler flags are compared."""

    REFERENCE = "reference"
    """The outputs of defaults are compared with a reference."""

    RANGES = "ranges"
    """Ranges of sizes are looked for in which winners do not lose."""

    GUARD = "guard"
    """The whole program runs with the spec and without."""


_MOST: Final = {
    Account.FLAGS: 0.25,
    Account.REFERENCE: 0.10,
    Account.RANGES: 0.40,
    Account.GUARD: 0.40,
}
"""The largest part of a run that an account may reserve."""


class Ledger:
    """The time of a run: what is reserved for later, and what is left for the tasks.

    Time that an account reserves and does not need goes back to the tasks.

    Args:
        seconds: how long the run takes, from now on; infinity for no limit.
        trials: how many candidates of a task may be tried; None for no limit.

    Attributes:
        seconds: how long the run takes.
        whole: the budget of the whole run. To stop it is to stop all others.
    """

    def __init__(self, seconds: float = math.inf, trials: int | None = None) -> None:
        self.seconds = seconds
        self.whole = Budget(seconds, trials)
        self._reserved: dict[Account, float] = {}

    @property
    def elapsed(self) -> float:
        """The seconds since the run began."""
        return time.monotonic() - self.whole.began

    def reserve(self, account: Account, seconds: float) -> bool:
        """Reserve time for later, or changes what is reserved.

        Returns:
            Whether there is enough: nothing is reserved if it is more than the largest part of the account.
        """
        if math.isinf(self.seconds):
            return True  # there is enough for all
        if seconds > self.limit(account):
            self.release(account)
            return False
        self._reserved[account] = seconds
        return True

    def limit(self, account: Account) -> float:
        """Return the most seconds that an account may reserve."""
        return _MOST[account] * self.seconds

    def release(self, account: Account) -> None:
        """Give back what an account has reserved."""
        self._reserved.pop(account, None)

    def reserved(self, account: Account) -> float:
        """Return the seconds that are reserved for an account."""
        return self._reserved.get(account, 0.0)

    def budget(self, account: Account) -> Budget:
        """Return what is left for an account: until its end, all that others have not reserved."""
        others = sum(seconds for key, seconds in self._reserved.items() if key is not account)
        return self.whole.until(self.whole.deadline - others)

    @contextmanager
    def spending(self, account: Account) -> Iterator[Budget]:
        """Give an account its budget for a block, after which nothing is reserved for it."""
        try:
            yield self.budget(account)
        finally:
            self.release(account)
