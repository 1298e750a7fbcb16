"""The budget of tuning: limits and early stops, the ledger of its uses, and the prices of races and whole-program runs."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from typing import Final

from tuninglink.tuning.deciding.defaults import MeasuredTask
from tuninglink.tuning.deciding.race import Contestant, RaceRules, race_seconds
from tuninglink.tuning.deciding.task_result import SIZE_ROUNDS, SIZE_SECONDS


class Budget:
    """A time limit with a flag that ends it early.

    Args:
        seconds: the duration, from now on; infinity for no limit.
        trials: the limit on the candidates of a dispatch; None for no limit.
        stopped: the flag, shared with the budget that contains this one.

    Attributes:
        began: its start, in seconds of `time.monotonic()`.
        deadline: its end, in seconds of `time.monotonic()`.
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
        return Budget(min(deadline, self.deadline) - time.monotonic(), self.trials, self._stopped)

    def limited(self, trials: int) -> Budget:
        """Return this budget with a limit on trials."""
        seconds = self.deadline - time.monotonic()
        return Budget(seconds, min(trials, self.trials or trials), self._stopped)

    def part(self, fraction: float) -> Budget:
        """Return a budget for a fraction of the remaining time; it stops with this one."""
        return Budget(self.remaining * fraction, self.trials, self._stopped)


class Interrupted(BaseException):
    """A signal ended a comparison, in `Interruption.ending`."""


def _leave() -> None:
    raise Interrupted


class Interruption(Budget):
    """A budget that a signal ends, together with the current step."""

    _end: Callable[[], object] | None = None

    def stop(self) -> None:
        super().stop()
        if self._end is not None:
            self._end()

    @contextmanager
    def ending(self, end: Callable[[], object] = _leave) -> Iterator[None]:
        """Call a function if the budget is stopped before the end of a block; by default, leave the block."""
        self._end = end
        try:
            if self.is_stopped:
                end()
            yield
        finally:
            self._end = None


class Account(Enum):
    """A use of the time of a run that is reserved. The tasks get the rest."""

    REFERENCE = "reference"
    """Comparison of the outputs of defaults with a reference."""

    RANGES = "ranges"
    """Search for ranges of sizes in which winners do not lose."""

    GUARD = "guard"
    """Runs of the whole program with and without the spec."""


_GRACE: Final = 0.03
"""The fraction of a run by which what follows the tasks may end late."""

_MOST: Final = {Account.REFERENCE: 0.10, Account.RANGES: 0.40, Account.GUARD: 0.40}
"""The largest fraction of a run that an account may reserve."""


class Ledger:
    """The time of a run: reservations, and the rest for the tasks.

    Reserved time that an account does not need goes back to the tasks.

    Args:
        seconds: the duration of the run, from now on; infinity for no limit.
        trials: the limit on the candidates of a task; None for no limit.

    Attributes:
        whole: the budget of the whole run. Stopping it stops all others.
        latest: its end with a grace, in seconds of `time.monotonic()`.
    """

    def __init__(self, seconds: float = math.inf, trials: int | None = None) -> None:
        self.seconds = seconds
        self.whole = Interruption(seconds, trials)
        self.latest = self.whole.deadline + _GRACE * seconds
        self._reserved: dict[Account, float] = {}

    def reserve(self, account: Account, seconds: float) -> bool:
        """Reserve time for later, or change a reservation.

        Returns:
            Whether the time is reserved; no account can reserve more than its limit.
        """
        if math.isinf(self.seconds):
            return True  # unlimited time
        if seconds > self.limit(account):
            self.release(account)
            return False
        self._reserved[account] = seconds
        return True

    def limit(self, account: Account) -> float:
        """Return the limit on the reservation of an account, in seconds."""
        return _MOST[account] * self.seconds

    def release(self, account: Account) -> None:
        self._reserved.pop(account, None)

    def reserved(self, account: Account) -> float:
        return self._reserved.get(account, 0.0)

    def budget(self) -> Budget:
        """Return the budget of the tasks: all time that no account has reserved."""
        return self.whole.until(self.whole.deadline - sum(self._reserved.values()))

    def spend(self, account: Account) -> Budget:
        """Drop the reservation of an account, and return the budget with it: all time that no other account has reserved."""
        self.release(account)
        return self.budget()


_CHECK_SECONDS: Final = 0.2
"""The time for loading a finalist and comparing its outputs."""

