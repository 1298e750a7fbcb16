"""DAG matchers of a single contraction or convolution, and their replacement by a matcher op."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import StructuredOp, element_type
from tuninglink.mlir import names
from tuninglink.mlir.walk import body
from tuninglink.payloads.op_templates import build

_NAMED: Final[Mapping[OpKind, str]] = {
    OpKind.CONTRACTION: names.MATCH_CONTRACTION,
    OpKind.CONVOLUTION: names.MATCH_CONVOLUTION,
}
"""The matcher op for each kind."""

_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result."""
_ATTRIBUTES: Final = frozenset({"indexing_maps", "iterator_types", "operandSegmentSizes"})


class NotExpressible(Exception):  # noqa: N818 - an answer, not an error
    """An error for a DAG matcher without an equivalent named matcher op; `reason` is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class DagMatcher:
    """A DAG matcher of one contraction or convolution: a `linalg.generic` on tensors."""

    dag: mlir.Operation
    op: StructuredOp

    @property
    def named(self) -> str:
        """The name of the matcher op for ops of this kind."""
        return _NAMED[self.op.kind]

    def size(self, loop: int) -> int | None:
        """Return the size of a loop, or None if it is dynamic in an operand or the operands disagree."""
        sizes = {
            size
            for operand in range(_OPERANDS)
            for indexed, size in self._dimensions(operand)
            if indexed == loop
        }
        return sizes.pop() if len(sizes) == 1 else None

    def needs_type(self, operand: int) -> bool:
        """Return whether the sizes of the loops leave a static size of an operand undetermined.

        The size of a loop is that of the first operand dimension that it indexes. In a program, its other dimensions
        may be dynamic.
        """
        before = {loop for loops in self.op.operand_loops[:operand] for loop in loops}
        return any(
            size is not None and (loop is None or loop in before or self.size(loop) is None)
            for loop, size in self._dimensions(operand)
        )

    def _dimensions(self, operand: int) -> list[tuple[int | None, int | None]]:
        """Return the loop and the size of each dimension of an operand."""
        sizes = self.op.operands[operand].sizes or ()
        return list(zip(self.op.operand_loops[operand], sizes, strict=True))


def read_dag(dag: mlir.Operation) -> DagMatcher:
    """Read a DAG matcher of one contraction or convolution.

    Raises:
        NotExpressible: the DAG matcher matches something else.
    """
    operations = [op for op in body(dag) if op.name != names.YIELD]
    if len(operations) != 1:
        raise NotExpressible(f"its dag has {len(operations)} operations, not one")
    (root,) = operations
    if root.name != names.GENERIC:
        raise NotExpressible(f"its dag is a '{root.name}'")
    if any(list(result.uses) for result in dag.results):
        raise NotExpressible("the operands that its dag returns are used")
    if any(attribute not in _ATTRIBUTES for attribute in root.attributes):
        raise NotExpressible("the operation in its dag has additional attributes")
    operands: list[Any] = list(root.operands)
    if len(operands) != _OPERANDS or operands != list(dag.regions[0].blocks[0].arguments):
        raise NotExpressible(
            "its operation does not take left-hand side, right-hand side and result"
        )
    op = StructuredOp(root)
    if not all(operand.is_tensor for operand in op.operands):
        raise NotExpressible("its operands are not all tensors")
    if op.kind not in _NAMED:
        raise NotExpressible("its operation is neither a contraction nor a convolution")
    return DagMatcher(dag, op)


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
