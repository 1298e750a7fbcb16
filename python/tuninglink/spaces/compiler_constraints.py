"""The compiler's constraints, separated from the sizes.

The compiler usually writes the same constraints for all sizes of an op: its constraints op takes the sizes as operands
and begins with an assertion about each. The worker process returns the op without these assertions and operands, and
the sizes separately, so that an op that was read before need not be read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import names
from tuninglink.mlir.attributes import integer_value
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.walk import visit
from tuninglink.spaces.isolated_passes import passed

_INSERT_CONSTRAINTS = "builtin.module(func.func(iree-codegen-insert-smt-constraints))"
_STRIP_LOCATIONS = "builtin.module(strip-debuginfo)"


@dataclass(frozen=True)
class FixedSize:
    """The size of a dimension.

    Attributes:
        size: the size.
        message: the compiler's assertion about the size, if it was removed from the constraints op.
    """

    size: int
    message: str = ""


@dataclass(frozen=True)
class UnsizedConstraints:
    """A constraints op, separated from its sizes.

    Attributes:
        module: a module with the op on dimensions of size 0, as bytecode without locations.
        dimensions: the sizes of the dimensions, None for one that is dynamic.
    """

    module: bytes
    dimensions: tuple[FixedSize | None, ...]


def insert_constraints(module: bytes, pipeline: str) -> list[UnsizedConstraints]:
    """Return the constraints on the root op of a module in a pipeline, in a worker.

    Raises:
        UndecidedError: the compiler reports an error.
    """
    constrained = passed(_INSERT_CONSTRAINTS, module)
    return [
        _unsized(constraint)
        for constraint in constraints_in(constrained)
        if str(constraint.attributes["pipeline"]) == pipeline
    ]


def constraints_in(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the constraints ops. Their bodies, which hold most of the ops, are not visited."""
    constraints: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        if operation.name != names.CONSTRAINTS:
            return None
        constraints.append(operation)
        return mlir.WalkResult.SKIP

    visit(module, visitor)
    return constraints


def _unsized(operation: mlir.Operation) -> UnsizedConstraints:
    """Separate a constraints op from its sizes, in place."""
    dimensions = _take_sizes(operation)
    with operation.context, mlir.Location.unknown():
        module = mlir.Module.create().operation
        with mlir.InsertionPoint(module.regions[0].blocks[0]):
            index = mlir.IndexType.get()
            zero = mlir.Operation.create(
                "arith.constant",
                results=[index],
                attributes={"value": mlir.IntegerAttr.get(index, 0)},
            )
            copy = operation.clone().operation
        for position in range(len(dimensions)):
            copy.operands[position] = zero.result
        PassManager.parse(_STRIP_LOCATIONS).run(module)
    return UnsizedConstraints(to_bytecode(module), dimensions)


def constant_size(value: mlir.Value[mlir.Type]) -> int | None:
    """Return the value of a size if it is a constant."""
    owner = value.owner
    if isinstance(owner, mlir.Block) or owner.operation.name != "arith.constant":
        return None
    return integer_value(owner.operation.attributes["value"])


def _take_sizes(operation: mlir.Operation) -> tuple[FixedSize | None, ...]:
    """Return the sizes of the dimensions of a constraints op, and erase the assertions about them."""
    block = operation.regions[0].blocks[0]
    result: list[FixedSize | None] = []
    for argument, operand in zip(block.arguments, operation.operands, strict=True):
        size = constant_size(operand)
        if size is None:
            result.append(None)
            continue
        first = [each.operation for each in islice(block.operations, 3)]
        message = _asserted(first, argument, size)
        if message:
            _erase(first)
        result.append(FixedSize(size, message))
    return tuple(result)


def _asserted(
    operations: Sequence[mlir.Operation], argument: mlir.Value[mlir.Type], size: int
) -> str:
    """Return the message of an assertion if it only states that an argument has a size."""
    kinds = ["smt.int.constant", "smt.eq", names.CONSTRAINT_ASSERT]
    if [operation.name for operation in operations] != kinds:
        return ""
    constant, equal, assertion = operations
    message = assertion.attributes["msg"]
    assert isinstance(message, mlir.StringAttr)
    is_size = (
        integer_value(constant.attributes["value"]) == size
        and list(equal.operands) == [argument, constant.result]
        and list(assertion.operands) == [equal.result, argument]
        and _uses(constant) == _uses(equal) == 1
    )
    return message.value if is_size else ""


def _uses(operation: mlir.Operation) -> int:
    return sum(1 for _ in operation.result.uses)


def _erase(operations: Sequence[mlir.Operation]) -> None:
    for operation in reversed(operations):
        operation.erase()
