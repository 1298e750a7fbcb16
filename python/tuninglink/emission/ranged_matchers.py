"""Matchers that ask for ranges of sizes."""

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
    """Adds to a matcher what finds operations like the root op of a dispatch, with loops of other sizes.

    Args:
        form: one of `RANGED_FORMS`.
        dispatch: the dispatch.
        operation: what the matcher is asked about.
        ranges: the sizes of loops; the others have those of the dispatch.

    Raises:
        NoMatcherError: the form cannot find the root op, or no operand has a ranged loop for a dimension.
    """
    RANGED_FORMS[form](dispatch, operation, ranges)
    op = StructuredOp(dispatch.root)
    for loop, sizes in _with_their_roles(op, ranges).items():
        _match_bounds(operation, *_places(op, loop)[0], sizes)


def match_bounds(dispatch: Workload, operation: Value, bounds: Mapping[int, SizeRange]) -> None:
    """Adds to a matcher what the compiler has to know of the dynamic loops of an operation.

    The output is asked: on GPUs, the compiler knows nothing of the dynamic sizes of a factor.

    Args:
        dispatch: the dispatch.
        operation: what the matcher is asked about.
        bounds: the sizes of loops.

    Raises:
        NoMatcherError: no operand has a loop for a dimension.
    """
    op = StructuredOp(dispatch.root)
    for loop, sizes in bounds.items():
        _match_bounds(operation, *_places(op, loop)[-1], sizes)


def _places(op: StructuredOp, loop: int) -> list[tuple[int, int]]:
    """Returns where a loop is the dimension of an operand: the numbers of operands, and of their dimensions.

    Raises:
        NoMatcherError: nowhere.
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


def _with_their_roles(op: StructuredOp, ranges: Mapping[int, SizeRange]) -> dict[int, SizeRange]:
    """Returns ranges, and those of a single size for the other loops of the same roles, which one matcher op asks for."""
    their_roles: dict[int, SizeRange] = {}
    for loops in op.loops.values():
        if any(loop in ranges for loop in loops):
            exact = {each: SizeRange(op.sizes[each] or 0, op.sizes[each] or 0) for each in loops}
            their_roles |= {each: ranges.get(each, exact[each]) for each in loops}
    return their_roles


def _integer(value: int) -> mlir.Attribute:
    return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), value)
