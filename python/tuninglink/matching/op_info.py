"""The properties of an op that matchers test, and keys that are equal for equivalent regions and graphs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ROLES, OpKind, Role, affine_maps, indexing_loops, loops_by_role
from tuninglink.iree.structured_op import Sizes, StructuredOp
from tuninglink.matching import predicates as pred
from tuninglink.mlir import names
from tuninglink.mlir.walk import children, postorder, visit

Value = mlir.Value[Any]

NAME_ONLY: Final = "match.operation_name_only"
"""Marks an operation of a graph that is compared by name only."""


class NotUnderstoodError(Exception):
    """A matcher has an unsupported requirement, named in the message."""


class Graph:
    """The graph in a `cast_compatible_dag_from_root`, as a key: equal for graphs that match the same payloads.

    It has the properties that `MatchCastCompatibleDagFromRootOp::matchOperation` compares.

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
    """Return the producers of the operands of an op that are in the graph."""
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

    Keys are equal for regions that `isStructurallyEquivalentTo` considers equivalent.

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
                self._block(block, [op for op in inside if op.block == block])
                for block in region.blocks
            )
            for region in operation.regions
        )

    def _block(self, block: mlir.Block, operations: Iterable[mlir.Operation]) -> Hashable:
        for argument in block.arguments:
            self._numbers[argument] = len(self._numbers)
        types = tuple(str(argument.type) for argument in block.arguments)
        return types, tuple(map(self._operation, operations))

    def _operation(self, operation: mlir.Operation) -> Hashable:
        operands = tuple(map(self._number, operation.operands))
        regions = self.of(operation)
        for result in operation.results:
            self._numbers[result] = len(self._numbers)
        types = tuple(str(result.type) for result in operation.results)
        return operation.name, _attributes(operation), operands, types, regions

    def _number(self, value: Value) -> int:
        if value not in self._numbers:
            raise NotUnderstoodError("a region uses values from around it")
        return self._numbers[value]


_CONFIGURATION: Final = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.ROOT_OP, names.UKERNEL}
)


@dataclass(frozen=True)
class OpInfo(StructuredOp):
    """A structured op, with the further properties that matchers test.

    Attributes:
        is_configured: whether it had a configuration before specs were applied.
    """

    is_configured: bool = False

    @cached_property
    def key(self) -> Hashable:
        """A key that is equal for ops that matchers cannot distinguish, apart from producers."""
        types = tuple(value_type.text for value_type in (*self.operands, *self.results))
        attributes = frozenset(self.attributes.items())
        return self.name, self.is_configured, types, attributes, self.maps_text, self.regions

    @cached_property
    def maps_text(self) -> str:
        """The indexing maps, as MLIR prints them; empty without maps."""
        return "" if self.maps_attribute is None else str(self.maps_attribute)

    @cached_property
    def role_sizes(self) -> Mapping[str, Sizes]:
        """The sizes of the loops by role; roles are named like the results of matcher ops."""
        sizes: dict[str, Sizes] = {
            role.value.replace(" ", "_"): tuple(self.sizes[loop] for loop in loops)
            for role, loops in self.loops.items()
        }
        if self.kind is OpKind.CONVOLUTION:
            sizes |= {"strides": self.strides, "dilations": self.dilations}
        return sizes

    @cached_property
    def dimension_names(self) -> Mapping[tuple[int, int], str]:
        """The role of each dimension of an operand that has a unique one."""
        called: dict[int, str] = {}
        for role, loops in self.loops.items():
            for position, loop in enumerate(loops):
                called[loop] = role.value if len(loops) == 1 else f"{role.value}[{position}]"
        return {
            (operand, dimension): called[loop]
            for operand, loops in enumerate(self.operand_loops)
            for dimension, loop in enumerate(loops)
            if loop is not None and loop in called
        }

    @cached_property
    def regions(self) -> Hashable | None:
        """A key of the computation in the regions; None if they capture values."""
        try:
            return regions_key(self.operation)
        except NotUnderstoodError:
            return None

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The attributes without configurations, as MLIR prints them."""
        return {
            name: str(value)
            for name, value in self.operation.attributes.items()
            if name not in _CONFIGURATION or self.is_configured
        }


def indexing_maps(attribute: mlir.Attribute, kind: OpKind, outputs: int) -> pred.Maps:
    """Return indexing maps as data.

    Args:
        attribute: the maps, in an array.
        kind: the assumed kind of the op with these maps.
        outputs: the number of its outputs.
    """
    maps = affine_maps(attribute)
    roles: Mapping[Role, tuple[int, ...]] = {}
    if kind is OpKind.ATTENTION or (kind in ROLES and len(maps) == pred.STRUCTURED_OPERANDS):
        roles = loops_by_role(kind, maps, len(maps) - outputs)
    return pred.Maps(
        str(attribute),
        tuple(map(str, maps)),
        maps[0].n_dims,
        tuple(map(indexing_loops, maps)),
        tuple(
            (pred.role_name(kind, role.value.replace(" ", "_")), loops)
            for role, loops in roles.items()
        ),
    )
