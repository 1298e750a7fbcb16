"""Builders of transform ops."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.walk import body
from tuninglink.specs.module_scan import signature
from tuninglink.specs.sequences import Handle

FAILURES_PROPAGATE = 1
FAILURES_SUPPRESS = 2
"""The values of `transform`'s FailurePropagationMode."""


def add_kernel_config(module: mlir.Operation, *, consumes: bool) -> mlir.Operation:
    """Add an entry point `@__kernel_config` with an empty body at the end of `module` and return it."""
    with module.context, module.location, mlir.InsertionPoint(module.regions[0].blocks[0]):
        ownership = names.CONSUMED if consumes else names.READONLY
        sequence = named_sequence(names.KERNEL_CONFIG, [any_op()], [any_op()], ownership)
        sequence.attributes[names.ENTRY_POINT] = mlir.UnitAttr.get()
    return sequence


def named_sequence(
    name: str,
    arguments: Sequence[mlir.Type],
    results: Sequence[mlir.Type] = (),
    ownership: str = names.READONLY,
) -> mlir.Operation:
    """Build a named sequence without a body at the current insertion point and location.

    Args:
        name: its symbol.
        arguments: the types of its arguments.
        results: the types of its results.
        ownership: the ownership of all arguments, `names.READONLY` or `names.CONSUMED`.
    """
    attributes = {
        names.SYMBOL_NAME: mlir.StringAttr.get(name),
        "function_type": mlir.TypeAttr.get(mlir.FunctionType.get(arguments, results)),
        "arg_attrs": argument_declarations(len(arguments), ownership),
    }
    sequence = mlir.Operation.create(names.NAMED_SEQUENCE, attributes=attributes, regions=1)
    locations = [mlir.Location.current] * len(arguments)
    sequence.regions[0].blocks.append(*arguments, arg_locs=locations)
    return sequence


def argument_declarations(count: int, ownership: str = names.READONLY) -> mlir.ArrayAttr:
    """Return the attributes of arguments with the same ownership."""
    return mlir.ArrayAttr.get([mlir.DictAttr.get({ownership: mlir.UnitAttr.get()})] * count)


def include(
    target: Sequence[str], operands: Sequence[Handle], results: Sequence[mlir.Type], failures: int
) -> mlir.Operation:
    """Build an `include` of the sequence at the path `target` at the current insertion point."""
    i32 = mlir.IntegerType.get_signless(32)
    attributes = {
        "target": mlir.SymbolRefAttr.get(list(target)),
        "failure_propagation_mode": mlir.IntegerAttr.get(i32, failures),
    }
    return mlir.Operation.create(
        names.INCLUDE, operands=operands, results=results, attributes=attributes
    )


def any_op() -> mlir.Type:
    """Return `!transform.any_op`, in the current context."""
    return mlir.Type.parse("!transform.any_op")


def merge_handles(handles: Sequence[Handle], *, deduplicate: bool = False) -> Handle:
    """Build a `merge_handles` at the current insertion point and return its result."""
    attributes: dict[str, mlir.Attribute] = {}
    if deduplicate:
        attributes["deduplicate"] = mlir.UnitAttr.get()
    merged: Handle = mlir.Operation.create(
        names.MERGE_HANDLES, operands=handles, results=[handles[0].type], attributes=attributes
    ).results[0]
    return merged


def empty_handle(any_handle: Handle) -> Handle:
    """Build an empty handle; `any_handle` is any valid one."""
    selected: Handle = mlir.Operation.create(
        names.SELECT,
        operands=[any_handle],
        results=[any_op()],
        attributes={"op_name": mlir.StringAttr.get(names.NO_OPERATION)},
    ).results[0]
    return selected


def walk(
    operands: Sequence[Handle], results: Sequence[mlir.Type], attributes: dict[str, mlir.Attribute]
) -> list[Handle]:
    """Build a `foreach_match` over a copy of the first operand, which it consumes; return its results."""
    root = merge_handles(operands[:1])
    operation = mlir.Operation.create(
        names.FOREACH_MATCH,
        operands=[root, *operands[1:]],
        results=results,
        attributes=attributes,
    )
    return list(operation.results)


def change_signature(
    sequence: mlir.Operation, arguments: Sequence[mlir.Type], results: Sequence[mlir.Type]
) -> list[Handle]:
    """Add arguments, which are read only, and results to a sequence; return the arguments.

    The caller updates the terminator.
    """
    kind = signature(sequence)
    inputs, outputs = [*kind.inputs, *arguments], [*kind.results, *results]
    declared = sequence.attributes.get("arg_attrs")
    declarations = list(declared) if isinstance(declared, mlir.ArrayAttr) else []
    declarations += [mlir.DictAttr.get({}) for _ in range(len(kind.inputs) - len(declarations))]
    declarations += argument_declarations(len(arguments))
    sequence.attributes["function_type"] = mlir.TypeAttr.get(mlir.FunctionType.get(inputs, outputs))
    sequence.attributes["arg_attrs"] = mlir.ArrayAttr.get(declarations)
    if "res_attrs" in sequence.attributes:
        del sequence.attributes["res_attrs"]
    block = sequence.regions[0].blocks[0]
    return [block.add_argument(kind, sequence.location) for kind in arguments]


def yield_more(sequence: mlir.Operation, handles: Sequence[Handle]) -> None:
    """Add handles to the values that a sequence yields."""
    terminator = list(body(sequence))[-1]
    operands = [*terminator.operands, *handles]
    with mlir.InsertionPoint(terminator):
        mlir.Operation.create(names.YIELD, operands=operands, loc=terminator.location)
    terminator.erase()


def fails_as_included(operation: mlir.Operation) -> bool:
    """Return whether an `include` propagates failures."""
    mode = operation.attributes["failure_propagation_mode"]
    return isinstance(mode, mlir.IntegerAttr) and mode.value == FAILURES_PROPAGATE


def yield_(operands: Sequence[Handle]) -> mlir.Operation:
    """Build a `yield` at the current insertion point."""
    return mlir.Operation.create(names.YIELD, operands=operands)


def annotate(handle: Handle, name: str, number: int) -> None:
    """Build an annotation of the ops of a handle with a number at the current insertion point."""
    value = mlir.Operation.create(
        names.PARAM_CONSTANT,
        results=[mlir.Type.parse("!transform.param<i64>")],
        attributes={"value": mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), number)},
    )
    mlir.Operation.create(
        names.ANNOTATE,
        operands=[handle, value.results[0]],
        attributes={"name": mlir.StringAttr.get(name)},
    )
