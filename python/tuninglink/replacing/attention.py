"""Attention problems as data: loops, sizes and element types, and the spellings of a problem.

At the preprocessing stage, attention that comes from PyTorch has one batch loop (4x16 heads arrive as 64), the loops
b, m, n, k1 and k2 in this order, values of k2 x n, a scale that is often f32 where the operands are f16, a mask of
b x m x k2 into which the frontend has broadcast the mask of the model, and an uninitialized output. Programs that are
written by hand often keep several batch loops. In a dispatch, after global optimization, the batch loops are one and
values may be n x k2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from tuninglink.iree import Role, StructuredOp
from tuninglink.mlir import names
from tuninglink.payloads import DYNAMIC, Value, attended, build
from tuninglink.replacing.problem import (
    BATCHES,
    FEATURES,
    FLOATS,
    KEYS,
    QUERIES,
    NoFormError,
    Problem,
    batchings,
    read_problem,
    size_along,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iree.compiler import ir as mlir

_SINGLE: Final = (Role.N, Role.K1, Role.K2)
_OPEN: Final = BATCHES + QUERIES + KEYS
"""The loops whose sizes may be dynamic."""

ORDER: Final = "mnkj"
_ORDERS: Final = (ORDER, "mkjn")
"""The orders of the last loops: that of frontends, and that of the compiler's own tests."""


@dataclass(frozen=True)
class Attention(Problem):
    """An attention, whose operands are queries, keys, values, the scale, the mask if there is one, and the output."""

    @classmethod
    def of(cls, operation: mlir.Operation, *, is_dynamic: bool = False) -> Attention:
        """Read a plain `iree_linalg_ext.attention` on tensors, which leaves its scores unchanged.

        Args:
            operation: the operation.
            is_dynamic: whether the sizes of batches, and the numbers of queries and keys, may be dynamic.

        Raises:
            NoFormError: the operation is something else, or has properties that no form covers.
        """
        op = StructuredOp(operation.operation)
        if op.name != names.ATTENTION:
            raise NoFormError("it is not an attention")
        problem = cls(*read_problem(op, _SINGLE, {"indexing_maps"}, _OPEN if is_dynamic else ""))
        blocks = [block for region in operation.regions for block in region]
        inner = [inside for block in blocks for inside in block.operations]
        if len(inner) != 1 or list(inner[0].operands) != list(blocks[0].arguments):
            raise NoFormError("it modifies its scores")
        if problem.operands[3]:
            raise NoFormError("its scale is a tensor")
        if any(type_ not in FLOATS for type_ in problem.types[:4]):
            raise NoFormError("it has element types other than f16, bf16 and f32")
        if problem.mask is not None and problem.types[4] not in (*FLOATS, "i1"):
            raise NoFormError(f"it has a mask of {problem.types[4]}")
        return problem

    @property
    def mask(self) -> str | None:
        """The loops of the mask, or None without a mask."""
        return self.operands[4] if len(self.operands) == len("qkvsmo") else None

    def with_mask(self, loops: str, element: str) -> Attention:
        """Return the problem with a mask."""
        *inputs, output = self.operands
        *types, result = self.types
        return replace(self, operands=(*inputs, loops, output), types=(*types, element, result))

    def numbers(self) -> Mapping[int, float]:
        """Return usual values of the operands that are numbers, by position: the scale."""
        return {3: self.loop_sizes[FEATURES] ** -0.5}

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the op at the current insertion point, with an uninitialized output if `operands` has none."""
        if len(operands) < len(self.operands):
            operands = [*operands, self._output(operands)]
        result: Value = attended(names.ATTENTION, operands, self.maps())[0]
        return result

    def _output(self, operands: Sequence[Value]) -> Value:
        """Build an uninitialized output, whose dynamic sizes are those of the other operands."""
        dynamic = [loop for loop in self.operands[-1] if self.loop_sizes[loop] == DYNAMIC]
        sources = {
            loop: (operand, position)
            for operand, loops in zip(operands, self.operands, strict=False)
            for position, loop in enumerate(loops)
        }
        sizes = [size_along(*sources[loop]) for loop in dynamic]
        return build("tensor.empty", self.tensors()[-1], *sizes)

    def __str__(self) -> str:
        """Return the sizes of the batches, queries, values, features and keys, such as `64x257x64x64x257_f16`."""
        words = [self.extents, *dict.fromkeys(self.types[:3])]
        return "_".join(words + ["masked"] * (self.mask is not None))


def spellings(problem: Attention) -> tuple[Attention, ...]:
    """Return the ways in which a problem may be written at the preprocessing stage, its own first.

    They differ in the batch loops (several, all folded into one, with or without a loop of size 1), in the order of
    the dimensions of keys and values, and in the numbering of the loops. The batch size of a problem with one batch
    loop is not factorized.
    """
    spelled: dict[Attention, None] = {problem: None}
    for batched in [problem, *(problem.rebatched(*counts) for counts in batchings(problem))]:
        query, key, value, *rest = batched.operands
        swapped = ((loops, loops[:-2] + loops[:-3:-1]) for loops in (key, value))
        orders = dict.fromkeys([batched.loops, *(batched.outer + order for order in _ORDERS)])
        for (keys, values), order in product(product(*swapped), orders):
            other = replace(batched, operands=(query, keys, values, *rest))
            spelled[other.renumbered(order)] = None
    return tuple(spelled)
