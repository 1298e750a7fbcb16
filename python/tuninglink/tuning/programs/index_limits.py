"""The integers that a dispatch may be given as indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.mlir.walk import visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    Value = mlir.Value[Any]

_MOST: Final = 3
"""Larger integers are not needed for values that differ."""


def largest_index(module: mlir.Operation) -> int:
    """Return the largest integer that indexes no tensor of a dispatch out of bounds, up to a small limit."""
    sizes: list[int] = []
    visit(module, lambda operation: sizes.extend(_indexed_sizes(operation)))
    static = [size for size in sizes if size > 0]
    return max(0, min([_MOST, *(size - 1 for size in static)]))


def _indexed_sizes(operation: mlir.Operation) -> Iterator[int]:
    """Yield the sizes of the dimensions that an operation indexes by values of other tensors."""
    if operation.name == "tensor.extract":
        source, *indices = operation.operands
        for size, index in zip(mlir.RankedTensorType(source.type).shape, indices, strict=True):
            if _is_data(index):
                yield size
    elif operation.name in ("iree_linalg_ext.gather", "iree_linalg_ext.scatter"):
        source = operation.operands[0 if operation.name.endswith("gather") else 2]
        dimensions = mlir.DenseI64ArrayAttr(operation.attributes["dimension_map"])
        shape = mlir.ShapedType(source.type).shape
        yield from (shape[dimension] for dimension in dimensions)


def _is_data(index: Value) -> bool:
    """Return whether an index depends on an element of a tensor, and not on loops alone."""
    owner = index.owner
    if isinstance(owner, mlir.Block):
        return True
    if owner.name == "tensor.extract":
        return True
    return any(_is_data(operand) for operand in owner.operands)
