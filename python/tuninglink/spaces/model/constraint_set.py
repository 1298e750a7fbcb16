"""Constraint sets: the knobs of a configuration, the constraints on them, queries, and their builder."""

from __future__ import annotations

import operator
import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn, TypeAlias

from tuninglink.mlir import error
from tuninglink.solver import (
    DEFAULT_LIMITS,
    Assertion,
    AssignmentError,
    CheckAnswer,
    CostLimit,
    CountAnswer,
    Deadline,
    Decider,
    Expression,
    Grade,
    Kind,
    Limits,
    NearestAnswer,
    Solver,
    TermWriter,
    UndecidedError,
    UnsatAnswer,
    Verdict,
    Violation,
    changes,
    is_condition,
    nearest_by_search,
    term_of,
    unknown,
)

if TYPE_CHECKING:
    import z3

    from tuninglink.spaces.model.workload import Problem


@dataclass(frozen=True)
class IntegerKnob:
    """A knob whose value is an integer; a bound is None if only the assertions bound it."""

    name: str
    low: int | None = None
    high: int | None = None

    def describe(self, value: int) -> str:
        """Return the display text of `value`."""
        return f"{self.name} = {value}"


@dataclass(frozen=True)
class OneOfKnob:
    """A knob that chooses among options, which are texts; its value is the index of one."""

    name: str
    options: tuple[str, ...]

    low: ClassVar[int] = 0

    @property
    def high(self) -> int:
        return len(self.options) - 1

    def describe(self, value: int) -> str:
        """Return the display text of the option with index `value`."""
        if 0 <= value < len(self.options):
            return f"{self.name} = {self.options[value]}"
        return f"{self.name} = {value} (not an option)"


Knob: TypeAlias = IntegerKnob | OneOfKnob


MOST_BITS: Final = 4096
"""The maximum number of bits of numbers that are written out: Python refuses to convert longer ones."""


@dataclass(frozen=True)
class FixedKnob:
    """A knob, such as `workgroup[0]`, with the value that all configurations should have.

    The value is a text: a number, or an option such as `MFMA_F32_16x16x16_F16`.
    """

    name: str
    value: str

    @classmethod
    def parse(cls, text: str) -> FixedKnob:
        """Read `KNOB=VALUE`. The message of a `ValueError` is the expected form."""
        name, _, value = map(str.strip, text.partition("="))
        if not (name and value):
            raise ValueError("expected KNOB=VALUE, such as workgroup[0]=64")
        return cls(name, value)


MOST_KEPT: Final = 1 << 18
"""The number of solutions below which a sample is drawn from all of them."""

_FIRST_STEPS: Final = 4
"""The number of steps after which a search in a random order first restarts."""


