"""The requirements of matchers on the ops that their configurations are for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, affine_maps, indexing_loops
from tuninglink.iree.structured_op import PARALLEL, StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.walk import body

_OPERANDS: Final = 3
"""The number of operands of a product, including its result."""

_OUTPUTS: Final = {
    names.MATCH_CONTRACTION: 1,
    names.MATCH_CONVOLUTION: 1,
    names.MATCH_ATTENTION: 1,
    names.MATCH_ONLINE_ATTENTION: 3,
}
"""The numbers of outputs of the ops that matchers with indexing maps match."""

_TYPES: Final = {
    names.MATCH_ATTENTION: ("query_type", "key_type"),
    names.MATCH_ONLINE_ATTENTION: ("query_type", "key_type"),
}


@dataclass(frozen=True)
class MatchedOp:
    """The requirements of a matcher on an op.

    Attributes:
        parallel: for each of its loops whether it is parallel, not a reduction.
        types: the element types of its first two operands; empty if unknown.
        operands: the number of its operands, including results.
        is_product: whether it is a contraction or a convolution, whose knobs were tried one by one.
        parts: the products of an attention by the names of their attributes.
    """

    parallel: tuple[bool, ...]
    types: tuple[str, str] = ("", "")
    operands: int = _OPERANDS
    is_product: bool = True
    parts: tuple[tuple[str, MatchedOp], ...] = ()


def matched_op(matcher: mlir.Operation | None) -> MatchedOp | None:
    """Return the requirements of a matcher on its op, None if its loops are unknown."""
    for operation in body(matcher) if matcher is not None and matcher.regions[0].blocks else ():
        if operation.name in _OUTPUTS:
            return _by_maps(operation)
        if operation.name == names.MATCH_DAG:
            return _root_of_dag(operation)
    return None


def _by_maps(operation: mlir.Operation) -> MatchedOp | None:
    maps = affine_maps(operation.attributes.get("indexing_maps"))
    if not maps:
        return None
    outputs = _OUTPUTS[operation.name]
    lhs, rhs = _TYPES.get(operation.name, ("lhs_type", "rhs_type"))
    types = _type(operation, lhs), _type(operation, rhs)
    parallel = _parallel(maps[0].n_dims, indexing_loops(maps[-outputs]))
    if operation.name not in _TYPES:
        return MatchedOp(parallel, types)
    # An attention is a product of queries and keys, and one of its result and values.
    query, key, value, result = (_loops(maps[at]) for at in (0, 1, 2, -outputs))
    qk = MatchedOp(tuple(loop in result for loop in sorted(query | key)), types, is_product=False)
    # The scores are converted to the type of the values.
    of_value = _type(operation, "value_type")
    pv = MatchedOp(tuple(loop in result for loop in sorted(value | result)), (of_value, of_value))
    parts = (("qk_attrs", qk), ("pv_attrs", pv))
    return MatchedOp(parallel, operands=len(maps), is_product=False, parts=parts)


def _loops(map_: mlir.AffineMap) -> set[int]:
    return {loop for loop in indexing_loops(map_) if loop is not None}


def _parallel(count: int, loops: Iterable[int | None]) -> tuple[bool, ...]:
    parallel = set(loops)
    return tuple(loop in parallel for loop in range(count))


def _type(operation: mlir.Operation, name: str) -> str:
    attribute = operation.attributes.get(name)
    return str(attribute.value) if isinstance(attribute, mlir.TypeAttr) else ""


def _root_of_dag(operation: mlir.Operation) -> MatchedOp | None:
    """Return the requirements on the last op of a DAG, None if it has no loops."""
    operations = [op for op in body(operation) if op.name != names.YIELD]
    root = StructuredOp(operations[-1]) if operations else None
    if root is None or not root.loop_count:
        return None
    is_product = root.kind in (OpKind.CONTRACTION, OpKind.CONVOLUTION)
    parallel = tuple(type_ == PARALLEL for type_ in root.iterator_types)
    operands = len(root.operation.operands)
    return MatchedOp(parallel, operands=operands, is_product=is_product)
