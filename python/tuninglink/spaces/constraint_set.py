"""A constraint set: the knobs of a configuration and what they must fulfil, and the questions to it."""

from __future__ import annotations

import operator
import random
import time
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

from tuninglink.mlir.diagnostics import error
from tuninglink.solver.answers import (
    DEFAULT_LIMITS,
    AssignmentError,
    CheckAnswer,
    CountAnswer,
    Limits,
    NearestAnswer,
    UndecidedError,
    UnsatAnswer,
    Verdict,
    Violation,
)
from tuninglink.solver.assertions import Grade
from tuninglink.solver.decider import Decider
from tuninglink.solver.nearest import changes, nearest_by_search
from tuninglink.solver.z3_solver import Solver
from tuninglink.spaces.knobs import IntegerKnob

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import z3

    from tuninglink.solver.answers import Deadline
    from tuninglink.solver.assertions import Assertion
    from tuninglink.spaces.knobs import Knob
    from tuninglink.spaces.problem import Problem


class ConstraintSet:
    """Which values of the knobs make a valid configuration.

    A set may be asked from any thread, one at a time; it cannot be sent to another process. Questions that it
    cannot answer within their limits are answered with "not decided" and the reason.

    Attributes:
        problem: what the configuration is for.
        pipeline: the pipeline that the knobs configure.
        provider: who says so.
        knobs: what a configuration chooses.
        auxiliaries: unknowns in the assertions that are no knobs.
        assertions: what must hold.
        unknown: why no assignment is known to be valid; empty if the assertions decide. A set with a reason
            refutes assignments, and does not decide all else.
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
        context: z3.Context | None = None,
        unknown: str = "",
    ) -> None:
        self.problem = problem
        self.pipeline = pipeline
        self.provider = provider
        self.knobs = knobs
        self.auxiliaries = auxiliaries
        self.assertions = assertions
        self.unknown = unknown
        self._by_name = {each.name: each for each in knobs}
        self._solver = Solver([*self._by_name, *auxiliaries], context)
        self._decider = Decider(assertions, list(self._by_name), auxiliaries, self._solver)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a constraint set belongs to its process; build it where it is asked")

    def __len__(self) -> int:
        return len(self.assertions)

    @property
    def unknowns(self) -> frozenset[str]:
        """The names of the unknowns in the assertions: of knobs, and auxiliary ones."""
        everything = range(len(self.assertions))
        return frozenset().union(*map(self._decider.unknowns, everything))

    # --- Questions ---------------------------------------------------------------------------------------

    def check(
        self,
        assignment: Mapping[str, int],
        limits: Limits = DEFAULT_LIMITS,
        auxiliary: Mapping[str, int] | None = None,
    ) -> CheckAnswer:
        """Tells whether an assignment is valid, and if not, which assertions it violates.

        Args:
            assignment: a value for every knob.
            limits: how long it may take.
            auxiliary: the values of auxiliary unknowns that are known.

        Raises:
            AssignmentError: a knob is missing, unknown, or has a value that is no integer.
        """
        assignment = {**self._integers(assignment, is_partial=False), **(auxiliary or {})}
        deadline = limits.start()
        violated, is_open = self._decider.judge(assignment)
        try:
            if is_open and self._decider.solution(is_open, assignment, deadline) is None:
                core, _, _ = self._decider.shrink(is_open, assignment, deadline, shrink_fixed=False)
                violated = sorted({*violated, *core})
        except UndecidedError as failure:
            if not violated:
                return CheckAnswer(Verdict.NOT_DECIDED, reason=failure.reason)
        if violated:
            words = tuple(self._violation(index, assignment) for index in violated)
            verdict = _verdict(words)
            if verdict is Verdict.PROVEN and self.unknown:
                verdict = Verdict.NOT_DECIDED
            return CheckAnswer(verdict, words, self.unknown)
        verdict = Verdict.NOT_DECIDED if self.unknown else Verdict.PROVEN
        return CheckAnswer(verdict, reason=self.unknown)

    def broken_heuristics(self, assignment: Mapping[str, int]) -> frozenset[int]:
        """Returns which assertions of grade heuristic an assignment violates, as indices in `assertions`.

        The compiler's own choice may violate some; its neighbors do so, too, and are worth a try all the same.

        Args:
            assignment: a value for every knob.

        Raises:
            AssignmentError: see `check`.
        """
        violated, _ = self._decider.judge(self._integers(assignment, is_partial=False))
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
        """Tells whether an assignment violates no assertion, of whatever grade, without saying which.

        That takes a fraction of what `check` does. An assignment that is not decided is not accepted.

        Args:
            assignment: a value for every knob.
            limits: how long it may take.
            without: the indices of assertions that need not hold, see `broken_heuristics`.

        Raises:
            AssignmentError: see `check`.
        """
        assignment = self._integers(assignment, is_partial=False)
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
        """Tells whether no valid assignment agrees with a partial one, and if so, why.

        Args:
            partial: values for some knobs, or none.
            limits: how long it may take.

        Raises:
            AssignmentError: a knob is unknown, or has a value that is no integer.
        """
        partial = self._integers(partial, is_partial=True)
        deadline = limits.start()
        everything = range(len(self.assertions))
        try:
            witness = self._decider.solution(everything, partial, deadline)
            if witness is not None:
                shown = {name: witness.get(name, partial.get(name, 0)) for name in self._by_name}
                return UnsatAnswer(Verdict.REFUTED, witness=shown)
            # One assertion that is violated by itself says more than several that are together.
            violated, _ = self._decider.judge(partial)
            core, fixed, minimal = self._decider.shrink(
                violated[:1] or everything, partial, deadline, shrink_fixed=True
            )
        except UndecidedError as failure:
            return UnsatAnswer(Verdict.NOT_DECIDED, reason=failure.reason)
        words = tuple(self._violation(index, fixed) for index in core)
        return UnsatAnswer(Verdict.PROVEN, words, fixed, minimal=minimal)

    def nearest(
        self, assignment: Mapping[str, int], limits: Limits = DEFAULT_LIMITS
    ) -> NearestAnswer:
        """Finds the valid assignment that changes fewest knobs, and among those the one that does by least.

        By how much is the sum of the differences of the integer knobs; options have none.

        Args:
            assignment: values for knobs; a knob without one is free.
            limits: how long it may take.

        Raises:
            AssignmentError: a knob is unknown, or has a value that is no integer.
        """
        assignment = self._integers(assignment, is_partial=True)
        if self.unknown:
            return NearestAnswer(Verdict.NOT_DECIDED, reason=self.unknown)
        deadline = limits.start()
        measured = [
            each.name
            for each in self.knobs
            if isinstance(each, IntegerKnob) and each.name in assignment
        ]
        try:
            search = self._decider.search(deadline)
            if search is not None:
                return nearest_by_search(search, assignment, measured, deadline)
            model = self._solver.optimize(
                self._decider.expressions(), assignment, measured, deadline
            )
        except UndecidedError as failure:
            return NearestAnswer(Verdict.NOT_DECIDED, reason=failure.reason)
        if model is None:
            return NearestAnswer(Verdict.REFUTED)
        found = {name: model[name] for name in self._by_name}
        return NearestAnswer(Verdict.PROVEN, found, changes(assignment, found))

    def enumerate(self, seed: int = 0, limits: Limits = DEFAULT_LIMITS) -> Iterator[dict[str, int]]:
        """Yields every valid assignment once.

        Args:
            seed: fixes the order.
            limits: how long finding them may take; the time that the caller spends with each does not count.

        Raises:
            UndecidedError: the limit is reached before all are found.
        """
        self._expect_known()
        deadline = limits.start()
        for each in self._solutions(seed, deadline):
            since = time.monotonic()
            yield each
            deadline.postpone(time.monotonic() - since)

    def enumerate_within(
        self,
        choices: Mapping[str, Sequence[int]],
        limits: Limits = DEFAULT_LIMITS,
        *,
        without: Collection[int] = (),
    ) -> Iterator[dict[str, int]]:
        """Yields every valid assignment that takes the values of some knobs from a few, once each.

        Args:
            choices: for each knob in it the values that it may have.
            limits: how long it may take, the caller's time with each included.
            without: the indices of assertions that need not hold, see `broken_heuristics`.

        Raises:
            AssignmentError: a knob is unknown.
            UndecidedError: the limit is reached before all are found, or only the solver can find them.
        """
        self._expect_known()
        self._integers(dict.fromkeys(choices, 0), is_partial=True)
        if not all(choices.values()):
            return
        deadline = limits.start()
        search = self._decider.search_within(choices, deadline, without)
        if search is None:
            raise UndecidedError("only the solver finds the solutions")
        yield from map(self._in_order, search.solutions(deadline))

    def sample(
        self, n: int, seed: int = 0, limits: Limits = DEFAULT_LIMITS
    ) -> list[dict[str, int]]:
        """Returns `n` distinct valid assignments spread over the space, or all if there are fewer.

        Every valid assignment is as likely as any other, and neighbors are unlikely to come together, as long
        as all can be counted or found in half of the time. Else they are the first ones of searches in random
        orders.

        Args:
            n: how many.
            seed: fixes which.
            limits: how long it may take.

        Raises:
            UndecidedError: the limit is reached before `n` are found.
            ValueError: `n` is negative.
        """
        if n < 0:
            raise ValueError(f"there is no sample of {n}")
        self._expect_known()
        deadline = limits.start()
        chance = random.Random(seed)  # noqa: S311 - no secret
        half = deadline.share(2)
        try:
            counted = self._decider.count(half)
            if counted is not None and counted.is_indexed:
                chosen = _spread(n, counted.answer.count, chance)
                return [self._in_order(counted.solution(each)) for each in chosen]
            everything = list(islice(self._solutions(None, half), MOST_KEPT))
        except UndecidedError:
            everything = []
        if not everything or len(everything) == MOST_KEPT:
            found: dict[tuple[int, ...], dict[str, int]] = {}
            self._probe(n, chance, deadline, found)
            return list(found.values())
        return [everything[each] for each in _spread(n, len(everything), chance)]

    def probe(self, n: int, seed: int = 0, limits: Limits = DEFAULT_LIMITS) -> list[dict[str, int]]:
        """Returns up to `n` distinct valid assignments: the first solutions of searches in random orders.

        Nothing is counted, so the first ones come at once, but they are not equally likely.

        Args:
            n: how many.
            seed: fixes which, as far as the limit allows.
            limits: how long it may take; what is found by then is returned.
        """
        self._expect_known()
        found: dict[tuple[int, ...], dict[str, int]] = {}
        with suppress(UndecidedError):
            self._probe(n, random.Random(seed), limits.start(), found)  # noqa: S311 - no secret
        return list(found.values())

    def count(self, limits: Limits = DEFAULT_LIMITS) -> CountAnswer:
        """Counts the valid assignments, which need not be listed for that as a rule.

        Args:
            limits: how long it may take.
        """
        if self.unknown:
            return CountAnswer(Verdict.NOT_DECIDED, 0, self.unknown)
        deadline = limits.start()
        try:
            counted = self._decider.count(deadline)
        except UndecidedError as failure:
            return CountAnswer(Verdict.NOT_DECIDED, 0, failure.reason)
        if counted is not None:
            return counted.answer
        listed = 0
        try:
            for _ in self._solutions(None, deadline):
                listed += 1
        except UndecidedError as failure:
            return CountAnswer(Verdict.NOT_DECIDED, listed, failure.reason)
        return CountAnswer(Verdict.PROVEN, listed)

    # --- How they are answered ---------------------------------------------------------------------------

    def _expect_known(self) -> None:
        if self.unknown:
            raise UndecidedError(self.unknown)

    def _integers(self, assignment: Mapping[str, object], *, is_partial: bool) -> dict[str, int]:
        """Returns an assignment with Python's own integers, if it is one."""
        for name in assignment:
            if name not in self._by_name:
                known = ", ".join(self._by_name) or "it has none"
                message = f"pipeline {self.pipeline} has no knob '{name}'; its knobs: {known}"
                raise AssignmentError(error(message))
        missing = [name for name in self._by_name if name not in assignment]
        if missing and not is_partial:
            raise AssignmentError(error(f"there is no value for knob '{', '.join(missing)}'"))
        return {name: _integer(name, value) for name, value in assignment.items()}

    def _in_order(self, assignment: Mapping[str, int]) -> dict[str, int]:
        return {name: assignment[name] for name in self._by_name}

    def _solutions(self, seed: int | None, deadline: Deadline) -> Iterator[dict[str, int]]:
        search = self._decider.search(deadline)
        if search is not None:
            return search.solutions(deadline, seed)
        names = list(self._by_name)
        return self._solver.models(self._decider.expressions(), names, deadline, seed or 0)

    def _probe(
        self,
        n: int,
        chance: random.Random,
        deadline: Deadline,
        found: dict[tuple[int, ...], dict[str, int]],
    ) -> None:
        while len(found) < n:
            deadline.check()
            # The first that is new: a search that meets only known ones ends after the last.
            for each in self._solutions(chance.getrandbits(31), deadline):
                if tuple(each.values()) not in found:
                    found[tuple(each.values())] = each
                    break
            else:
                break

    def _violation(self, index: int, assignment: Mapping[str, int]) -> Violation:
        assertion = self.assertions[index]
        texts = [_text(self._decider.value(each, assignment)) for each in assertion.values]
        names = self._decider.unknowns(index)
        pieces = assertion.message.split("{}")
        filled = pieces[0]
        for position, piece in enumerate(pieces[1:]):
            filled += (texts[position] if position < len(texts) else "{}") + piece
        values = tuple(
            each.describe(assignment[each.name])
            for each in self.knobs
            if each.name in names and each.name in assignment
        )
        return Violation(filled, assertion.provenance, values, assertion.grade)


