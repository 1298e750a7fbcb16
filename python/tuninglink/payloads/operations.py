"""Builders for the ops of payloads, on tensors of dynamic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ATTENTION_OUTPUTS
from tuninglink.mlir import names
from tuninglink.payloads.op_templates import (
    Template,
    Value,
    build,
    is_number,
    new_block,
    open_tensor,
)


class UnknownArithmeticError(Exception):
    """An op would compute on types without arithmetic. The message names them."""


def generic(maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> Template:
    """Return a `linalg.generic` with one output that sums up the products of its inputs.

    Without reduction loops it stores the product.

    Args:
        maps: the indexing maps, the output's last.
        types: the element types of the operands.

    Raises:
        UnknownArithmeticError: there is no arithmetic on a type.
    """
    for type_ in types:
        if not is_number(type_):
            raise UnknownArithmeticError(f"no arithmetic for '{type_}'")
    operands = [
        open_tensor(len(map_.results), kind) for map_, kind in zip(maps, types, strict=True)
    ]
    owner, block = new_block(operands)
    kept = {dim.position for dim in maps[-1].results if isinstance(dim, mlir.AffineDimExpr)}
    iterators = ["parallel" if loop in kept else "reduction" for loop in range(maps[-1].n_dims)]
    kinds = [mlir.Attribute.parse(f"#linalg.iterator_type<{iterator}>") for iterator in iterators]
    attributes: dict[str, mlir.Attribute] = {
        "indexing_maps": mlir.ArrayAttr.get([mlir.AffineMapAttr.get(map_) for map_ in maps]),
        "iterator_types": mlir.ArrayAttr.get(kinds),
        "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([len(operands) - 1, 1]),
    }
    with mlir.InsertionPoint(block):
        operation = mlir.Operation.create(
            names.GENERIC,
            results=[operands[-1]],
            operands=list(block.arguments),
            attributes=attributes,
            regions=1,
        )
    locations = [mlir.Location.unknown() for _ in types]
    inner = operation.regions[0].blocks.append(*types, arg_locs=locations)
    # The body multiplies the inputs, and adds the product to the accumulator.
    with mlir.InsertionPoint(inner):
        *inputs, accumulator = inner.arguments
        value = _cast(inputs[0], types[-1])
        for input_ in inputs[1:]:
            value = _arithmetic("mul", value, _cast(input_, types[-1]))
        if "reduction" in iterators:
            value = _arithmetic("add", accumulator, value)
        mlir.Operation.create("linalg.yield", operands=[value])
    return Template(owner, block, is_exact=False)


def _arithmetic(what: str, lhs: Value, rhs: Value) -> Value:
    suffix = "f" if isinstance(lhs.type, mlir.FloatType) else "i"
    return build(f"arith.{what}{suffix}", lhs.type, lhs, rhs)


def _cast(value: Value, type_: mlir.Type) -> Value:
    """Build the conversion of a number to another type, with the casts of frontends."""
    kind = value.type
    if kind == type_:
        return value
    if isinstance(kind, mlir.FloatType) and isinstance(type_, mlir.FloatType):
        if kind.width == type_.width:
            return _cast(_cast(value, mlir.F32Type.get()), type_)
        name = "extf" if kind.width < type_.width else "truncf"
    elif isinstance(kind, mlir.IntegerType) and isinstance(type_, mlir.IntegerType):
        name = "extsi" if kind.width < type_.width else "trunci"
    else:
        name = "sitofp" if isinstance(type_, mlir.FloatType) else "fptosi"
    return build(f"arith.{name}", type_, value)


def attention(name: str, maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> Template:
    """Return an attention or online attention with the given maps and element types of its operands."""
    outputs = ATTENTION_OUTPUTS[name]
    operands = [
        kind if position == _SCALE else open_tensor(len(map_.results), kind)
        for position, (map_, kind) in enumerate(zip(maps, types, strict=True))
    ]
    owner, block = new_block(operands)
    attributes: dict[str, mlir.Attribute] = {
        "indexing_maps": mlir.ArrayAttr.get([mlir.AffineMapAttr.get(map_) for map_ in maps])
    }
    with mlir.InsertionPoint(block):
        operation = mlir.Operation.create(
            name,
            results=operands[len(operands) - outputs :],
            operands=list(block.arguments),
            attributes=attributes,
            regions=1,
        )
    f32 = mlir.F32Type.get()
    inner = operation.regions[0].blocks.append(f32, arg_locs=[mlir.Location.unknown()])
    with mlir.InsertionPoint(inner):
        mlir.Operation.create("iree_linalg_ext.yield", operands=list(inner.arguments))
    return Template(owner, block, is_exact=False)


_SCALE: Final = 3
"""The position of the scale, a number, among the operands of an attention."""
