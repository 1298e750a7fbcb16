"""Ops that move the operands and the result of an attention, as data, and the memory layouts that its kernel has in their place.

A frontend splits the features of tokens into heads, transposes these to the front, and folds them into the batches. The
compiler writes each transposition to memory; a kernel reads the tensor before it by strides.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.kernels.producers import COLLAPSE, EXPAND, Producer
from tuninglink.mlir import defining_op, entries_of, thread_context
from tuninglink.replacing import FLOATS, NoFormError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.payloads import Value

_SLICE: Final = "tensor.extract_slice"

MOST_MOVES: Final = 6
"""The number of ops that move an operand or the result."""

LETTERS: Final = "abcdefgh"

Dimension = tuple[tuple[int, int], ...]
"""The sizes and the strides of the dimensions in memory of which a dimension consists, the innermost one last."""


@dataclass(frozen=True)
class Layout:
    """Where the elements of a tensor are in memory.

    Attributes:
        dimensions: its dimensions.
        offset: the position of its first element.
    """

    dimensions: tuple[Dimension, ...]
    offset: int = 0


@dataclass(frozen=True)
class Move:
    """An op on one tensor whose result has elements of it, unchanged.

    Attributes:
        source: the number of the value that it takes: tensors that the kernel reads come first, then results of moves.
        shapes: the shape of that value and that of the result.
        element: the element type of both.
        producer: a transposition or a broadcast, whose loops are letters in the order of the result; None for another op.
        name: the name of another op: `tensor.collapse_shape`, `tensor.expand_shape` or `tensor.extract_slice`.
        attributes: the attributes of another op, as a dictionary of MLIR.
    """

    source: int
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    element: str
    producer: Producer | None
    name: str
    attributes: str

    @classmethod
    def of(cls, operation: mlir.Operation, source: int) -> Move | None:
        """Read an op; return None if it is something else."""
        if not operation.results or not operation.operands:
            return None
        kinds = [operation.operands[0].type, operation.results[0].type]
        tensors = [kind for kind in kinds if isinstance(kind, mlir.RankedTensorType)]
        if len(tensors) != len(kinds) or any(
            kind.encoding is not None
            or not kind.has_static_shape
            or not 0 < kind.rank <= len(LETTERS)
            for kind in tensors
        ):
            return None
        before, after = (tuple(kind.shape) for kind in tensors)
        element, result = (str(kind.element_type) for kind in tensors)
        producer = Producer.of(operation, LETTERS[: len(after)])
        is_reshape = operation.name in (COLLAPSE, EXPAND, _SLICE) and len(operation.operands) == 1
        if not (producer or is_reshape) or element not in (*FLOATS, "i1") or element != result:
            return None
        given = {name: operation.attributes[name] for name in operation.attributes}
        text = "" if producer else ", ".join(f"{name} = {value}" for name, value in given.items())
        return cls(source, (before, after), element, producer, operation.name, f"{{{text}}}")

    @property
    def parsed(self) -> dict[str, mlir.Attribute]:
        """The attributes of another op by name."""
        return entries_of(mlir.Attribute.parse(self.attributes, thread_context()))

    def after(self, layout: Layout) -> Layout:
        """Return the layout of the result in the memory of the value that it takes.

        Raises:
            NoFormError: it has none.
        """
        own, shape = layout.dimensions, self.shapes[1]
        if self.producer is not None:
            read = dict(zip(self.producer.loops, own, strict=True))  # of UNIT, there is one element
            moved = (read.get(at, ((size, 0),)) for at, size in zip(LETTERS, shape, strict=False))
            return Layout(tuple(moved), layout.offset)
        if self.name == COLLAPSE:
            return Layout(_collapsed(own, self._groups), layout.offset)
        if self.name == EXPAND:
            return Layout(_expanded(own, self._groups, shape), layout.offset)
        starts, sizes, steps = (
            list(mlir.DenseI64ArrayAttr(self.parsed[f"static_{name}"]))
            for name in ("offsets", "sizes", "strides")
        )
        offset, kept = layout.offset, list[Dimension]()
        for dimension, start, size, step in zip(own, starts, sizes, steps, strict=True):
            ((_, stride),) = _single(dimension)
            offset += start * stride
            # A slice leaves out dimensions of one element.
            if len(kept) < len(shape) and shape[len(kept)] == size:
                kept.append(((size, stride * step),))
        return Layout(tuple(kept), offset)

    def before(self, layout: Layout) -> Layout:
        """Return the layout of the value that it takes in the memory of the result.

        Raises:
            NoFormError: it has none.
        """
        own, shape = layout.dimensions, self.shapes[0]
        if self.producer is not None and {*self.producer.loops} == {*LETTERS[: len(own)]}:
            return Layout(tuple(own[LETTERS.index(loop)] for loop in self.producer.loops))
        if self.name == EXPAND:
            return Layout(_collapsed(own, self._groups))
        if self.name == COLLAPSE:
            return Layout(_expanded(own, self._groups, shape))
        raise NoFormError("a part of its result is moved")

    @property
    def _groups(self) -> list[list[int]]:
        groups = mlir.ArrayAttr(self.parsed["reassociation"])
        return [[mlir.IntegerAttr(at).value for at in mlir.ArrayAttr(group)] for group in groups]


def moves_of(
    values: Sequence[Value], most: int = MOST_MOVES
) -> tuple[list[Value], list[Move], list[int]]:
    """Return the tensors from which ops compute values, the ops, each after those it follows, and the number of each value.

    A value has at most a number of them.
    """
    chains = []
    for value in values:
        chain = list[mlir.Operation]()
        before = value
        while (
            len(chain) < most
            and (operation := defining_op(before)) is not None
            and Move.of(operation, 0) is not None
        ):
            chain.insert(0, operation)
            before = operation.operands[0]
        # Reshapes of the tensor itself need no kernel.
        while chain and chain[0].name in (COLLAPSE, EXPAND):
            chain.pop(0)
        chains.append(chain)
    starts = [
        chain[0].operands[0] if chain else value
        for chain, value in zip(chains, values, strict=True)
    ]
    numbers = {value: number for number, value in enumerate(dict.fromkeys(starts))}
    sources, moves = list(numbers), list[Move]()
    for chain in chains:
        for operation in chain:
            if operation.results[0] in numbers:
                continue
            move = Move.of(operation, numbers[operation.operands[0]])
            assert move is not None, "it has been read"
            numbers[operation.results[0]] = len(numbers)
            moves.append(move)
    return sources, moves, [numbers[value] for value in values]


def unmoved(last: mlir.Operation) -> tuple[mlir.Operation, list[mlir.Operation]]:
    """Return the op that computes a value, and the ops until the last one that only move it; nothing else uses theirs."""
    following = list[mlir.Operation]()
    while len(following) < MOST_MOVES and Move.of(last, 0) is not None:
        before = defining_op(last.operands[0])
        if before is None or len([*before.results[0].uses]) != 1:
            break
        following.insert(0, last)
        last = before
    return last, following


def contiguous(shape: Sequence[int]) -> Layout:
    """Return the layout of a whole tensor."""
    strides = (prod(shape[at + 1 :]) for at in range(len(shape)))
    return Layout(tuple(((size, stride),) for size, stride in zip(shape, strides, strict=True)))


def merged(dimension: Dimension) -> Dimension:
    """Return a dimension of as few dimensions in memory as it may have, at least one."""
    kept = list[tuple[int, int]]()
    for size, stride in dimension:
        if size == 1:
            continue
        if kept and kept[-1][1] == size * stride:
            kept[-1] = (kept[-1][0] * size, stride)
        else:
            kept.append((size, stride))
    return tuple(kept) or ((1, 1),)  # a tile has more than it


def _single(dimension: Dimension) -> Dimension:
    """Return a dimension that is one in memory.

    Raises:
        NoFormError: it is several.
    """
    if len(own := merged(dimension)) > 1:
        raise NoFormError("an operand has no layout with one stride for each loop")
    return own


def _collapsed(
    dimensions: Sequence[Dimension], groups: Sequence[Sequence[int]]
) -> tuple[Dimension, ...]:
    return tuple(tuple(part for at in group for part in dimensions[at]) for group in groups)


def _expanded(
    dimensions: Sequence[Dimension], groups: Sequence[Sequence[int]], shape: Sequence[int]
) -> tuple[Dimension, ...]:
    """Return the dimensions of an expanded shape.

    Raises:
        NoFormError: a dimension that is expanded is several in memory.
    """
    kept = list[Dimension]()
    for dimension, group in zip(dimensions, groups, strict=True):
        if len(group) == 1:
            kept.append(dimension)
            continue
        ((_, stride),) = _single(dimension)
        sizes = [shape[at] for at in group]
        kept += [((size, stride * prod(sizes[at + 1 :])),) for at, size in enumerate(sizes)]
    return tuple(kept)
