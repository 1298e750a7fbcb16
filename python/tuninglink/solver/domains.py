"""The domains of single variables, computed without trying every value of large ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING

from tuninglink.solver import Kind, Term, evaluate
from tuninglink.solver.bounds import Bounds, Interval
from tuninglink.solver.compiled_terms import conjunction

if TYPE_CHECKING:
    from tuninglink.solver.answers import Deadline

MOST_VALUES = 1 << 17
"""A variable that may have more values than this is not searched."""

_FEW = 16
"""The maximum number of values of one variable that are all tried in the search for the values of another."""

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
    """Find the values that each variable can have according to single assertions.

    Returns:
        The values of each variable, ascending, or None if the assertions cannot hold together.

    Raises:
        TooManyValuesError: a variable has too many values or is unbounded.
        UndecidedError: the deadline has passed.
    """
    variables = list(variables)
    bounds = Bounds(variables)
    about = {name: [term for term in assertions if name in term.variables] for name in variables}
    partners = {name: {name}.union(*(term.variables for term in about[name])) for name in variables}
    domains: dict[str, Sequence[int]] = {}
    read: dict[str, tuple[object, ...]] = {}

    def state(name: str) -> tuple[object, ...]:
        """Return what the domain of a variable depends on."""
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
            domains[name] = _domain(name, bounds, about[name], domains)
            if not domains[name]:
                return None
            bounds.restrict(name, Interval(domains[name][0], domains[name][-1]))
            read[name] = state(name)
        if before == {name: len(values) for name, values in domains.items()}:
            return domains


def _domain(
    name: str, bounds: Bounds, assertions: Sequence[Term], domains: Mapping[str, Sequence[int]]
) -> Sequence[int]:
    """Return the values of a variable for which all of `assertions` over it alone can hold.

    Assertions that also contain a second variable with few values count, too: option knobs must not weaken the result.
    """
    fixed: dict[str, int] = {}
    alone: list[Term] = []
    pairs: dict[str, list[Term]] = {}
    for assertion in assertions:
        others = [v for v in assertion.variables if v != name]
        free = [v for v in others if bounds[v].low != bounds[v].high]
        fixed |= {v: int(bounds[v].low) for v in others if v not in free}
        if not free:
            alone.append(assertion)
        elif len(free) == 1 and len(domains.get(free[0], range(_FEW + 1))) <= _FEW:
            pairs.setdefault(free[0], []).append(assertion)
    # Bounds and domains only become narrower, so that a value that was excluded stays so.
    before = domains.get(name)
    candidates = (
        _candidates(name, bounds[name], alone, fixed)
        if before is None
        else [value for value in before if value in bounds[name]]
    )
    test = _test(alone, name, None, fixed, bounds, calls=len(candidates))
    domain = [value for value in candidates if test(value, 0)]
    for other, terms in pairs.items():
        options = domains[other]
        test = _test(terms, name, other, fixed, bounds, calls=len(domain) * len(options))
        domain = [value for value in domain if any(test(value, option) for option in options)]
    return domain


def _test(
    terms: Sequence[Term],
    name: str,
    other: str | None,
    fixed: Mapping[str, int],
    bounds: Bounds,
    *,
    calls: int,
) -> Callable[[int, int], bool]:
    """Return a predicate on the values of two variables that is true if `terms` may hold."""
    values = dict(fixed)

    def interpreted(value: int, option: int) -> bool:
        values[name] = value
        if other is not None:
            values[other] = option
        return all(_may_hold(term, values) for term in terms)

    if calls < _WORTH_COMPILING:
        return interpreted
    compiled = conjunction(terms, {name: 0, other or "": 1}, bounds)

    def fast(value: int, option: int) -> bool:
        try:
            return compiled([value, option])
        except ZeroDivisionError:
            return interpreted(value, option)

    return fast


def _may_hold(assertion: Term, values: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(assertion, values))
    except ZeroDivisionError:
        return True


def _candidates(
    name: str, interval: Interval, alone: Iterable[Term], fixed: Mapping[str, int]
) -> Sequence[int]:
    if interval.is_finite and interval.high - interval.low < _FEW:
        return range(int(interval.low), int(interval.high) + 1)
    for assertion in alone:
        numbers = _divided(assertion, name, fixed)
        if numbers is not None:
            return [value for value in numbers if value in interval]
    if interval.is_finite and interval.high - interval.low < MOST_VALUES:
        return range(int(interval.low), int(interval.high) + 1)
    raise TooManyValuesError(name)


def _divided(assertion: Term, name: str, fixed: Mapping[str, int]) -> list[int] | None:
    """Return the values of the variable if the assertion states that it divides a fixed number."""
    if assertion.kind is not Kind.EQ:
        return None
    for remainder, zero in (assertion.operands, assertion.operands[::-1]):
        if remainder.kind is not Kind.MOD or (zero.kind, zero.value) != (Kind.CONSTANT, 0):
            continue
        number, divisor = remainder.operands
        if divisor.kind is not Kind.VARIABLE or divisor.name != name or name in number.variables:
            continue
        try:
            positive = divisors(evaluate(number, fixed))
        except ZeroDivisionError:
            continue
        if positive is not None:
            return [-divisor for divisor in reversed(positive)] + [0, *positive]
    return None
