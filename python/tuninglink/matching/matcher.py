"""A matcher as data: its predicates, and where reading it stopped; and errors of reading it as a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tuninglink.matching.predicates import Predicate
    from tuninglink.mlir.diagnostics import Place


class NotUnderstoodError(Exception):
    """A matcher has an unsupported requirement, named in the message."""


class ContradictionError(Exception):
    """A matcher has a requirement that no operation satisfies; the message gives the reason."""


@dataclass(frozen=True)
class Stop:
    """The place and the reason where the reading of a matcher stopped.

    Attributes:
        reason: the reason.
        place: the location of the op that is not understood; None if unknown.
        rest: a key of the rest of the matcher; None if it is too long.
    """

    reason: str
    place: Place | None = None
    rest: Hashable | None = None


@dataclass(frozen=True)
class Matcher:
    """A matcher as data.

    The predicates are necessary: if one does not hold, the matcher fails silently. Together, they are exact if the
    reading did not stop.

    Attributes:
        predicates: the predicates, in the order of the interpreter.
        stop: where reading stopped; None if the matcher was read up to its yield.
    """

    predicates: tuple[Predicate, ...]
    stop: Stop | None = None
