"""Problems of forms as data: the loops of an op as letters, their sizes, and the types of the operands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Final, Protocol, Self

from iree.compiler import ir as mlir

from tuninglink.iree import Role, StructuredOp
from tuninglink.payloads import DYNAMIC, Value, build, constant

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

BATCHES: Final = "abcdefgh"
GROUPS: Final = "pqrst"
QUERIES, COLUMNS, FEATURES, KEYS = LOOPS = ("m", "n", "k", "j")
"""The loops m, n, k or k1, and k2 of the compiler: of an attention, those over queries, elements of a value, elements of
a query or key, and keys."""

UNIT: Final = "1"
"""The mark of a dimension of size 1 that no loop indexes."""

FLOATS: Final = ("f16", "bf16", "f32")

_LETTERS: Final = {Role.N: COLUMNS, Role.K: FEATURES, Role.K1: FEATURES, Role.K2: KEYS}


class NoFormError(Exception):
    """An error for an operation that has no form. The message is the reason."""


class Spelled(Protocol):
    """An op as it is written in a program."""

    def tensors(self) -> Sequence[mlir.Type]:
        """Return the types of its operands, the last of which is its result's."""

    def numbers(self) -> Mapping[int, float]:
        """Return usual values of the operands that are numbers, by position; by default, none are."""
        return {}

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the op at the current insertion point, from all operands or from those that it reads."""

    def ops_after(self, beginning: Spelled) -> int:  # noqa: ARG002
        """Return the number of ops after another graph that begins this one, each of which uses the one before only.

        Return 0 for other graphs.
        """
        return 0


@dataclass(frozen=True)
class Problem(Spelled):
    """An op of single loops.

    Loops `a` to `h` are batches, `p` to `t` are loops over rows or queries except for the last one, which is `m`.

    Attributes:
        operands: the loops that index the dimensions of each operand, the output last; none for a number.
        types: the element types of the operands.
        loops: all loops in the order in which the op numbers them.
        sizes: their sizes; `DYNAMIC` for some loops of attention.
    """

    operands: tuple[str, ...]
    types: tuple[str, ...]
    loops: str
    sizes: tuple[int, ...]

    @property
    def loop_sizes(self) -> Mapping[str, int]:
        """The sizes of the loops by letter."""
        return dict(zip(self.loops, self.sizes, strict=True))

    @property
    def outer(self) -> str:
        """The loops over batches and over rows except for the last one."""
        return "".join(loop for loop in self.operands[-1] if loop not in LOOPS)

    def resized(self, sizes: Mapping[str, int]) -> Self:
        """Return the problem with other sizes of some loops."""
        return replace(self, sizes=tuple(({**self.loop_sizes, **sizes})[at] for at in self.loops))

    def renumbered(self, loops: str) -> Self:
        """Return the problem with its loops in another order."""
        sizes = self.loop_sizes
        return replace(self, loops=loops, sizes=tuple(sizes[loop] for loop in loops))

    def rebatched(self, batches: str, counts: Sequence[int]) -> Self:
        """Return the problem with other batch loops before all others."""
        letters = BATCHES[: len(counts)]
        rest = [(at, size) for at, size in self.loop_sizes.items() if at not in batches]
        return replace(
            self,
            operands=tuple(
                letters + loops.removeprefix(batches) if loops.startswith(batches) else loops
                for loops in self.operands
            ),
            loops=letters + "".join(loop for loop, _ in rest),
            sizes=(*counts, *(size for _, size in rest)),
        )

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the operands, in the current context."""
        sizes = self.loop_sizes
        return tuple(
            mlir.RankedTensorType.get([sizes[loop] for loop in loops], mlir.Type.parse(element))
            if loops
            else mlir.Type.parse(element)
            for loops, element in zip(self.operands, self.types, strict=True)
        )

    @property
    def extents(self) -> str:
        """The sizes of the batches, rows and other loops as text, `D` for a dynamic one: `64x257x64x64x257`."""
        rest = [loop for loop in LOOPS if loop in self.loops]
        sizes = self.loop_sizes
        words = ("D" if sizes[at] == DYNAMIC else str(sizes[at]) for at in (*self.outer, *rest))
        return "x".join(words)

    def maps(self) -> list[mlir.AffineMap]:
        """Return the indexing maps of the operands, in the current context."""
        return maps_of(self.operands, self.loops)


