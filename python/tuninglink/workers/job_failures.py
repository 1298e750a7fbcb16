"""How a job can fail other than with an exception of its function."""

from __future__ import annotations

import signal
from typing import Final

_STARVED: Final = 0.5
"""A process that got less than this part of the time waited for others, or for a device."""

_SIGNALS_FROM_OUTSIDE: Final = frozenset(
    {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
)
"""Signals that no fault of a process itself raises; the system sends the first where memory is short."""


class JobTimeoutError(Exception):
    """A job ran into its time limit; its process was killed.

    Attributes:
        seconds: the time limit.
        processor_seconds: how much processor time the process got.
    """

    def __init__(self, seconds: float, processor_seconds: float) -> None:
        super().__init__(seconds, processor_seconds)
        self.seconds = seconds
        self.processor_seconds = processor_seconds

    @property
    def is_starved(self) -> bool:
        """Whether the process ran for the lesser part of the time, as on a machine under load."""
        return self.processor_seconds < _STARVED * self.seconds

    def __str__(self) -> str:
        return f"the job did not finish within {self.seconds:g} s"


class WorkerCrashedError(Exception):
    """The process of a job ended before the job did.

    Attributes:
        code: the exit status, or the negative number of the signal that ended the process.
        output: the end of what the process wrote to standard output and standard error.
    """

    def __init__(self, code: int, output: str) -> None:
        super().__init__(code, output)
        self.code = code
        self.output = output

    def __str__(self) -> str:
        return f"the worker process ended ({self.status})"

    @property
    def is_from_outside(self) -> bool:
        """Whether another process ended this one."""
        return -self.code in _SIGNALS_FROM_OUTSIDE

    @property
    def status(self) -> str:
        """How the process ended, in words: `segmentation fault`, `exit code 3`."""
        if self.code < 0:
            return (signal.strsignal(-self.code) or f"signal {-self.code}").lower()
        return f"exit code {self.code}"


class JobError(Exception):
    """Stands for an exception that cannot be pickled; holds the name of its class and its text."""
