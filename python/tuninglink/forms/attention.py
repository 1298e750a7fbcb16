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
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree import Role, StructuredOp
from tuninglink.mlir import names
from tuninglink.payloads import Value, attended

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class NoFormError(Exception):
    """An error for an operation that has no form. The message is the reason."""


_BATCHES: Final = "abcdefgh"
_GROUPS: Final = "pqrst"
_LETTERS: Final = {Role.N: "n", Role.K1: "k", Role.K2: "j"}

QUERIES, COLUMNS, FEATURES, KEYS = LOOPS = ("m", "n", "k", "j")
"""The loops over queries, elements of a value, elements of a query or key, and keys: m, n, k1 and k2 of the compiler."""

_FLOATS: Final = ("f16", "bf16", "f32")
ORDER: Final = "mnkj"
_ORDERS: Final = (ORDER, "mkjn")
"""The orders of the last loops: that of frontends, and that of the compiler's own tests."""


@dataclass(frozen=True)
class Attention:
    """An attention: the loops of its operands as letters, such as `amk` for queries, and the sizes of the loops.

    Loops `a` to `h` are batches, `p` to `t` are loops over queries except for the last one, which is `m`.

    Attributes:
        operands: the loops that index the dimensions of queries, keys, values, the scale (none), the mask if there is
            one, and the output.
        types: the element types of these operands.
        loops: all loops in the order in which the op numbers them.
        sizes: their sizes.
    """

    operands: tuple[str, ...]
    types: tuple[str, ...]
    loops: str
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, operation: mlir.Operation) -> Attention:
        """Read a plain `iree_linalg_ext.attention` on tensors of static sizes, which leaves its scores unchanged.

        Raises:
            NoFormError: the operation is something else, or has properties that no form covers.
        """
        op = StructuredOp(operation.operation)
        if op.name != names.ATTENTION:
            raise NoFormError("it is not an attention")
        if {*operation.attributes} - {"indexing_maps"}:
            raise NoFormError("it has attributes such as a configuration")
        blocks = [block for region in operation.regions for block in region]
        inner = [inside for block in blocks for inside in block.operations]
        if len(inner) != 1 or list(inner[0].operands) != list(blocks[0].arguments):
            raise NoFormError("it modifies its scores")
        if not op.results or any(None in (operand.sizes or ()) for operand in op.operands):
            raise NoFormError("it has dynamic sizes, or no tensors")
        if any(operand.encoding for operand in op.operands):
            raise NoFormError("its tensors have encodings")
        roles = op.loops
        if any(len(roles.get(role, ())) != 1 for role in _LETTERS) or not roles.get(Role.M):
            raise NoFormError("it has other loops than one each of n, k1 and k2")
        # Name the loops in the order of the output.
        output = op.operand_loops[-1]
        batches, rows = (
            [loop for loop in output if loop in roles[role]] for role in (Role.BATCH, Role.M)
        )
        if len(batches) > len(_BATCHES) or len(rows) > len(_GROUPS):
            raise NoFormError("it has too many loops")
        letters: dict[int | None, str] = {roles[role][0]: _LETTERS[role] for role in _LETTERS}
        letters |= dict(zip(batches, _BATCHES, strict=False))
        letters |= dict(zip(rows, [*_GROUPS[: len(rows) - 1], QUERIES], strict=True))
        if any(loop not in letters for loops in op.operand_loops for loop in loops):
            raise NoFormError("an operand is not indexed by single loops")
        loops = "".join(letters.get(loop, "?") for loop in range(op.loop_count))
        operands = tuple("".join(letters[loop] for loop in loops) for loops in op.operand_loops)
        sizes = tuple(size for size in op.sizes if size is not None)
        if "?" in loops or len(sizes) != len(loops) or operands[3]:
            raise NoFormError("its scale is a tensor, or a loop indexes no operand")
        problem = cls(operands, op.element_types, loops, sizes)
        if any(type_ not in _FLOATS for type_ in problem.types[:4]):
            raise NoFormError("it has element types other than f16, bf16 and f32")
        if problem.mask is not None and problem.types[4] not in (*_FLOATS, "i1"):
            raise NoFormError(f"it has a mask of {problem.types[4]}")
        return problem

    @property
    def mask(self) -> str | None:
        """The loops of the mask, or None without a mask."""
        return self.operands[4] if len(self.operands) == len("qkvsmo") else None

    @property
    def outer(self) -> str:
        """The loops over batches and over queries except for the last one."""
        return "".join(loop for loop in self.operands[-1] if loop not in LOOPS)

    @property
    def loop_sizes(self) -> Mapping[str, int]:
        """The sizes of the loops by letter."""
        return dict(zip(self.loops, self.sizes, strict=True))

    def resized(self, sizes: Mapping[str, int]) -> Attention:
        """Return the problem with other sizes of some loops."""
        return replace(self, sizes=tuple(({**self.loop_sizes, **sizes})[at] for at in self.loops))

    def renumbered(self, loops: str) -> Attention:
        """Return the problem with its loops in another order."""
        sizes = self.loop_sizes
        return replace(self, loops=loops, sizes=tuple(sizes[loop] for loop in loops))

    def with_mask(self, loops: str, element: str) -> Attention:
        """Return the problem with a mask."""
        *inputs, output = self.operands
        *types, result = self.types
        return replace(self, operands=(*inputs, loops, output), types=(*types, element, result))

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the operands, in the current context."""
        sizes = self.loop_sizes
        return tuple(
            mlir.RankedTensorType.get([sizes[loop] for loop in loops], mlir.Type.parse(element))
            if loops
            else mlir.Type.parse(element)
            for loops, element in zip(self.operands, self.types, strict=True)
        )

    def numbers(self) -> Mapping[int, float]:
        """Return usual values of the operands that are numbers, by position: the scale."""
        return {3: self.loop_sizes[FEATURES] ** -0.5}

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the op at the current insertion point."""
        maps = [
            mlir.AffineMap.get(
                len(self.loops),
                0,
                [mlir.AffineDimExpr.get(self.loops.index(loop)) for loop in loops],
            )
            for loops in self.operands
        ]
        result: Value = attended(names.ATTENTION, operands, maps)[0]
        return result

    def __str__(self) -> str:
        """Return the sizes of the batches, queries, values, features and keys, such as `64x257x64x64x257_f16`."""
        sizes = self.loop_sizes
        words = ["x".join(str(sizes[loop]) for loop in self.outer + ORDER)]
        words += dict.fromkeys(self.types[:3])
        return "_".join(words + ["masked"] * (self.mask is not None))