MODEL_ROUNDS: Final = 10
"""The rounds that show a clear gain, warm-up calls included. There are more if time allows."""

FEWEST_MODEL_ROUNDS: Final = 4
"""The rounds without which a comparison is pointless, a warm-up call included."""

_LEAST_MODEL_SECONDS: Final = 1.0
_MOST_MODEL_SECONDS: Final = 20.0
"""The bounds on the time for the rounds of a whole program."""

_EXPECTED_SPEEDUP: Final = 2.0
"""The assumed speedup of a future finalist."""

_LEAST_COMPILE_SECONDS: Final = 0.5
_SERIAL: Final = 0.1
"""The approximate serial fraction of a compilation."""

_LOADING_SECONDS: Final = 2.0
_LOADING_DISPATCH_SECONDS: Final = 0.04
_SHORT_LOADING_SECONDS: Final = 0.5
_SHORT_LOADING_DISPATCH_SECONDS: Final = 0.02
"""The time for starting compiler processes and loading both programs, at least this for each dispatch: CUDA's driver
compiled two programs of 141 dispatches in 5.9 s. It is short on a CPU, and where the driver compiles ahead, in parallel."""


def task_race_seconds(
    default: Contestant, finalists: Sequence[Contestant], rules: RaceRules | None = None
) -> float:
    """Return the price of a race of finalists, best first, including loading and checks, without its pauses."""
    # Each finalist is loaded, its outputs are compared, and so are its times if there are several sizes.
    checks, sizes = _CHECK_SECONDS * len(finalists), len(default.benchmark.measured)
    for finalist in finalists if sizes > 1 else ():
        compared = default.sample_seconds + finalist.sample_seconds
        checks += min(SIZE_ROUNDS * compared, SIZE_SECONDS * sizes)
    return race_seconds(default, finalists, rules) + checks


def least_race_seconds(measured: MeasuredTask, rules: RaceRules | None = None) -> float:
    """Return the price of a race with one finalist of the assumed speedup."""
    default = Contestant(measured.benchmark, measured.default_us, stretch=measured.stretch)
    finalist = replace(default, microseconds=measured.default_us / _EXPECTED_SPEEDUP)
    return task_race_seconds(default, [finalist], rules)


START_SECONDS: Final = 3.0
"""The time of a task before its first measurement."""


def least_seconds(ledger: Ledger, heaviest: MeasuredTask, rules: RaceRules) -> float:
    """Return the least duration of a run: the spent time, a race of the heaviest task, and what the guard has reserved."""
    seconds = time.monotonic() - ledger.whole.began + START_SECONDS
    return seconds + least_race_seconds(heaviest, rules) + ledger.reserved(Account.GUARD)


def program_compile_seconds(compile_seconds: Sequence[float], jobs: int) -> float:
    """Return the estimated time of compiling the whole program twice, in parallel jobs, by the times of its dispatches."""
    total, longest = sum(compile_seconds), max(compile_seconds, default=0.0)
    return max(_LEAST_COMPILE_SECONDS, longest, 2 * total / max(1, jobs)) + _SERIAL * total


def guard_seconds(
    compile_seconds: float,
    dispatches: int,
    program_us: float,
    rounds: int = MODEL_ROUNDS,
    *,
    is_local: bool = False,
    is_ahead: bool = False,
) -> float:
    """Return the price of comparing the whole program: its compilation, loading, and the rounds.

    Args:
        compile_seconds: the time of the unfinished compilations.
        dispatches: the number of its different dispatches.
        program_us: the time of all calls of all dispatches, in microseconds.
        rounds: the rounds, warm-up calls included.
        is_local: whether the program runs on the CPU, whose code needs no driver to compile it.
        is_ahead: whether a driver compiles its dispatches ahead.
    """
    least, each_dispatch = _LOADING_SECONDS, _LOADING_DISPATCH_SECONDS
    if is_local or is_ahead:
        least, each_dispatch = _SHORT_LOADING_SECONDS, _SHORT_LOADING_DISPATCH_SECONDS
    loading = max(least, 0.0 if is_local else each_dispatch * dispatches)
    both_calls = 2 * program_us * 1e-6
    running = min(max(rounds * both_calls, _LEAST_MODEL_SECONDS), _MOST_MODEL_SECONDS)
    # The fewest rounds are run however long they take, after a call of each program for its outputs.
    running = max(running, FEWEST_MODEL_ROUNDS * both_calls)
    return loading + compile_seconds + both_calls + running
