"""Failures of trials, errors that lose a task, and those that end a run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from tuninglink.errors import TuninglinkError


class FailureKind(Enum):
    """Why a trial has no time; the value is what databases and reports say."""

    COMPILE = "compile"
    COMPILE_TIMEOUT = "compile-timeout"
    COMPILE_CRASH = "compile-crash"
    LOAD = "load"
    RUN = "run"
    TIMEOUT = "timeout"
    CRASH = "crash"
    WRONG = "wrong"
    OUT_OF_BOUNDS = "out-of-bounds"
    SLOWER = "slower"


COMPILE_FAILURES: Final = frozenset(
    {FailureKind.COMPILE, FailureKind.COMPILE_CRASH, FailureKind.COMPILE_TIMEOUT}
)
"""The failures of a trial that has no code."""


@dataclass(frozen=True)
class Failure:
    """A trial that failed.

    Attributes:
        kind: at which step, and how.
        message: the diagnostic, or what was observed.
        is_external: whether the machine is the cause, and not the trial: a process was killed, or a time limit was reached
            while other processes had the processors. Such a failure is not kept for later runs.
    """

    kind: FailureKind
    message: str
    is_external: bool = False


class FatalError(TuninglinkError):
    """An error that ends a run: the loss of the last device, or results that cannot be stored. Others lose one task."""


def reason_of(failure: Exception) -> str:
    """Return the reason for omitting a task after an error."""
    if isinstance(failure, MemoryError):
        return "out of memory"
    if isinstance(failure, TuninglinkError) and failure.diagnostics:
        return failure.diagnostics[0].message
    text = str(failure)
    if type(failure).__module__.startswith("tuninglink."):
        return text
    return f"{type(failure).__name__}: {text}" if text else type(failure).__name__
