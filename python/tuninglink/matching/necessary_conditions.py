"""What an operation must be like for a matcher to match it: necessary conditions, as plain data.

A condition may miss what a matcher demands, but never demands what the matcher does not. So where it does not
hold the matcher fails, silently; where it holds nothing is known. Conditions know neither contexts nor
operations, and equal ones are one dictionary key.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property


class Kind(Enum):
    """What a matcher takes an operation for; the value is the word for people."""

    CONTRACTION = "contraction"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"


SIZED_ROLES = {Kind.CONTRACTION: 4, Kind.CONVOLUTION: 6, Kind.ATTENTION: 5}
"""How many of the lists of numbers that a matcher of a kind gives are sizes of loops: batch, m, n, k; batch,
image, output channels, filter, input channels, depth (not the strides and dilations after them); and batch, m,
n, k1, k2."""

KEPT_OPERANDS = 3
"""How many operands of an attention the compiler leaves as they are: query, key and value."""


@dataclass(frozen=True)
class Type:
    """A tensor type that a value must be castable to.

    Attributes:
        element: the element type, as MLIR prints it.
        sizes: the size of each dimension; None for any.
    """

    element: str
    sizes: tuple[int | None, ...]


@dataclass(frozen=True)
class SizeCheck:
    """What one dimension of an operand must be.

    Attributes:
        operand: the position of the operand.
        dimension: the dimension.
        lower: the least size.
        upper: the largest one, None for any.
        divisor: what the size is a multiple of.
    """

    operand: int
    dimension: int
    lower: int = 0
    upper: int | None = None
    divisor: int = 1

    def allows(self, size: int) -> bool:
        """Tells whether a dimension may have this size."""
        return (
            size >= self.lower
            and (self.upper is None or size <= self.upper)
            and size % self.divisor == 0
        )


@dataclass(frozen=True)
class Extents:
    """The sizes of the loops of an operation, in no order and without those of size 1.

    What the compiler does before it matches reorders loops, adds and removes such of size 1, and leaves the
    others.

    Attributes:
        sizes: the sizes that are known, in ascending order.
        is_complete: whether these are all.
    """

    sizes: tuple[int, ...]
    is_complete: bool


@dataclass(frozen=True)
class Maps:
    """The indexing maps of an operation.

    Attributes:
        text: the maps, as MLIR prints them.
        count: the number of loops.
        loops: for each operand, for each of its dimensions, the loop that runs over it; None where more than
            one does.
    """

    text: str
    count: int
    loops: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True)
class Condition:
    """What a matcher demands of the operation that it is asked about.

    Attributes:
        operation_names: the names it accepts; None for any.
        kind: what it takes the operation for; None if it does not say.
        element_types: the element types of the operands that it demands, from the first operand on.
        maps: the indexing maps that it demands; None for any.
        sizes: the sizes of loops that it demands, for each role of the kind; None for any.
        operands: the types that it demands of operands, by position.
        checks: what else it demands of the sizes of operands.
    """

    operation_names: frozenset[str] | None = None
    kind: Kind | None = None
    element_types: tuple[str, ...] = ()
    maps: Maps | None = None
    sizes: tuple[tuple[int, ...] | None, ...] = ()
    operands: tuple[tuple[int, Type], ...] = ()
    checks: frozenset[SizeCheck] = frozenset()

    @cached_property
    def needed_types(self) -> frozenset[str]:
        """The element types that some operand of the operation must have."""
        limit = KEPT_OPERANDS if self.kind is Kind.ATTENTION else None
        found = [*self.element_types[:limit]]
        found += [kind.element for at, kind in self.operands if limit is None or at < limit]
        return frozenset(found)

    @cached_property
    def extents(self) -> Extents:
        """What is known of the sizes of the loops."""
        candidates = [
            self._extents_of_roles(),
            self._extents_of_loops(),
            *self._extents_of_operands(),
        ]
        return max(candidates, key=lambda each: (each.is_complete, len(each.sizes)))

    def _extents_of_roles(self) -> Extents:
        if self.kind is None or not self.sizes:
            return Extents((), is_complete=False)
        roles = self.sizes[: SIZED_ROLES[self.kind]]
        known = [size for role in roles if role is not None for size in role]
        complete = len(roles) == SIZED_ROLES[self.kind] and None not in roles
        if self.maps is not None:
            complete = complete or len(known) == self.maps.count
        return _extents(known, is_complete=complete)

    def _extents_of_loops(self) -> Extents:
        """Reads the sizes of loops off the operands, where the maps say which loops run over them."""
        if self.maps is None:
            return Extents((), is_complete=False)
        known: dict[int, int] = {}
        types = dict(self.operands)
        for position, loops in enumerate(self.maps.loops):
            kind = types.get(position)
            if kind is None or len(kind.sizes) != len(loops):
                continue
            known.update(
                (loop, size)
                for loop, size in zip(loops, kind.sizes, strict=True)
                if loop is not None and size is not None
            )
        return _extents(list(known.values()), is_complete=len(known) == self.maps.count)

    def _extents_of_operands(self) -> list[Extents]:
        """Reads them off single operands, each of whose dimensions has a loop of its own."""
        return [
            _extents([size for size in kind.sizes if size is not None], is_complete=False)
            for position, kind in self.operands
            if self._has_own_loops(position)
        ]

    def _has_own_loops(self, operand: int) -> bool:
        if self.kind is Kind.CONVOLUTION:
            return operand > 0  # over the image run two loops at once
        return self.kind is not None and (self.kind is Kind.CONTRACTION or operand < KEPT_OPERANDS)

    @cached_property
    def loop_checks(self) -> frozenset[SizeCheck]:
        """The checks that the size of some loop must pass which is not 1."""
        return frozenset(
            each for each in self.checks if self._has_own_loops(each.operand) and not each.allows(1)
        )


def _extents(sizes: list[int], *, is_complete: bool) -> Extents:
    """Returns extents of sizes; one that is dynamic, which the compiler writes as a negative number, is unknown."""
    if any(size < 0 for size in sizes):
        is_complete = False
    return Extents(tuple(sorted(size for size in sizes if size >= 0 and size != 1)), is_complete)
