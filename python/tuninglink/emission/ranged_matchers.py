"""Matchers of ranges of sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.emission.matcher_forms import RANGED_FORMS, NoMatcherError, create
from tuninglink.iree.size_ranges import UNBOUNDED, SizeRange
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tuninglink.spaces.workload import Workload

    Value = mlir.Value[Any]

_ANY_VALUE: Final = "!transform.any_value"


def match_in_ranges(
    form: str, dispatch: Workload, operation: Value, ranges: Mapping[int, SizeRange]
) -> None:
    """Add ops to a matcher that match the root op of a dispatch with other loop sizes.

    Args:
        form: one of `RANGED_FORMS`.
        dispatch: the dispatch.
        operation: the handle to the candidate op.
        ranges: the sizes of loops. Other loops have the sizes of the dispatch.

    Raises:
        NoMatcherError: the form cannot match the root op, or a loop with a range is not a dimension of an operand.
    """
    RANGED_FORMS[form](dispatch, operation, ranges)
    op = StructuredOp(dispatch.root)
    for loop, sizes in _complete_roles(op, ranges).items():
        _match_bounds(operation, *_places(op, loop)[0], sizes)


def match_bounds(dispatch: Workload, operation: Value, bounds: Mapping[int, SizeRange]) -> None:
    """Add ops to a matcher that bound the dynamic loops of an operation, for the compiler.

    They refer to the output: on GPUs, the compiler does not propagate bounds of an input.

    Args:
        dispatch: the dispatch.
        operation: the handle to the candidate op.
        bounds: the sizes of loops.

    Raises:
        NoMatcherError: a loop is not a dimension of an operand.
    """
    op = StructuredOp(dispatch.root)
    for loop, sizes in bounds.items():
        _match_bounds(operation, *_places(op, loop)[-1], sizes)


def _places(op: StructuredOp, loop: int) -> list[tuple[int, int]]:
    """Return the operand dimensions that a loop indexes, as pairs of operand number and dimension number.

    Raises:
        NoMatcherError: there are none.
    """
    places = [
        (operand, loops.index(loop))
        for operand, loops in enumerate(op.operand_loops)
        if loop in loops
    ]
    if not places:
        raise NoMatcherError(f"no operand has loop {loop} for a dimension")
    return places


def _match_bounds(operation: Value, operand: int, dimension: int, sizes: SizeRange) -> None:
    numbers = mlir.DenseI64ArrayAttr.get([operand])
    (value,) = create(names.GET_OPERAND, [operation], [_ANY_VALUE], raw_position_list=numbers)
    bounds = {"lower_bound": _integer(sizes.low)}
    if sizes.high < UNBOUNDED:
        bounds["upper_bound"] = _integer(sizes.high)
    create(names.MATCH_DIM_BOUNDS, [value], [], dim=_integer(dimension), **bounds)
    if sizes.divisor > 1:
        divisor = _integer(sizes.divisor)
        create(names.MATCH_DIM_MULTIPLE, [value], [], dim=_integer(dimension), size=divisor)


def _complete_roles(op: StructuredOp, ranges: Mapping[int, SizeRange]) -> dict[int, SizeRange]:
    """Complete ranges by exact ones for the other loops of the same roles, since a matcher op handles a whole role."""
    completed: dict[int, SizeRange] = {}
    for loops in op.loops.values():
        if any(loop in ranges for loop in loops):
            exact = {loop: SizeRange(op.sizes[loop] or 0, op.sizes[loop] or 0) for loop in loops}
            completed |= {loop: ranges.get(loop, exact[loop]) for loop in loops}
    return completed


def _integer(value: int) -> mlir.Attribute:
    return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), value)
