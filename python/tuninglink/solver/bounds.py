"""Bounds: what values terms can have, and what values variables must have for assertions to hold.

Everything here over-approximates: a value outside the bounds is impossible, one inside may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from tuninglink.solver.terms import Kind, Term, divide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tuninglink.solver.answers import Deadline

_ROUNDS = 40
"""How often all assertions are revisited: bounds that shrink by one each time are not worth waiting for."""


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`, either of which may be infinite; empty if `low` is greater."""

    low: float = -inf
    high: float = inf

    @property
    def is_empty(self) -> bool:
        """Whether there is no value."""
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

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


_ANY = Interval()
_TRUE = Interval(1, 1)
_FALSE = Interval(0, 0)


class Bounds:
    """The bounds of every variable, tightened as assertions are made to hold.

    Attributes:
        impossible: whether some variable has no value left: the assertions cannot hold together.
    """

    def __init__(self, variables: Iterable[str]) -> None:
        self._bounds = dict.fromkeys(variables, _ANY)
        self._changed = False
        self.impossible = False

    @classmethod
    def spanning(cls, domains: Mapping[str, Sequence[int]]) -> Bounds:
        """Returns the bounds of variables that have one of these values each, ascending, at least one."""
        bounds = cls(domains)
        for name, values in domains.items():
            bounds.restrict(name, Interval(values[0], values[-1]))
        return bounds

    def __getitem__(self, name: str) -> Interval:
        return self._bounds[name]

    def restrict(self, name: str, to: Interval) -> None:
        """Removes the values outside of `to`."""
        old = self._bounds[name]
        new = old & to
        if new != old:
            self._bounds[name] = new
            self._changed = True
            self.impossible |= new.is_empty

    def tighten(self, assertions: Iterable[Term], deadline: Deadline) -> None:
        """Removes values with which some assertion cannot hold, until no more is found.

        Raises:
            UndecidedError: the deadline has passed.
        """
        assertions = list(assertions)
        for _ in range(_ROUNDS):
            self._changed = False
            for each in assertions:
                deadline.check()
                self._require(each, _TRUE)
                if self.impossible:
                    return
            if not self._changed:
                return

    def of(self, term: Term) -> Interval:
        """Returns the values that `term` can have."""
        if term.kind is Kind.CONSTANT:
            return Interval(term.value, term.value)
        if term.kind is Kind.VARIABLE:
            return self._bounds[term.name]
        if term.kind is Kind.ITE:
            return self._choice(term)
        parts = [self.of(each) for each in term.operands]
        return _RESULTS[term.kind](parts)

    def _choice(self, term: Term) -> Interval:
        condition, yes, no = term.operands
        can = self.of(condition)
        if can == _TRUE:
            return self.of(yes)
        return self.of(no) if can == _FALSE else self.of(yes) | self.of(no)

    def _require(self, term: Term, wanted: Interval) -> None:
        """Removes values of variables with which the value of `term` cannot be in `wanted`."""
        if self.impossible:
            return
        can = self.of(term)
        wanted &= can
        if wanted.is_empty:
            self._changed = self.impossible = True
            return
        if term.kind is Kind.VARIABLE:
            self.restrict(term.name, wanted)
        elif wanted != can:
            self._require_of_operands(term, wanted)

    def _require_of_operands(self, term: Term, wanted: Interval) -> None:
        require = _REQUIREMENTS.get(term.kind)
        if require:
            require(self, term, wanted)
        elif term.kind in _TRUTHS and wanted.low == wanted.high:
            self._require_truth(term, holds=wanted == _TRUE)

    def _require_of_negation(self, term: Term, wanted: Interval) -> None:
        self._require(term.operands[0], Interval(-wanted.high, -wanted.low))

    def _require_of_quotient(self, term: Term, wanted: Interval) -> None:
        divisor = self.of(term.operands[1])
        if divisor.low == divisor.high and 0 < divisor.low < inf:
            size = divisor.low
            inner = Interval(wanted.low * size, wanted.high * size + size - 1)
            self._require(term.operands[0], inner)

    def _require_of_choice(self, term: Term, wanted: Interval) -> None:
        condition, yes, no = term.operands
        if (self.of(yes) & wanted).is_empty:
            self._require(condition, _FALSE)
        elif (self.of(no) & wanted).is_empty:
            self._require(condition, _TRUE)
        can = self.of(condition)
        if can.low == can.high:
            self._require(yes if can == _TRUE else no, wanted)

    def _require_of_sum(self, term: Term, wanted: Interval) -> None:
        for index, each in enumerate(term.operands):
            others = [self.of(o) for i, o in enumerate(term.operands) if i != index]
            low = wanted.low - sum(o.high for o in others)
            high = wanted.high - sum(o.low for o in others)
            self._require(each, Interval(low, high))

    def _require_of_product(self, term: Term, wanted: Interval) -> None:
        for index, each in enumerate(term.operands):
            others = _product(self.of(o) for i, o in enumerate(term.operands) if i != index)
            if others.low > 0:
                low = -_down(-wanted.low, others)
                self._require(each, Interval(low, _down(wanted.high, others)))

    def _require_truth(self, term: Term, *, holds: bool) -> None:
        operands = term.operands
        match term.kind:
            case Kind.NOT:
                self._require(operands[0], _FALSE if holds else _TRUE)
            case Kind.AND if holds:
                for each in operands:
                    self._require(each, _TRUE)
            case Kind.OR if not holds:
                for each in operands:
                    self._require(each, _FALSE)
            case Kind.OR | Kind.AND:
                self._require_one(operands, _TRUE if holds else _FALSE)
            case Kind.EQ if holds:
                common = self.of(operands[0]) & self.of(operands[1])
                self._require(operands[0], common)
                self._require(operands[1], common)
                self._require_divisor(*operands)
                self._require_divisor(operands[1], operands[0])
            case Kind.LE | Kind.LT:
                strict = int((term.kind is Kind.LT) is holds)
                less, more = operands if holds else operands[::-1]
                self._require(less, Interval(-inf, self.of(more).high - strict))
                self._require(more, Interval(self.of(less).low + strict, inf))

    def _require_one(self, operands: tuple[Term, ...], wanted: Interval) -> None:
        """Keeps the values with which at least one of `operands` can be as wanted."""
        names = {name for each in operands for name in each.variables}
        kept = dict.fromkeys(names, Interval(inf, -inf))
        possible = False
        for each in operands:
            trial = Bounds(())
            trial._bounds = dict(self._bounds)
            trial._require(each, wanted)
            if not trial.impossible:
                possible = True
                kept = {name: kept[name] | trial[name] for name in names}
        if not possible:
            self._changed = self.impossible = True
            return
        for name, interval in kept.items():
            self.restrict(name, interval)

    def _require_divisor(self, remainder: Term, zero: Term) -> None:
        """If a nonzero number leaves no remainder, what it is divided by is not greater than it."""
        if remainder.kind is not Kind.MOD or self.of(zero) != _FALSE:
            return
        number, divisor = map(self.of, remainder.operands)
        if (number.low > 0 or number.high < 0) and 0 not in divisor:
            most = max(abs(number.low), abs(number.high))
            self._require(remainder.operands[1], Interval(-most, most))


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _product(factors: Iterable[Interval]) -> Interval:
    low: float = 1
    high: float = 1
    for each in factors:
        ends = [_times(a, b) for a in (low, high) for b in (each.low, each.high)]
        low, high = min(ends), max(ends)
    return Interval(low, high)


