"""A matcher as data: its predicates, where reading it stopped, and the meanings of its values.

The readings of one module share a cache.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ROLES, OpKind, Role, affine_maps, indexing_loops, loops_by_role
from tuninglink.matching import predicates as pred
from tuninglink.matching.predicates import Predicate, ValueRef
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


@dataclass(frozen=True)
class Root:
    """The candidate op of the matcher."""


@dataclass(frozen=True)
class RoleRef:
    """The sizes of the candidate op's loops in a role."""

    kind: OpKind
    role: str


@dataclass(frozen=True)
class Constant:
    """A constant, which does not depend on the op."""

    value: Hashable


@dataclass(frozen=True)
class UnknownResult:
    """An unknown result, equal for ops with the same key."""

    op: int
    number: int


Meaning = Root | ValueRef | RoleRef | Constant | UnknownResult
ROOT: Final = Root()


class ReadingCache:
    """The cache shared by the readings of the matchers of one module.

    Attributes:
        structured: the predicates and meanings of matcher ops for structured ops, by their attributes.
    """

    def __init__(self) -> None:
        self.structured: dict[Hashable, tuple[Sequence[pred.Predicate], Sequence[Meaning]]] = {}
        self._maps: dict[Hashable, pred.Maps] = {}
        self._numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable) -> int:
        """Return a number for the key of an op that is not understood, which avoids nested keys."""
        return self._numbers.setdefault(key, len(self._numbers))

    def maps(self, attribute: mlir.Attribute, kind: OpKind, outputs: int) -> pred.Maps:
        """Return indexing maps as data.

        Args:
            attribute: the maps, in an array.
            kind: the assumed kind of the op with these maps.
            outputs: the number of its outputs.
        """
        key = attribute, kind, outputs
        if key not in self._maps:
            self._maps[key] = _maps(attribute, kind, outputs)
        return self._maps[key]


def _maps(attribute: mlir.Attribute, kind: OpKind, outputs: int) -> pred.Maps:
    maps = affine_maps(attribute)
    roles: Mapping[Role, tuple[int, ...]] = {}
    if kind is OpKind.ATTENTION or (kind in ROLES and len(maps) == pred.STRUCTURED_OPERANDS):
        roles = loops_by_role(kind, maps, len(maps) - outputs)
    return pred.Maps(
        str(attribute),
        tuple(map(str, maps)),
        maps[0].n_dims,
        tuple(map(indexing_loops, maps)),
        tuple(
            (pred.role_name(kind, role.value.replace(" ", "_")), loops)
            for role, loops in roles.items()
        ),
    )
