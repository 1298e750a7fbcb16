"""Interval arithmetic on integers: the values that a term can have if its operands are in intervals.

All operations over-approximate: a value outside of an interval is impossible, a value inside may be impossible, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from tuninglink.solver import Kind, divide


class Interval(NamedTuple):
    """The integers from `low` to `high`, either of which may be infinite; empty if `low` is greater."""

    low: float = -inf
    high: float = inf

    @property
    def is_empty(self) -> bool:
        """Whether the interval contains no value."""
        return self.low > self.high

    @property
    def is_finite(self) -> bool:
        """Whether both ends are finite."""
        return self.low > -inf and self.high < inf

    def __and__(self, other: Interval) -> Interval:
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def __or__(self, other: Interval) -> Interval:
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, int | float)
        return self.low <= value <= self.high


ANY = Interval()
TRUE = Interval(1, 1)
FALSE = Interval(0, 0)


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def product(factors: Iterable[Interval]) -> Interval:
    """Return the possible values of a product."""
    low: float = 1
    high: float = 1
    for factor in factors:
        if low > 0 and 0 < factor.low <= factor.high:  # the usual case: tiles and counts
            low, high = low * factor.low, high * factor.high
            continue
        ends = [_times(a, b) for a in (low, high) for b in (factor.low, factor.high)]
        low, high = min(ends), max(ends)
    return Interval(low, high)


def _floor(number: float, divisor: float) -> float:
    if divisor == inf:
        return 0 if number >= 0 else -1
    if number in (inf, -inf):
        return number
    return number // divisor


def divide_down(number: float, divisors: Interval) -> float:
    """Return the maximum value whose product with some of the positive `divisors` does not exceed `number`."""
    return max(_floor(number, divisors.low), _floor(number, divisors.high))


def _quotient(number: Interval, divisor: Interval) -> Interval:
    if divisor.low <= 0:
        return ANY  # the quotient by zero is undefined; negative divisors do not occur in practice
    if number.low == number.high and divisor.low == divisor.high < inf and number.is_finite:
        value = divide(int(number.low), int(divisor.low))
        return Interval(value, value)
    ends = [_floor(n, d) for n in (number.low, number.high) for d in (divisor.low, divisor.high)]
    return Interval(min(ends), max(ends))


def _remainder(number: Interval, divisor: Interval) -> Interval:
    if divisor.low <= 0 <= divisor.high:
        return ANY
    most = max(abs(divisor.low), abs(divisor.high)) - 1
    if number.low >= 0:
        if divisor.low > 0 and number.high < divisor.low:
            return number
        return Interval(0, min(number.high, most))
    return Interval(0, most)


def _sum(parts: Sequence[Interval]) -> Interval:
    return Interval(sum(part.low for part in parts), sum(part.high for part in parts))


def _equal(parts: Sequence[Interval]) -> Interval:
    left, right = parts
    surely = left.low == left.high == right.low == right.high
    return Interval(int(surely), int(not (left & right).is_empty))


RESULTS: Mapping[Kind, Callable[[Sequence[Interval]], Interval]] = {
    Kind.ADD: _sum,
    Kind.MUL: product,
    Kind.NEG: lambda parts: Interval(-parts[0].high, -parts[0].low),
    Kind.DIV: lambda parts: _quotient(*parts),
    Kind.MOD: lambda parts: _remainder(*parts),
    Kind.EQ: _equal,
    Kind.LE: lambda parts: Interval(
        int(parts[0].high <= parts[1].low), int(parts[0].low <= parts[1].high)
    ),
    Kind.LT: lambda parts: Interval(
        int(parts[0].high < parts[1].low), int(parts[0].low < parts[1].high)
    ),
    Kind.AND: lambda parts: Interval(
        min(part.low for part in parts), min(part.high for part in parts)
    ),
    Kind.OR: lambda parts: Interval(
        max(part.low for part in parts), max(part.high for part in parts)
    ),
    Kind.NOT: lambda parts: Interval(1 - parts[0].high, 1 - parts[0].low),
}
"""The range of results of an operation for ranges of its operands; truth values are 0 and 1."""
