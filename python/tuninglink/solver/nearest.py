"""The search for the nearest solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.solver.answers import NearestAnswer, UndecidedError, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tuninglink.solver.answers import Deadline
    from tuninglink.solver.search import SearchPlan

_Cost = tuple[int, int]


def nearest_by_search(
    search: SearchPlan, target: Mapping[str, int], measured: Collection[str], deadline: Deadline
) -> NearestAnswer:
    """Find the solution that differs from `target` in the fewest places, then by the smallest distance.

    Unknowns without a target value are free. The distance counts only the `measured` unknowns.
    """
    order = search.order
    best: list[_Cost] = []
    costs: list[_Cost] = [(0, 0)] * (len(order) + 1)

    def is_worse(at: int, values: list[int]) -> bool:
        changes, distance = costs[at]
        name = order[at]
        if name in target and values[at] != target[name]:
            changes += 1
            if name in measured:
                distance += abs(values[at] - target[name])
        costs[at + 1] = (changes, distance)
        return bool(best) and costs[at + 1] >= best[-1]

    nearest: Mapping[str, int] | None = None
    reason = ""
    try:
        for solution in search.solutions(deadline, prune=is_worse, near=target):
            nearest = solution
            best.append(costs[-1])
    except UndecidedError as failure:
        reason = failure.reason
    if reason:
        verdict = Verdict.NOT_DECIDED
    else:
        verdict = Verdict.REFUTED if nearest is None else Verdict.PROVEN
    return NearestAnswer(verdict, nearest, changes(target, nearest), reason)


def changes(target: Mapping[str, int], solution: Mapping[str, int] | None) -> dict[str, int]:
    """Return the values in `solution` that differ from `target`."""
    return {
        name: value for name, value in (solution or {}).items() if target.get(name, value) != value
    }
