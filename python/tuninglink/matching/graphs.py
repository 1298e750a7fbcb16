"""Keys of regions and of graphs of operations: equal for those that the compiler finds to be alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.matching.predicates import NotUnderstoodError
from tuninglink.mlir.walk import visit

if TYPE_CHECKING:
    from collections.abc import Hashable

    Value = mlir.Value[Any]

NAME_ONLY: Final = "match.operation_name_only"
"""Marks an operation of a graph of which only the name counts."""


class Graph:
    """Keys of the graph in a `cast_compatible_dag_from_root`: equal for graphs that match the same payloads.

    Sizes are left out of the keys of the root op, whose operands are constrained on their own.

    Attributes:
        has_free_operands: whether the graph is one operation whose operands may come from anywhere; known once
            the key of the graph is.
    """

    def __init__(self) -> None:
        self._seen_arguments: set[int] = set()
        self.has_free_operands = True

    def own_key(self, operation: mlir.Operation) -> Hashable:
        """Returns the key of an operation but for its operands."""
        return (
            operation.name,
            _attributes(operation),
            len(operation.results),
            len(operation.operands),
            regions_key(operation),
        )

    def key(self, root: mlir.Operation) -> Hashable:
        """Returns the key of the graph that ends in `root`."""
        operands = tuple(self._value_key(each) for each in root.operands)
        return self.own_key(root), operands

    def _value_key(self, value: Value) -> Hashable:
        if isinstance(value, mlir.BlockArgument):
            if value.arg_number in self._seen_arguments:
                self.has_free_operands = False  # the same value twice is more than any two
            self._seen_arguments.add(value.arg_number)
            return value.arg_number
        self.has_free_operands = False
        owner = value.owner
        assert isinstance(owner, mlir.OpView | mlir.Operation)
        producer = owner.operation
        if NAME_ONLY in producer.attributes:
            return "name", producer.name
        types = tuple(str(each.type) for each in producer.operands)
        return self.own_key(producer), types, tuple(map(self._value_key, producer.operands))


def computation_of(operation: mlir.Operation) -> str:
    """Returns the names of the operations in the regions of an operation."""
    found: list[str] = []

    def visitor(inner: mlir.Operation) -> None:
        if inner != operation and not inner.name.endswith(".yield"):
            found.append(inner.name)

    visit(operation, visitor)
    return ", ".join(found) or "nothing"


def _attributes(operation: mlir.Operation) -> Hashable:
    """Returns the attributes in a form that compares across contexts."""
    return frozenset((name, str(value)) for name, value in operation.attributes.items())


def regions_key(operation: mlir.Operation) -> Hashable:
    """Returns a key that is equal for regions that do the same, whatever their values are called.

    Raises:
        NotUnderstoodError: a region uses values from around it.
    """
    return _Regions().of(operation)


class _Regions:
    """The regions of one operation, whose values are told by the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}

    def of(self, operation: mlir.Operation) -> tuple[Hashable, ...]:
        return tuple(map(self._region, operation.regions))

    def _region(self, region: mlir.Region) -> Hashable:
        return tuple(map(self._block, region.blocks))

    def _block(self, block: mlir.Block) -> Hashable:
        for argument in block.arguments:
            self._numbers[argument] = len(self._numbers)
        types = tuple(str(each.type) for each in block.arguments)
        return types, tuple(self._operation(each.operation) for each in block.operations)

    def _operation(self, operation: mlir.Operation) -> Hashable:
        operands = tuple(map(self._number, operation.operands))
        regions = self.of(operation)
        for result in operation.results:
            self._numbers[result] = len(self._numbers)
        types = tuple(str(each.type) for each in operation.results)
        return operation.name, _attributes(operation), operands, types, regions

    def _number(self, value: Value) -> int:
        if value not in self._numbers:
            raise NotUnderstoodError("a region uses values from around it")
        return self._numbers[value]
