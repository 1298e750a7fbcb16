"""Problems of kernels: attention, with the ops that move its operands and its result."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.kernels.graph_texts import built_graph, graph_tensors, graph_text
from tuninglink.kernels.layouts import (
    MOST_MOVES,
    Dimension,
    Move,
    contiguous,
    merged,
    moves_of,
)
from tuninglink.kernels.masks import is_causal_mask
from tuninglink.kernels.problems import constant_of
from tuninglink.payloads import Value, constant
from tuninglink.replacing import LOOPS, Attention, NoFormError, Spelled, spellings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SCALE: Final = 3


@dataclass(frozen=True)
class ScaledAttention(Spelled):
    """An attention with a constant scale, and the ops that move its operands and its result.

    Attributes:
        attention: the attention.
        scale: its scale.
        sources: the shapes and element types of the tensors that the kernel reads, if ops move some operands.
        moves: the ops that compute operands from them.
        inputs: the numbers of the operands if ops move some: tensors come first, then results of moves.
        following: the ops that move the result, each of which takes that of the one before.
        is_causal: whether a query attends to the keys until its own only, by a mask that the graph computes.
        selections: for each mask of bits, the bit of keys that count, and what takes the place of the scores of others; without
            any, 1 and -inf. Those of other masks are not used.
        graph: all ops as text, see `graph_text`, if there are others than the attention.
    """

    attention: Attention
    scale: float
    sources: tuple[tuple[tuple[int, ...], str], ...] = ()
    moves: tuple[Move, ...] = ()
    inputs: tuple[int, ...] = ()
    following: tuple[Move, ...] = ()
    is_causal: bool = False
    selections: tuple[tuple[bool, float], ...] = ()
    graph: str = ""

    @classmethod
    def of(
        cls, operation: mlir.Operation, following: Sequence[mlir.Operation] = ()
    ) -> ScaledAttention:
        """Read an attention of a program, what moves its operands, and ops after it, which move its result.

        Raises:
            NoFormError: it is something else, or no kernel computes it.
        """
        attention = Attention.of(operation)
        scale = constant_of(operation.operands[_SCALE])
        if scale is None:
            raise NoFormError("its scale is not a constant")
        after = [Move.of(other, 0) for other in following]
        if None in after:
            raise NoFormError("it is followed by an op that does not move it")
        moved = tuple(move for move in after if move is not None)
        read, graph = list(operation.operands)[:-1], [*following[::-1], operation]
        del read[_SCALE]
        rows, columns = (attention.loop_sizes[loop] for loop in "mj")
        is_causal = (attention.mask or "")[-2:] == "mj" and is_causal_mask(read[-1], rows, columns)
        masking = read[-1:] if is_causal else []
        read = read[:-1] if masking else read
        plain = cls(attention, scale.value, following=moved, is_causal=bool(masking))
        # What only moves an operand is read as it is, if that has a layout.
        for most in (MOST_MOVES, 0):
            tensors, moves, inputs = moves_of(read, most)
            if not (moves or moved or masking):
                return plain
            sources = tuple((tuple(at.type.shape), str(at.type.element_type)) for at in tensors)
            found = replace(plain, sources=sources, moves=tuple(moves), inputs=tuple(inputs))
            with suppress(NoFormError):
                _ = found.layouts
                return replace(found, graph=graph_text(graph, read, tensors, masking, attention))
        raise NoFormError("its result has no layout")

    @property
    def loop_sizes(self) -> Mapping[str, int]:
        """The sizes of the loops by letter."""
        return self.attention.loop_sizes

    @property
    def work(self) -> int:
        """The number of multiplications of its two products."""
        sizes = self.loop_sizes
        outer = prod(size for loop, size in sizes.items() if loop not in "nk")
        return outer * (sizes["n"] + sizes["k"])

    @property
    def is_moved(self) -> bool:
        """Whether ops move an operand or the result, or compute its mask."""
        return bool(self.graph)

    @property
    def plain(self) -> ScaledAttention:
        """The problem that the kernel computes: with its layouts, it is this one."""
        return self

    @cached_property
    def spellings(self) -> tuple[ScaledAttention, ...]:
        """The ways in which the problem may be written, with keys and values of the same layout; its own first.

        With ops that move something, they differ in the numbering of the loops only.
        """
        shown = None if self.is_moved else -2
        layout = [loops[shown:] for loops in self.attention.operands]
        others = spellings(self.attention)
        same = [other for other in others if [at[shown:] for at in other.operands] == layout]
        return tuple(replace(self, attention=other) for other in same)

    @cached_property
    def operands(self) -> tuple[tuple[str, str], ...]:
        """The loops and the element types of the operands and the result of the kernel, the result last."""
        both = [*zip(self.attention.operands, self.attention.types, strict=True)]
        return (*both[:_SCALE], *([] if self.is_causal else both[_SCALE + 1 : -1]), both[-1])

    @cached_property
    def layouts(self) -> tuple[tuple[Mapping[str, Dimension], int], ...]:
        """The dimensions by loop, and the offset, of each operand and of the result in the memory that the kernel gets.

        A loop over batches may have several dimensions in memory, others have one.

        Raises:
            NoFormError: an operand or the result has no such layout.
        """
        sizes = self.loop_sizes
        shapes = [[sizes[loop] for loop in loops] for loops, _ in self.operands]
        own = [contiguous(shape) for shape, _ in self.sources]
        for move in self.moves:
            own.append(move.after(own[move.source]))
        last = self.following[-1].shapes[1] if self.following else shapes[-1]
        result = contiguous(last)
        for move in reversed(self.following):
            result = move.before(result)
        read = [own[number] for number in self.inputs] or [*map(contiguous, shapes[:-1])]
        found = []
        for (loops, _), layout in zip(self.operands, [*read, result], strict=True):
            dimensions = dict(zip(loops, map(merged, layout.dimensions), strict=True))
            if any(len(at) > 1 for loop, at in dimensions.items() if loop in LOOPS):
                raise NoFormError("an operand has no layout with one stride for each loop")
            found.append((dimensions, layout.offset))
        return tuple(found)

    def loaded(self, operands: Sequence[Value]) -> Sequence[Value]:
        """Return the operands that the kernel reads: a tensor with several of them is one of the problem."""
        roots = list(range(len(self.sources)))
        for move in self.moves:
            roots.append(roots[move.source])
        return [operands[roots[number]] for number in self.inputs] or operands

    @property
    def taken(self) -> tuple[int, ...]:
        """The positions, among the values of the graph, of the tensors that the kernel reads."""
        return tuple(range(len(self.sources) or len(self.operands) - 1))

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the values of the graph: tensors that the kernel reads, others, and the destination."""
        if self.graph:
            return graph_tensors(self.graph)
        given = self.attention.tensors()
        return (*given[:_SCALE], *given[_SCALE + 1 :])

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the graph at the current insertion point."""
        if self.graph:
            (result,) = built_graph(self.graph, operands, self.attention.maps())
            return result
        scale = constant(mlir.Type.parse(self.attention.types[_SCALE]), self.scale)
        return self.attention.build([*operands[:_SCALE], scale, *operands[_SCALE:]])

    def __str__(self) -> str:
        return f"attention_{self.attention}" + "_causal" * self.is_causal + "_moved" * self.is_moved
