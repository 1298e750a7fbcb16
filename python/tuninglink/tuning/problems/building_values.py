"""Building the values of which programs of problems are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, linalg, tensor  # type: ignore[attr-defined]

from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems import ElementType


def indexing_map(loops: Sequence[str], access: str) -> mlir.AffineMap:
    """Return the map from loops to the dimensions of an operand; a letter stands for each."""
    dims = [mlir.AffineDimExpr.get(list(loops).index(loop)) for loop in access]
    return mlir.AffineMap.get(len(loops), 0, dims)


def zeros(shape: Sequence[int], element: ElementType) -> Value:
    """Return zeros of the type in which sums are computed."""
    kind = accumulator_type(element)
    return value_of(linalg.fill(constant_zero(kind), outs=[tensor.empty(list(shape), kind)]))


def narrowed(result: Any, element: ElementType) -> Value:
    """Return sums in the type of the operands, as PyTorch does for floating-point types."""
    value = value_of(result)
    shaped = mlir.RankedTensorType(value.type)
    narrow = mlir.RankedTensorType.get(shaped.shape, mlir_type(element))
    is_same = element.is_narrow or narrow == shaped
    return value if is_same else value_of(arith.truncf(narrow, value))


def padded(image: Value, margins: Sequence[int], filler: Value) -> Value:
    """Return an image with a scalar around it."""
    if not any(margins):
        return image
    kind = mlir.RankedTensorType(image.type)
    shape = [size + 2 * margin for size, margin in zip(kind.shape, margins, strict=True)]
    padded = tensor.PadOp(
        mlir.RankedTensorType.get(shape, kind.element_type), image, [], [], margins, margins
    )
    indices = [mlir.IndexType.get()] * len(shape)
    body = padded.region.blocks.append(*indices, arg_locs=[mlir.Location.unknown()] * len(indices))
    with mlir.InsertionPoint(body):
        tensor.YieldOp(filler)
    return value_of(padded)


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
    """Return the result of an op, for which the bindings return the op or its result."""
    value: Value = op if isinstance(op, mlir.Value) else op.results[0]
    return value
