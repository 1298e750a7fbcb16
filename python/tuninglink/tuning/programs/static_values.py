"""Integers of a dispatch that its benchmark fixes: constants, what it is called with, and arithmetic on both."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.mlir.walk import collect

if TYPE_CHECKING:
    from collections.abc import Callable

    Value = mlir.Value[Any]

CONSTANT_LOAD: Final = "hal.interface.constant.load"
ASSUMPTION: Final = "util.assume.int"
_DISPATCH: Final = "hal.command_buffer.dispatch"
_CONSTANTS: Final = -4
"""The group of operands of a dispatch that has its constants, before buffers, offsets and lengths."""

_OPERATIONS: Final[dict[str, Callable[..., int]]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": operator.floordiv,
    "arith.remui": operator.mod,
    "arith.shli": operator.lshift,
    "arith.ori": operator.or_,
    **dict.fromkeys(("arith.index_cast", "arith.index_castui", "arith.extui"), int),
}
"""Operations on integers that are not negative, by which offsets are computed."""


def static_integer(value: Value) -> int | None:
    """Returns the integer that a value always is; None if the benchmark does not fix it."""
    operation = value.owner
    if isinstance(operation, mlir.Block):
        return None
    if operation.name == "arith.constant":
        attribute = operation.attributes["value"]
        return int(attribute.value) if isinstance(attribute, mlir.IntegerAttr) else None
    if operation.name == CONSTANT_LOAD:
        return _passed_constant(operation.operation)
    operands = list(operation.operands)
    if operation.name == ASSUMPTION:
        return static_integer(operands[mlir.OpResult(value).result_number])
    if operation.name not in _OPERATIONS:
        return None
    numbers = [static_integer(operand) for operand in operands]
    return None if None in numbers else _OPERATIONS[operation.name](*numbers)


def _passed_constant(load: mlir.Operation) -> int | None:
    """Returns the constant that the benchmark passes to its dispatch."""
    module = load
    while module.parent is not None:
        module = module.parent.operation
    dispatches = collect(module, _DISPATCH)
    if len(dispatches) != 1:
        return None
    (dispatch,) = dispatches
    sizes = list(mlir.DenseI32ArrayAttr(dispatch.attributes["operandSegmentSizes"]))
    ordinal = mlir.IntegerAttr(load.attributes["ordinal"]).value
    return static_integer(dispatch.operands[sum(sizes[:_CONSTANTS]) + ordinal])
