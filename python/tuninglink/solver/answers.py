"""What questions about constraints are answered with: proven, refuted, or not decided and why."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error
from tuninglink.solver.assertions import Grade

if TYPE_CHECKING:
    from collections.abc import Mapping


class Verdict(Enum):
    """How a question was answered; `NOT_DECIDED` is an answer too, and comes with its reason."""

    PROVEN = "proven"
    REFUTED = "refuted"
    NOT_DECIDED = "not decided"


class UndecidedError(TuninglinkError):
    """A question cannot be answered within its limits, or not by what is known; `reason` is why."""

    def __init__(self, reason: str) -> None:
        super().__init__(error(f"not decided: {reason}"))
        self.reason = reason


class AssignmentError(TuninglinkError):
    """An assignment names a knob that there is not, leaves one out, or gives a value that is no integer."""


@dataclass(frozen=True)
class Limits:
    """How long a question may take.

    Attributes:
        seconds: for the whole answer; infinity is no limit, zero or less leaves time for what is told at once.
        solver_seconds: for each call of the solver within it.
        steps: how many steps a search may take, each some thousand partial assignments. Unlike time, it gives the
            same answer on a busy machine as on an idle one.

    Raises:
        ValueError: one of them is not a number.
    """

    seconds: float = 20.0
    solver_seconds: float = 5.0
    steps: float = math.inf

    def __post_init__(self) -> None:
        if any(map(math.isnan, (self.seconds, self.solver_seconds, self.steps))):
            raise ValueError("a limit must be a number")

    def start(self) -> Deadline:
        """Return the deadline that these limits mean from now on."""
        return Deadline(time.monotonic() + self.seconds, self, self.steps)


_MOST_MILLISECONDS = (1 << 32) - 2
"""Z3 takes a number of 32 bits, of which the largest means no limit."""


class Deadline:
    """The moment at which an answer is due, and the steps that are left until then."""

    def __init__(
        self, at: float, limits: Limits, steps: float, whole: Deadline | None = None
    ) -> None:
        self._at = at
        self._limits = limits
        self._steps = steps
        self._whole = whole

    def postpone(self, seconds: float) -> None:
        """Give back time that somebody else used."""
        self._at += seconds
        if self._whole is not None:
            self._whole.postpone(seconds)

    def remaining(self) -> float:
        """Return the seconds that are left, not less than zero."""
        return max(0.0, self._at - time.monotonic())

    def solver_milliseconds(self) -> int:
        """Return what a call of the solver may take now; at least one, as zero would mean no limit."""
        wanted = 1000 * min(self.remaining(), self._limits.solver_seconds)
        return max(1, int(min(wanted, _MOST_MILLISECONDS)))

    def share(self, parts: int) -> Deadline:
        """Return the deadline of one of so many equal parts of what is left; its steps count for the whole."""
        at = time.monotonic() + self.remaining() / parts
        return Deadline(at, self._limits, self._steps / parts, self)

    def within(self, steps: float) -> Deadline:
        """Return a deadline after a number of steps, which count for the whole; it is never later."""
        return Deadline(self._at, self._limits, min(steps, self._steps), self)

    def check(self) -> None:
        """Take a step.

        Raises:
            UndecidedError: the time is up, or no step is left.
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
        provenance: where the assertion comes from.
        values: the knobs that the assertion speaks of, as people read them.
        grade: what follows from it.
        knobs: the names of these knobs.
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
    """Whether an assignment is valid.

    Attributes:
        verdict: refuted: it breaks a necessary assertion, or one of the compiler's own constraints; not decided: it
            breaks a sufficient one; proven: it breaks none, or only heuristic ones.
        violations: the assertions that do not hold. Where auxiliary unknowns take part, assertions
            that hold each but never together are listed together.
        reason: if not decided, why not.
    """

    verdict: Verdict
    violations: tuple[Violation, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class UnsatAnswer:
    """Whether no valid assignment agrees with a partial one.

    Attributes:
        verdict: proven: there is none; refuted: there is one.
        core: if proven, assertions that cannot hold together with `fixed`.
        fixed: if proven, the values of the partial assignment that the core needs.
        minimal: whether without any one part of the core and `fixed` the rest was shown to have a solution.
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
    """The valid assignment that is nearest to a given one.

    Attributes:
        verdict: proven: `assignment` is the nearest; refuted: there is no valid assignment at all; not decided:
            the time was up, `assignment` is the best one seen by then, if any.
        assignment: a valid assignment.
        changed: the knobs that differ, with their values in `assignment`.
        reason: if not decided, why not.
    """

    verdict: Verdict
    assignment: Mapping[str, int] | None = None
    changed: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class CountAnswer:
    """How many valid assignments there are.

    Attributes:
        verdict: proven: exactly `count`; not decided: at least `count`.
        count: how many were counted.
        reason: if not decided, why not.
    """

    verdict: Verdict
    count: int
    reason: str = ""
