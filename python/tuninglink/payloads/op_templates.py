"""Templates: the ops that a matcher matches, as IR whose sizes are not yet chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import StructuredOp
from tuninglink.matching.op_info import NAME_ONLY
from tuninglink.mlir import names

Value = mlir.Value[Any]
DYNAMIC = mlir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Template:
    """A root op with the ops that compute its operands. Sizes that are not yet chosen are dynamic.

    Attributes:
        owner: the operation that contains the block and keeps it alive.
        block: the block of the ops. Its arguments are the inputs. Its last operation except for a yield is the root op.
        is_exact: whether the matcher accepts only these operations.
    """

    owner: mlir.Operation
    block: mlir.Block
    is_exact: bool

    @cached_property
    def operations(self) -> tuple[mlir.Operation, ...]:
        """The operations, the root op last."""
        operations = [operation.operation for operation in self.block.operations]
        return tuple(op for op in operations if op.name != names.YIELD)

    @property
    def root(self) -> mlir.Operation:
        """The root op."""
        return self.operations[-1]

    @cached_property
    def op(self) -> StructuredOp:
        """The root op as data. Use it only once the attributes of the template are final."""
        return StructuredOp(self.root)

    @cached_property
    def accumulators(self) -> frozenset[Value]:
        """The arguments that an op reads. A destination that is among them accumulates."""
        return frozenset(
            argument
            for argument in self.block.arguments
            if any(
                argument in list(operation.operands) and _reads(operation, argument)
                for operation in self.operations
            )
        )

    @cached_property
    def name_only_argument(self) -> int | None:
        """The first argument whose users are all matched by name only, or None.

        The compiler does not match a graph with such an argument.
        """
        seen = {
            operand
            for operation in self.operations
            if NAME_ONLY not in operation.attributes
            for operand in operation.operands
        }
        return next(
            (argument.arg_number for argument in self.block.arguments if argument not in seen), None
        )

    @cached_property
    def destinations(self) -> frozenset[Value]:
        """The arguments that are only used as destinations."""
        arguments = set(self.block.arguments)
        starts, inputs = set[Value](), set[Value]()
        for operation in self.operations:
            outputs = destination_count(operation)
            operands = list(operation.operands)
            first = len(operands) - outputs
            starts |= arguments.intersection(operands[first:])
            inputs |= arguments.intersection(operands[:first])
        return frozenset(starts - inputs)


def _reads(operation: mlir.Operation, argument: Value) -> bool:
    if not operation.name.startswith("linalg.") or not list(operation.regions):
        return True
    position = list(operation.operands).index(argument)
    inner = operation.regions[0].blocks[0].arguments
    return position < len(inner) and any(True for _ in inner[position].uses)


def destination_count(operation: mlir.Operation) -> int:
    """Return the number of trailing operands that are destinations."""
    is_structured = operation.name.startswith(("linalg.", "iree_linalg_ext."))
    return len(operation.results) if is_structured else 0


def is_number(kind: mlir.Type) -> bool:
    """Return whether arithmetic is defined on a type: a float, or a signless integer."""
    return isinstance(kind, mlir.FloatType) or (
        isinstance(kind, mlir.IntegerType) and kind.is_signless
    )


def open_tensor(rank: int, element: mlir.Type) -> mlir.RankedTensorType:
    """Return the type of a tensor whose sizes are all dynamic."""
    location = mlir.Location.unknown(element.context)
    return mlir.RankedTensorType.get([DYNAMIC] * rank, element, loc=location)


def new_block(types: Sequence[mlir.Type]) -> tuple[mlir.Operation, mlir.Block]:
    """Return a block with arguments of these types, and the module that keeps it alive."""
    module = mlir.Module.create().operation
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        holder = mlir.Operation.create(names.MODULE, regions=1)
    locations = [mlir.Location.unknown()] * len(types)
    return module, holder.regions[0].blocks.append(*types, arg_locs=locations)


def new_function(
    inputs: Sequence[mlir.Type], results: Sequence[mlir.Type]
) -> tuple[mlir.Operation, mlir.Block]:
    """Return a module with one function, and the block of its body."""
    module = mlir.Module.create().operation
    kind = mlir.FunctionType.get(list(inputs), list(results))
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        function = mlir.Operation.create(
            names.FUNCTION,
            attributes={
                names.SYMBOL_NAME: mlir.StringAttr.get("payload"),
                "function_type": mlir.TypeAttr.get(kind),
            },
            regions=1,
        )
    locations = [mlir.Location.unknown()] * len(inputs)
    return module, function.regions[0].blocks.append(*inputs, arg_locs=locations)


def build(name: str, result: mlir.Type, *operands: Value, **attributes: mlir.Attribute) -> Value:
    """Build an operation with one result at the current insertion point, and return the result."""
    operation = mlir.Operation.create(
        name, results=[result], operands=list(operands), attributes=attributes
    )
    built: Value = operation.results[0]
    return built


def clone_into(
    operation: mlir.Operation, values: dict[Value, Value], results: Iterable[mlir.Type]
) -> mlir.Operation:
    """Clone an operation at the current insertion point, with the given result types.

    Args:
        operation: the operation.
        values: the replacement of each value that the operation uses, to which its results are added.
        results: the types of the results.
    """
    clone = operation.clone().operation
    for position, operand in enumerate(operation.operands):
        clone.operands[position] = values[operand]
    _replace_inside(clone, values)
    for old, new, type_ in zip(operation.results, clone.results, results, strict=True):
        new.set_type(type_)
        values[old] = new
    return clone


def _replace_inside(operation: mlir.Operation, values: dict[Value, Value]) -> None:
    """Replace the outside values that operations in regions use."""
    for region in operation.regions:
        for block in region.blocks:
            for child in block.operations:
                inner = child.operation
                for position, operand in enumerate(inner.operands):
                    inner.operands[position] = values.get(operand, operand)
                _replace_inside(inner, values)
