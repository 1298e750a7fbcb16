"""Integers of a dispatch that its benchmark fixes: constants, what it is called with, and arithmetic on both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.iree.dynamic_sizes import SizeEvaluator
from tuninglink.mlir.walk import collect
from tuninglink.tuning.programs.benchmark_building import DISPATCH, passed_constants

if TYPE_CHECKING:
    Value = mlir.Value[Any]


def static_integer(value: Value) -> int | None:
    """Return the integer that a value in a benchmark always is; None if the benchmark does not fix it."""
    operation = value.owner
    if isinstance(operation, mlir.Block):
        return None
    module = operation.operation
    while module.parent is not None:
        module = module.parent.operation
    dispatches = collect(module, DISPATCH)
    constants = passed_constants(dispatches[0]) if len(dispatches) == 1 else ()
    return SizeEvaluator(arguments=constants).value(value)
