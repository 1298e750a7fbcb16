"""The search for all assignments that satisfy assertions, in an order that fails early, or for the nearest one.

Variables are assigned one after the other. An assertion is checked as soon as the last of its variables has a value. If
an equation leaves a variable only one value, no other value is tried.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from tuninglink.solver import Kind, Term, evaluate
from tuninglink.solver.answers import Deadline, NearestAnswer, UndecidedError, Verdict
from tuninglink.solver.compiled_terms import Values
from tuninglink.solver.plan import (
    Level,
    TooManyValuesError,
    find_domains,
    order_variables,
    plan_levels,
)

Confirm = Callable[[Mapping[str, int], Deadline], bool]


_NODES_BETWEEN_CHECKS = 2048


class SearchPlan:
    """The plan of a search.

    Args:
        assertions: boolean terms that must all hold.
        variables: all variables in a solution.
        hidden: variables that a solution omits; only the existence of values matters.
        confirm: decides whether solutions that involve a division by zero are valid.
        deadline: the deadline of the plan.

    Raises:
        TooManyValuesError: a variable cannot be searched.
        UndecidedError: the deadline has passed.
    """

    def __init__(
        self,
        assertions: Sequence[Term],
        variables: Sequence[str],
        hidden: frozenset[str],
        confirm: Confirm,
        deadline: Deadline,
    ) -> None:
        self._confirm = confirm
        self._shown = [name for name in variables if name not in hidden]
        self._levels: list[Level] = []
        constants = [assertion for assertion in assertions if assertion.kind is Kind.CONSTANT]
        rest = [assertion for assertion in assertions if assertion.kind is not Kind.CONSTANT]
        domains = find_domains(rest, variables, deadline)
        self.domains: Mapping[str, Sequence[int]] | None = domains
        if domains is None or not all(constant.value for constant in constants):
            self.domains = None
            return
        if rest and not domains:
            raise TooManyValuesError("nothing is open but the value of a division by zero")
        order = order_variables(rest, domains, hidden, deadline)
        self._slots = {name: index for index, name in enumerate(order)}
        self._levels = plan_levels(rest, order, domains)
        places = [slot for name, slot in self._slots.items() if name not in hidden]
        self._last_shown = max(places, default=-1)
        # A solution could be repeated with other values of hidden variables.
        self._may_repeat = any(len(domains[name]) > 1 for name in hidden)

    def solutions(
        self,
        deadline: Deadline,
        seed: int | None = None,
        prune: Callable[[int, Values], bool] | None = None,
        near: Mapping[str, int] | None = None,
        within: Mapping[str, Collection[int]] | None = None,
    ) -> Iterator[dict[str, int]]:
        """Yield every solution once.

        Args:
            deadline: the deadline of the search.
            seed: fixes the order; None means the ascending order of each variable.
            prune: returns whether to backtrack, given a level and the values up to it.
            near: values to try first, followed by the nearest ones.
            within: the permitted values of some variables.

        Raises:
            UndecidedError: the deadline has passed, or a division by zero cannot be decided.
        """
        if self.domains is None:
            return
        seen: set[tuple[int, ...]] = set()
        shown = [(name, self._slots[name]) for name in self._shown]
        for values in self._walk(self._ordered(seed, near, within or {}), deadline, prune):
            solution = {name: values[slot] for name, slot in shown}
            if self._may_repeat:
                key = tuple(solution.values())
                if key in seen:
                    continue
                seen.add(key)
            yield solution

    @property
    def order(self) -> Sequence[str]:
        """The variables in the order of assignment, which also numbers the levels for `prune`."""
        return [level.name for level in self._levels]

    def _all(self, values: Values) -> dict[str, int]:
        return {name: values[slot] for name, slot in self._slots.items()}

    def _ordered(
        self,
        seed: int | None,
        near: Mapping[str, int] | None,
        within: Mapping[str, Collection[int]],
    ) -> list[Mapping[int, int]]:
        """Return the ranks of the values of each level."""
        if seed is None and near is None and not within:
            return [level.ranks for level in self._levels]
        domains = [
            tuple(value for value in level.domain if value in within[level.name])
            if level.name in within
            else level.domain
            for level in self._levels
        ]
        if near is not None:
            preferred = [near.get(level.name) for level in self._levels]
            domains = [
                domain
                if value is None
                else tuple(sorted(domain, key=lambda x: (abs(x - value), x)))
                for domain, value in zip(domains, preferred, strict=True)
            ]
        if seed is not None:
            shuffler = random.Random(seed)  # noqa: S311 - not for cryptography
            domains = [tuple(shuffler.sample(domain, len(domain))) for domain in domains]
        return [{value: place for place, value in enumerate(domain)} for domain in domains]

    def _walk(
        self,
        ranks: list[Mapping[int, int]],
        deadline: Deadline,
        prune: Callable[[int, Values], bool] | None,
    ) -> Iterator[Values]:
        levels = self._levels
        values = [0] * len(levels)
        if not levels:
            yield values
            return
        is_open = [False] * len(levels)  # whether the level involves a division by zero
        last = len(levels) - 1
        nodes = 0
        choices = [iter(levels[0].choices(ranks[0], values))] * len(levels)
        at = 0
        deadline.check()
        while at >= 0:
            # Take the next value of this level that keeps all decided assertions.
            level = levels[at]
            for value in choices[at]:
                nodes += 1
                if nodes % _NODES_BETWEEN_CHECKS == 0:
                    deadline.check()
                values[at] = value
                try:
                    holds = level.holds(values)
                    is_open[at] = False
                except ZeroDivisionError:
                    holds = is_open[at] = _may_hold(level.terms, self._all(values))
                if not holds or (prune is not None and prune(at, values)):
                    continue
                # Descend, or yield a solution.
                if at < last:
                    at += 1
                    choices[at] = iter(levels[at].choices(ranks[at], values))
                    break
                if any(is_open) and not self._confirm(self._all(values), deadline):
                    continue
                yield values
                at = self._last_shown  # other values of hidden variables give the same solution
                break
            else:
                # No value is left: backtrack.
                at -= 1


def _may_hold(terms: Iterable[Term], values: Mapping[str, int]) -> bool:
    for term in terms:
        try:
            if not evaluate(term, values):
                return False
        except ZeroDivisionError:
            pass
    return True


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

    # Each solution is better than the one before; the last one is the nearest.
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


def beyond_changes(
    search: SearchPlan, target: Mapping[str, int], most: int
) -> Callable[[int, Values], bool]:
    """Return a `prune` function that restricts a search to solutions that differ from `target` in few places.

    Args:
        search: the search.
        target: values of unknowns; others are free.
        most: the largest number of differences.
    """
    order = search.order
    changed = [0] * (len(order) + 1)

    def is_beyond(at: int, values: Values) -> bool:
        name = order[at]
        changed[at + 1] = changed[at] + (name in target and values[at] != target[name])
        return changed[at + 1] > most

    return is_beyond


def changes(target: Mapping[str, int], solution: Mapping[str, int] | None) -> dict[str, int]:
    """Return the values in `solution` that differ from `target`."""
    return {
        name: value for name, value in (solution or {}).items() if target.get(name, value) != value
    }
