"""The search for all assignments that satisfy assertions, in an order that fails early, or for the nearest one.

Variables are assigned one after the other. An assertion is checked as soon as the last of its variables has a value. If
an equation leaves a variable only one value, no other value is tried.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tuninglink.solver.bounds import Bounds
from tuninglink.solver.compiled import Loop, Values, compile_loop, outlook
from tuninglink.solver.plan import (
    Level,
    TooManyValuesError,
    find_domains,
    may_hold,
    order_variables,
    plan_levels,
    with_late_variables,
)
from tuninglink.solver.terms import (
    CountAnswer,
    Deadline,
    Kind,
    NearestAnswer,
    Term,
    UndecidedError,
    Verdict,
)

Confirm = Callable[[Mapping[str, int], Deadline], bool]


class SearchPlan:
    """The plan of a search."""

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
        self.order: Sequence[str] = ()
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
        self.order = order
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
        """Yield every solution once."""
        if self.domains is None:
            return
        # The values of each level, in the order in which they are tried.
        shuffler = random.Random(seed)  # noqa: S311 - not for cryptography
        ranks: list[Mapping[int, int]] = []
        for level in self._levels:
            domain: Sequence[int] = [*level.ranks]
            if within and level.name in within:
                domain = [value for value in domain if value in within[level.name]]
            preferred = near.get(level.name) if near is not None else None
            if preferred is not None:
                gaps = {value: (abs(value - preferred), value) for value in domain}
                domain = sorted(gaps, key=gaps.__getitem__)
            if seed is not None:
                domain = shuffler.sample(domain, len(domain))
            ranks.append({value: place for place, value in enumerate(domain)})
        seen: set[tuple[int, ...]] = set()
        shown = [(name, self._slots[name]) for name in self._shown]
        for values in self._walk(ranks, deadline, prune):
            solution = {name: values[slot] for name, slot in shown}
            if self._may_repeat:
                key = tuple(solution.values())
                if key in seen:
                    continue
                seen.add(key)
            yield solution

    def _all(self, values: Values) -> dict[str, int]:
        return {name: values[slot] for name, slot in self._slots.items()}

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
                    holds = is_open[at] = may_hold(level.terms, self._all(values))
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


_Cost = tuple[int, int]
"""The number of differences from a target, and their distance from it."""


def _costs(
    search: SearchPlan, target: Mapping[str, int], measured: Collection[str]
) -> Callable[[int, Values], _Cost]:
    """Return a function that a search calls at each of its nodes for the cost of the values so far."""
    # Unknowns without a target value are free. The distance counts only the `measured` unknowns.
    order = search.order
    costs: list[_Cost] = [(0, 0)] * (len(order) + 1)

    def cost(at: int, values: Values) -> _Cost:
        changed, distance = costs[at]
        name = order[at]
        if name in target and values[at] != target[name]:
            changed += 1
            distance += abs(values[at] - target[name]) if name in measured else 0
        costs[at + 1] = changed, distance
        return costs[at + 1]

    return cost


def beyond_changes(
    search: SearchPlan, target: Mapping[str, int], most: int
) -> Callable[[int, Values], bool]:
    """Return a `prune` function that restricts a search to solutions that differ from `target` in few places."""
    cost = _costs(search, target, ())
    return lambda at, values: cost(at, values)[0] > most


def nearest_by_search(
    search: SearchPlan, target: Mapping[str, int], measured: Collection[str], deadline: Deadline
) -> NearestAnswer:
    """Find the solution with the lowest cost: the fewest differences from `target`, then the smallest distance."""
    cost = _costs(search, target, measured)
    best: _Cost | None = None
    latest: _Cost = (0, 0)

    def is_worse(at: int, values: Values) -> bool:
        nonlocal latest
        latest = cost(at, values)
        return best is not None and latest >= best

    # Each solution is better than the one before; the last one is the nearest.
    nearest: Mapping[str, int] | None = None
    reason = ""
    try:
        for solution in search.solutions(deadline, prune=is_worse, near=target):
            nearest, best = solution, latest
    except UndecidedError as failure:
        reason = failure.reason
    verdict = Verdict.REFUTED if nearest is None else Verdict.PROVEN
    verdict = Verdict.NOT_DECIDED if reason else verdict
    return NearestAnswer(verdict, nearest, changes(target, nearest), reason)


def changes(target: Mapping[str, int], solution: Mapping[str, int] | None) -> dict[str, int]:
    """Return the values in `solution` that differ from `target`."""
    return {
        name: value for name, value in (solution or {}).items() if target.get(name, value) != value
    }


# --- Counting solutions without listing them -----------------------------------------------------

Domains = Mapping[str, Sequence[int]]

_NODES_BETWEEN_CHECKS = 2048
_MOST_REMEMBERED = 1 << 19
"""The maximum number of stored counts, of some hundred bytes each. Beyond it, the counts are discarded."""


@dataclass(frozen=True)
class Counted:
    """The number of solutions of assertions."""

    answer: CountAnswer
    _parts: Sequence[_Count]

    @property
    def is_indexed(self) -> bool:
        return self.answer.verdict is Verdict.PROVEN and all(part.is_known for part in self._parts)

    @property
    def size(self) -> int:
        return sum(part.size for part in self._parts)

    def solution(self, number: int) -> dict[str, int]:
        """Return the solution with a number; similar solutions have close numbers."""
        result: dict[str, int] = {}
        for part in self._parts:
            number, own = divmod(number, part.total)
            result |= part.solution(own)
        return result


def count_solutions(
    assertions: Sequence[Term], domains: Domains, hidden: frozenset[str], deadline: Deadline
) -> Counted:
    """Count the assignments of the visible variables for which all assertions can hold."""
    if not all(assertion.variables for assertion in assertions):
        raise ZeroDivisionError  # other constant terms were folded when they were made
    groups = _groups(assertions, domains)
    groups.sort(key=lambda group: prod(len(domains[name]) for name in group[0]))
    parts: list[_Count] = []
    reason = ""
    for position, (names, terms) in enumerate(groups):
        due = deadline.share(len(groups) - position)
        try:
            parts.append(_Count(terms, {name: domains[name] for name in names}, hidden, due))
            parts[-1].run(due)
        except UndecidedError as failure:
            reason = failure.reason
        else:
            if parts[-1].total == 0:
                return Counted(CountAnswer(Verdict.PROVEN, 0), parts)
    # A group whose count could not be planned has none.
    total = prod(part.total for part in parts) if len(parts) == len(groups) else 0
    verdict = Verdict.NOT_DECIDED if reason else Verdict.PROVEN
    return Counted(CountAnswer(verdict, total, reason), parts)


_Group = tuple[Sequence[str], Sequence[Term]]
"""Variables that assertions connect, and these assertions."""


def _groups(assertions: Iterable[Term], domains: Domains) -> list[_Group]:
    fixed = [name for name, values in domains.items() if len(values) == 1]
    free = [name for name in domains if len(domains[name]) > 1]
    group_of = {name: [name] for name in free}
    for assertion in assertions:
        # In the order of the domains, since the order of a set differs between runs.
        first, *others = [group_of[name] for name in free if name in assertion.variables] or [[]]
        for other in others:
            if other is not first:
                first += other
                group_of |= dict.fromkeys(other, first)
    terms_of: dict[int, list[Term]] = {}
    of_fixed: list[Term] = []
    for assertion in assertions:
        names = [name for name in assertion.variables if name in group_of]
        terms = terms_of.setdefault(id(group_of[names[0]]), []) if names else of_fixed
        terms.append(assertion)
    connected = {id(names): names for names in group_of.values()}
    groups: list[_Group] = [
        ([*fixed, *names], terms_of.get(key, [])) for key, names in connected.items()
    ]
    return [(fixed, of_fixed), *groups] if fixed else groups


class _Count:
    """Counts the solutions of a group."""

    def __init__(
        self, terms: Sequence[Term], domains: Domains, hidden: frozenset[str], deadline: Deadline
    ) -> None:
        self._nodes = self.size = self.total = 0
        self.is_known = True
        # Plan the levels.
        order = order_variables(terms, domains, hidden, deadline)
        late: set[str] = set()
        while True:
            deadline.check()
            levels = plan_levels(terms, order, domains)
            # Other values of hidden variables give the same solution, so visible levels must not follow hidden choices.
            choosing = {
                level.name
                for level in levels
                if level.name in hidden and len(level.ranks) > 1 and not level.is_determined
            }
            if choosing <= late:
                break
            late |= choosing
            order = with_late_variables(late, order, terms)
        self._levels = levels
        # For each level and the end, the counts by what the earlier levels determine.
        self._counts: list[dict[Hashable, int]] = [*({} for _ in levels), {(): 1}]
        # The loops yield the values that the number of solutions from the next level on depends on.
        slots = {name: index for index, name in enumerate(order)}
        bounds = Bounds.spanning(domains)
        self._loops: list[Loop] = []
        for index, level in enumerate(levels):
            assigned = frozenset(order[: index + 1])
            open_terms = [term for term in terms if not term.variables <= assigned]
            key = outlook(open_terms, assigned, slots, bounds, level.name)
            self._loops.append(compile_loop(index, level.checks, key))
        # The visible levels, and the hidden ones whose terms end before the next level.
        self._shown = [index for index, name in enumerate(order) if name not in hidden]
        ends = {
            name: index
            for index, level in enumerate(levels)
            for term in level.terms
            for name in term.variables
        }
        self._settled = [
            name in hidden and ends.get(name, at) <= at for at, name in enumerate(order)
        ]

    def run(self, deadline: Deadline) -> None:
        """Count the solutions."""
        depth = len(self._levels)
        last_shown = max(self._shown, default=-1)
        values = [0] * depth
        totals = [0] * depth
        keys: list[Hashable] = [()] * depth
        choices = [self._choices(0, values, deadline)] * depth
        at = 0

        def is_done(count: int) -> bool:
            # Whether the other values of the level can be skipped after one that its assertions allow.
            return self._settled[at] or (count > 0 and at > last_shown)

        try:
            deadline.check()
            while at >= 0:
                for key in choices[at]:
                    # Use a stored count, or count the next level first.
                    count = self._counts[at + 1].get(key)
                    if count is None:
                        at += 1
                        keys[at] = key
                        choices[at] = self._choices(at, values, deadline)
                        break
                    totals[at] += count
                    if is_done(count):
                        choices[at] = iter(())
                        break
                else:
                    # All choices of the level are counted: store the count, and add it to the previous level.
                    if self.size == _MOST_REMEMBERED:
                        for counts in self._counts[:-1]:
                            counts.clear()
                        self.size = 0
                        self.is_known = False
                    self._counts[at][keys[at]] = totals[at]
                    self.size += 1
                    at -= 1
                    if at >= 0:
                        totals[at] += totals[at + 1]
                        totals[at + 1] = 0
                        if is_done(totals[at]):
                            choices[at] = iter(())
        finally:
            # Counts below each level belong to other values of the earlier levels.
            self.total = sum(totals)

    def solution(self, number: int) -> dict[str, int]:
        """Return the solution with a number; all partial counts must be stored."""
        values = [0] * len(self._levels)
        for at in range(max(self._shown, default=-1) + 1):
            for key in self._loops[at](values, _choices(self._levels[at], values)):
                ways = self._counts[at + 1][key]
                if number < ways:
                    break
                number -= ways
        return {self._levels[slot].name: values[slot] for slot in self._shown}

    def _choices(self, at: int, values: Values, deadline: Deadline) -> Iterator[Hashable]:
        """Start the loop of a level, and count the values that it tries."""
        choices = _choices(self._levels[at], values)
        self._nodes += len(choices)
        if self._nodes >= _NODES_BETWEEN_CHECKS:
            self._nodes -= _NODES_BETWEEN_CHECKS
            deadline.check()
        return self._loops[at](values, choices)


def _choices(level: Level, values: Values) -> Collection[int]:
    return level.ranks if level.solve is None else level.few(level.solve(values), level.ranks)