def maps_of(operands: Sequence[str], loops: str) -> list[mlir.AffineMap]:
    """Return the indexing maps of operands with these loops, in the current context."""
    positions: dict[str, mlir.AffineExpr] = {UNIT: mlir.AffineConstantExpr.get(0)}
    positions |= {loop: mlir.AffineDimExpr.get(at) for at, loop in enumerate(loops)}
    return [mlir.AffineMap.get(len(loops), 0, [positions[at] for at in own]) for own in operands]


def read_problem(
    op: StructuredOp, single: Sequence[Role], attributes: Collection[str], dynamic: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...], str, tuple[int, ...]]:
    """Return the fields of the problem of an op that has one loop of each of the `single` roles, and some of m.

    Args:
        op: the op.
        single: the roles of loops.
        attributes: the names of attributes that it may have.
        dynamic: the loops that may have dynamic sizes.

    Raises:
        NoFormError: the op has other loops, other attributes, dynamic sizes of other loops, or no tensors.
    """
    if {*op.operation.attributes} - {*attributes}:
        raise NoFormError("it has attributes such as a configuration")
    if not op.results:
        raise NoFormError("it has no tensors")
    if any(operand.encoding for operand in op.operands):
        raise NoFormError("its tensors have encodings")
    roles = op.loops
    if any(len(roles.get(role, ())) != 1 for role in single) or not roles.get(Role.M):
        raise NoFormError(
            f"it has other loops than one each of {', '.join(at.value for at in single)}"
        )
    # Name the loops in the order of the output.
    output = op.operand_loops[-1]
    batches, rows = (
        [loop for loop in output if loop in roles[role]] for role in (Role.BATCH, Role.M)
    )
    if len(batches) > len(BATCHES) or len(rows) > len(GROUPS):
        raise NoFormError("it has too many loops")
    letters: dict[int | None, str] = {roles[role][0]: _LETTERS[role] for role in single}
    letters |= dict(zip(batches, BATCHES, strict=False))
    letters |= dict(zip(rows, [*GROUPS[: len(rows) - 1], QUERIES], strict=True))
    sizes = tuple(DYNAMIC if size is None else size for size in op.sizes)
    indexing = {loop for loops in op.operand_loops for loop in loops}
    if indexing - letters.keys() or {*range(op.loop_count)} - letters.keys():
        raise NoFormError("an operand is not indexed by single loops")
    operands = tuple("".join(letters[loop] for loop in loops) for loops in op.operand_loops)
    loops = "".join(letters[loop] for loop in range(op.loop_count))
    by_loop = dict(zip(loops, sizes, strict=True))
    shapes = (
        [DYNAMIC if size is None else size for size in operand.sizes or ()]
        for operand in op.operands
    )
    is_uniform = all(
        [by_loop[loop] for loop in own] == shape
        for own, shape in zip(operands, shapes, strict=True)
    )
    if not is_uniform or {at for at, size in by_loop.items() if size == DYNAMIC} - {*dynamic}:
        raise NoFormError("it has dynamic sizes")
    return operands, op.element_types, loops, sizes


def size_along(value: Value, dimension: int) -> Value:
    """Build the size of a tensor along a dimension."""
    kind = mlir.IndexType.get()
    return build("tensor.dim", kind, value, constant(kind, dimension))


def batchings(problem: Problem) -> list[tuple[str, list[int]]]:
    """Return the batch loops of a problem with the sizes of those that may take their place.

    All may be folded into one, those of size 1 may be left out, and a single one may get one of size 1.
    """
    batches = "".join(loop for loop in problem.operands[-1] if loop in BATCHES)
    indexed = [loops for loops in problem.operands if set(batches) & set(loops)]
    # Batch loops fold where all operands that have any begin with all of them, in the same order.
    if not batches or any(not loops.startswith(batches) for loops in indexed):
        return []
    sizes = [problem.loop_sizes[loop] for loop in batches]
    if len(sizes) == 1:
        others = [[1, *sizes]]
    else:
        whole = DYNAMIC if DYNAMIC in sizes else prod(sizes)
        others = [[whole], [at for at in sizes if at != 1]]
    return [(batches, counts) for counts in others if counts not in ([], sizes)]
