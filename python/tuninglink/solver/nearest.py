"""The nearest solution, found by search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.solver.answers import NearestAnswer, UndecidedError, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tuninglink.solver.answers import Deadline
    from tuninglink.solver.search import SearchPlan

_Cost = tuple[int, int]


def nearest_by_search(
    search: SearchPlan, wanted: Mapping[str, int], measured: Collection[str], deadline: Deadline
) -> NearestAnswer:
    """Find the solution that differs from `wanted` in fewest places, then by least.

    Unknowns without a wanted value are free. Only for the `measured` ones it matters by how much they differ.
    """
    order = search.order
    best: list[_Cost] = []
    costs: list[_Cost] = [(0, 0)] * (len(order) + 1)

    def is_worse(at: int, values: list[int]) -> bool:
        changes, distance = costs[at]
        name = order[at]
        if name in wanted and values[at] != wanted[name]:
            changes += 1
            if name in measured:
                distance += abs(values[at] - wanted[name])
        costs[at + 1] = (changes, distance)
        return bool(best) and costs[at + 1] >= best[-1]

    result: Mapping[str, int] | None = None
    reason = ""
    try:
        for solution in search.solutions(deadline, prune=is_worse, near=wanted):
            result = solution
            best.append(costs[-1])
    except UndecidedError as failure:
        reason = failure.reason
    if reason:
        verdict = Verdict.NOT_DECIDED
    else:
        verdict = Verdict.REFUTED if result is None else Verdict.PROVEN
    return NearestAnswer(verdict, result, changes(wanted, result), reason)


def changes(wanted: Mapping[str, int], found: Mapping[str, int] | None) -> dict[str, int]:
    """Return the values in `found` that differ from those that were wanted."""
    return {
        name: value for name, value in (found or {}).items() if wanted.get(name, value) != value
    }
