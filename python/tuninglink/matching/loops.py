"""The loops of an op with known indexing maps, and the dimensions that they index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tuninglink.iree.op_kinds import OpKind
from tuninglink.matching.predicates import LOOP, OPERAND, Dimension


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
        {operand: len(each) for operand, each in enumerate(loops)},
        {role: len(result) for role, result in roles},
        dimensions,
    )