def _floor(number: float, divisor: float) -> float:
    if divisor == inf:
        return 0 if number >= 0 else -1
    if number in (inf, -inf):
        return number
    return number // divisor


def _down(number: float, divisors: Interval) -> float:
    """Returns the greatest value that divided exactly by some positive divisor is not above `number`."""
    return max(_floor(number, divisors.low), _floor(number, divisors.high))


def _quotient(number: Interval, divisor: Interval) -> Interval:
    if divisor.low <= 0:
        return _ANY  # zero leaves the quotient open; negative divisors do not occur in practice
    if number.low == number.high and divisor.low == divisor.high < inf and number.is_finite:
        value = divide(int(number.low), int(divisor.low))
        return Interval(value, value)
    ends = [_floor(n, d) for n in (number.low, number.high) for d in (divisor.low, divisor.high)]
    return Interval(min(ends), max(ends))


def _remainder(number: Interval, divisor: Interval) -> Interval:
    if divisor.low <= 0 <= divisor.high:
        return _ANY
    most = max(abs(divisor.low), abs(divisor.high)) - 1
    if number.low >= 0:
        if divisor.low > 0 and number.high < divisor.low:
            return number
        return Interval(0, min(number.high, most))
    return Interval(0, most)


def _sum(parts: Sequence[Interval]) -> Interval:
    return Interval(sum(each.low for each in parts), sum(each.high for each in parts))


def _equal(parts: Sequence[Interval]) -> Interval:
    left, right = parts
    surely = left.low == left.high == right.low == right.high
    return Interval(int(surely), int(not (left & right).is_empty))


_RESULTS: Mapping[Kind, Callable[[Sequence[Interval]], Interval]] = {
    Kind.ADD: _sum,
    Kind.MUL: _product,
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
        min(each.low for each in parts), min(each.high for each in parts)
    ),
    Kind.OR: lambda parts: Interval(
        max(each.low for each in parts), max(each.high for each in parts)
    ),
    Kind.NOT: lambda parts: Interval(1 - parts[0].high, 1 - parts[0].low),
}
"""What values an operation can give if its operands can have the values given; truths are 0 and 1."""

_REQUIREMENTS: Mapping[Kind, Callable[[Bounds, Term, Interval], None]] = {
    Kind.ADD: Bounds._require_of_sum,  # noqa: SLF001 - a table of the class
    Kind.MUL: Bounds._require_of_product,  # noqa: SLF001
    Kind.NEG: Bounds._require_of_negation,  # noqa: SLF001
    Kind.DIV: Bounds._require_of_quotient,  # noqa: SLF001
    Kind.ITE: Bounds._require_of_choice,  # noqa: SLF001
}
"""What an operation passes on to its operands of what is required of it."""

_TRUTHS = frozenset({Kind.EQ, Kind.LE, Kind.LT, Kind.AND, Kind.OR, Kind.NOT})