def spellings(problem: Attention) -> tuple[Attention, ...]:
    """Return the ways in which a problem may be written at the preprocessing stage, its own first.

    They differ in the batch loops (several, all folded into one, with or without a loop of size 1), in the order of
    the dimensions of keys and values, and in the numbering of the loops. The batch size of a problem with one batch
    loop is not factorized.
    """
    spelled: dict[Attention, None] = {problem: None}
    for batched in _batchings(problem):
        query, key, value, *rest = batched.operands
        swapped = ((loops, loops[:-2] + loops[:-3:-1]) for loops in (key, value))
        orders = dict.fromkeys([batched.loops, *(batched.outer + order for order in _ORDERS)])
        for (keys, values), order in product(product(*swapped), orders):
            other = replace(batched, operands=(query, keys, values, *rest))
            spelled[other.renumbered(order)] = None
    return tuple(spelled)


def _batchings(problem: Attention) -> list[Attention]:
    """Return a problem with its own batch loops, with all folded into one, and with a batch loop of size 1 added."""
    batches = "".join(loop for loop in problem.operands[-1] if loop in _BATCHES)
    indexed = [loops for loops in problem.operands if set(batches) & set(loops)]
    # Batch loops fold where all operands that have any begin with all of them, in the same order.
    if not batches or any(not loops.startswith(batches) for loops in indexed):
        return [problem]
    sizes = [problem.loop_sizes[loop] for loop in batches]
    others = [[1, *sizes]] if len(sizes) == 1 else [[prod(sizes)], [at for at in sizes if at > 1]]
    return [problem] + [
        _rebatched(problem, batches, counts) for counts in others if counts and counts != sizes
    ]


def _rebatched(problem: Attention, batches: str, counts: Sequence[int]) -> Attention:
    """Return a problem with other batch loops before all others."""
    letters = _BATCHES[: len(counts)]
    rest = [(at, size) for at, size in problem.loop_sizes.items() if at not in batches]
    return replace(
        problem,
        operands=tuple(
            letters + loops.removeprefix(batches) if loops.startswith(batches) else loops
            for loops in problem.operands
        ),
        loops=letters + "".join(loop for loop, _ in rest),
        sizes=(*counts, *(size for _, size in rest)),
    )