@dataclass(eq=False, repr=False, kw_only=True)
class ConstraintSet:
    """The values of the knobs that make a valid configuration.

    A set may be queried from any thread, one at a time; it cannot be sent to another process. Queries that exceed
    their limits return "not decided" and the reason.

    Attributes:
        auxiliaries: unknowns in the assertions that are not knobs.
        unknown: why no assignment is known to be valid; empty if the assertions decide. A set with a reason
            can refute an assignment but not prove one.
    """

    problem: Problem
    pipeline: str
    provider: str
    knobs: tuple[Knob, ...]
    auxiliaries: tuple[str, ...]
    assertions: tuple[Assertion, ...]
    unknown: str = ""

    def __post_init__(self) -> None:
        self._names = tuple(knob.name for knob in self.knobs)
        self._solver = Solver([*self._names, *self.auxiliaries])
        self._decider = Decider(self.assertions, self._names, self.auxiliaries, self._solver)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a constraint set belongs to its process; build it in the process that queries it"
        )

    def __len__(self) -> int:
        return len(self.assertions)

    @property
    def unknowns(self) -> frozenset[str]:
        """The names of all unknowns in the assertions: knobs and auxiliaries."""
        return frozenset().union(*(assertion.expression.variables for assertion in self.assertions))

    def to_z3(self, context: z3.Context) -> list[z3.BoolRef]:
        """Return the assertions as Z3 expressions over integer constants named like the unknowns."""
        writer = TermWriter(context)
        return [writer.truth(assertion.expression) for assertion in self.assertions]

    def check(
        self,
        assignment: Mapping[str, int],
        limits: Limits = DEFAULT_LIMITS,
        auxiliary: Mapping[str, int] | None = None,
    ) -> CheckAnswer:
        """Return whether an assignment of all knobs is valid, and otherwise which assertions it violates.

        The values of some auxiliary unknowns may be known.

        Raises:
            AssignmentError: a knob is missing, unknown, or has a value that is not an integer.
        """
        assignment = {**self._read(assignment), **(auxiliary or {})}
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
        """Return the answer of `check` if evaluation alone determines it, otherwise None."""
        values = {**self._read(assignment), **auxiliary}
        violated, is_open = self._decider.judge(values)
        return None if is_open else self._answer(violated, values)

    def _answer(self, violated: Sequence[int], assignment: Mapping[str, int]) -> CheckAnswer:
        """Return the answer for an assignment that violates some assertions and satisfies the others."""
        violations = tuple(self._violation(index, assignment) for index in violated)
        # The most severe grade decides.
        grades = {violation.grade for violation in violations}
        verdict = Verdict.PROVEN
        if grades & {Grade.NECESSARY, Grade.COMPILER}:
            verdict = Verdict.REFUTED
        elif self.unknown or grades & {Grade.SUFFICIENT, Grade.SLOW}:
            verdict = Verdict.NOT_DECIDED
        return CheckAnswer(verdict, violations, self.unknown)

    def broken_heuristics(self, assignment: Mapping[str, int]) -> frozenset[int]:
        """Return the indices in `assertions` of the heuristic assertions that an assignment violates.

        The compiler's own choice may violate some of these. Its neighbors then violate them, too, but are still worth
        trying.
        """
        violated, _ = self._decider.judge(self._read(assignment))
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
        """Return whether an assignment of all knobs violates no assertion of any grade.

        This takes a fraction of the time of `check`. An undecided assignment is not accepted. The assertions with the
        indices `without` need not hold, see `broken_heuristics`.
        """
        assignment = self._read(assignment)
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
        """Return whether no valid assignment agrees with values for some knobs, and the reason."""
        partial = self._read(partial, is_partial=True)
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

        The distance is the sum of the differences of the integer knobs; options have no distance. A knob without a
        value is free. The assertions with the indices `without` need not hold, see `broken_heuristics`.
        """
        assignment = self._read(assignment, is_partial=True)
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
        numbers = [self._decider.value(value, assignment) for value in assertion.values]
        # Python refuses to print long numbers.
        texts = [
            "?" if number is None or number.bit_length() > MOST_BITS else str(number)
            for number in numbers
        ]
        names = assertion.expression.variables
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

    def enumerate(self, seed: int = 0, limits: Limits = DEFAULT_LIMITS) -> Iterator[dict[str, int]]:
        """Yield every valid assignment once."""
        self._expect_known()
        deadline = limits.start()
        yield from _postponing(self._solutions(seed, deadline), deadline)

    def enumerate_near(
        self,
        assignment: Mapping[str, int],
        choices: Mapping[str, Sequence[int]],
        most_changes: int,
        limits: Limits = DEFAULT_LIMITS,
        *,
        without: Collection[int] = (),
    ) -> Iterator[dict[str, int]]:
        """Yield every valid assignment that differs from a given one in a few knobs, once."""
        self._expect_known()
        self._read(dict.fromkeys(choices, 0), is_partial=True)
        if not all(choices.values()):
            return
        deadline = limits.start()
        search = self._decider.search(deadline, without, choices)
        if search is None:
            raise UndecidedError("only the solver finds the solutions")
        limit = CostLimit(assignment, cost=(most_changes + 1, 0))
        yield from map(self._in_order, search.solutions(deadline, limit=limit, within=choices))

    def sample(
        self, n: int, seed: int = 0, limits: Limits = DEFAULT_LIMITS
    ) -> list[dict[str, int]]:
        """Return `n` distinct valid assignments, or all of them if there are fewer.

        The assignments are the first ones that `draws` yields.
        """
        if n < 0:
            raise ValueError(f"the size of a sample must not be negative: {n}")
        self._expect_known()
        return list(islice(self._draws(seed, limits.start()), n))

    def draws(self, seed: int = 0, limits: Limits = DEFAULT_LIMITS) -> Iterator[dict[str, int]]:
        """Yield distinct valid assignments in a random order, for a caller that rejects some of them.

        All orders are equally likely if the assignments can be counted or listed within half of the limits. Otherwise
        the assignments are the first solutions of searches in random orders.
        """
        self._expect_known()
        deadline = limits.start()
        return _postponing(self._draws(seed, deadline), deadline, ends_at_limit=True)

    def _draws(self, seed: int, deadline: Deadline) -> Iterator[dict[str, int]]:
        chance = random.Random(seed)  # noqa: S311 - not for cryptography
        half = deadline.share(2)
        everything: list[dict[str, int]] = []
        with suppress(UndecidedError):
            counted = self._decider.count(half)
            if counted is not None and counted.is_indexed:
                for number in _shuffled(counted.answer.count, chance):
                    yield self._in_order(counted.solution(number))
                return
            if counted is None or counted.answer.count < MOST_KEPT:
                everything = list(islice(self._solutions(None, half), MOST_KEPT))
        if everything and len(everything) < MOST_KEPT:
            yield from (everything[number] for number in _shuffled(len(everything), chance))
        else:
            yield from self._probes(chance, deadline)

    def count(self, limits: Limits = DEFAULT_LIMITS) -> CountAnswer:
        """Count the valid assignments, usually without listing them."""
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

    def _read(self, given: Mapping[str, object], *, is_partial: bool = False) -> dict[str, int]:
        """Return an assignment of all knobs, or of some, with Python's own integers."""
        assignment: dict[str, int] = {}
        for name, value in given.items():
            if name not in self._names:
                knobs = ", ".join(self._names) or "it has none"
                message = f"pipeline {self.pipeline} has no knob '{name}'; its knobs: {knobs}"
                raise AssignmentError(error(message))
            # Integer types of other libraries are accepted.
            number = None
            with suppress(TypeError):
                number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
            if number is None:
                message = f"the value of knob '{name}' is not an integer: {value!r}"
                raise AssignmentError(error(message))
            if number.bit_length() > MOST_BITS:
                message = f"the value of knob '{name}' has more than {MOST_BITS} bits"
                raise AssignmentError(error(message))
            assignment[name] = number
        missing = [name for name in self._names if name not in assignment]
        if missing and not is_partial:
            raise AssignmentError(error(f"there is no value for knob '{', '.join(missing)}'"))
        return assignment

    def _expect_known(self) -> None:
        if self.unknown:
            raise UndecidedError(self.unknown)

    def _in_order(self, assignment: Mapping[str, int]) -> dict[str, int]:
        return {name: assignment[name] for name in self._names}

    def _solutions(self, seed: int | None, deadline: Deadline) -> Iterator[dict[str, int]]:
        search = self._decider.search(deadline)
        if search is not None:
            return search.solutions(deadline, seed)
        return self._solver.models(self._decider.expressions(), self._names, deadline, seed or 0)

    def _probes(self, chance: random.Random, deadline: Deadline) -> Iterator[dict[str, int]]:
        """Yield the first new solutions of searches in random orders, until there are no more."""
        # The run times of such searches have a heavy tail, so a search restarts after a few steps, and may take twice
        # as many the next time (Gomes, Selman and Kautz, "Boosting Combinatorial Search through Randomization", 1998).
        keys: set[tuple[int, ...]] = set()
        steps = _FIRST_STEPS
        while True:
            attempt = deadline.share(steps=steps)
            try:
                solution = next(
                    (
                        each
                        for each in self._solutions(chance.getrandbits(31), attempt)
                        if tuple(each.values()) not in keys
                    ),
                    None,
                )
            except UndecidedError:
                deadline.check()
                steps *= 2
                continue
            if solution is None:
                return
            keys.add(tuple(solution.values()))
            steps = _FIRST_STEPS
            yield solution


