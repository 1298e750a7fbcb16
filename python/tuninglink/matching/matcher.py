"""A matcher as data: its predicates, and where reading it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tuninglink.matching.predicates import Predicate
    from tuninglink.mlir.diagnostics import Place


@dataclass(frozen=True)
class Stop:
    """Where the reading of a matcher stopped.

    Attributes:
        reason: why.
        place: the op that is not understood; None without location.
        rest: a key of what the matcher does from there on; None if that is too much.
    """

    reason: str
    place: Place | None = None
    rest: Hashable | None = None


@dataclass(frozen=True)
class Matcher:
    """A matcher as data.

    The predicates are necessary: where one does not hold the matcher fails, and silently. All of them together are
    exact if reading did not stop.

    Attributes:
        predicates: what the matcher asks for, in the order in which the interpreter does.
        stop: where reading stopped; None if the matcher was read up to its yield.
    """

    predicates: tuple[Predicate, ...]
    stop: Stop | None = None
