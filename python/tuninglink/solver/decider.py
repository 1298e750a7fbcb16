"""The decision whether assertions can hold together: by search if possible, otherwise by the solver."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tuninglink.solver.compiled import Judgements
from tuninglink.solver.plan import TooManyValuesError
from tuninglink.solver.search import Counted, SearchPlan, count_solutions
from tuninglink.solver.terms import (
    Assertion,
    CountAnswer,
    Deadline,
    Kind,
    Term,
    UndecidedError,
    Verdict,
    constant,
    evaluate,
    make,
)

if TYPE_CHECKING:
    from tuninglink.solver.z3_solver import Solver


_MOST_DEPTH: Final = 200
_MOST_NODES: Final = 20_000

_MOST_KEPT: Final = 1 << 17
"""The maximum number of parts of a count that is kept instead of repeated. A part takes some 300 bytes."""


class Decider:
    """Answers queries about subsets of assertions, which are identified by their indices."""

    def __init__(
        self,
        assertions: Sequence[Assertion],
        shown: Sequence[str],
        hidden: Sequence[str],
        solver: Solver,
    ) -> None:
        self._assertions = assertions
        self._names = [*shown, *hidden]
        self._hidden = frozenset(hidden)
        self._solver = solver
        self._searches: dict[frozenset[int], SearchPlan | None] = {}
        self._counted: Counted | None = None
        # The step limit of a count that was not finished, the steps taken, and the count.
        self._exceeded: tuple[float, float, Counted] | None = None
        self._judgements: Judgements | None = None

    @cached_property
    def terms(self) -> list[Term] | None:
        """The conditions of the assertions, or None if one is too large for the search."""
        conditions = self.expressions()
        return conditions if all(map(_is_small, conditions)) else None

    def value(self, expression: Term, assignment: Mapping[str, int]) -> int | None:
        """Return the value of an expression, None if the assignment does not determine it."""
        if not _is_small(expression):
            return None
        try:
            return evaluate(expression, assignment)
        except (KeyError, ZeroDivisionError):
            return None

    def search(
        self,
        deadline: Deadline,
        without: Collection[int] = (),
        choices: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> SearchPlan | None:
        """Return the search for complete solutions, planned once, or None if only the solver can find them.

        The assertions `without` need not hold. `choices` restricts the values of unknowns only if one of them has too
        many values otherwise.
        """
        left_out = frozenset(without)
        asked = [index for index in range(len(self._assertions)) if index not in left_out]
        if left_out not in self._searches:
            self._searches[left_out] = self._plan(asked, {}, self._names, deadline)
        whole = self._searches[left_out]
        if whole is None and choices:
            return self._plan(asked, choices, self._names, deadline)
        return whole

    def count(self, deadline: Deadline) -> Counted | None:
        """Count the solutions, once, or return None if counting would require listing them.

        A count that exceeded its step limit is not repeated with the same or a lower limit; its steps count as taken.
        """
        if self._counted is not None:
            return self._counted
        steps = deadline.steps
        if self._exceeded is not None and steps <= self._exceeded[0]:
            _, taken, counted = self._exceeded
            deadline.skip(taken)
            return counted
        search = self.search(deadline)
        if search is None or self.terms is None:
            return None
        if search.domains is None:
            return Counted(CountAnswer(Verdict.PROVEN, 0), ())
        open_terms = [term for term in self.terms if term.kind is not Kind.CONSTANT]
        try:
            counted = count_solutions(open_terms, search.domains, self._hidden, deadline)
        except ZeroDivisionError:
            return None
        if counted.is_indexed and counted.size <= _MOST_KEPT:
            self._counted = counted
        elif counted.answer.verdict is Verdict.NOT_DECIDED and deadline.remaining() > 0:
            self._exceeded = steps, steps - deadline.steps, Counted(counted.answer, ())
        return counted

    def _plan(
        self,
        indices: Sequence[int],
        choices: Mapping[str, Sequence[int]],
        names: Sequence[str],
        deadline: Deadline,
    ) -> SearchPlan | None:
        if self.terms is None:
            return None
        terms = [self.terms[index] for index in indices]
        for name, values in choices.items():
            variable = Term(Kind.VARIABLE, name=name)
            equal = [make(Kind.EQ, variable, constant(value)) for value in values]
            if name in names:
                terms.append(equal[0] if len(equal) == 1 else make(Kind.OR, *equal))

        def confirm(values: Mapping[str, int], due: Deadline) -> bool:
            return self._solver.solve(self.expressions(indices), values, due) is not None

        try:
            return SearchPlan(terms, names, self._hidden.intersection(names), confirm, deadline)
        except (
            TooManyValuesError,
            OverflowError,
        ):  # a huge integer is compared with floating-point infinity
            return None

    def expressions(self, indices: Sequence[int] | None = None) -> list[Term]:
        """Return the conditions of the assertions at `indices`, by default of all."""
        chosen = range(len(self._assertions)) if indices is None else indices
        return [self._assertions[index].expression for index in chosen]

    def judge(self, assignment: Mapping[str, int]) -> tuple[list[int], list[int]]:
        """Return the assertions that the knobs alone violate, and the assertions that the knobs alone do not decide."""
        if self.terms is None:
            return [], list(range(len(self._assertions)))
        if self._judgements is None:
            self._judgements = Judgements(self.terms)
        return self._judgements.judge(assignment)

    def solution(
        self, indices: Sequence[int], fixed: Mapping[str, int], deadline: Deadline
    ) -> Mapping[str, int] | None:
        """Return values for which the selected assertions hold, or None if there are none."""
        if self.terms is not None:
            used = {name for index in indices for name in self.terms[index].variables}
            names = [name for name in self._names if name in used]
            half = deadline.share(2)
            try:
                choices = {name: (value,) for name, value in fixed.items()}
                search = self._plan(indices, choices, names, half)
                if search is not None:
                    return next(search.solutions(half), None)
            except UndecidedError:
                pass  # the solver may decide immediately what takes the search too long
        return self._solver.solve(self.expressions(indices), fixed, deadline)

    def shrink(
        self,
        indices: Sequence[int],
        fixed: Mapping[str, int],
        deadline: Deadline,
        *,
        shrink_fixed: bool,
    ) -> tuple[list[int], dict[str, int], bool]:
        """Minimize a contradiction by removing one part after the other."""
        core, given = list(indices), dict(fixed)
        try:
            parts, names = self._solver.core(self.expressions(indices), fixed, deadline)
            core = [indices[part] for part in parts]
            if shrink_fixed:
                given = {name: fixed[name] for name in names}
        except UndecidedError:
            pass  # the whole is a contradiction, too
        minimal = True
        for part in [*core, *(given if shrink_fixed else ())]:
            fewer = [index for index in core if index != part]
            less = {name: value for name, value in given.items() if name != part}
            try:
                deadline.check()
                if self.solution(fewer, less, deadline) is None:
                    core, given = fewer, less
            except UndecidedError:
                minimal = False
        return core, given, minimal


def _is_small(term: Term) -> bool:
    return term.depth <= _MOST_DEPTH and term.tree_size <= _MOST_NODES
