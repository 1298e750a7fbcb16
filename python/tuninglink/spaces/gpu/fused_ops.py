"""The elementwise ops that are fused with a contraction: producers of its operands, and consumers of its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.root_ops import function_ops, is_computing
from tuninglink.iree.structured_op import REDUCTION, StructuredOp
from tuninglink.mlir import names
from tuninglink.solver.answers import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.spaces.workload import Workload

_RESHAPES: Final = frozenset(
    {"tensor.expand_shape", "tensor.collapse_shape", "tensor.cast", "tensor.extract_slice"}
)


def computed_inputs(
    value: mlir.Value[Any], loops: Sequence[int]
) -> Iterator[tuple[mlir.Value[Any], list[int]]]:
    """Yield the inputs of the ops that compute an operand, with the loops of the root op over their dimensions.

    Nothing is yielded for an operand that is read from memory.

    Args:
        value: the operand.
        loops: the loop over each of its dimensions.

    Raises:
        UndecidedError: the operand is computed by an op that is not elementwise, or reshaped from its result.
    """
    owner = _owner(value)
    if owner is None or not is_computing(owner.name) or owner.name == names.FILL:
        source = owner
        while source is not None and source.name in _RESHAPES:
            source = _owner(source.operands[0])
        if source is not owner and source is not None and is_computing(source.name):
            raise UndecidedError(f"an operand is a reshaped result of {source.name}")
        return
    op = StructuredOp(owner)
    if REDUCTION in op.iterator_types or len(op.maps) != len(owner.operands):
        raise UndecidedError(f"{owner.name} computes an operand, and it is not element-wise")
    positions = {
        expression.position: loop
        for expression, loop in zip(op.maps[-1].results, loops, strict=True)
        if isinstance(expression, mlir.AffineDimExpr)
    }
    for operand, access in zip(owner.operands[: op.first_output], op.maps, strict=False):
        own = [
            positions[result.position]
            for result in access.results
            if isinstance(result, mlir.AffineDimExpr)
        ]
        further = list(computed_inputs(operand, own))
        yield from further or [(operand, own)]


def has_consumers(workload: Workload) -> bool:
    """Return whether other ops use the result of the root op."""
    operations = list(function_ops(workload.function).computing)
    after = operations[operations.index(workload.root) + 1 :]
    return any(op.name != names.FILL for op in after)


def mixes_types(op: StructuredOp) -> bool:
    """Return whether both operands of a product are widened, and from different types.

    `vector.contract` then absorbs both conversions, and is rejected. It absorbs none if only one operand is widened.
    """
    *inputs, result = op.element_types
    return len(set(inputs)) > 1 and result not in inputs


def _owner(value: mlir.Value[Any]) -> mlir.Operation | None:
    owner = value.owner
    return owner.operation if isinstance(owner, mlir.Operation | mlir.OpView) else None
