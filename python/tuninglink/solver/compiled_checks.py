"""Checks of assertions as compiled Python functions: on partial assignments, in loops, and on full ones.

With the checks of partial assignments, a search backtracks as soon as the minimum of a product exceeds its limit,
without trying all values of the last factor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from tuninglink.solver import Kind, Term, evaluate
from tuninglink.solver.bounds import Bounds
from tuninglink.solver.compiled_terms import (
    SourceWriter,
    Values,
    compile_function,
    may_divide_by_zero,
    violations,
)


class _UnboundedError(Exception):
    """The values of a term have no bounds that a function can compute."""


def possibility(
    assertions: Iterable[Term],
    assigned: frozenset[str],
    slots: Mapping[str, int],
    bounds: Bounds,
    inner: str,
) -> list[str]:
    """Return lines of a function of the assigned values that return False only if some assertion cannot hold.

    Args:
        assertions: boolean terms over further variables.
        assigned: the variables that have values.
        slots: the positions of the variables in the values.
        inner: the variable that was assigned last.
        bounds: the bounds of all variables; they decide no assertion if there are no lines.
    """
    lines: list[str] = []
    for number, assertion in enumerate(sorted(assertions, key=lambda term: term.tree_size)):
        writer = _BoundsWriter(assigned, slots, bounds, f"b{number}_", inner)
        try:
            condition = writer.condition(assertion)
        except _UnboundedError:
            continue
        lines += [*writer.lines, f"if not {condition}: return False"]
    return lines


class _BoundsWriter:
    """Writes the minimum and the maximum of terms as Python expressions."""

    def __init__(
        self,
        assigned: frozenset[str],
        slots: Mapping[str, int],
        bounds: Bounds,
        local: str,
        inner: str,
    ) -> None:
        self._assigned = assigned
        self._inner = inner
        self._slots = slots
        self._bounds = bounds
        self._local = local
        self._texts: dict[int, tuple[str, str]] = {}
        self.lines: list[str] = []

    def condition(self, assertion: Term) -> str:
        """Return the expression that is false if an assertion cannot hold.

        Raises:
            _UnboundedError: bounds do not decide the assertion.
        """
        kind = assertion.kind
        if kind is Kind.AND or kind is Kind.OR:
            parts = [self.condition(operand) for operand in assertion.operands]
            return f"({(' and ' if kind is Kind.AND else ' or ').join(parts)})"
        if kind not in (Kind.LE, Kind.LT, Kind.EQ):
            raise _UnboundedError
        (low, most), (least, high) = map(self._range, assertion.operands)
        if kind is Kind.EQ:
            return f"({low} <= {high} and {least} <= {most})"
        return f"({low} {'<=' if kind is Kind.LE else '<'} {high})"

    def _range(self, term: Term) -> tuple[str, str]:
        key = id(term)
        if key not in self._texts:
            if term.variables <= self._assigned:
                texts = (self._value(term),) * 2
            else:
                texts = self._named(self._range_of_open(term))
            self._texts[key] = texts
        return self._texts[key]

    def _named(self, texts: tuple[str, str]) -> tuple[str, str]:
        names = []
        for text in texts:
            names.append(f"{self._local}{len(self.lines)}")
            self.lines.append(f"{names[-1]} = {text}")
        return names[0], names[1]

    def _value(self, term: Term) -> str:
        if may_divide_by_zero(term, self._bounds):
            raise _UnboundedError
        local = f"{self._local}v{len(self.lines)}_"
        writer = SourceWriter([term], self._slots, self._bounds, local, self._inner)
        self.lines += writer.lines
        name = f"{self._local}{len(self.lines)}"
        self.lines.append(f"{name} = {writer.text(term)}")
        return name

    def _range_of_open(self, term: Term) -> tuple[str, str]:
        """Return the bounds of a term with an unassigned variable."""
        if term.kind is Kind.ITE:
            return self._range_of_choice(term)
        within = [self._bounds.of(operand) for operand in term.operands]
        if term.kind is Kind.ADD:
            return self._joined(term, " + ")
        if term.kind is Kind.MUL and all(interval.low >= 0 for interval in within):
            return self._joined(term, " * ")
        if term.kind is Kind.DIV and within[0].low >= 0 and within[1].low > 0:
            (low, high), (least, most) = map(self._range, term.operands)
            return f"{low} // {most}", f"{high} // {least}"
        if term.kind is Kind.NEG:
            low, high = self._range(term.operands[0])
            return f"-{high}", f"-{low}"
        interval = self._bounds.of(term)
        if not interval.is_finite:
            raise _UnboundedError
        return f"({int(interval.low)})", f"({int(interval.high)})"

    def _joined(self, term: Term, operator: str) -> tuple[str, str]:
        ranges = [self._range(operand) for operand in term.operands]
        return operator.join(low for low, _ in ranges), operator.join(high for _, high in ranges)

    def _range_of_choice(self, term: Term) -> tuple[str, str]:
        condition, *options = term.operands
        (yes_low, yes_high), (no_low, no_high) = map(self._range, options)
        if condition.variables <= self._assigned:
            chosen = self._value(condition)
            return (
                f"({yes_low} if {chosen} else {no_low})",
                f"({yes_high} if {chosen} else {no_high})",
            )
        return f"min({yes_low}, {no_low})", f"max({yes_high}, {no_high})"


Loop = Callable[[Values, Iterable[int]], Iterator[Hashable]]
"""A function of the values so far and of the choices for the next one. It sets that value and yields a key for it."""

_VALUE: Final = re.compile(r"\bv\[(\d+)\]")
_NAME: Final = re.compile(r"\b[a-z]\w*\b")
_ASSIGNMENT: Final = re.compile(r"(\w+) = (.*)")
_KEYWORDS: Final = frozenset({"and", "else", "if", "max", "min", "not", "or"})


def compile_loop(at: int, checks: Sequence[str], key: Sequence[str]) -> Loop:
    """Compile a loop over the values of a variable.

    Args:
        at: the position of the variable in the values.
        checks: lines of a function of the values that return False unless a value is possible.
        key: lines that return the key of a value.
    """
    body = [line.replace("return False", "continue") for line in checks]
    body += [re.sub(r"^return ", "yield ", line) for line in key]
    body = [_VALUE.sub(r"u\1", line) for line in body]
    loaded = sorted({name for line in body for name in re.findall(r"\bu\d+\b", line)} - {f"u{at}"})
    before = [f"{name} = v[{name[1:]}]" for name in loaded]
    fixed, inside = {*loaded, *_KEYWORDS}, []
    for line in body:
        assignment = _ASSIGNMENT.fullmatch(line)
        if assignment and fixed.issuperset(_NAME.findall(assignment[2])):
            before.append(line)
            fixed.add(assignment[1])
        else:
            inside.append(line)
    loop = [f"for u{at} in choices:", f"    v[{at}] = u{at}", *(f"    {line}" for line in inside)]
    function: Loop = compile_function([*before, *loop], "v, choices")
    return function


Result = tuple[list[int], list[int]]

_FEW: Final = 8
"""The number of judgements that take less time than compiling the assertions."""


class Judgements:
    """Judges assignments.

    Args:
        terms: the assertions.
    """

    def __init__(self, terms: Sequence[Term]) -> None:
        self._terms = terms
        self._count = 0
        self._compiled: _Compiled | None = None

    def judge(self, assignment: Mapping[str, int]) -> Result:
        """Return the indices of the assertions that an assignment violates, and of those that it leaves undecided."""
        self._count += 1
        if self._count <= _FEW:
            return self._evaluate(range(len(self._terms)), assignment)
        if self._compiled is None or self._compiled.names != assignment.keys():
            self._compiled = _Compiled(self._terms, tuple(assignment))
        violated, others = self._compiled.judge(assignment)
        if not others:
            return violated, []
        further, is_open = self._evaluate(others, assignment)
        return sorted([*violated, *further]), is_open

    def _evaluate(self, indices: Iterable[int], assignment: Mapping[str, int]) -> Result:
        violated, is_open = [], []
        cache: dict[Term, int] = {}
        for index in indices:
            try:
                if not evaluate(self._terms[index], assignment, cache):
                    violated.append(index)
            except (KeyError, ZeroDivisionError):
                is_open.append(index)
        return violated, is_open


class _Compiled:
    """The assertions over unknowns with values, as a function.

    Args:
        terms: all assertions.
        names: the unknowns with values.
    """

    def __init__(self, terms: Sequence[Term], names: Sequence[str]) -> None:
        self.names = frozenset(names)
        self._order = names
        self._complete = [index for index, term in enumerate(terms) if term.variables <= self.names]
        self._incomplete = sorted({*range(len(terms))} - {*self._complete})
        slots = {name: position for position, name in enumerate(names)}
        self._violations: Callable[[list[int]], Result] = violations(
            [terms[index] for index in self._complete], slots
        )

    def judge(self, assignment: Mapping[str, int]) -> Result:
        """Return the violated assertions, and the assertions that must be evaluated one by one."""
        violated, undefined = self._violations([assignment[name] for name in self._order])
        complete = self._complete
        others = [*(complete[index] for index in undefined), *self._incomplete]
        return [complete[index] for index in violated], sorted(others)
