"""Keys of regions and of graphs of operations: equal for those that the compiler considers equivalent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.matching.matcher import NotUnderstoodError
from tuninglink.mlir.walk import children, postorder, visit

Value = mlir.Value[Any]

NAME_ONLY: Final = "match.operation_name_only"
"""Marks an operation of a graph of which only the name counts."""


class Graph:
    """The graph in a `cast_compatible_dag_from_root`, as a key: equal for graphs that match the same payloads.

    The key is linear in the size of the graph, and distinguishes one producer with two uses from two equal producers.
    The key of the root op omits sizes, since its operands are constrained separately.

    Args:
        root: the last op of the graph.

    Attributes:
        own_key: the key of the root op without its operands.
        key: the key of the whole graph.
        has_free_operands: whether the graph is one op with a different argument for each operand.

    Raises:
        NotUnderstoodError: a region of an op captures values.
    """

    def __init__(self, root: mlir.Operation) -> None:
        self._numbers: dict[mlir.Operation, int] = {}
        self._nodes: list[Hashable] = []
        for producer in postorder(_producers(root), _producers):
            self._nodes.append(self._node(producer))
            self._numbers[producer] = len(self._numbers)
        self.own_key: Hashable = _own_key(root)
        self.key: Hashable = (*self._nodes, (self.own_key, self._operands(root)))
        arguments = [
            operand for operand in root.operands if isinstance(operand, mlir.BlockArgument)
        ]
        distinct = {argument.arg_number for argument in arguments}
        self.has_free_operands = len(distinct) == len(root.operands)

    def _node(self, producer: mlir.Operation) -> Hashable:
        if NAME_ONLY in producer.attributes:
            return NAME_ONLY, producer.name
        types = tuple(str(operand.type) for operand in producer.operands)
        return _own_key(producer), types, self._operands(producer)

    def _operands(self, operation: mlir.Operation) -> Hashable:
        return tuple(map(self._value, operation.operands))

    def _value(self, value: Value) -> Hashable:
        if isinstance(value, mlir.BlockArgument):
            return value.arg_number
        assert isinstance(value, mlir.OpResult)
        return self._numbers[value.owner.operation], value.result_number


def _producers(operation: mlir.Operation) -> list[mlir.Operation]:
    """Return the producers of the operands of an op, as far as they are in the graph."""
    if NAME_ONLY in operation.attributes:
        return []
    results = [operand for operand in operation.operands if isinstance(operand, mlir.OpResult)]
    return [result.owner.operation for result in results]


def _own_key(operation: mlir.Operation) -> Hashable:
    """Return the key of an op without its operands."""
    return (
        operation.name,
        _attributes(operation),
        len(operation.results),
        len(operation.operands),
        regions_key(operation),
    )


def computation_of(operation: mlir.Operation) -> str:
    """Return the names of the operations in the regions of an operation."""
    result: list[str] = []

    def visitor(inner: mlir.Operation) -> None:
        if inner != operation and not inner.name.endswith(".yield"):
            result.append(inner.name)

    visit(operation, visitor)
    return ", ".join(result) or "nothing"


def _attributes(operation: mlir.Operation) -> Hashable:
    """Return the attributes in a form that compares across contexts."""
    return frozenset((name, str(value)) for name, value in operation.attributes.items())


def regions_key(operation: mlir.Operation) -> Hashable:
    """Return a key of regions that does not depend on the names of values.

    Raises:
        NotUnderstoodError: a region captures values.
    """
    return _Regions().of(operation)


class _Regions:
    """The regions of one operation, whose values are numbered in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}

    def of(self, operation: mlir.Operation) -> tuple[Hashable, ...]:
        inside = children(operation)
        return tuple(
            tuple(
                self._block(block, [each for each in inside if each.block == block])
                for block in region.blocks
            )
            for region in operation.regions
        )

    def _block(self, block: mlir.Block, operations: Iterable[mlir.Operation]) -> Hashable:
        for argument in block.arguments:
            self._numbers[argument] = len(self._numbers)
        types = tuple(str(each.type) for each in block.arguments)
        return types, tuple(map(self._operation, operations))

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
