"""The plan of a search: the domains of single variables, their order, and the assertions decided after each.

Domains are computed without trying every value of large ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf, isqrt
from typing import TYPE_CHECKING

from tuninglink.solver.bounds import ANY, Bounds, Interval
from tuninglink.solver.compiled import (
    Values,
    alternatives,
    compile_function,
    conjunction,
    may_divide_by_zero,
    possibility,
    solutions,
)
from tuninglink.solver.terms import Kind, Term, evaluate

if TYPE_CHECKING:
    from tuninglink.solver.terms import Deadline


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
