"""Writers of specs for root ops.

This module writes matchers in several forms; the others write actions and entry points.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, loops_in
from tuninglink.iree.structured_op import StructuredOp, element_type
from tuninglink.mlir import names
from tuninglink.mlir.walk import visit
from tuninglink.specs.transform_ops import create, yield_

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload

    Value = mlir.Value[Any]
    Matcher = Callable[["Workload", Value, Container[int]], None]
    "Adds ops to a matcher that distinguish the root op of a dispatch from other ops, but for the sizes of some loops."

_PARAMETER: Final = "!transform.param<i64>"
_ANY_VALUE: Final = "!transform.any_value"
_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result of a contraction."""
_CONVOLUTION_STEPS: Final = 2
"""Strides and dilations, which a convolution matcher returns after the loops."""
_ANY_SIZE: Final = -1
"""The number in `dims_equal` that equals any size, including a dynamic one."""
_ATTENTION_INPUTS: Final = ("query", "key", "value", "scale")


class NoMatcherError(Exception):
    """An error for a form of matchers that cannot match an operation. The message is the reason."""


def _match_contraction(dispatch: Workload, operation: Value, ranges: Container[int]) -> None:
    if dispatch.problem.kind is not OpKind.CONTRACTION:
        raise NoMatcherError("it is not a contraction")
    _match_product(names.MATCH_CONTRACTION, dispatch, operation, 0, ranges)


def _match_convolution(dispatch: Workload, operation: Value, ranges: Container[int]) -> None:
    if dispatch.problem.kind is not OpKind.CONVOLUTION:
        raise NoMatcherError("it is not a convolution")
    _match_product(names.MATCH_CONVOLUTION, dispatch, operation, _CONVOLUTION_STEPS, ranges)


def _match_product(
    form: str, dispatch: Workload, operation: Value, steps: int, ranges: Container[int]
) -> None:
    op = StructuredOp(dispatch.root)
    loops = list(op.loops.values())
    types = [operand.type for operand in dispatch.root.operands]
    if len(types) != _OPERANDS or not all(isinstance(type_, mlir.ShapedType) for type_ in types):
        raise NoMatcherError("it has other operands than two factors and a result")
    lhs, rhs, output = (mlir.TypeAttr.get(type_.element_type) for type_ in types)
    results = create(
        form,
        [operation],
        [_PARAMETER] * (len(loops) + steps),
        lhs_type=lhs,
        rhs_type=rhs,
        output_type=output,
        indexing_maps=_maps(op),
    )
    _match_sizes(dispatch, results, loops, ranges)
    if form == names.MATCH_CONVOLUTION:
        # The loops do not determine the size of the image after the last window.
        _match_type(operation, 0, _with_open_sizes(types[0], op.maps[0], ranges))


def _with_open_sizes(
    image: mlir.ShapedType, map_: mlir.AffineMap, ranges: Container[int]
) -> mlir.Type:
    """Return the type of an image, with dynamic sizes where they depend on a loop with a range."""
    ranged = {loop for loop in range(map_.n_dims) if loop in ranges}
    if not ranged:
        return image
    dynamic = mlir.ShapedType.get_dynamic_size()
    sizes = [
        dynamic if ranged & loops_in(expression) else image.get_dim_size(position)
        for position, expression in enumerate(map_.results)
    ]
    return mlir.RankedTensorType.get(sizes, image.element_type)


def _match_attention(dispatch: Workload, operation: Value, ranges: Container[int]) -> None:
    root = dispatch.root
    if root.name not in (names.ATTENTION, names.ONLINE_ATTENTION):
        raise NoMatcherError("it is not an attention")
    is_online = root.name == names.ONLINE_ATTENTION
    op = StructuredOp(root)
    operands = [operand.type for operand in root.operands]
    outputs = [result.type for result in root.results]
    if op.first_output > len(_ATTENTION_INPUTS):
        raise NoMatcherError("the compiler's attention matchers do not support a mask")
    inputs = dict(zip(_ATTENTION_INPUTS, operands, strict=False))
    named = {f"{name}_type": _element(inputs[name]) for name in ("query", "key", "value")}
    if is_online:
        named["scale_type"] = _element(inputs["scale"])
    called = ("output", "max", "sum")
    named |= {f"{name}_type": _element(kind) for name, kind in zip(called, outputs, strict=False)}
    form = names.MATCH_ONLINE_ATTENTION if is_online else names.MATCH_ATTENTION
    loops = list(op.loops.values())
    types = [_PARAMETER] * len(loops)
    results = create(form, [operation], types, indexing_maps=_maps(op), **named)
    _match_sizes(dispatch, results, loops, ranges)


