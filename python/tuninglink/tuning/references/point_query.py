"""Queries for some elements of an operation's result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir as mlir

from tuninglink.tuning.references.scalar_ops import Array, UnsupportedOperationError

Value = mlir.Value[Any]


@dataclass(frozen=True)
class PointQuery:
    """A query for some elements of a result.

    Attributes:
        at: evaluates elements of an operand, or a scalar.
        operation: the operation.
        result: the number of the result.
        index: the positions of the elements in each dimension, as arrays that broadcast.
        is_reversed: whether loops without a defined order run in reverse.
    """

    at: Callable[[Value, Sequence[Array]], Array]
    operation: mlir.Operation
    result: int
    index: Sequence[Array]
    is_reversed: bool = False

    def operand(self, number: int, index: Sequence[Array]) -> Array:
        """Return elements of an operand."""
        return self.at(self.operation.operands[number], index)

    def shape(self, number: int) -> tuple[int, ...]:
        """Return the sizes of an operand.

        Raises:
            UnsupportedOperationError: they are dynamic.
        """
        return static_shape(self.operation.operands[number])

    def integers(self, name: str) -> list[int]:
        """Return an attribute that is a list of integers; empty if absent."""
        if name not in self.operation.attributes:
            return []
        return list(mlir.DenseI64ArrayAttr(self.operation.attributes[name]))

    def integer(self, name: str) -> int:
        """Return an attribute that is an integer."""
        return int(mlir.IntegerAttr(self.operation.attributes[name]).value)


def static_shape(value: Value) -> tuple[int, ...]:
    """Return the sizes of a tensor.

    Raises:
        UnsupportedOperationError: they are dynamic.
    """
    shape = tuple(mlir.RankedTensorType(value.type).shape)
    if any(size < 0 for size in shape):
        raise UnsupportedOperationError("a dynamic size")
    return shape


def defining_operation(value: Value) -> mlir.Operation:
    """Return the operation that defines a value.

    Raises:
        UnsupportedOperationError: the value is a block argument.
    """
    owner = value.owner
    if isinstance(owner, mlir.Block):
        raise UnsupportedOperationError("an argument of a block")
    return owner.operation
