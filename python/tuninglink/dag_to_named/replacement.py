"""Replacement of a DAG matcher by a matcher op for contractions or convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import element_type
from tuninglink.mlir import names
from tuninglink.payloads.op_templates import build

if TYPE_CHECKING:
    from tuninglink.dag_to_named.dag_matchers import DagMatcher

_PARAMETER: Final = "!transform.param<i64>"
_VALUE: Final = "!transform.any_value"
_WINDOW_RESULTS: Final = 2
"""Strides and dilations, which a convolution matcher returns after the loops."""
_DYNAMIC: Final = -1


def replace_dag(matcher: DagMatcher) -> None:
    """Replace a DAG matcher by equivalent matcher ops.

    The named matcher op checks operands, element types and maps. Sizes are checked on the loops, or on operands where
    the loops do not determine them. The body must be equal. As a DAG matcher rejects an op with a configuration, that
    is checked as well.
    """
    dag, op = matcher.dag, matcher.op
    handle = dag.operands[0]
    with dag.context, dag.location, mlir.InsertionPoint(dag):
        name = mlir.ArrayAttr.get([mlir.StringAttr.get(names.GENERIC)])
        if not _checks_name(name, dag):
            _check(names.MATCH_OPERATION_NAME, handle, op_names=name)
        _check(names.HAS_NO_LOWERING_CONFIG, handle)
        for sizes, dimensions in _dimensions(matcher, handle):
            _check(names.MATCH_DIMS_EQUAL, dimensions, expected_values=sizes)
        for number, value in enumerate(op.operation.operands):
            if matcher.needs_type(number):
                operand = _operand(handle, number)
                _check(names.MATCH_TYPE, operand, target_type=mlir.TypeAttr.get(value.type))
        regions = mlir.Operation.create(names.MATCH_REGIONS, operands=[handle], regions=1)
    block = dag.regions[0].blocks[0]
    block.append_to(regions.regions[0])
    dag.erase()


def _checks_name(name: mlir.Attribute, dag: mlir.Operation) -> bool:
    """Return whether a matcher checks the name of the op in addition to its DAG."""
    block: Any = dag.operation.block
    return any(
        operation.operation.name == names.MATCH_OPERATION_NAME
        and operation.operation.operands[0] == dag.operands[0]
        and operation.operation.attributes["op_names"] == name
        for operation in block.operations
    )


def _check(name: str, handle: Any, **attributes: mlir.Attribute) -> None:
    mlir.Operation.create(name, operands=[handle], attributes=attributes)


def _dimensions(matcher: DagMatcher, handle: Any) -> list[tuple[mlir.Attribute, Any]]:
    """Build the named matcher op. Return the required sizes of each role, with the handle to them."""
    op = matcher.op
    lhs, rhs, result = (
        mlir.TypeAttr.get(element_type(operand.type)) for operand in op.operation.operands
    )
    count = len(op.loops) + (_WINDOW_RESULTS if op.kind is OpKind.CONVOLUTION else 0)
    named = mlir.Operation.create(
        matcher.named,
        results=[mlir.Type.parse(_PARAMETER)] * count,
        operands=[handle],
        attributes={
            "lhs_type": lhs,
            "rhs_type": rhs,
            "output_type": result,
            "indexing_maps": op.operation.attributes["indexing_maps"],
        },
    )
    required: list[tuple[mlir.Attribute, Any]] = []
    for dimensions, loops in zip(named.results, op.loops.values(), strict=False):
        sizes = [matcher.size(loop) for loop in loops]
        if any(size is not None for size in sizes):
            expected = [_DYNAMIC if size is None else size for size in sizes]
            required.append((mlir.DenseI64ArrayAttr.get(expected), dimensions))
    return required


def _operand(handle: Any, number: int) -> Any:
    position = mlir.DenseI64ArrayAttr.get([number])
    return build(names.GET_OPERAND, mlir.Type.parse(_VALUE), handle, raw_position_list=position)
