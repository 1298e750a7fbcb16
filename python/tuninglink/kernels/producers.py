"""Ops that compute an operand of a product from a tensor that a kernel reads in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects` re-exports it, but takes 140 ms to build the classes of the ops.
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.iree import StructuredOp
from tuninglink.mlir import defining_op, names
from tuninglink.payloads import Value, build, cast, computed
from tuninglink.replacing import FLOATS, LOOPS, UNIT, maps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

FACTORS: Final = (*FLOATS, "f8E4M3FN", "f8E4M3FNUZ", "i8", "i16", "i32")
"""The element types of operands of products, and of tensors that they are computed from."""

COLLAPSE: Final = "tensor.collapse_shape"
EXPAND: Final = "tensor.expand_shape"
PLAIN: Final = frozenset(("indexing_maps", "iterator_types", "operandSegmentSizes"))
"""The attributes of a `linalg.generic` without others."""

_EXTENSIONS: Final = ("arith.extf", "arith.extsi")

_MOST: Final = 4
"""The number of producers of an operand."""


@dataclass(frozen=True)
class Producer:
    """A transposition, a broadcast or an extension of the elements of a tensor.

    A frontend multiplies by weights that it has transposed and broadcast to the batches. A kernel reads the weights
    themselves, so that the compiler has nothing to write to memory before it.

    Attributes:
        name: the name of the op: `linalg.transpose` or `linalg.generic`.
        loops: the loops of the product that index the tensor; `UNIT` for a dimension of one element that is broadcast.
        type: the element type of the tensor.
    """

    name: str
    loops: str
    type: str

    @classmethod
    def of(cls, operation: mlir.Operation, loops: str) -> Producer | None:
        """Read an op whose result has these loops; return None if it is something else."""
        if operation.name not in (names.TRANSPOSE, names.GENERIC) or len(operation.operands) != 2:  # noqa: PLR2004
            return None
        source = operation.operands[0].type
        if not isinstance(source, mlir.RankedTensorType) or source.encoding is not None:
            return None
        own: str | None = None
        if operation.name == names.TRANSPOSE and {*operation.attributes} == {"permutation"}:
            order = list(mlir.DenseI64ArrayAttr(operation.attributes["permutation"]))
            own = "".join(loops[order.index(at)] for at in range(len(order)))
        elif operation.name == names.GENERIC:
            op, block = StructuredOp(operation), operation.regions[0].blocks[0]
            written = op.operand_loops[-1]
            body, element = list(block.operations), block.arguments[0]
            if len(body) > 1 and body[0].name in _EXTENSIONS and body[0].operands[0] == element:
                element = body.pop(0).results[0]
            is_moved = len(body) == 1 and body[0].operands[0] == element
            is_plain = not {*operation.attributes} - PLAIN
            if is_moved and is_plain and written == (*range(len(loops)),):
                own = loops_read(op, 0, loops)
        kind = str(source.element_type)
        return cls(operation.name, own, kind) if own and kind in (*FACTORS, "i1") else None

    def build(self, value: Value, destination: Value, loops: str) -> Value:
        """Build the op, whose result has these loops, at the current insertion point."""
        if self.name == names.GENERIC:
            kind = destination.type.element_type

            def element(one: Value, _: Value) -> Value:
                return cast(one, kind)

            return computed([value], maps_of([self.loops, loops], loops), destination, element)
        order = mlir.DenseI64ArrayAttr.get([self.loops.index(loop) for loop in loops])
        operation = mlir.Operation.create(
            self.name,
            operands=[value, destination],
            results=[destination.type],
            attributes={"permutation": order},
            regions=1,
        )
        _mlirDialectsLinalg.fill_builtin_region(operation)
        result: Value = operation.results[0]
        return result


def loops_read(op: StructuredOp, number: int, loops: str) -> str | None:
    """Return the letters of the loops that index an operand; `UNIT` for a dimension of one element that is read at 0.

    Return None if it is indexed by something else, or twice by one loop.
    """
    letters, indexed = "", op.operand_loops[number]
    sizes = op.operands[number].sizes or ()
    for loop, at, size in zip(indexed, op.maps[number].results, sizes, strict=True):
        is_first = isinstance(at, mlir.AffineConstantExpr) and at.value == 0
        if loop is None and not (is_first and size == 1):
            return None
        letters += UNIT if loop is None else loops[loop]
    single = letters.replace(UNIT, "")
    return letters if len({*single}) == len(single) else None


def producers_of(value: Value, loops: str) -> tuple[Producer, ...]:
    """Return the producers of an operand with these loops, the first of which reads the tensor of the kernel."""
    producers: list[Producer] = []
    while len(producers) < _MOST and (operation := defining_op(value)) is not None:
        # Dimensions with the same mark cannot be told apart. A tile is read along one of its sides at least.
        producer = Producer.of(operation, loops) if loops.count(UNIT) <= 1 else None
        if producer is None or {*LOOPS}.isdisjoint(producer.loops):
            break
        producers.insert(0, producer)
        value, loops = operation.operands[0], producer.loops
    return tuple(producers)


def with_equal_types(
    both: Sequence[tuple[Producer, ...]], types: Sequence[str]
) -> tuple[tuple[Producer, ...], tuple[Producer, ...]]:
    """Return the producers of two operands without extensions, and what is before them, if only one has such."""
    left, right = both
    read = [own[0].type if own else kind for own, kind in zip(both, types, strict=True)]
    if read[0] == read[1]:
        return left, right
    kept = []
    for own, kind in zip(both, types, strict=True):
        after = [at for at, producer in enumerate(own) if producer.type != kind]
        kept.append(own[after[-1] + 1 :] if after else own)
    return kept[0], kept[1]


def reshaped(value: Value, kind: mlir.RankedTensorType, groups: Sequence[Sequence[int]]) -> Value:
    """Build a tensor of another type whose dimensions, or those of the value, are groups of the other ones."""
    index = mlir.IntegerType.get_signless(64)
    listed = [mlir.ArrayAttr.get([mlir.IntegerAttr.get(index, at) for at in own]) for own in groups]
    attributes: dict[str, mlir.Attribute] = {"reassociation": mlir.ArrayAttr.get(listed)}
    if kind.rank <= value.type.rank:
        return build(COLLAPSE, kind, value, **attributes)
    attributes["static_output_shape"] = mlir.DenseI64ArrayAttr.get([*kind.shape])
    return build(EXPAND, kind, value, **attributes)
