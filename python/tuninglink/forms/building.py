"""Builders of the ops that forms share: padding, cutting, reshaping, and positions of elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.payloads import Value, build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SIGNED_LESS: Final = 2
"""The number of the predicate `slt`."""


def index(number: int) -> Value:
    """Build a number of type index."""
    kind = mlir.IndexType.get()
    return build("arith.constant", kind, value=mlir.IntegerAttr.get(kind, number))


def position(loop: int) -> Value:
    """Build the position of the current element along a loop, in the body of a linalg op."""
    dim = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), loop)
    return build("linalg.index", mlir.IndexType.get(), dim=dim)


def is_less(one: Value, other: Value) -> Value:
    """Build the comparison of two numbers of type index as signed numbers."""
    less = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), _SIGNED_LESS)
    return build("arith.cmpi", mlir.IntegerType.get_signless(1), one, other, predicate=less)


def padded(value: Value, loops: str, sizes: Mapping[str, int], filler: Value) -> Value:
    """Build a tensor that has the elements of `value`, whose dimensions have the sizes of `loops` if `sizes` has them.

    The added elements are `filler`. Without any, return the value itself.
    """
    kind: mlir.RankedTensorType = value.type
    new = [sizes.get(loop, size) for loop, size in zip(loops, kind.shape, strict=True)]
    if new == list(kind.shape):
        return value
    added = [size - old for size, old in zip(new, kind.shape, strict=True)]
    operation = mlir.Operation.create(
        "tensor.pad",
        operands=[value],
        results=[mlir.RankedTensorType.get(new, kind.element_type)],
        attributes={
            "static_low": mlir.DenseI64ArrayAttr.get([0] * len(new)),
            "static_high": mlir.DenseI64ArrayAttr.get(added),
            "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([1, 0, 0]),
        },
        regions=1,
    )
    block = operation.regions[0].blocks.append(*[mlir.IndexType.get()] * len(new))
    with mlir.InsertionPoint(block):
        mlir.Operation.create("tensor.yield", operands=[filler])
    result: Value = operation.results[0]
    return result


def cut(
    value: Value,
    kind: mlir.Type,
    offsets: Sequence[int] = (),
    sizes: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Value:
    """Build a tensor of elements of another one, by default the first along each dimension, as many as `kind` has.

    Dimensions of size 1 in `sizes` that `kind` lacks are left out.
    """
    if value.type == kind:
        return value
    assert isinstance(kind, mlir.RankedTensorType)
    rank = len(value.type.shape)
    return build(
        "tensor.extract_slice",
        kind,
        value,
        static_offsets=mlir.DenseI64ArrayAttr.get(offsets or [0] * rank),
        static_sizes=mlir.DenseI64ArrayAttr.get(sizes or kind.shape),
        static_strides=mlir.DenseI64ArrayAttr.get(strides or [1] * rank),
        operandSegmentSizes=mlir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
    )


def collapsed(value: Value, groups: Sequence[Sequence[int]]) -> Value:
    """Build a tensor of static sizes with one dimension for each group of dimensions."""
    kind = value.type
    shape = [prod(kind.shape[at] for at in group) for group in groups]
    result = mlir.RankedTensorType.get(shape, kind.element_type)
    return build("tensor.collapse_shape", result, value, reassociation=_groups(groups))


def expanded(value: Value, groups: Sequence[Sequence[int]], kind: mlir.RankedTensorType) -> Value:
    """Build a tensor of static sizes whose dimensions become groups of those of `kind`."""
    return build(
        "tensor.expand_shape",
        kind,
        value,
        reassociation=_groups(groups),
        static_output_shape=mlir.DenseI64ArrayAttr.get(kind.shape),
    )


def _groups(groups: Sequence[Sequence[int]]) -> mlir.ArrayAttr:
    number = mlir.IntegerType.get_signless(64)
    return mlir.ArrayAttr.get(
        [mlir.ArrayAttr.get([mlir.IntegerAttr.get(number, at) for at in group]) for group in groups]
    )
