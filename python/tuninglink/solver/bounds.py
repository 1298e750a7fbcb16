"""Bounds propagation: intervals of variables, tightened to the values for which assertions can hold.

Interval arithmetic gives the values that a term can have if its operands are in intervals. All operations
over-approximate: a value outside an interval is impossible, and a value inside may also be impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from tuninglink.solver.terms import Kind, Term, divide

if TYPE_CHECKING:
    from tuninglink.solver.terms import Deadline


class Interval(NamedTuple):
    """The integers from `low` to `high`, either of which may be infinite; empty if `low` is greater."""

    low: float = -inf
    high: float = inf

    @property
    def is_empty(self) -> bool:
        return self.low > self.high

    @property
    def is_finite(self) -> bool:
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


def product(factors: Iterable[Interval]) -> Interval:
    """Return the possible values of a product."""
    low: float = 1
    high: float = 1
    for factor in factors:
        if low > 0 and 0 < factor.low <= factor.high:  # the usual case: tiles and counts
            low, high = low * factor.low, high * factor.high
            continue
        ends = [a * b if a and b else 0 for a in (low, high) for b in (factor.low, factor.high)]
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


def _quotient(parts: Sequence[Interval]) -> Interval:
    number, divisor = parts
    if divisor.low <= 0:
        return ANY  # the quotient by zero is undefined; negative divisors do not occur in practice
    if number.low == number.high and divisor.low == divisor.high < inf and number.is_finite:
        value = divide(int(number.low), int(divisor.low))
        return Interval(value, value)
    ends = [_floor(n, d) for n in (number.low, number.high) for d in (divisor.low, divisor.high)]
    return Interval(min(ends), max(ends))


def _remainder(parts: Sequence[Interval]) -> Interval:
    number, divisor = parts
    if divisor.low <= 0 <= divisor.high:
        return ANY
    most = max(abs(divisor.low), abs(divisor.high)) - 1
    if number.low >= 0:
        if divisor.low > 0 and number.high < divisor.low:
            return number
        return Interval(0, min(number.high, most))
    return Interval(0, most)


RESULTS: Mapping[Kind, Callable[[Sequence[Interval]], Interval]] = {
    Kind.ADD: lambda parts: Interval(
        sum(part.low for part in parts), sum(part.high for part in parts)
    ),
    Kind.MUL: product,
    Kind.NEG: lambda parts: Interval(-parts[0].high, -parts[0].low),
    Kind.DIV: _quotient,
    Kind.MOD: _remainder,
    Kind.EQ: lambda parts: Interval(
        int(parts[0].low == parts[0].high == parts[1].low == parts[1].high),
        int(not (parts[0] & parts[1]).is_empty),
    ),
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


_CONSTANT: Final = Kind.CONSTANT
_VARIABLE: Final = Kind.VARIABLE
_ITE: Final = Kind.ITE

_ROUNDS = 40
"""The maximum number of passes over all assertions: bounds that shrink by one in a pass are not worth the time."""


@dataclass(eq=False)
class Bounds:
    """The bounds of every variable, tightened by assertions."""

    _bounds: dict[str, Interval]
    _values: dict[Term, Interval] = field(default_factory=dict)
    _changes: int = 0
    _changed_at: dict[str, int] = field(default_factory=dict)
    _tightened_at: dict[Term, int] = field(default_factory=dict)
    impossible: bool = False

    def __getitem__(self, name: str) -> Interval:
        return self._bounds[name]

    def restrict(self, name: str, to: Interval) -> None:
        """Remove the values outside of `to`."""
        old = self._bounds[name]
        new = old & to
        if new != old:
            self._bounds[name] = new
            self._values.clear()
            self._changes += 1
            self._changed_at[name] = self._changes
            self.impossible |= new.is_empty

    def tighten(self, assertions: Iterable[Term], deadline: Deadline) -> None:
        """Remove values for which an assertion cannot hold, until nothing changes."""
        assertions = list(assertions)
        for _ in range(_ROUNDS):
            waiting = False
            for assertion in assertions:
                # Only if a bound of its variables has changed since the last evaluation.
                since = self._tightened_at.get(assertion, -1)
                changed = (self._changed_at.get(name, 0) for name in assertion.variables)
                if since >= 0 and all(at <= since for at in changed):
                    continue
                waiting = True
                deadline.check()
                self._tightened_at[assertion] = self._changes
                self._require(assertion, TRUE)
                if self.impossible:
                    return
            if not waiting:
                return

    def of(self, term: Term) -> Interval:
        """Return the possible values of `term`, computed once until a bound changes."""
        kind = term.kind
        if kind is _CONSTANT:
            return Interval(term.value, term.value)
        if kind is _VARIABLE:
            return self._bounds[term.name]
        value = self._values.get(term)
        if value is None:
            if kind is _ITE:
                condition, yes, no = term.operands
                can = self.of(condition)
                if can.low == can.high:
                    value = self.of(yes if can == TRUE else no)
                else:
                    value = self.of(yes) | self.of(no)
            else:
                value = RESULTS[kind]([self.of(operand) for operand in term.operands])
            self._values[term] = value
        return value

    def _require(self, term: Term, required: Interval) -> None:
        """Remove values of variables for which `term` cannot be in `required`."""
        if self.impossible:
            return
        can = self.of(term)
        required &= can
        if required.is_empty:
            self.impossible = True
            return
        if term.kind is Kind.VARIABLE:
            self.restrict(term.name, required)
        elif required != can:
            match term.kind:
                case Kind.ADD | Kind.MUL:
                    # The other operands bound each operand.
                    for index, operand in enumerate(term.operands):
                        parts = [
                            self.of(each) for at, each in enumerate(term.operands) if at != index
                        ]
                        others = RESULTS[term.kind](parts)
                        if term.kind is Kind.ADD:
                            bounds = required.low - others.high, required.high - others.low
                            self._require(operand, Interval(*bounds))
                        elif others.low > 0:
                            low = -divide_down(-required.low, others)
                            self._require(
                                operand, Interval(low, divide_down(required.high, others))
                            )
                case Kind.NEG:
                    self._require(term.operands[0], Interval(-required.high, -required.low))
                case Kind.DIV:
                    divisor = self.of(term.operands[1])
                    if divisor.low == divisor.high and 0 < divisor.low < inf:
                        size = divisor.low
                        inner = Interval(required.low * size, required.high * size + size - 1)
                        self._require(term.operands[0], inner)
                case Kind.ITE:
                    self._require_of_choice(term, required)
                case kind if kind in _TRUTHS and required.low == required.high:
                    self._require_truth(term, required)

    def _require_of_choice(self, term: Term, required: Interval) -> None:
        condition, yes, no = term.operands
        if (self.of(yes) & required).is_empty:
            self._require(condition, FALSE)
        elif (self.of(no) & required).is_empty:
            self._require(condition, TRUE)
        can = self.of(condition)
        if can.low == can.high:
            self._require(yes if can == TRUE else no, required)

    def _require_truth(self, term: Term, required: Interval) -> None:
        holds, operands = required == TRUE, term.operands
        match term.kind:
            case Kind.NOT:
                self._require(operands[0], FALSE if holds else TRUE)
            case Kind.AND | Kind.OR if (term.kind is Kind.AND) is holds:
                for operand in operands:
                    self._require(operand, required)
            case Kind.AND | Kind.OR:
                # Keep the values for which at least one of the operands can have the truth value.
                names = {name for operand in operands for name in operand.variables}
                kept = dict.fromkeys(names, Interval(inf, -inf))
                is_possible = False
                for operand in operands:
                    trial = Bounds(dict(self._bounds))
                    trial._require(operand, required)
                    if not trial.impossible:
                        is_possible = True
                        kept = {name: kept[name] | trial[name] for name in names}
                self.impossible |= not is_possible
                for name, interval in kept.items() if is_possible else ():
                    self.restrict(name, interval)
            case Kind.EQ if holds:
                common = self.of(operands[0]) & self.of(operands[1])
                self._require(operands[0], common)
                self._require(operands[1], common)
                # The divisor of a nonzero number without a remainder is not larger than the number.
                for remainder, zero in (operands, operands[::-1]):
                    if remainder.kind is Kind.MOD and self.of(zero) == FALSE:
                        number, divisor = map(self.of, remainder.operands)
                        if (number.low > 0 or number.high < 0) and 0 not in divisor:
                            most = max(abs(number.low), abs(number.high))
                            self._require(remainder.operands[1], Interval(-most, most))
            case Kind.LE | Kind.LT:
                strict = int((term.kind is Kind.LT) is holds)
                less, more = operands if holds else operands[::-1]
                self._require(less, Interval(-inf, self.of(more).high - strict))
                self._require(more, Interval(self.of(less).low + strict, inf))


_TRUTHS = frozenset({Kind.EQ, Kind.LE, Kind.LT, Kind.AND, Kind.OR, Kind.NOT})
