"""The costs of the dispatches of a program, for given sizes of its dynamic dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.iree.dispatch_cost import cost_of, mean_cost
from tuninglink.iree.dispatches import find_dispatches
from tuninglink.iree.dynamic_sizes import dispatch_arguments
from tuninglink.iree.given_sizes import combinations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.iree.dispatch_cost import DispatchCost
    from tuninglink.iree.given_sizes import GivenSizes


def dispatch_costs(
    program: mlir.Operation, sizes: Sequence[GivenSizes] = ()
) -> dict[str, DispatchCost]:
    """Return the cost of a call of each dispatch, by name.

    A cost that depends on given sizes is the mean over all calls and sizes.

    Args:
        program: a program at `executable-sources`.
        sizes: the sizes of dynamic dimensions.
    """
    dispatches = find_dispatches(program)
    costs = {dispatch.name: cost_of(dispatch.module) for dispatch in dispatches}
    dynamic = [dispatch for dispatch in dispatches if not costs[dispatch.name].is_known]
    if not dynamic or not sizes:
        return costs
    calls: dict[str, list[tuple[int, Sequence[int | None]]]] = {}
    for combination in combinations(sizes):
        for name, arguments in dispatch_arguments(program, combination.size_of).items():
            calls.setdefault(name, []).extend(
                (combination.weight, argument) for argument in arguments
            )
    dynamic_costs = {
        dispatch.name: mean_cost(dispatch.module, calls.get(dispatch.name, ()))
        for dispatch in dynamic
    }
    return costs | dynamic_costs
