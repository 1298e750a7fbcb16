"""The loops of an op whose indexing maps are known: which of its dimensions run over which loop."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tuninglink.iree.op_kinds import OpKind
from tuninglink.matching.predicates import LOOP, OPERAND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.matching.predicates import Dimension


@dataclass(frozen=True)
class Loops:
    """What indexing maps tell about an op.

    Attributes:
        operands: how many operands it has.
        ranks: the ranks of the operands.
        counts: how many loops there are in each role.
        dimensions: the loop of each dimension of an operand or of a role, where it is one loop.
    """

    operands: int
    ranks: Mapping[int, int]
    counts: Mapping[str, int]
    dimensions: Mapping[Dimension, Dimension]


@lru_cache(maxsize=1024)
def loops_of(
    loops: tuple[tuple[int | None, ...], ...], roles: tuple[tuple[str, tuple[int, ...]], ...]
) -> Loops:
    """Return what indexing maps tell about the op that has them.

    The compiler takes the size of a loop from one dimension, that of the first operand which has it (for attention the
    value comes before the key); other dimensions of the loop have the same size if they are static, but it need not be
    known. `("loop", number, 0)` is the former, `("loop", number, 1)` and so on the latter.

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
