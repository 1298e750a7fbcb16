"""Programs from sized templates: the body of a dispatch, and a whole program for the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects.linalg` re-exports this, but takes 90 ms to build the classes of the ops.
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.matching.op_info import NAME_ONLY
from tuninglink.mlir import names
from tuninglink.payloads.op_templates import (
    Template,
    Value,
    build,
    clone_into,
    destination_count,
    is_number,
    new_function,
)

if TYPE_CHECKING:
    from tuninglink.payloads.sizing import Sized


def write_body(template: Template, sized: Sized, *, fills: bool) -> mlir.Operation:
    """Return a module with a function that computes the template on its arguments.

    It is built in the current context. With `fills`, an accumulation starts from a `linalg.fill`, as in models;
    otherwise from an argument.
    """
    created = [
        argument
        for argument in template.block.arguments
        if fills and argument in template.destinations and _is_filled(template, argument)
    ]
    arguments = [argument for argument in template.block.arguments if argument not in created]
    kinds = [_sized(result, sized) for result in template.root.results]
    module, block = new_function([_sized(argument, sized) for argument in arguments], kinds)
    values: dict[Value, Value] = dict(zip(arguments, block.arguments, strict=True))
    with mlir.InsertionPoint(block):
        values |= {value: _start(template, value, _sized(value, sized)) for value in created}
        results = _clone_all(template, sized, values)
        mlir.Operation.create("func.return", operands=results)
    return module


def write_program(template: Template, sized: Sized, *, fills: bool) -> mlir.Operation:
    """Return a program with a dispatch that computes the template.

    The dispatch is formed already: the compiler neither adds operations to it nor collapses its loops. As in models,
    destinations are created in the dispatch, and accumulations start from a `linalg.fill` with `fills` and from an
    argument otherwise.
    """
    created = {
        destination
        for destination in template.destinations
        if _is_made(template, destination, fills=fills)
    }
    scalars = {value for value in template.block.arguments if value not in sized.shapes}
    # A fill with a constant would be folded to a constant.
    is_fill = template.root.name == names.FILL
    taken = {scalar for scalar in scalars if is_fill or not is_number(scalar.type)}
    # The function, with an empty dispatch.
    arguments = [
        value for value in template.block.arguments if value not in created | (scalars - taken)
    ]
    results = [_sized(result, sized) for result in template.root.results]
    module, block = new_function([_argument_type(value, sized) for value in arguments], results)
    with mlir.InsertionPoint(block):
        region = mlir.Operation.create(
            "flow.dispatch.region",
            results=results,
            attributes={"operandSegmentSizes": mlir.DenseI32ArrayAttr.get([0, 0])},
            regions=2,
        )
        mlir.Operation.create("func.return", operands=list(region.results))
    # The dispatch: what it creates, then the ops of the template.
    values: dict[Value, Value] = dict(zip(arguments, block.arguments, strict=True))
    with mlir.InsertionPoint(region.regions[0].blocks.append()):
        for argument in template.block.arguments:
            if argument in created:
                values[argument] = _start(template, argument, _sized(argument, sized))
            elif argument in taken:
                values[argument] = _extract(values[argument])
            elif argument in scalars:
                values[argument] = _constant(argument.type, _SCALE)
        mlir.Operation.create("flow.return", operands=_clone_all(template, sized, values))
    return module


_SCALE: Final = 0.125
"""The value of scalars, such as the scale of an attention."""


def _clone_all(template: Template, sized: Sized, values: dict[Value, Value]) -> list[Value]:
    """Clone the operations at the current insertion point. Return the results of the root op."""
    for operation in template.operations:
        results = [_sized(result, sized) for result in operation.results]
        clone = clone_into(operation, values, results)
        if NAME_ONLY in clone.attributes:
            del clone.attributes[NAME_ONLY]
    return [values[result] for result in template.root.results]


def _sized(value: Value, sized: Sized) -> mlir.Type:
    kind: mlir.Type = value.type
    if not isinstance(kind, mlir.RankedTensorType):
        return kind
    return mlir.RankedTensorType.get(sized.shapes[value], kind.element_type, kind.encoding)


def _argument_type(value: Value, sized: Sized) -> mlir.Type:
    kind = _sized(value, sized)
    return kind if isinstance(kind, mlir.RankedTensorType) else mlir.RankedTensorType.get([], kind)


def _extract(tensor: Value) -> Value:
    return build("tensor.extract", tensor.type.element_type, tensor)


def _is_made(template: Template, argument: Value, *, fills: bool) -> bool:
    """Return whether a destination is created in the dispatch rather than passed to it."""
    return argument not in template.accumulators or (fills and _is_filled(template, argument))


def _is_filled(template: Template, argument: Value) -> bool:
    """Return whether a destination can start from a constant."""
    return argument in template.accumulators and is_number(argument.type.element_type)


def _start(template: Template, argument: Value, kind: mlir.Type) -> Value:
    """Build a destination: zeros for a sum, or minus infinity for a maximum."""
    assert isinstance(kind, mlir.RankedTensorType)
    empty = build("tensor.empty", kind)
    if argument not in template.accumulators:
        return empty
    number = float("-inf") if _is_maximum(template.root, argument) else 0.0
    filled = mlir.Operation.create(
        names.FILL,
        results=[kind],
        operands=[_constant(kind.element_type, number), empty],
        attributes={"operandSegmentSizes": mlir.DenseI32ArrayAttr.get([1, 1])},
        regions=1,
    )
    _mlirDialectsLinalg.fill_builtin_region(filled)
    value: Value = filled.results[0]
    return value


def _is_maximum(root: mlir.Operation, argument: Value) -> bool:
    if root.name != names.ONLINE_ATTENTION:
        return False
    return bool(root.operands[len(root.operands) - destination_count(root) + 1] == argument)


def _constant(kind: mlir.Type, number: float) -> Value:
    value: mlir.Attribute = (
        mlir.FloatAttr.get(kind, number)
        if isinstance(kind, mlir.FloatType)
        else mlir.IntegerAttr.get(kind, int(number))
    )
    return build("arith.constant", kind, value=value)
