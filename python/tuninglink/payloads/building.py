"""Builders of IR at the current insertion point: values, ops with loops, and the blocks and functions that hold them.

`iree.compiler.dialects.linalg` has builders for most of these ops, but takes 90 ms to build the classes of all ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from iree.compiler import ir as mlir
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.iree import ATTENTION_OUTPUTS, element_type, indexing_loops
from tuninglink.mlir import collect, names

Value = mlir.Value[Any]
DYNAMIC = mlir.ShapedType.get_dynamic_size()


def build(name: str, result: mlir.Type, *operands: Value, **attributes: mlir.Attribute) -> Value:
    """Build an op with one result, and return the result."""
    operation = mlir.Operation.create(
        name, results=[result], operands=list(operands), attributes=attributes
    )
    built: Value = operation.results[0]
    return built


def constant(kind: mlir.Type, number: float) -> Value:
    """Build a number."""
    is_float = isinstance(kind, mlir.FloatType)
    value: mlir.Attribute = (
        mlir.FloatAttr.get(kind, number) if is_float else mlir.IntegerAttr.get(kind, int(number))
    )
    return build("arith.constant", kind, value=value)


def filled(kind: mlir.RankedTensorType, number: float, destination: Value | None = None) -> Value:
    """Build a tensor of equal elements, in the place of a destination or of a new tensor."""
    operands = [constant(kind.element_type, number), destination or build("tensor.empty", kind)]
    segments = mlir.DenseI32ArrayAttr.get([1, 1])
    operation = mlir.Operation.create(
        names.FILL,
        results=[kind],
        operands=operands,
        attributes={"operandSegmentSizes": segments},
        regions=1,
    )
    _mlirDialectsLinalg.fill_builtin_region(operation)
    result: Value = operation.results[0]
    return result


def cast(value: Value, kind: mlir.Type) -> Value:
    """Build the conversion of a number to a type, with the casts of frontends; return a number of the type itself."""
    source: Any = value.type
    target: Any = kind
    if source == target:
        return value
    was_float, is_float = (isinstance(each, mlir.FloatType) for each in (source, target))
    if was_float != is_float:
        name = "sitofp" if is_float else "fptosi"
    elif source.width == target.width:
        return cast(cast(value, mlir.F32Type.get()), kind)
    elif source.width < target.width:
        name = "extf" if is_float else "extsi"
    else:
        name = "truncf" if is_float else "trunci"
    return build(f"arith.{name}", kind, value)


def bitcast(value: Value, kind: mlir.Type) -> Value:
    """Build a view of a tensor as another type of as many bits; return a tensor of the type itself."""
    segments = mlir.DenseI32ArrayAttr.get([1, 0, 0])  # no dimension is dynamic
    name = "iree_tensor_ext.bitcast"
    is_same = value.type == kind
    return value if is_same else build(name, kind, value, operandSegmentSizes=segments)


def product(*numbers: Value) -> Value:
    """Build the product of all numbers but the last one, in the type of the last one."""
    *factors, last = numbers
    kind = last.type
    name = "arith.mulf" if isinstance(kind, mlir.FloatType) else "arith.muli"
    result = cast(factors[0], kind)
    for factor in factors[1:]:
        result = build(name, kind, result, cast(factor, kind))
    return result


def added_product(*numbers: Value) -> Value:
    """Build the sum of the last number and the product of the others."""
    kind, result = numbers[-1].type, product(*numbers)
    name = "arith.addf" if isinstance(kind, mlir.FloatType) else "arith.addi"
    return build(name, kind, numbers[-1], result)


def with_maps(
    name: str,
    operands: Sequence[Value],
    maps: Sequence[mlir.AffineMap],
    outputs: int,
    **attributes: mlir.Attribute,
) -> mlir.Operation:
    """Build an op with an indexing map for each operand, the last of which are outputs, and an empty region."""
    attributes["indexing_maps"] = mlir.ArrayAttr.get([*map(mlir.AffineMapAttr.get, maps)])
    return mlir.Operation.create(
        name,
        results=[output.type for output in operands[len(operands) - outputs :]],
        operands=list(operands),
        attributes=attributes,
        regions=1,
    )


def computed(
    operands: Sequence[Value],
    maps: Sequence[mlir.AffineMap],
    init: Value,
    element: Callable[..., Value],
) -> Value:
    """Build a `linalg.generic`, and return its result.

    Loops over no dimension of the result are reductions. `element` builds an element from those of the operands and of
    `init`.
    """
    kept = indexing_loops(maps[-1])
    kinds = ["parallel" if loop in kept else "reduction" for loop in range(maps[-1].n_dims)]
    iterators = [mlir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
    operation = with_maps(
        names.GENERIC,
        [*operands, init],
        maps,
        1,
        iterator_types=mlir.ArrayAttr.get(iterators),
        operandSegmentSizes=mlir.DenseI32ArrayAttr.get([len(operands), 1]),
    )
    types = [element_type(value.type) for value in operation.operands]
    block = operation.regions[0].blocks.append(*types)
    with mlir.InsertionPoint(block):
        mlir.Operation.create("linalg.yield", operands=[element(*block.arguments)])
    result: Value = operation.results[0]
    return result


def attended(
    name: str, operands: Sequence[Value], maps: Sequence[mlir.AffineMap]
) -> Sequence[Value]:
    """Build an attention or an online attention that leaves scores unchanged, and return its results."""
    operation = with_maps(name, operands, maps, ATTENTION_OUTPUTS[name])
    block = operation.regions[0].blocks.append(mlir.F32Type.get())
    with mlir.InsertionPoint(block):
        mlir.Operation.create("iree_linalg_ext.yield", operands=list(block.arguments))
    return operation.results


def new_block(types: Sequence[mlir.Type]) -> tuple[mlir.Operation, mlir.Block]:
    """Return a block with arguments of these types, and the module that keeps it alive."""
    module = mlir.Module.create().operation
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        holder = mlir.Operation.create(names.MODULE, regions=1)
    return module, holder.regions[0].blocks.append(*types)


def new_function(
    inputs: Sequence[mlir.Type], results: Sequence[mlir.Type], name: str = "payload"
) -> tuple[mlir.Operation, mlir.Block]:
    """Return a module with one function, and the block of its body."""
    module = mlir.Module.create().operation
    kind = mlir.FunctionType.get(list(inputs), list(results))
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        function = mlir.Operation.create(
            names.FUNCTION,
            attributes={
                names.SYMBOL_NAME: mlir.StringAttr.get(name),
                "function_type": mlir.TypeAttr.get(kind),
            },
            regions=1,
        )
    return module, function.regions[0].blocks.append(*inputs)


def is_number(kind: mlir.Type) -> bool:
    """Return whether arithmetic is defined on a type: a float, or a signless integer."""
    return isinstance(kind, mlir.FloatType) or (
        isinstance(kind, mlir.IntegerType) and kind.is_signless
    )


def open_tensor(rank: int, element: mlir.Type) -> mlir.RankedTensorType:
    """Return the type of a tensor whose sizes are all dynamic."""
    location = mlir.Location.unknown(element.context)
    return mlir.RankedTensorType.get([DYNAMIC] * rank, element, loc=location)


def clone_into(
    operation: mlir.Operation, values: dict[Value, Value], results: Iterable[mlir.Type]
) -> mlir.Operation:
    """Clone an operation at the current insertion point, with the given result types."""
    clone = operation.clone().operation
    for inner in collect(clone):
        for position, operand in enumerate(inner.operands):
            inner.operands[position] = values.get(operand, operand)
    for old, new, type_ in zip(operation.results, clone.results, results, strict=True):
        new.set_type(type_)
        values[old] = new
    return clone
