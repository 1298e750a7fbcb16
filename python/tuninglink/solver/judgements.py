"""Judgements: which assertions values violate, compiled for sets that are judged many times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from tuninglink.solver.compiled_terms import violations
from tuninglink.solver.terms import Term, evaluate

Result = tuple[list[int], list[int]]

_FEW: Final = 8
"""So many judgements take less time than the compilation."""


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
        """Return the indices of the assertions that an assignment violates, and of those that it does not decide."""
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
        """Return the violated assertions, and those that are to be evaluated one by one."""
        violated, undefined = self._violations([assignment[name] for name in self._order])
        complete = self._complete
        others = [*(complete[index] for index in undefined), *self._incomplete]
        return [complete[index] for index in violated], sorted(others)
