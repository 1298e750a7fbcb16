"""Builders of the values in the programs of problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, linalg, tensor  # type: ignore[attr-defined]

from tuninglink.iree.op_kinds import indexing_loops
from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems.problem_text import ElementType


@dataclass(frozen=True)
class Stored:
    """An argument whose element type differs from that of the problem.

    Attributes:
        shape: its sizes.
        kind: the type of the elements, as MLIR prints it.
    """

    shape: list[int]
    kind: str


Parts = tuple[Sequence[list[int] | Stored], Callable[..., Value | Sequence[Value]]]
"""The shapes of the arguments of a program, and the builder of its results from them."""


def indexing_map(loops: Sequence[str], access: Sequence[str]) -> mlir.AffineMap:
    """Return the map from loops to the dimensions of an operand; each loop can be named by a letter."""
    dims = [mlir.AffineDimExpr.get(list(loops).index(loop)) for loop in access]
    return mlir.AffineMap.get(len(loops), 0, dims)


def zeros(shape: Sequence[int], element: ElementType) -> Value:
    """Return a tensor of zeros in the type of sums."""
    kind = accumulator_type(element)
    return value_of(linalg.fill(constant_zero(kind), outs=[tensor.empty(list(shape), kind)]))


def narrowed(result: Any, element: ElementType) -> Value:
    """Convert sums to the type of the operands, as PyTorch does for floating-point types."""
    value = value_of(result)
    shaped = mlir.RankedTensorType(value.type)
    narrow = mlir.RankedTensorType.get(shaped.shape, mlir_type(element))
    is_same = element.is_narrow or narrow == shaped
    return value if is_same else value_of(arith.truncf(narrow, value))


def padded(image: Value, margins: Sequence[tuple[int, int]], filler: Value) -> Value:
    """Return an image padded with a scalar before and after the elements of each dimension."""
    if not any(map(any, margins)):
        return image
    kind = mlir.RankedTensorType(image.type)
    low, high = ([*part] for part in zip(*margins, strict=True))
    shape = [
        before + size + after for before, size, after in zip(low, kind.shape, high, strict=True)
    ]
    result = mlir.RankedTensorType.get(shape, kind.element_type)
    padded = tensor.PadOp(result, image, [], [], low, high)
    indices = [mlir.IndexType.get()] * len(shape)
    body = padded.region.blocks.append(*indices, arg_locs=[mlir.Location.unknown()] * len(indices))
    with mlir.InsertionPoint(body):
        tensor.YieldOp(filler)
    return value_of(padded)


def computed(
    operands: Sequence[Value],
    maps: Sequence[mlir.AffineMap],
    init: Value,
    element: Callable[..., Value],
) -> Value:
    """Return the result of an op.

    Args:
        operands: the operands.
        maps: the indexing maps of the operands and of the result, whose loops are the parallel ones.
        init: the initial value of the result.
        element: builds an element of the result from those of the operands and of the initial value.
    """
    *_, result = maps
    parallel = indexing_loops(result)
    iterators = [
        mlir.Attribute.parse(f"#linalg.iterator_type<{kind}>")
        for kind in (
            "parallel" if loop in parallel else "reduction" for loop in range(result.n_dims)
        )
    ]
    op = linalg.GenericOp(
        [init.type],
        operands,
        [init],
        mlir.ArrayAttr.get(list(map(mlir.AffineMapAttr.get, maps))),
        mlir.ArrayAttr.get(iterators),
    )
    types = [mlir.RankedTensorType(value.type).element_type for value in (*operands, init)]
    body = op.regions[0].blocks.append(*types, arg_locs=[mlir.Location.unknown()] * len(types))
    with mlir.InsertionPoint(body):
        linalg.YieldOp([element(*body.arguments)])
    return value_of(op)


def added_product(left: Value, right: Value, total: Value) -> Value:
    """Return the sum of an accumulator and the product of two numbers that are at most as wide."""
    left, right = widened(left, total.type), widened(right, total.type)
    if isinstance(total.type, mlir.IntegerType):
        return value_of(arith.addi(total, value_of(arith.muli(left, right))))
    return value_of(arith.addf(total, value_of(arith.mulf(left, right))))


def widened(number: Value, kind: mlir.Type) -> Value:
    """Extend a number to a type that is at least as wide."""
    if number.type == kind:
        return number
    extend = arith.extsi if isinstance(kind, mlir.IntegerType) else arith.extf
    return value_of(extend(kind, number))


def reinterpreted(stored: Value, shape: Sequence[int], kind: mlir.Type) -> Value:
    """Reinterpret bytes as elements of another type."""
    op = mlir.Operation.create(
        "iree_tensor_ext.bitcast",
        results=[mlir.RankedTensorType.get(shape, kind)],
        operands=[stored],
        attributes={"operandSegmentSizes": mlir.DenseI32ArrayAttr.get([1, 0, 0])},
    )
    value: Value = op.results[0]
    return value


def constant_zero(kind: mlir.Type) -> Value:
    """Return a scalar zero."""
    return value_of(arith.constant(kind, 0 if isinstance(kind, mlir.IntegerType) else 0.0))


def mlir_type(element: ElementType) -> mlir.Type:
    """Return the type of the operands."""
    return mlir.Type.parse(element.value)


def accumulator_type(element: ElementType) -> mlir.Type:
    """Return the type in which sums are computed."""
    return mlir.Type.parse("i32" if element is ElementType.I8 else "f32")


def value_of(op: Any) -> Value:
    """Return the result of an op; the bindings return either the op or its result."""
    value: Value = op if isinstance(op, mlir.Value) else op.results[0]
    return value
