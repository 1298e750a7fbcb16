"""The loops of an operation whose indexing maps are known: which of its dimensions run over which loop."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree.structured import contraction_loops, convolution_loops
from tuninglink.matching.conditions import LOOP
from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.matching.conditions import Dimension

ATTENTION_OUTPUTS: Final = {names.ATTENTION: 1, names.ONLINE_ATTENTION: 3}
"""How many of the operands of an attention are outputs; its indexing maps are those of all operands."""

_STRUCTURED_OPERANDS: Final = 3
_ATTENTION_ROLES: Final = ("batch", "m", "n", "k1", "k2")


@dataclass(frozen=True)
class Loops:
    """What indexing maps tell about an operation.

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


def read_loops(maps: mlir.ArrayAttr, kinds: frozenset[str], attention: str | None) -> Loops:
    """Reads the loops off indexing maps.

    The compiler takes the size of a loop from one dimension, that of the first operand which has it (for
    attention the value comes before the key); other dimensions of the loop have the same size if they are static,
    but it need not be known. `("loop", number, 0)` is the former, `("loop", number, 1)` and so on the latter.

    Args:
        maps: affine maps.
        kinds: `contraction` and `convolution`, as far as the operation is one.
        attention: the operation's name if it is an attention.
    """
    affine = [each.value for each in maps if isinstance(each, mlir.AffineMapAttr)]
    order = list(range(len(affine)))
    if attention:
        order[1:3] = [2, 1]
    dimensions: dict[Dimension, Dimension] = {}
    seen: Counter[int] = Counter()
    for number in order:
        for dimension, loop in _single_loops(affine[number]):
            dimensions["operand", number, dimension] = (LOOP, loop, seen[loop])
            seen[loop] += 1
    roles = _roles(affine, kinds, attention)
    for role, found in roles.items():
        dimensions |= {(role, position, 0): (LOOP, loop, 0) for position, loop in enumerate(found)}
    return Loops(
        len(affine),
        {number: len(each.results) for number, each in enumerate(affine)},
        {role: len(found) for role, found in roles.items()},
        dimensions,
    )


def _single_loops(affine: mlir.AffineMap) -> Iterator[tuple[int, int]]:
    for dimension, result in enumerate(affine.results):
        if isinstance(result, mlir.AffineDimExpr):
            yield dimension, result.position


def _roles(
    maps: Sequence[mlir.AffineMap], kinds: frozenset[str], attention: str | None
) -> dict[str, list[int]]:
    """Returns the loops of the roles where the maps tell, in the order in which the compiler does."""
    roles: dict[str, list[int]] = {}
    if attention:
        output = maps[len(maps) - ATTENTION_OUTPUTS[attention]]
        found: Any = iree_codegen.get_attention_op_detail(maps[0], maps[1], maps[2], output)
        roles = {
            f"attention {role}": list(getattr(found, f"{role}_dims")) for role in _ATTENTION_ROLES
        }
    if len(maps) == _STRUCTURED_OPERANDS:
        for kind, loops_of in _LOOPS.items():
            if kind in kinds:
                roles |= {f"{kind} {role}": loops for role, loops in loops_of(maps).items()}
    return roles


_LOOPS: Final = {"contraction": contraction_loops, "convolution": convolution_loops}
