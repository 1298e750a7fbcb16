"""The failures of a job other than an exception of its function."""

from __future__ import annotations

import signal
from typing import Final

_STARVED: Final = 0.5
"""The share of the time limit below which a process counts as waiting for other processes or a device."""

_SIGNALS_FROM_OUTSIDE: Final = frozenset(
    {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
)
"""Signals that a process does not cause itself. The kernel sends SIGKILL when memory runs out."""


class JobTimeoutError(Exception):
    """The time limit of a job expired, and its process was killed.

    Attributes:
        seconds: the time limit.
        processor_seconds: the processor time of the process.
    """

    def __init__(self, seconds: float, processor_seconds: float) -> None:
        super().__init__(seconds, processor_seconds)
        self.seconds = seconds
        self.processor_seconds = processor_seconds

    @property
    def is_starved(self) -> bool:
        """Whether the process ran for less than half of the time, as on a machine under load."""
        return self.processor_seconds < _STARVED * self.seconds

    def __str__(self) -> str:
        return f"the job did not finish within {self.seconds:g} s"


class WorkerCrashedError(Exception):
    """The process of a job ended before the job.

    Attributes:
        code: the exit status, or the negative number of the signal that ended the process.
        output: the end of its standard output and standard error.
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
        """The status of the process in words: `segmentation fault`, `exit code 3`."""
        if self.code < 0:
            return (signal.strsignal(-self.code) or f"signal {-self.code}").lower()
        return f"exit code {self.code}"


class JobError(Exception):
    """A substitute for an exception that cannot be pickled, with the name of its class and its message."""
