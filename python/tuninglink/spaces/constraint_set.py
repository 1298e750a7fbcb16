"""Constraint sets: the knobs of a configuration, the constraints on them, and queries about both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from tuninglink.solver import Assertion, Grade
from tuninglink.solver.answers import (
    DEFAULT_LIMITS,
    CheckAnswer,
    Limits,
    NearestAnswer,
    UndecidedError,
    UnsatAnswer,
    Verdict,
    Violation,
)
from tuninglink.solver.search import changes, nearest_by_search
from tuninglink.solver.z3_solver import TermWriter
from tuninglink.spaces.knobs import IntegerKnob, Knob, number_text, read_assignment
from tuninglink.spaces.solution_set import SolutionSet

if TYPE_CHECKING:
    import z3

    from tuninglink.spaces.workload import Problem


class ConstraintSet(SolutionSet):
    """The values of the knobs that make a valid configuration.

    A set may be queried from any thread, one at a time; it cannot be sent to another process. Queries that exceed
    their limits return "not decided" and the reason.

    Attributes:
        problem: the problem to configure.
        pipeline: the pipeline that the knobs configure.
        provider: the name of the provider.
        knobs: the knobs of a configuration.
        auxiliaries: unknowns in the assertions that are not knobs.
        assertions: the assertions that must hold.
        unknown: why no assignment is known to be valid; empty if the assertions decide. A set with a reason
            can refute an assignment but not prove one.
    """

    def __init__(
        self,
        *,
        problem: Problem,
        pipeline: str,
        provider: str,
        knobs: tuple[Knob, ...],
        auxiliaries: tuple[str, ...],
        assertions: tuple[Assertion, ...],
        unknown: str = "",
    ) -> None:
        super().__init__(
            tuple(knob.name for knob in knobs),
            pipeline=pipeline,
            auxiliaries=auxiliaries,
            assertions=assertions,
            unknown=unknown,
        )
        self.problem = problem
        self.provider = provider
        self.knobs = knobs

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a constraint set belongs to its process; build it in the process that queries it"
        )

    def __len__(self) -> int:
        return len(self.assertions)

    @property
    def unknowns(self) -> frozenset[str]:
        """The names of all unknowns in the assertions: knobs and auxiliaries."""
        everything = range(len(self.assertions))
        return frozenset().union(*map(self._decider.unknowns, everything))

    def unknowns_of(self, index: int) -> frozenset[str]:
        """Return the names of the unknowns in an assertion."""
        return self._decider.unknowns(index)

    def to_z3(self, context: z3.Context) -> list[z3.BoolRef]:
        """Return the assertions as Z3 expressions over integer constants named like the unknowns.

        Args:
            context: the context of the expressions.
        """
        writer = TermWriter(context)
        return [writer.truth(assertion.expression) for assertion in self.assertions]

    def check(
        self,
        assignment: Mapping[str, int],
        limits: Limits = DEFAULT_LIMITS,
        auxiliary: Mapping[str, int] | None = None,
    ) -> CheckAnswer:
        """Return whether an assignment is valid, and otherwise which assertions it violates.

        Args:
            assignment: a value for every knob.
            limits: the limits of the query.
            auxiliary: known values of auxiliary unknowns.

        Raises:
            AssignmentError: a knob is missing, unknown, or has a value that is not an integer.
        """
        complete = read_assignment(assignment, self._names, self.pipeline)
        assignment = {**complete, **(auxiliary or {})}
        violated, is_open = self._decider.judge(assignment)
        if not is_open:
            return self._answer(violated, assignment)
        deadline = limits.start()
        try:
            if self._decider.solution(is_open, assignment, deadline) is None:
                core, _, _ = self._decider.shrink(is_open, assignment, deadline, shrink_fixed=False)
                violated = sorted({*violated, *core})
        except UndecidedError as failure:
            if not violated:
                return CheckAnswer(Verdict.NOT_DECIDED, reason=failure.reason)
        return self._answer(violated, assignment)

    def evaluate(
        self, assignment: Mapping[str, int], auxiliary: Mapping[str, int]
    ) -> CheckAnswer | None:
        """Return the answer of `check` if evaluation alone determines it, otherwise None.

        Args:
            assignment: a value for every knob.
            auxiliary: known values of auxiliary unknowns.

        Raises:
            AssignmentError: see `check`.
        """
        complete = read_assignment(assignment, self._names, self.pipeline)
        values = {**complete, **auxiliary}
        violated, is_open = self._decider.judge(values)
        return None if is_open else self._answer(violated, values)

    def _answer(self, violated: Sequence[int], assignment: Mapping[str, int]) -> CheckAnswer:
        """Return the answer for an assignment that violates some assertions and satisfies the others."""
        if violated:
            words = tuple(self._violation(index, assignment) for index in violated)
            verdict = _verdict(words)
            if verdict is Verdict.PROVEN and self.unknown:
                verdict = Verdict.NOT_DECIDED
            return CheckAnswer(verdict, words, self.unknown)
        verdict = Verdict.NOT_DECIDED if self.unknown else Verdict.PROVEN
        return CheckAnswer(verdict, reason=self.unknown)

    def broken_heuristics(self, assignment: Mapping[str, int]) -> frozenset[int]:
        """Return the indices in `assertions` of the heuristic assertions that an assignment violates.

        The compiler's own choice may violate some of these. Its neighbors then violate them, too, but are still worth
        trying.

        Args:
            assignment: a value for every knob.

        Raises:
            AssignmentError: see `check`.
        """
        violated, _ = self._decider.judge(read_assignment(assignment, self._names, self.pipeline))
        return frozenset(
            each for each in violated if self.assertions[each].grade is Grade.HEURISTIC
        )

    def accepts(
        self,
        assignment: Mapping[str, int],
        limits: Limits = DEFAULT_LIMITS,
        *,
        without: Collection[int] = (),
    ) -> bool:
        """Return whether an assignment violates no assertion of any grade.

        This takes a fraction of the time of `check`. An undecided assignment is not accepted.

        Args:
            assignment: a value for every knob.
            limits: the limits of the query.
            without: the indices of assertions that need not hold, see `broken_heuristics`.

        Raises:
            AssignmentError: see `check`.
        """
        assignment = read_assignment(assignment, self._names, self.pipeline)
        violated, is_open = self._decider.judge(assignment)
        is_violated = any(each not in without for each in violated)
        if is_violated or not is_open:
            return not is_violated
        with suppress(UndecidedError):
            return self._decider.solution(is_open, assignment, limits.start()) is not None
        return False

    def explain_unsat(
        self, partial: Mapping[str, int], limits: Limits = DEFAULT_LIMITS
    ) -> UnsatAnswer:
        """Return whether no valid assignment agrees with a partial one, and the reason.

        Args:
            partial: values for some knobs, or none.
            limits: the limits of the query.

        Raises:
            AssignmentError: a knob is unknown, or has a value that is not an integer.
        """
        partial = self._read_partial(partial)
        deadline = limits.start()
        everything = range(len(self.assertions))
        try:
            witness = self._decider.solution(everything, partial, deadline)
            if witness is not None:
                shown = {name: witness.get(name, partial.get(name, 0)) for name in self._names}
                return UnsatAnswer(Verdict.REFUTED, witness=shown)
            # One assertion that is violated by itself explains more than several that conflict.
            violated, _ = self._decider.judge(partial)
            core, fixed, minimal = self._decider.shrink(
                violated[:1] or everything, partial, deadline, shrink_fixed=True
            )
        except UndecidedError as failure:
            return UnsatAnswer(Verdict.NOT_DECIDED, reason=failure.reason)
        words = tuple(self._violation(index, fixed) for index in core)
        return UnsatAnswer(Verdict.PROVEN, words, fixed, minimal=minimal)

    def nearest(
        self,
        assignment: Mapping[str, int],
        limits: Limits = DEFAULT_LIMITS,
        without: Collection[int] = (),
    ) -> NearestAnswer:
        """Find the valid assignment that changes the fewest knobs; of several, the one with the smallest distance.

        The distance is the sum of the differences of the integer knobs; options have no distance.

        Args:
            assignment: values for knobs; a knob without one is free.
            limits: the limits of the query.
            without: the indices of assertions that need not hold, see `broken_heuristics`.

        Raises:
            AssignmentError: a knob is unknown, or has a value that is not an integer.
        """
        assignment = self._read_partial(assignment)
        if self.unknown:
            return NearestAnswer(Verdict.NOT_DECIDED, reason=self.unknown)
        deadline = limits.start()
        measured = [
            knob.name
            for knob in self.knobs
            if isinstance(knob, IntegerKnob) and knob.name in assignment
        ]
        try:
            search = self._decider.search(deadline, without)
            if search is not None:
                return nearest_by_search(search, assignment, measured, deadline)
            asked = [index for index in range(len(self.assertions)) if index not in without]
            model = self._solver.optimize(
                self._decider.expressions(asked), assignment, measured, deadline
            )
        except UndecidedError as failure:
            return NearestAnswer(Verdict.NOT_DECIDED, reason=failure.reason)
        if model is None:
            return NearestAnswer(Verdict.REFUTED)
        order = self._in_order(model)
        return NearestAnswer(Verdict.PROVEN, order, changes(assignment, order))

    def _violation(self, index: int, assignment: Mapping[str, int]) -> Violation:
        assertion = self.assertions[index]
        texts = [number_text(self._decider.value(value, assignment)) for value in assertion.values]
        names = self._decider.unknowns(index)
        pieces = assertion.message.split("{}")
        filled = pieces[0]
        for position, piece in enumerate(pieces[1:]):
            filled += (texts[position] if position < len(texts) else "{}") + piece
        knobs = [knob for knob in self.knobs if knob.name in names and knob.name in assignment]
        values = tuple(knob.describe(assignment[knob.name]) for knob in knobs)
        return Violation(
            filled,
            assertion.provenance,
            values,
            assertion.grade,
            tuple(knob.name for knob in knobs),
        )


def _verdict(violations: Sequence[Violation]) -> Verdict:
    """Return the verdict for violations: the most severe grade decides."""
    grades = {violation.grade for violation in violations}
    if grades & {Grade.NECESSARY, Grade.COMPILER}:
        return Verdict.REFUTED
    is_open = grades & {Grade.SUFFICIENT, Grade.SLOW}
    return Verdict.NOT_DECIDED if is_open else Verdict.PROVEN
