"""Programs with a fused elementwise op, which show how much stack the code of an entry may need in a model."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir as mlir

from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.serialization import parse_module
from tuninglink.mlir.walk import collect


def with_fused_consumer(program: str) -> str:
    """Return a program whose dispatch ends with an elementwise op: `x * erf(x)`, the expensive part of a GELU.

    Args:
        program: a program with a `flow.dispatch.region`, as `payload_for` makes it.

    Returns:
        The program; empty if its results are not tensors of floating-point numbers.
    """
    module = parse_module(program.encode(), "payload.mlir", thread_context())
    return str(module) if add_consumer(module, collect(module, "flow.return")) else ""


def add_consumer(module: mlir.Operation, returns: Sequence[mlir.Operation]) -> bool:
    """Add that elementwise op to a program before ops that return the results of a dispatch.

    Returns:
        Whether it was added: the results are tensors of floating-point numbers.
    """
    kinds = [operand.type for terminator in returns for operand in terminator.operands]
    if not kinds or not all(map(_is_float_tensor, kinds)):
        return False
    with module.context, mlir.Location.unknown():
        for terminator in returns:
            with mlir.InsertionPoint(terminator):
                for position, operand in enumerate(terminator.operands):
                    terminator.operands[position] = _consumer(operand)
    return True


def _is_float_tensor(kind: mlir.Type) -> bool:
    if not isinstance(kind, mlir.RankedTensorType) or not kind.has_static_shape:
        return False
    return isinstance(kind.element_type, (mlir.F16Type, mlir.BF16Type, mlir.F32Type, mlir.F64Type))


def _consumer(value: mlir.Value[mlir.RankedTensorType]) -> mlir.Value[mlir.RankedTensorType]:
    """Build the elementwise op at the current insertion point."""
    kind = value.type
    empty = mlir.Operation.create("tensor.empty", results=[kind])
    identity = mlir.AffineMapAttr.get(mlir.AffineMap.get_identity(kind.rank))
    parallel = mlir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic = mlir.Operation.create(
        "linalg.generic",
        results=[kind],
        operands=[value, empty.result],
        attributes={
            "indexing_maps": mlir.ArrayAttr.get([identity, identity]),
            "iterator_types": mlir.ArrayAttr.get([parallel] * kind.rank),
            "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([1, 1]),
        },
        regions=1,
    )
    element = kind.element_type
    block = generic.regions[0].blocks.append(element, element)
    with mlir.InsertionPoint(block):
        (number, _) = block.arguments
        error_function = mlir.Operation.create("math.erf", results=[element], operands=[number])
        product = mlir.Operation.create(
            "arith.mulf", results=[element], operands=[number, error_function.result]
        )
        mlir.Operation.create("linalg.yield", operands=[product.result])
    return generic.result
