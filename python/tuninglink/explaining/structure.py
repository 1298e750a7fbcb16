"""Keys of operations that compare across contexts: equal for what is the same, whatever its values are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable

    from iree.compiler import ir as mlir

    Value = mlir.Value[Any]


def regions_key(operation: mlir.Operation) -> Hashable:
    """Returns a key of what the regions of an operation do."""
    numbers: dict[Value, int] = {}

    def region_key(region: mlir.Region) -> Hashable:
        blocks = []
        for block in region.blocks:
            for argument in block.arguments:
                numbers[argument] = len(numbers)
            types = tuple(str(each.type) for each in block.arguments)
            inside = tuple(operation_key(each.operation) for each in block.operations)
            blocks.append((types, inside))
        return tuple(blocks)

    def operation_key(inner: mlir.Operation) -> Hashable:
        operands = tuple(numbers.get(each, str(each.type)) for each in inner.operands)
        regions = tuple(map(region_key, inner.regions))
        for result in inner.results:
            numbers[result] = len(numbers)
        types = tuple(str(each.type) for each in inner.results)
        return inner.name, attributes_key(inner), operands, types, regions

    return tuple(map(region_key, operation.regions))


def attributes_key(operation: mlir.Operation) -> Hashable:
    """Returns a key of the attributes of an operation."""
    return frozenset((name, str(value)) for name, value in operation.attributes.items())
