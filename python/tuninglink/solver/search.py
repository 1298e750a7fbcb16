"""The search for all assignments that satisfy assertions, in an order that fails early, or for the nearest one.

Variables are assigned one after the other. An assertion is checked as soon as the last of its variables has a value. If
an equation leaves a variable only one value, no other value is tried. Domains of variables are computed without trying
every value of large ranges.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf, isqrt, prod

from tuninglink.solver.bounds import ANY, Bounds, Interval
from tuninglink.solver.compiled import (
    Loop,
    Values,
    alternatives,
    compile_function,
    compile_loop,
    conjunction,
    may_divide_by_zero,
    outlook,
    possibility,
    solutions,
)
from tuninglink.solver.terms import (
    CountAnswer,
    Deadline,
    Kind,
    NearestAnswer,
    Term,
    UndecidedError,
    Verdict,
    evaluate,
)

# --- The plan of a search: domains, the order of the variables, and the assertions decided after each

MOST_VALUES = 1 << 17
"""The maximum number of values of a variable that is searched."""

_FEW = 16
"""The maximum number of values of one variable that are all tried to find the values of another variable."""

_WORTH_COMPILING = 512
"""The number of evaluations from which compiling an assertion to a function saves time."""

_MOST_TRIAL_DIVISIONS = 1 << 20


class TooManyValuesError(Exception):
    """The domain of a variable is infinite or too large to search."""


@lru_cache(maxsize=256)
def divisors(number: int) -> list[int] | None:
    """Return the positive divisors of `number`, ascending, or None if it is zero or too large to factor."""
    number = abs(number)
    if number == 0 or isqrt(number) > _MOST_TRIAL_DIVISIONS:
        return None
    low = [position for position in range(1, isqrt(number) + 1) if number % position == 0]
    return low + [number // divisor for divisor in reversed(low) if divisor * divisor != number]


def find_domains(
    assertions: Sequence[Term], variables: Iterable[str], deadline: Deadline
) -> Mapping[str, Sequence[int]] | None:
    """Find the values that each variable can have according to single assertions."""
    variables = list(variables)
    bounds = Bounds(dict.fromkeys(variables, ANY))
    about = {name: [term for term in assertions if name in term.variables] for name in variables}
    partners = {name: {name}.union(*(term.variables for term in about[name])) for name in variables}
    domains: dict[str, Sequence[int]] = {}
    read: dict[str, tuple[object, ...]] = {}

    def state(name: str) -> tuple[object, ...]:
        return tuple((bounds[partner], len(domains.get(partner, ()))) for partner in partners[name])

    # Tighten bounds and domains in turn until neither changes.
    while True:
        bounds.tighten(assertions, deadline)
        if bounds.impossible:
            return None
        before = {name: len(values) for name, values in domains.items()}
        for name in variables:
            deadline.check()
            if read.get(name) == state(name):
                continue
            # Assertions with a second variable that has few values are included, since option knobs must not weaken the
            # result.
            fixed: dict[str, int] = {}
            alone: list[Term] = []
            pairs: dict[str, list[Term]] = {}
            for assertion in about[name]:
                others = [v for v in assertion.variables if v != name]
                free = [v for v in others if bounds[v].low != bounds[v].high]
                fixed |= {v: int(bounds[v].low) for v in others if v not in free}
                if not free:
                    alone.append(assertion)
                elif len(free) == 1 and len(domains.get(free[0], range(_FEW + 1))) <= _FEW:
                    pairs.setdefault(free[0], []).append(assertion)
            # Bounds and domains only become narrower, so that a value that was excluded stays so.
            candidates = (
                [value for value in domains[name] if value in bounds[name]]
                if name in domains
                else _candidates(name, bounds[name], alone, fixed)
            )
            domain = _kept(candidates, alone, name, ("", (0,)), fixed=fixed, bounds=bounds)
            for other, terms in pairs.items():
                options = (other, domains[other])
                domain = _kept(domain, terms, name, options, fixed=fixed, bounds=bounds)
            domains[name] = domain
            if not domain:
                return None
            bounds.restrict(name, Interval(domain[0], domain[-1]))
            read[name] = state(name)
        if before == {name: len(values) for name, values in domains.items()}:
            return domains


def _kept(
    candidates: Sequence[int],
    terms: Sequence[Term],
    name: str,
    other: tuple[str, Sequence[int]],
    *,
    fixed: Mapping[str, int],
    bounds: Bounds,
) -> list[int]:
    """Return the values of a variable for which `terms` may hold with one of the values of another variable."""
    other_name, options = other
    compiled = None
    if len(candidates) * len(options) >= _WORTH_COMPILING:
        lines = conjunction(terms, {name: 0, other_name: 1}, bounds)
        compiled = compile_function([*lines, "return True"])
    values = dict(fixed)
    kept = []
    for value in candidates:
        values[name] = value
        for option in options:
            values[other_name] = option
            try:
                holds = compiled([value, option]) if compiled else may_hold(terms, values)
            except ZeroDivisionError:
                holds = may_hold(terms, values)
            if holds:
                kept.append(value)
                break
    return kept


def may_hold(assertions: Iterable[Term], values: Mapping[str, int]) -> bool:
    """Return whether assertions can hold, of which a division by zero may decide some."""
    for assertion in assertions:
        try:
            if not evaluate(assertion, values):
                return False
        except ZeroDivisionError:
            pass
    return True


def _candidates(
    name: str, interval: Interval, alone: Iterable[Term], fixed: Mapping[str, int]
) -> Sequence[int]:
    """Return the values to try: those that divide a fixed number if an assertion requires it, otherwise all."""
    most = interval.high - interval.low if interval.is_finite else inf
    equations = [term.operands for term in alone if term.kind is Kind.EQ and most >= _FEW]
    for one, other in equations:
        for remainder, zero in ((one, other), (other, one)):
            if remainder.kind is not Kind.MOD or (zero.kind, zero.value) != (Kind.CONSTANT, 0):
                continue
            number, divisor = remainder.operands
            if (
                divisor.kind is not Kind.VARIABLE
                or divisor.name != name
                or name in number.variables
            ):
                continue
            try:
                positive = divisors(evaluate(number, fixed))
            except ZeroDivisionError:
                continue
            if positive is not None:
                numbers = [-divisor for divisor in reversed(positive)] + [0, *positive]
                return [value for value in numbers if value in interval]
    if most >= MOST_VALUES:
        raise TooManyValuesError(name)
    return range(int(interval.low), int(interval.high) + 1)


_DETERMINED = 0.9
"""The cost of a variable with at most one value."""


@dataclass(frozen=True)
class Level:
    """One step of a search: a variable, and the conditions that can be decided once it has a value."""

    name: str
    ranks: Mapping[int, int]
    terms: tuple[Term, ...]
    checks: Sequence[str]
    solve: Callable[[Values], Sequence[int]] | None
    is_determined: bool

    @cached_property
    def holds(self) -> Callable[[Values], bool]:
        function: Callable[[Values], bool] = compile_function([*self.checks, "return True"])
        return function

    def choices(self, ranks: Mapping[int, int], values: Values) -> Collection[int]:
        """Return the values to try after those of the earlier levels, in the order of their ranks."""
        if self.solve is None:
            return ranks
        try:
            solved = self.solve(values)
        except ZeroDivisionError:
            return ranks
        if len(solved) == 1:
            return solved if solved[0] in ranks else ()
        return sorted(ranks.keys() & set(solved), key=ranks.__getitem__)


def order_variables(
    assertions: Sequence[Term],
    domains: Mapping[str, Sequence[int]],
    hidden: frozenset[str],
    deadline: Deadline,
) -> list[str]:
    """Choose the order of the variables: those determined by equations, then those that decide the most assertions."""
    # Hidden variables that no equation determines come last.
    order = [name for name, values in domains.items() if len(values) == 1]
    placed = set(order)
    pending = [assertion for assertion in assertions if not assertion.variables <= placed]
    while len(order) < len(domains):
        deadline.check()
        # A cost estimates the number of values of a variable that the decidable assertions leave.
        costs: dict[str, tuple[bool, float]] = {}
        for name in domains:
            if name in placed:
                continue
            cost, assigned = float(len(domains[name])), {name, *placed}
            for term in pending:
                if name not in term.variables or not term.variables <= assigned:
                    continue
                if term.kind is Kind.EQ and term.occurrences(name) == 1:
                    divides = any(side.kind is Kind.MOD for side in term.operands)
                    cost = cost * 0.5 if divides else min(cost, _DETERMINED)
                elif count := alternatives(term, name):
                    cost = min(cost, count)
                else:
                    cost *= 0.8
            costs[name] = (name in hidden and cost > _DETERMINED, cost)
        best = min(costs, key=costs.__getitem__)
        order.append(best)
        placed.add(best)
        pending = [term for term in pending if not term.variables <= placed]
    return order


def plan_levels(
    assertions: Sequence[Term], order: Sequence[str], domains: Mapping[str, Sequence[int]]
) -> list[Level]:
    """Return the levels of a search that assigns the variables in an order."""
    # Decide an assertion at the level of its last variable.
    slots = {name: index for index, name in enumerate(order)}
    bounds = Bounds({name: Interval(values[0], values[-1]) for name, values in domains.items()})
    decided: list[list[Term]] = [[] for _ in order]
    for assertion in assertions:
        decided[max((slots[name] for name in assertion.variables), default=0)].append(assertion)
    levels = []
    for at, (name, terms) in enumerate(zip(order, decided, strict=True)):
        # Compile the checks of each level; the assertion with the fewest solutions generates its values.
        assigned = frozenset(order[: at + 1])
        later = [term for ahead in decided[at + 1 :] for term in ahead if name in term.variables]
        domain = domains[name]
        # The domains have only values for which assertions on a single variable hold.
        checked = [
            term
            for term in terms
            if sum(len(domains[name]) > 1 for name in term.variables) > 1
            or may_divide_by_zero(term, bounds)
        ]
        counts = {term: alternatives(term, name) for term in checked} if len(domain) > 1 else {}
        solvable = min(filter(counts.get, counts), key=counts.__getitem__, default=None)
        levels.append(
            Level(
                name,
                {value: place for place, value in enumerate(domain)},
                tuple(terms),
                [
                    *conjunction(checked, slots, bounds, name),
                    *(possibility(later, assigned, slots, bounds, name) if len(domain) > 1 else ()),
                ],
                None if solvable is None else solutions(solvable, name, slots, bounds),
                solvable is not None and counts[solvable] == 1,
            )
        )
    return levels


# --- Searches ------------------------------------------------------------------------------------

Confirm = Callable[[Mapping[str, int], Deadline], bool]


@dataclass
class CostLimit:
    """The cost that solutions stay below: the number of differences from a target, then the distance from it.

    Unknowns without a target value are free.

    Attributes:
        measured: the unknowns that count for the distance.
        is_lowered: whether each solution lowers the limit to its cost; values near the target are then tried first.
    """

    target: Mapping[str, int]
    measured: Collection[str] = ()
    cost: tuple[float, float] = (inf, 0)
    is_lowered: bool = False


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
        limit: CostLimit | None = None,
        within: Mapping[str, Collection[int]] | None = None,
    ) -> Iterator[dict[str, int]]:
        """Yield every solution once, by default in the order of the domains."""
        if self.domains is None:
            return
        # The values of each level, in the order in which they are tried.
        shuffler = random.Random(seed)  # noqa: S311 - not for cryptography
        ranks: list[Mapping[int, int]] = []
        for level in self._levels:
            domain: Sequence[int] = [*level.ranks]
            if within and level.name in within:
                domain = [value for value in domain if value in within[level.name]]
            if limit is not None and limit.is_lowered and level.name in limit.target:
                gaps = {value: (abs(value - limit.target[level.name]), value) for value in domain}
                domain = sorted(gaps, key=gaps.__getitem__)
            if seed is not None:
                domain = shuffler.sample(domain, len(domain))
            ranks.append({value: place for place, value in enumerate(domain)})
        seen: set[tuple[int, ...]] = set()
        shown = [(name, self._slots[name]) for name in self._shown]
        for values in self._walk(ranks, deadline, limit):
            solution = {name: values[slot] for name, slot in shown}
            if self._may_repeat:
                key = tuple(solution.values())
                if key in seen:
                    continue
                seen.add(key)
            yield solution

    def _walk(
        self,
        ranks: list[Mapping[int, int]],
        deadline: Deadline,
        limit: CostLimit | None,
    ) -> Iterator[Values]:
        levels = self._levels
        values = [0] * len(levels)
        if not levels:
            yield values
            return
        is_open = [False] * len(levels)  # whether the level involves a division by zero
        costs: list[tuple[float, float]] = [(0, 0)] * (len(levels) + 1)  # of the earlier levels
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
                    holds = is_open[at] = may_hold(
                        level.terms, dict(zip(self.order, values, strict=True))
                    )
                if not holds:
                    continue
                if limit is not None:
                    changed, distance = costs[at]
                    if value != limit.target.get(level.name, value):
                        changed += 1
                        if level.name in limit.measured:
                            distance += abs(value - limit.target[level.name])
                    costs[at + 1] = changed, distance
                    if costs[at + 1] >= limit.cost:
                        continue
                # Descend, or yield a solution.
                if at < last:
                    at += 1
                    choices[at] = iter(levels[at].choices(ranks[at], values))
                    break
                if any(is_open) and not self._confirm(
                    dict(zip(self.order, values, strict=True)), deadline
                ):
                    continue
                if limit is not None and limit.is_lowered:
                    limit.cost = costs[-1]
                yield values
                at = self._last_shown  # other values of hidden variables give the same solution
                break
            else:
                # No value is left: backtrack.
                at -= 1


def nearest_by_search(
    search: SearchPlan, target: Mapping[str, int], measured: Collection[str], deadline: Deadline
) -> NearestAnswer:
    """Find the solution with the lowest cost: the fewest differences from `target`, then the smallest distance."""
    # Each solution is better than the one before; the last one is the nearest.
    limit = CostLimit(target, measured, is_lowered=True)
    nearest: Mapping[str, int] | None = None
    reason = ""
    try:
        for solution in search.solutions(deadline, limit=limit):
            nearest = solution
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
    """The number of solutions of assertions.

    Attributes:
        parts: the counts of the groups of variables that assertions connect.
        is_indexed: whether solutions can be found by their numbers.
    """

    answer: CountAnswer
    parts: Sequence[_Count]
    is_indexed: bool

    def solution(self, number: int) -> dict[str, int]:
        """Return the solution with a number; similar solutions have close numbers."""
        result: dict[str, int] = {}
        for part in self.parts:
            number, own = divmod(number, part.total)
            result |= part.solution(own)
        return result


def count_solutions(
    assertions: Sequence[Term], domains: Domains, hidden: frozenset[str], deadline: Deadline
) -> Counted:
    """Count the assignments of the visible variables for which all assertions can hold."""
    if not all(assertion.variables for assertion in assertions):
        raise ZeroDivisionError  # other constant terms were folded when they were made
    # Group the variables that assertions connect, in the order of the domains: that of a set differs between runs.
    fixed = [name for name, values in domains.items() if len(values) == 1]
    free = [name for name in domains if len(domains[name]) > 1]
    group_of = {name: [name] for name in free}
    for assertion in assertions:
        first, *others = [group_of[name] for name in free if name in assertion.variables] or [[]]
        for other in others:
            if other is not first:
                first += other
                group_of |= dict.fromkeys(other, first)
    # Each group has the assertions on its variables; the fixed variables have a group of their own, too.
    terms_of: dict[int, list[Term]] = {}
    for assertion in assertions:
        names = [name for name in assertion.variables if name in group_of]
        terms_of.setdefault(id(group_of[names[0]]) if names else 0, []).append(assertion)
    groups = [(fixed, terms_of.get(0, []))] if fixed else []
    for key, names in {id(names): names for names in group_of.values()}.items():
        groups.append(([*fixed, *names], terms_of.get(key, [])))
    groups.sort(key=lambda group: prod(len(domains[name]) for name in group[0]))
    # Count group by group, those with the fewest assignments first.
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
                return Counted(CountAnswer(Verdict.PROVEN, 0), parts, is_indexed=True)
    # A group whose count could not be planned has none.
    total = prod(part.total for part in parts) if len(parts) == len(groups) else 0
    verdict = Verdict.NOT_DECIDED if reason else Verdict.PROVEN
    is_indexed = not reason and all(part.is_known for part in parts)
    return Counted(CountAnswer(verdict, total, reason), parts, is_indexed)


class _Count:
    """Counts the solutions of a group."""

    def __init__(
        self, terms: Sequence[Term], domains: Domains, hidden: frozenset[str], deadline: Deadline
    ) -> None:
        self.size = self.total = 0
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
            # Move these variables after all variables that they are connected with, otherwise to the end.
            late |= choosing
            arranged = [name for name in order if name not in late]
            alone: list[tuple[int, str]] = []
            for name in sorted(late):
                connected = (term.variables for term in terms if name in term.variables)
                partners = frozenset[str]().union(*connected) - {name}
                if not partners & late:
                    alone.append((max(map(arranged.index, partners), default=-1) + 1, name))
            for place, name in sorted(alone, reverse=True):
                arranged.insert(place, name)
            order = arranged + sorted(late - {name for _, name in alone})
        self._levels = levels
        # For each level and the end, the counts by what the earlier levels determine.
        self._counts: list[dict[Hashable, int]] = [*({} for _ in levels), {(): 1}]
        # The loops yield the values that the number of solutions from the next level on depends on.
        slots = {name: index for index, name in enumerate(order)}
        spans = {name: Interval(values[0], values[-1]) for name, values in domains.items()}
        bounds = Bounds(spans)
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
        # The count from which on the other values of a level can be skipped.
        last_shown = max(self._shown, default=-1)
        self._enough = [
            0 if name in hidden and ends.get(name, at) <= at else 1 if at > last_shown else inf
            for at, name in enumerate(order)
        ]

    def run(self, deadline: Deadline) -> None:
        """Count the solutions."""
        values = [0] * len(self._levels)
        totals = [0] * len(self._levels)
        keys: list[Hashable] = [()] * len(self._levels)
        choices: list[Iterator[Hashable]] = [iter(())] * len(self._levels)
        at, is_new, nodes = 0, True, 0
        try:
            deadline.check()
            while at >= 0:
                if is_new:
                    # Start the loop of the level, and count the values that it tries.
                    level = self._levels[at]
                    tried = level.choices(level.ranks, values)
                    nodes += len(tried)
                    if nodes >= _NODES_BETWEEN_CHECKS:
                        nodes -= _NODES_BETWEEN_CHECKS
                        deadline.check()
                    choices[at] = self._loops[at](values, tried)
                    is_new = False
                for key in choices[at]:
                    # Use a stored count, or count the next level first.
                    count = self._counts[at + 1].get(key)
                    if count is None:
                        at += 1
                        keys[at] = key
                        is_new = True
                        break
                    totals[at] += count
                    if count >= self._enough[at]:
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
                        if totals[at] >= self._enough[at]:
                            choices[at] = iter(())
        finally:
            # Counts below each level belong to other values of the earlier levels.
            self.total = sum(totals)

    def solution(self, number: int) -> dict[str, int]:
        """Return the solution with a number; all partial counts must be stored."""
        values = [0] * len(self._levels)
        for at, level in enumerate(self._levels[: max(self._shown, default=-1) + 1]):
            for key in self._loops[at](values, level.choices(level.ranks, values)):
                ways = self._counts[at + 1][key]
                if number < ways:
                    break
                number -= ways
        return {self._levels[slot].name: values[slot] for slot in self._shown}