MOST_KEPT = 1 << 18
"""A sample is drawn from all solutions if there are fewer than this."""


_MOST_BITS = 4096
"""Numbers that take more are not written out: Python refuses to."""


def _verdict(violations: Sequence[Violation]) -> Verdict:
    """Returns what follows from violations: their gravest grade counts."""
    grades = {each.grade for each in violations}
    if grades & {Grade.NECESSARY, Grade.COMPILER}:
        return Verdict.REFUTED
    return Verdict.NOT_DECIDED if Grade.SUFFICIENT in grades else Verdict.PROVEN


def _integer(name: str, value: object) -> int:
    """Returns the value of a knob, which may be an integer of another library."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise AssignmentError(error(f"the value of knob '{name}' is no integer: {value!r}"))
    if number.bit_length() > _MOST_BITS:
        raise AssignmentError(error(f"the value of knob '{name}' has more than {_MOST_BITS} bits"))
    return number


def _spread(n: int, size: int, chance: random.Random) -> list[int]:
    """Returns `n` different numbers below `size` at even distances, or all there are, in a random order."""
    n = min(n, size)
    start = Fraction(chance.random())
    numbers = [int((index + start) * size / n) for index in range(n)]
    chance.shuffle(numbers)
    return numbers


def _text(number: int | None) -> str:
    """Returns a number as text; one that is not known, or that Python refuses to write, as a question mark."""
    return "?" if number is None or number.bit_length() > _MOST_BITS else str(number)
