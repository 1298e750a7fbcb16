"""Constraints on the dimensions of an op, the loops that index the dimensions, and arithmetic on the constraints.

The size of a static dimension is known. For a dynamic one, the compiler may know bounds and a divisor. A matcher that
requires more than the compiler knows does not match. A fact about all sizes therefore need not hold for a dimension:
every multiple of 64 that is at least 100 is at least 128, but a dimension that is known to be a multiple of 64 and at
least 100 is not known to be at least 128.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tuninglink.iree.op_kinds import OpKind
from tuninglink.matching.predicates import (
    LOOP,
    OPERAND,
    Dimension,
    Extent,
    HasExtent,
    representative,
)

ANYTHING: Final = Extent()
"""The constraint that every dimension satisfies."""

Box = dict[Dimension, Extent]
"""Constraints per dimension."""


def conjunction(constraints: Iterable[tuple[Dimension, Extent]]) -> Box:
    """Return the conjunction of the constraints on each dimension."""
    result: Box = {}
    for dimension, extent in constraints:
        result[dimension] = result[dimension].both(extent) if dimension in result else extent
    return result


def box(sizes: Iterable[HasExtent]) -> Box:
    """Return predicates on dimensions as constraints per dimension."""
    return conjunction((size.dimension, size.extent) for size in sizes)


def static_box(*boxes: Box) -> Box:
    """Return the conjunction of boxes for static dimensions, where all dimensions of a loop have the same size."""
    return conjunction(
        (representative(dimension), extent) for part in boxes for dimension, extent in part.items()
    )


def is_empty(constraints: Box) -> bool:
    """Return whether no static or dynamic dimensions satisfy constraints."""
    if any(constraint.static_size() is None for constraint in constraints.values()):
        return True
    fixed = {
        (representative(at), extent.size)
        for at, extent in constraints.items()
        if extent.size is not None
    }
    return len(fixed) > len({dimension for dimension, _ in fixed})


def contains(wide: Box, narrow: Box) -> bool:
    """Return whether all static and dynamic dimensions that satisfy `narrow` satisfy `wide`.

    Args:
        wide: any box.
        narrow: a box that is not empty. All of its dimensions without a size can be dynamic at once, with nothing known
            but their constraints. Several boxes together therefore contain `narrow` only if one of them does.
    """
    return all(
        narrow.get(dimension, ANYTHING).implies(extent) for dimension, extent in wide.items()
    )


def static_sizes(constraints: Box) -> dict[Dimension, int] | None:
    """Return static sizes of at least 1 that satisfy constraints, None if there are none.

    Args:
        constraints: the constraints, from `static_box`.
    """
    sizes = {dimension: extent.static_size() for dimension, extent in constraints.items()}
    static = {dimension: size for dimension, size in sizes.items() if size}
    return static if len(static) == len(sizes) else None


def point(sizes: Mapping[Dimension, int], dimensions: Iterable[Dimension]) -> Box:
    """Return the constraints that only static dimensions of these sizes satisfy."""
    return {dimension: Extent(size=sizes[representative(dimension)]) for dimension in dimensions}


@dataclass(frozen=True)
class Loops:
    """The properties of an op that follow from its indexing maps.

    Attributes:
        operands: the number of operands.
        ranks: the ranks of the operands.
        counts: the number of loops in each role.
        dimensions: the loop of each dimension of an operand or of a role, if it is a single loop.
    """

    operands: int
    ranks: Mapping[int, int]
    counts: Mapping[str, int]
    dimensions: Mapping[Dimension, Dimension]


@lru_cache(maxsize=1024)
def loops_of(
    loops: tuple[tuple[int | None, ...], ...], roles: tuple[tuple[str, tuple[int, ...]], ...]
) -> Loops:
    """Return the properties of an op that follow from its indexing maps.

    The compiler takes the size of a loop from one dimension, that of the first operand with the loop (for attention the
    value comes before the key). It is named `("loop", number, 0)`. Other dimensions of the loop have the same size if
    they are static; if they are dynamic, the size may be unknown. They are named `("loop", number, 1)` and so on.

    Args:
        loops: the loop of each dimension of each operand, as in `Maps`.
        roles: the loops in each role, as in `Maps`.
    """
    order = list(range(len(loops)))
    if any(role.startswith(OpKind.ATTENTION.value) for role, _ in roles):
        order[1:3] = [2, 1]
    dimensions: dict[Dimension, Dimension] = {}
    seen: Counter[int] = Counter()
    for operand in order:
        for dimension, loop in enumerate(loops[operand]):
            if loop is not None:
                dimensions[OPERAND, operand, dimension] = (LOOP, loop, seen[loop])
                seen[loop] += 1
    for role, result in roles:
        dimensions |= {(role, position, 0): (LOOP, loop, 0) for position, loop in enumerate(result)}
    return Loops(
        len(loops),
        {operand: len(over) for operand, over in enumerate(loops)},
        {role: len(result) for role, result in roles},
        dimensions,
    )