def _match_dag(dispatch: Workload, operation: Value, ranges: Container[int]) -> None:
    """Match operations with the same attributes, types and body, for any producers of the operands.

    Types have dynamic sizes where they depend on a loop with a range.
    """
    root = dispatch.root
    types = _operand_types(root, ranges)
    if _captures(root):
        raise NoMatcherError(
            "the compiler's DAG matcher does not match ops whose regions use outer values"
        )
    create(
        names.MATCH_OPERATION_NAME,
        [operation],
        [],
        op_names=mlir.ArrayAttr.get([mlir.StringAttr.get(root.name)]),
    )
    dag = mlir.Operation.create(
        names.MATCH_DAG,
        operands=[operation],
        results=[mlir.Type.parse(_ANY_VALUE)] * 2,
        regions=1,
    )
    kinds = dict(zip(root.operands, types, strict=True))
    operands = list(kinds)
    # The DAG is a copy of the root op, with block arguments for its operands.
    location = mlir.Location.unknown()
    block = dag.regions[0].blocks.append(*kinds.values(), arg_locs=[location] * len(operands))
    with mlir.InsertionPoint(block):
        copy = root.operation.clone().operation
        for position, operand in enumerate(root.operands):
            copy.operands[position] = block.arguments[operands.index(operand)]
        outputs = types[StructuredOp(root).first_destination :]
        for result, kind in zip(copy.results, outputs, strict=False):
            result.set_type(kind)
        yield_([])


def _operand_types(root: mlir.Operation, ranges: Container[int]) -> list[mlir.Type]:
    """Return the types of the operands of an op, with dynamic sizes where they depend on a loop with a range."""
    types = [operand.type for operand in root.operands]
    op = StructuredOp(root)
    if not any(loop in ranges for loop in range(len(op.sizes))):
        return types
    return [
        _with_open_sizes(type_, map_, ranges) if isinstance(type_, mlir.ShapedType) else type_
        for type_, map_ in zip(types, op.maps, strict=True)
    ]


def _captures(root: mlir.Operation) -> bool:
    """Return whether the regions of an operation use values from outside."""
    inside: list[mlir.Operation] = []
    visit(root, inside.append)
    for operation in inside[1:]:
        for operand in operation.operands:
            owner = operand.owner
            holder = owner.owner.operation if isinstance(owner, mlir.Block) else owner.operation
            if holder not in inside:
                return True
    return False


FORMS: Final[Mapping[str, Matcher]] = {
    "contraction": _match_contraction,
    "convolution": _match_convolution,
    "attention": _match_attention,
    "dag": _match_dag,
}
"""The forms of matchers, the most robust first."""


def _maps(op: StructuredOp) -> mlir.ArrayAttr:
    if op.maps_attribute is None:
        raise NoMatcherError("it has no indexing maps")
    return op.maps_attribute


def _match_sizes(
    dispatch: Workload,
    handles: Sequence[Value],
    loops: Sequence[Sequence[int]],
    ranges: Container[int],
) -> None:
    """Match the sizes of the dispatch, except dynamic ones and those of roles that have a loop with a range."""
    for handle, numbers in zip(handles, loops, strict=False):
        sizes = [dispatch.problem.dimensions[number].size for number in numbers]
        if all(size is None for size in sizes) or any(number in ranges for number in numbers):
            continue
        expected = [_ANY_SIZE if size is None else size for size in sizes]
        create(
            names.MATCH_DIMS_EQUAL,
            [handle],
            [],
            expected_values=mlir.DenseI64ArrayAttr.get(expected),
        )


def _match_type(operation: Value, number: int, kind: mlir.Type) -> None:
    position = mlir.DenseI64ArrayAttr.get([number])
    (operand,) = create(names.GET_OPERAND, [operation], [_ANY_VALUE], raw_position_list=position)
    create(names.MATCH_TYPE, [operand], [], target_type=mlir.TypeAttr.get(kind))


def _element(kind: mlir.Type) -> mlir.Attribute:
    return mlir.TypeAttr.get(element_type(kind))
