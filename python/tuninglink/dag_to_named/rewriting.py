"""Writing a contraction or convolution matcher in the place of a dag matcher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.dag_to_named.dags import GENERIC
from tuninglink.mlir import names

if TYPE_CHECKING:
    from tuninglink.dag_to_named.dags import Product

_PARAMETER: Final = "!transform.param<i64>"
_VALUE: Final = "!transform.any_value"
_STEPS: Final = 2
"""Strides and dilations, which a convolution matcher returns behind the loops."""
_OPEN: Final = -1


def rewrite(product: Product) -> None:
    """Replaces the dag matcher of a product by matchers that say the same.

    The matcher of the form tells operands, element types and maps; sizes are asked of the loops, and of operands
    where that leaves something open; and the body must be the same. A dag refuses an operation that has a
    configuration, so that is asked, too.
    """
    dag = product.dag
    operation = dag.operands[0]
    with dag.context, dag.location, mlir.InsertionPoint(dag):
        name = mlir.ArrayAttr.get([mlir.StringAttr.get(GENERIC)])
        if not _asks_for(name, dag):
            _check(names.MATCH_OPERATION_NAME, operation, op_names=name)
        _check(names.HAS_NO_LOWERING_CONFIG, operation)
        for sizes, dimensions in _dimensions(product, operation):
            _check(names.MATCH_DIMS_EQUAL, dimensions, expected_values=sizes)
        for number, type_ in enumerate(product.types):
            if product.needs_type(number):
                operand = _operand(operation, number)
                _check(names.MATCH_TYPE, operand, target_type=mlir.TypeAttr.get(type_))
        regions = mlir.Operation.create(names.MATCH_REGIONS, operands=[operation], regions=1)
    block = dag.regions[0].blocks[0]
    block.append_to(regions.regions[0])
    dag.erase()


def _asks_for(name: mlir.Attribute, dag: mlir.Operation) -> bool:
    """Tells whether a matcher asks for the name of the operation beside its dag."""
    block: Any = dag.operation.block
    return any(
        each.operation.name == names.MATCH_OPERATION_NAME
        and each.operation.operands[0] == dag.operands[0]
        and each.operation.attributes["op_names"] == name
        for each in block.operations
    )


def _check(name: str, handle: Any, **attributes: mlir.Attribute) -> None:
    mlir.Operation.create(name, operands=[handle], attributes=attributes)


def _dimensions(product: Product, operation: Any) -> list[tuple[mlir.Attribute, Any]]:
    """Matches the form, and returns the sizes that each role must have, with the handle to them."""
    lhs, rhs, result = (mlir.TypeAttr.get(each.element_type) for each in product.types)
    is_convolution = product.form == names.MATCH_CONVOLUTION
    count = len(product.loops) + (_STEPS if is_convolution else 0)
    matcher = mlir.Operation.create(
        product.form,
        results=[mlir.Type.parse(_PARAMETER)] * count,
        operands=[operation],
        attributes={
            "lhs_type": lhs,
            "rhs_type": rhs,
            "output_type": result,
            "indexing_maps": product.root.attributes["indexing_maps"],
        },
    )
    found: list[tuple[mlir.Attribute, Any]] = []
    for handle, loops in zip(matcher.results, product.loops.values(), strict=False):
        sizes = [product.size(each) for each in loops]
        if any(each is not None for each in sizes):
            wanted = [_OPEN if each is None else each for each in sizes]
            found.append((mlir.DenseI64ArrayAttr.get(wanted), handle))
    return found


def _operand(operation: Any, number: int) -> Any:
    created = mlir.Operation.create(
        names.GET_OPERAND,
        results=[mlir.Type.parse(_VALUE)],
        operands=[operation],
        attributes={"raw_position_list": mlir.DenseI64ArrayAttr.get([number])},
    )
    return created.results[0]
