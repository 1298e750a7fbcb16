"""Building the operations that linking adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.sequences import Handle

FAILURES_PROPAGATE = 1
FAILURES_SUPPRESS = 2
"""The values of `transform`'s FailurePropagationMode."""


def add_kernel_config(module: mlir.Operation, *, consumes: bool) -> mlir.Operation:
    """Adds an entry point `@__kernel_config` with an empty body at the end of `module` and returns it."""
    any_op = mlir.Type.parse("!transform.any_op", module.context)
    with module.context, module.location as location:
        unit = mlir.UnitAttr.get()
        ownership = names.CONSUMED if consumes else names.READONLY
        attributes = {
            names.SYMBOL_NAME: mlir.StringAttr.get(names.KERNEL_CONFIG),
            "function_type": mlir.TypeAttr.get(mlir.FunctionType.get([any_op], [any_op])),
            "arg_attrs": mlir.ArrayAttr.get([mlir.DictAttr.get({ownership: unit})]),
            names.ENTRY_POINT: unit,
        }
        with mlir.InsertionPoint(module.regions[0].blocks[0]):
            sequence = mlir.Operation.create(names.NAMED_SEQUENCE, attributes=attributes, regions=1)
        sequence.regions[0].blocks.append(any_op, arg_locs=[location])
    return sequence


def include(
    target: Sequence[str], operands: Sequence[Handle], results: Sequence[mlir.Type], failures: int
) -> mlir.Operation:
    """Builds an `include` of the sequence at the path `target` at the current insertion point."""
    i32 = mlir.IntegerType.get_signless(32)
    attributes = {
        "target": mlir.SymbolRefAttr.get(list(target)),
        "failure_propagation_mode": mlir.IntegerAttr.get(i32, failures),
    }
    return mlir.Operation.create(
        names.INCLUDE, operands=operands, results=results, attributes=attributes
    )


def yield_(operands: Sequence[Handle]) -> mlir.Operation:
    """Builds a `yield` at the current insertion point."""
    return mlir.Operation.create(names.YIELD, operands=operands)
