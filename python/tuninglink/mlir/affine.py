"""Affine expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

if TYPE_CHECKING:
    from collections.abc import Sequence


def value_range(expression: Any, sizes: Sequence[Any]) -> tuple[Any, Any]:
    """Return the least and the greatest value of an affine expression over loops.

    Args:
        expression: a sum of dimensions, constants, and dimensions multiplied by constants.
        sizes: the size of each loop: numbers, or terms of a solver.

    Raises:
        ValueError: the expression is of another form.
    """
    if isinstance(expression, mlir.AffineDimExpr):
        return 0, sizes[expression.position] - 1
    if isinstance(expression, mlir.AffineConstantExpr):
        return expression.value, expression.value
    if isinstance(expression, mlir.AffineAddExpr):
        lhs, rhs = (value_range(operand, sizes) for operand in (expression.lhs, expression.rhs))
        return lhs[0] + rhs[0], lhs[1] + rhs[1]
    if isinstance(expression, mlir.AffineMulExpr):
        low, high = value_range(expression.lhs, sizes)
        factor = expression.rhs  # MLIR puts the constant there.
        if isinstance(factor, mlir.AffineConstantExpr):
            ends = low * factor.value, high * factor.value
            return ends if factor.value >= 0 else (ends[1], ends[0])
    raise ValueError(f"the range of '{expression}' cannot be determined")
