"""Problem keys: equal for all forms of a problem, however their loops are numbered and whatever has size 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.iree.structured_op import Sizes

COMPARED: Final[Mapping[OpKind, tuple[int, ...]]] = {
    OpKind.CONTRACTION: (0, 1, 2),
    OpKind.CONVOLUTION: (0, 1, 2),
    OpKind.ATTENTION: (0, 1, 2, 4),
}
"""The operands whose layouts and types make a problem: of an attention all but the scale, the maximum and the sum."""

OPERANDS: Final[Mapping[OpKind, int]] = {
    OpKind.CONTRACTION: 3,
    OpKind.CONVOLUTION: 3,
    OpKind.ATTENTION: 7,
}
"""How many operands an op of each kind has where specs are asked; an attention with a mask has more."""

Access = tuple[tuple[tuple[int, int], ...], int]
"""How a dimension is indexed: a sum of loops, each with its factor, and a constant."""


@dataclass(frozen=True)
class ProblemKey:
    """What all forms of a problem have in common.

    Loops are numbered in the order in which they first index a dimension alone. Loops of size 1 have no number.

    Attributes:
        kind: the kind of op.
        accesses: for each compared operand, how its dimensions are indexed.
        sizes: the size of each numbered loop, None where it is open.
        element_types: the element types of the compared operands.
    """

    kind: OpKind
    accesses: tuple[tuple[Access, ...], ...]
    sizes: Sizes
    element_types: tuple[str, ...]


@dataclass(frozen=True)
class ProblemForm:
    """One form of a problem.

    Attributes:
        key: the key of the problem.
        loops: for each numbered loop of the key, the loop of this form.
        loop_count: how many loops this form has.
        parts: the loops of the contractions that an attention is decomposed into, by the names of their attributes.
        windows: the sizes of the dimensions that several loops index, by operand and by position in its accesses.
    """

    key: ProblemKey
    loops: tuple[int, ...]
    loop_count: int
    parts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    windows: Mapping[tuple[int, int], int | None] = field(default_factory=dict)


def problem_form(
    kind: OpKind,
    maps: Sequence[mlir.AffineMap],
    sizes: Sizes,
    operand_sizes: Mapping[int, Sizes],
    element_types: Sequence[str],
) -> ProblemForm | None:
    """Returns the form of a problem; None if it has none, such as an attention with a mask.

    Args:
        kind: the kind of op.
        maps: the indexing maps of its operands.
        sizes: the size of each loop, None where it is open.
        operand_sizes: the sizes of operands by their positions, as far as they are known.
        element_types: the element types of the operands.
    """
    if len(maps) != OPERANDS.get(kind):
        return None
    numbers: dict[int, int] = {}
    for operand in COMPARED[kind]:
        for result in maps[operand].results:
            if isinstance(result, mlir.AffineDimExpr) and sizes[result.position] != 1:
                numbers.setdefault(result.position, len(numbers))
    if len(numbers) != sum(size != 1 for size in sizes):
        return None
    accesses: list[tuple[Access, ...]] = []
    windows: dict[tuple[int, int], int | None] = {}
    for operand in COMPARED[kind]:
        row: list[Access] = []
        for dimension, result in enumerate(maps[operand].results):
            terms = _terms(result)
            if terms is None:
                return None
            factors, constant = terms
            numbered = {numbers[loop]: each for loop, each in factors.items() if loop in numbers}
            if not numbered and not constant:
                continue
            if len(factors) > 1 or constant or set(factors.values()) != {1}:
                known = operand_sizes.get(operand)
                windows[operand, len(row)] = known[dimension] if known else None
            row.append((tuple(sorted(numbered.items())), constant))
        accesses.append(tuple(row))
    loops = tuple(numbers)
    types = tuple(element_types[operand] for operand in COMPARED[kind])
    key = ProblemKey(kind, tuple(accesses), tuple(sizes[loop] for loop in loops), types)
    parts = _attention_parts(maps) if kind is OpKind.ATTENTION else {}
    return ProblemForm(key, loops, len(sizes), parts, windows)


def _terms(expression: mlir.AffineExpr) -> tuple[dict[int, int], int] | None:
    """Returns the factors of the loops in a sum and its constant; None for any other expression."""
    if isinstance(expression, mlir.AffineDimExpr):
        return {expression.position: 1}, 0
    if isinstance(expression, mlir.AffineConstantExpr):
        return {}, expression.value
    if not isinstance(expression, mlir.AffineAddExpr | mlir.AffineMulExpr):
        return None
    left, right = _terms(expression.lhs), _terms(expression.rhs)
    if left is None or right is None:
        return None
    if isinstance(expression, mlir.AffineAddExpr):
        both = left[0].keys() | right[0].keys()
        factors = {loop: left[0].get(loop, 0) + right[0].get(loop, 0) for loop in both}
        return factors, left[1] + right[1]
    if right[0]:
        return None  # MLIR puts the constant factor there.
    return {loop: each * right[1] for loop, each in left[0].items()}, left[1] * right[1]


def _attention_parts(maps: Sequence[mlir.AffineMap]) -> dict[str, tuple[int, ...]]:
    """Returns the loops of query times key, and of the weights times the value."""
    query, key, value, output = ({*_loops(maps[at])} for at in COMPARED[OpKind.ATTENTION])
    return {"qk_attrs": tuple(sorted(query | key)), "pv_attrs": tuple(sorted(value | output))}


def _loops(map_: mlir.AffineMap) -> list[int]:
    return [each.position for each in map_.results if isinstance(each, mlir.AffineDimExpr)]
