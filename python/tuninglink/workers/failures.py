"""How a job can fail other than with an exception of its function."""

from __future__ import annotations

import signal


class JobTimeoutError(Exception):
    """A job ran into its time limit of so many seconds; its process was killed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds

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
    def status(self) -> str:
        """How the process ended, in words: `segmentation fault`, `exit code 3`."""
        if self.code < 0:
            return (signal.strsignal(-self.code) or f"signal {-self.code}").lower()
        return f"exit code {self.code}"


class JobError(Exception):
    """Stands for an exception that cannot be pickled; holds the name of its class and its text."""
