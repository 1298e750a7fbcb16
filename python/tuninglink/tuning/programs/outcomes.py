"""Results of tuning: failures of trials, and verdicts on their outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tuninglink.errors import TuninglinkError
from tuninglink.plain_data import named, written


class FailureKind(Enum):
    """The reason why a trial has no time; the value is its name in databases and reports."""

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

WRONG_RESULTS: Final = frozenset({FailureKind.WRONG, FailureKind.OUT_OF_BOUNDS})
"""The failures of a trial that computes something else than the operation."""


@dataclass(frozen=True)
class Failure:
    """A trial that failed.

    Attributes:
        message: the diagnostic, or the observation.
        is_external: whether the machine caused the failure, not the trial: a process was killed, or a time limit
            expired while other processes used the processors. Such a failure is not stored for later runs.
    """

    kind: FailureKind
    message: str
    is_external: bool = False


class FatalError(TuninglinkError):
    """An error that ends a run: the last device is lost, or results cannot be stored. Other errors lose one task."""


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


class Correctness(Enum):
    """The correctness of a result; the values appear in reports."""

    RIGHT = "right"
    WRONG = "wrong"
    FAILED = "fails"
    UNDECIDED = "not decided"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class OutputSample:
    """An element of the output of a binding, and its correct value."""

    binding: int
    position: tuple[int, ...]
    actual: float
    expected: float


@dataclass(frozen=True)
class OutputVerdict:
    """The verdict of the reference on a result, its figures or why there is none, and the elements that differ most."""

    correctness: Correctness = field(metadata=named("result"))
    reason: str = field(default="", metadata=named("finding"))
    samples: tuple[OutputSample, ...] = ()


_MOST: Final = 4.0
"""The factor over the default's error up to which a tuned program is accepted."""

_ROUNDING_PART: Final = 0.1
"""The fraction of the tolerance up to which an error is accepted even if the default is more exact."""

_NOT_WORSE: Final = 1.1
"""The ratio within which the errors of two wrong programs are alike."""


@dataclass(frozen=True)
class OutputComparison:
    """The errors of a program's outputs, without and with a spec.

    Errors are Frobenius norms of differences, relative to the expected values; the largest of all outputs.

    Attributes:
        source: the origin of the expected outputs, such as `llvm-cpu`.
        default_error: the error without a spec; None if the expected outputs are those of the default.
        tuned_error: the error with the spec; None without a spec.
        note: the reason why a better source is missing; empty if none is missing.
        has_overflow: whether outputs are infinite or NaN where the expected ones are finite.
        narrow_sums: where outputs are wrong, the dispatches that add up in f16 or bf16, with the remedy; else empty.
    """

    source: str
    tolerance: float
    default_error: float | None = None
    tuned_error: float | None = None
    note: str = ""
    has_overflow: bool = False
    narrow_sums: str = ""

    @property
    @written()
    def default_is_wrong(self) -> bool:
        """Whether the error without a spec exceeds the tolerance."""
        return self.default_error is not None and self.default_error > self.tolerance

    @property
    def is_repaired(self) -> bool:
        """Whether the program's outputs are wrong without the spec and correct with it."""
        is_right = self.tuned_error is not None and self.tuned_error <= self.tolerance
        return self.default_is_wrong and is_right

    @property
    def error(self) -> float | None:
        """The error with the spec, or without one if none was applied."""
        return self.default_error if self.tuned_error is None else self.tuned_error

    @property
    def limit(self) -> float:
        """The largest error of an accepted tuned program."""
        if self.default_error is None:
            return self.tolerance
        if self.default_is_wrong:
            return self.default_error * _NOT_WORSE
        rounding = _ROUNDING_PART * self.tolerance
        return min(self.tolerance, max(_MOST * self.default_error, rounding))

    @property
    def is_accepted(self) -> bool:
        """Whether the tuned program is accepted."""
        return self.tuned_error is None or self.tuned_error <= self.limit

    @property
    def failure(self) -> str:
        """The fault of the tuned program; empty if it is accepted."""
        if self.is_accepted:
            return ""
        return (
            f"its outputs differ from those of {self.source}: relative error "
            f"{_number(self.tuned_error)}, at most {_number(self.limit)} is accepted"
        )

    @property
    @written()
    def finding(self) -> str:
        """The fault of the default; empty if it is correct or was not compared."""
        if not self.default_is_wrong:
            return ""
        error = f"relative error {_number(self.default_error)}, at most {_number(self.tolerance)} is rounding"
        where = f"the outputs of the program as compiled differ from those of {self.source}"
        if self.is_repaired:
            return f"{where} ({error}), and with the spec they agree: the default is wrong"
        narrow = f"; {self.narrow_sums}" if self.narrow_sums else ""
        if self.has_overflow:
            where = (
                f"the program as compiled gives infinities or NaNs where {self.source} is finite"
            )
            return f"{where}; tuninglink verify names the first dispatch that makes them{narrow}"
        return (
            f"{where} ({error}): one of both is wrong, or the program amplifies rounding, as recurrent ones with random "
            f"weights do; tuninglink verify judges the dispatches{narrow}"
        )

    def __str__(self) -> str:
        """Return a line with the errors; an empty string without errors."""
        labelled = (self.default_error, "by default"), (self.tuned_error, "with the spec")
        errors = [f"{_number(value)} {label}" for value, label in labelled if value is not None]
        if not errors:
            return ""
        return f"relative error of the outputs against {self.source}: {', '.join(errors)}"


def _number(value: float | None) -> str:
    if value is None:
        return "unknown"
    return "infinite" if math.isinf(value) else f"{value:.2g}"
