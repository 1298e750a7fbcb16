"""Failures of trials: the kinds, and what was said."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


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