def _postponing(
    solutions: Iterator[dict[str, int]], deadline: Deadline, *, ends_at_limit: bool = False
) -> Iterator[dict[str, int]]:
    """Yield solutions, silently until a limit if requested; the time that the caller takes for each does not count."""
    ignored = (UndecidedError,) if ends_at_limit else ()
    with suppress(*ignored):
        for solution in solutions:
            since = time.monotonic()
            yield solution
            deadline.extend(time.monotonic() - since)


def _shuffled(size: int, chance: random.Random) -> Iterator[int]:
    """Yield the numbers below `size` in a random order; memory grows with the number of values taken."""
    moved: dict[int, int] = {}
    for place in range(size):
        other = chance.randrange(place, size)
        yield moved.get(other, other)
        moved[other] = moved.pop(place, place)


@dataclass(eq=False, repr=False)
class ConstraintSetBuilder:
    """Collects knobs and assertions, which are expressions of `tuninglink.solver`."""

    _knobs: list[Knob] = field(default_factory=list, init=False)
    _auxiliaries: list[str] = field(default_factory=list, init=False)
    _assertions: list[Assertion] = field(default_factory=list, init=False)

    def knob(self, knob: Knob, grade: Grade = Grade.NECESSARY) -> Expression:
        """Add a knob, whose bounds become assertions of a grade, and return the unknown that stands for its value."""
        value = self._declare(knob.name)
        self._knobs.append(knob)
        require = partial(self.require, provenance=f"bounds of knob '{knob.name}'", grade=grade)
        if knob.low is not None:
            require(value >= knob.low, f"{knob.name} >= {{}}", knob.low)
        if knob.high is not None:
            require(value <= knob.high, f"{knob.name} <= {{}}", knob.high)
        return value

    def auxiliary(self, name: str) -> Expression:
        """Add an unknown that is not a knob: an assignment is valid if some value for it exists."""
        value = self._declare(name)
        self._auxiliaries.append(name)
        return value

    def require(
        self,
        condition: Expression | bool,  # noqa: FBT001 - a condition that Python has evaluated
        message: str,
        *values: Expression | int,
        provenance: str,
        grade: Grade = Grade.NECESSARY,
    ) -> None:
        """Add an assertion: a condition over unknowns of this builder, and the condition in words.

        The `values` fill the placeholders `{}` of the message, in order.

        Raises:
            TypeError: the condition is a number or not an expression, or a value is a condition or not an expression.
        """
        for operand in (condition, *values):
            if not isinstance(operand, Expression | int):
                raise TypeError(
                    f"'{message}' is asserted of a {type(operand).__name__}, "
                    "not of an expression of tuninglink.spaces"
                )
        written, *numbers = map(term_of, (condition, *values))
        if not is_condition(written) or any(
            number.kind is not Kind.CONSTANT and is_condition(number) for number in numbers
        ):
            raise TypeError(f"'{message}' does not assert a truth about integers")
        self._assertions.append(Assertion(written, message, tuple(numbers), provenance, grade))

    def build(
        self, problem: Problem, pipeline: str, provider: str, *, unknown: str = ""
    ) -> ConstraintSet:
        """Return the set; the builder must not be used afterwards.

        Raises:
            ValueError: the assertions contain a variable that is neither a knob nor an auxiliary unknown.
        """
        constraints = ConstraintSet(
            problem=problem,
            pipeline=pipeline,
            provider=provider,
            knobs=tuple(self._knobs),
            auxiliaries=tuple(self._auxiliaries),
            assertions=tuple(self._assertions),
            unknown=unknown,
        )
        declared = {*self._auxiliaries, *(knob.name for knob in self._knobs)}
        if undeclared := sorted(constraints.unknowns - declared):
            names = ", ".join(f"'{name}'" for name in undeclared)
            raise ValueError(f"neither knobs nor auxiliary unknowns: {names}")
        return constraints

    def _declare(self, name: str) -> Expression:
        if name in self._auxiliaries or any(name == knob.name for knob in self._knobs):
            raise ValueError(f"there is a knob or an auxiliary unknown '{name}' already")
        return unknown(name)
