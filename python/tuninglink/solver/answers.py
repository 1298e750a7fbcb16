"""Answers to queries about constraints: proven, refuted, or not decided with a reason."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error
from tuninglink.solver import Grade


class Verdict(Enum):
    """The verdict of a query; a `NOT_DECIDED` answer contains a reason."""

    PROVEN = "proven"
    REFUTED = "refuted"
    NOT_DECIDED = "not decided"


class UndecidedError(TuninglinkError):
    """A query cannot be answered within its limits, or is not supported; `reason` explains why."""

    def __init__(self, reason: str) -> None:
        super().__init__(error(f"not decided: {reason}"))
        self.reason = reason


class AssignmentError(TuninglinkError):
    """An assignment names an unknown knob, omits a knob, or has a value that is not an integer."""


@dataclass(frozen=True)
class Limits:
    """The limits of a query.

    Attributes:
        seconds: the time limit of the query. Infinity disables the limit; with zero or less, only immediate answers
            are given.
        solver_seconds: the time limit of each call of the solver.
        steps: the maximum number of search steps of some thousand partial assignments each. Unlike a time limit, it
            gives the same answer on a busy machine as on an idle one.

    Raises:
        ValueError: a limit is not a number.
    """

    seconds: float = 20.0
    solver_seconds: float = 5.0
    steps: float = math.inf

    def __post_init__(self) -> None:
        if any(map(math.isnan, (self.seconds, self.solver_seconds, self.steps))):
            raise ValueError("a limit must be a number")

    def start(self) -> Deadline:
        """Return the deadline for a query that starts now."""
        return Deadline(time.monotonic() + self.seconds, self, self.steps)


_MOST_MILLISECONDS = (1 << 32) - 2
"""The largest 32-bit number, which Z3 interprets as no limit."""


class Deadline:
    """The time limit of an answer, and the number of remaining steps."""

    def __init__(
        self, at: float, limits: Limits, steps: float, whole: Deadline | None = None
    ) -> None:
        self._at = at
        self._limits = limits
        self._steps = steps
        self._whole = whole

    @property
    def steps(self) -> float:
        """The number of remaining steps."""
        return self._steps

    def postpone(self, seconds: float) -> None:
        """Extend the deadline by time that the caller used."""
        self._at += seconds
        if self._whole is not None:
            self._whole.postpone(seconds)

    def remaining(self) -> float:
        """Return the remaining seconds, at least zero."""
        return max(0.0, self._at - time.monotonic())

    def solver_milliseconds(self) -> int:
        """Return the time limit of a solver call now; at least 1 ms, since 0 disables the limit."""
        milliseconds = 1000 * min(self.remaining(), self._limits.solver_seconds)
        return max(1, int(min(milliseconds, _MOST_MILLISECONDS)))

    def share(self, parts: int) -> Deadline:
        """Return the deadline for one of `parts` equal shares of the remaining time; its steps count for the whole."""
        at = time.monotonic() + self.remaining() / parts
        return Deadline(at, self._limits, self._steps / parts, self)

    def within(self, steps: float) -> Deadline:
        """Return a deadline after a number of steps, which count for the whole. It is never later than this one."""
        return Deadline(self._at, self._limits, min(steps, self._steps), self)

    def skip(self, steps: float) -> None:
        """Count steps as taken because their result is already known."""
        self._steps -= steps
        if self._whole is not None:
            self._whole.skip(steps)

    def check(self) -> None:
        """Take a step.

        Raises:
            UndecidedError: the time or the steps are used up.
        """
        self._steps -= 1
        if self._whole is not None:
            self._whole.check()
        if self._steps < 0:
            raise UndecidedError(f"the limit of {self._limits.steps:g} steps is reached")
        if self.remaining() == 0:
            raise UndecidedError(f"the limit of {self._limits.seconds:g} s is reached")


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Violation:
    """An assertion that does not hold.

    Attributes:
        message: the assertion in words, with its values filled in.
        provenance: the origin of the assertion.
        values: the values of the knobs in the assertion, as display text.
        grade: the consequence of the violation.
        knobs: the names of the knobs in the assertion.
    """

    message: str
    provenance: str
    values: tuple[str, ...] = ()
    grade: Grade = Grade.NECESSARY
    knobs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.message} [{', '.join(self.values)}]" if self.values else self.message


@dataclass(frozen=True)
class CheckAnswer:
    """The answer to whether an assignment is valid.

    Attributes:
        verdict: refuted: it violates a necessary assertion, or one of the compiler's own constraints; not decided: it
            violates a sufficient one; proven: it violates none, or only heuristic ones.
        violations: the assertions that do not hold. With auxiliary unknowns, assertions that hold separately but
            never together are all listed.
        reason: if not decided, why not.
    """

    verdict: Verdict
    violations: tuple[Violation, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class UnsatAnswer:
    """The answer to whether no valid assignment agrees with a partial one.

    Attributes:
        verdict: proven: no such assignment exists; refuted: one exists.
        core: if proven, assertions that cannot hold together with `fixed`.
        fixed: if proven, the values of the partial assignment that the core needs.
        minimal: whether removing any one part of the core or of `fixed` is shown to leave a solution.
        witness: if refuted, a valid assignment that agrees with the partial one.
        reason: if not decided, why not.
    """

    verdict: Verdict
    core: tuple[Violation, ...] = ()
    fixed: Mapping[str, int] = field(default_factory=dict)
    minimal: bool = False
    witness: Mapping[str, int] | None = None
    reason: str = ""


@dataclass(frozen=True)
class NearestAnswer:
    """The valid assignment nearest to a given one.

    Attributes:
        verdict: proven: `assignment` is the nearest; refuted: no valid assignment exists; not decided: a limit was
            reached, and `assignment` is the best one found so far, if any.
        assignment: a valid assignment.
        changed: the changed knobs, with their values in `assignment`.
        reason: if not decided, why not.
    """

    verdict: Verdict
    assignment: Mapping[str, int] | None = None
    changed: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class CountAnswer:
    """The number of valid assignments.

    Attributes:
        verdict: proven: exactly `count`; not decided: at least `count`.
        count: the number of counted assignments.
        reason: if not decided, why not.
    """

    verdict: Verdict
    count: int
    reason: str = ""
