"""The decision whether assertions can hold together: by search if possible, otherwise by Z3, with a time limit.

A context of Z3 must not be used by two threads at once, nor in a process forked from the one that created it. Users of
a context therefore take turns.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import z3

from tuninglink.solver.compiled import Judgements
from tuninglink.solver.search import Counted, SearchPlan, TooManyValuesError, count_solutions
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
    graph,
    make,
)


@dataclass(eq=False)
class TermWriter:
    """Converts terms to expressions of one context."""

    _context: z3.Context
    _written: dict[Term, Any] = field(default_factory=dict)

    def truth(self, term: Term) -> z3.BoolRef:
        """Return the expression of a condition."""
        if term.kind is Kind.CONSTANT:
            return z3.BoolVal(bool(term.value), self._context)
        written: z3.BoolRef = self.number(term)
        return written

    def number(self, root: Term) -> z3.ArithRef:
        """Return the expression of a number."""
        for term in () if root in self._written else graph([root]):
            kind, operands = term.kind, term.operands
            if term in self._written:
                continue
            if kind is Kind.CONSTANT:
                self._written[term] = z3.IntVal(term.value, self._context)
            elif kind is Kind.VARIABLE:
                self._written[term] = z3.Int(term.name, self._context)
            else:
                # Constants are truth values next to conditions. The first operand of a choice is a condition.
                first = int(kind is Kind.ITE)
                is_truth = kind in _CONNECTIVES or any(
                    isinstance(self._written[operand], z3.BoolRef) for operand in operands[first:]
                )
                written = [
                    self.truth(operand) if is_truth or place < first else self._written[operand]
                    for place, operand in enumerate(operands)
                ]
                self._written[term] = _OPERATIONS[kind](*written)
        return self._written[root]


_CONNECTIVES: Final = (Kind.AND, Kind.OR, Kind.NOT)

_OPERATIONS: Final[Mapping[Kind, Callable[..., Any]]] = {
    Kind.ADD: lambda *terms: z3.Sum(*terms),  # noqa: PLW0108 - loads Z3 when called
    Kind.MUL: lambda *terms: z3.Product(*terms),  # noqa: PLW0108 - loads Z3 when called
    Kind.NEG: operator.neg,
    Kind.DIV: operator.truediv,
    Kind.MOD: operator.mod,
    Kind.ITE: lambda *terms: z3.If(*terms),  # noqa: PLW0108 - loads Z3 when called
    Kind.EQ: operator.eq,
    Kind.LE: operator.le,
    Kind.LT: operator.lt,
    Kind.AND: lambda *terms: z3.And(*terms),  # noqa: PLW0108 - loads Z3 when called
    Kind.OR: lambda *terms: z3.Or(*terms),  # noqa: PLW0108 - loads Z3 when called
    Kind.NOT: lambda *terms: z3.Not(*terms),  # noqa: PLW0108 - loads Z3 when called
}


Model: TypeAlias = dict[str, int]


_GRACE_SECONDS: Final = 1.0
"""The delay from the time limit of a check to its interruption, and the interval between interruptions."""


@dataclass(eq=False)
class Solver:
    """Z3 queries about assertions; a model assigns a value to each integer unknown.

    The first query creates the context, which takes longer than most answers.
    """

    _names: Sequence[str]
    _lock: Any = field(default_factory=threading.RLock)
    _process: int = field(default_factory=os.getpid)

    @cached_property
    def _context(self) -> z3.Context:
        context = z3.Context()
        # Python releases expressions at any time, even while another thread uses the context.
        z3.Z3_enable_concurrent_dec_ref(context.ref())
        self._writer = TermWriter(context)
        return context

    @contextmanager
    def turn(self, deadline: Deadline | None = None) -> Iterator[None]:
        """Hold the context exclusively, after waiting for other threads.

        Raises:
            UndecidedError: the deadline has passed, Z3 fails in the body, or another process created the context.
        """
        if os.getpid() != self._process:
            raise UndecidedError("the constraint set belongs to another process")
        seconds = min(deadline.remaining(), threading.TIMEOUT_MAX) if deadline else -1
        if not self._lock.acquire(timeout=seconds):
            raise UndecidedError("the query of another thread took all the time")
        try:
            yield
        except z3.Z3Exception as failure:
            raise UndecidedError(f"the solver failed: {failure}") from None
        finally:
            self._lock.release()

    def solve(
        self, assertions: Sequence[Term], fixed: Mapping[str, int], deadline: Deadline
    ) -> Model | None:
        """Return values that satisfy `assertions` and include the `fixed` ones, or None if there are none."""
        with self.turn(deadline):
            solver = z3.Solver(ctx=self._context)
            solver.add(*self._conditions(assertions, fixed))
            return self._model(solver, deadline)

    def core(
        self, assertions: Sequence[Term], fixed: Mapping[str, int], deadline: Deadline
    ) -> tuple[list[int], list[str]]:
        """Return the assertions (by index) and the fixed values that contradict each other."""
        with self.turn(deadline):
            solver = z3.Solver(ctx=self._context)
            parts: dict[str, int | str] = {}
            keys: list[int | str] = [*range(len(assertions)), *fixed]
            for key, expression in zip(keys, self._conditions(assertions, fixed), strict=True):
                label = z3.Bool(f"tuninglink.part.{len(parts)}", self._context)
                parts[label.decl().name()] = key
                solver.assert_and_track(expression, label)
            if self._check(solver, deadline) != z3.unsat:
                raise UndecidedError("the solver finds no contradiction within the limit")
            core = [parts[label.decl().name()] for label in solver.unsat_core()]
            indices = sorted(key for key in core if isinstance(key, int))
            return indices, [key for key in core if isinstance(key, str)]

    def models(
        self, assertions: Sequence[Term], shown: Sequence[str], deadline: Deadline, seed: int
    ) -> Iterator[Model]:
        """Yield all distinct values of the `shown` unknowns that satisfy `assertions`."""
        with self.turn(deadline):
            solver = z3.Solver(ctx=self._context)
            solver.set("random_seed", seed % (1 << 31))
            solver.add(*self._conditions(assertions, {}))
        while True:
            deadline.check()
            with self.turn(deadline):
                model = self._model(solver, deadline)
                if model is None:
                    return
                solution = {name: model[name] for name in shown}
                same = z3.And(
                    z3.BoolVal(val=True, ctx=self._context), *self._conditions((), solution)
                )
                solver.add(z3.Not(same))
            yield solution

    def optimize(
        self,
        assertions: Sequence[Term],
        target: Mapping[str, int],
        measured: Sequence[str],
        deadline: Deadline,
    ) -> Model | None:
        """Return the values nearest to `target` by number of differences, then by distance; None if there are none.

        The distance counts only the `measured` unknowns.
        """
        with self.turn(deadline):
            optimizer = z3.Optimize(ctx=self._context)
            optimizer.set("priority", "lex")
            optimizer.add(*self._conditions(assertions, {}))
            zero = z3.IntVal(0, self._context)
            one = z3.IntVal(1, self._context)
            changes = [z3.If(equality, zero, one) for equality in self._conditions((), target)]
            gaps = [z3.Int(name, self._context) - target[name] for name in measured]
            distances = [z3.If(gap >= 0, gap, -gap) for gap in gaps]
            optimizer.minimize(z3.Sum([zero, *changes]))
            optimizer.minimize(z3.Sum([zero, *distances]))
            return self._model(optimizer, deadline)

    def _conditions(self, assertions: Sequence[Term], fixed: Mapping[str, int]) -> list[z3.BoolRef]:
        """Return the expressions of assertions, and of unknowns having fixed values."""
        equalities = [
            z3.Int(name, self._context) == z3.IntVal(value, self._context)
            for name, value in fixed.items()
        ]
        return [*map(self._writer.truth, assertions), *equalities]

    def _check(self, solver: z3.Solver | z3.Optimize, deadline: Deadline) -> z3.CheckSatResult:
        """Check a solver within its time limit."""
        # Z3's own timer has no effect if it fires before the check has begun, as a short timer does on a busy machine.
        # The check would then never end, so it is interrupted a second later, repeatedly until it ends.
        milliseconds = deadline.solver_milliseconds()
        solver.set("timeout", milliseconds)
        has_ended = threading.Event()

        def interrupt() -> None:
            seconds = milliseconds / 1000 + _GRACE_SECONDS
            while not has_ended.wait(min(seconds, threading.TIMEOUT_MAX)):
                self._context.interrupt()
                seconds = _GRACE_SECONDS

        watch = threading.Thread(target=interrupt, daemon=True)
        watch.start()
        try:
            return solver.check()
        finally:
            has_ended.set()
            watch.join()

    def _model(self, solver: z3.Solver | z3.Optimize, deadline: Deadline) -> Model | None:
        verdict = self._check(solver, deadline)
        if verdict == z3.unsat:
            return None
        if verdict != z3.sat:
            raise UndecidedError(f"the solver gave up: {solver.reason_unknown()}")
        model = solver.model()
        values = {
            name: model.eval(z3.Int(name, self._context), model_completion=True)
            for name in self._names
        }
        try:
            return {name: value.as_long() for name, value in values.items()}
        except (
            AttributeError,
            ValueError,
        ):  # 3 ** 1000000 stays a power, or has too many digits for Python
            raise UndecidedError("the solver found values that are too large to write") from None


# --- Queries about sets of assertions ------------------------------------------------------------

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
        is_small = all(
            condition.depth <= _MOST_DEPTH and condition.tree_size <= _MOST_NODES
            for condition in conditions
        )
        return conditions if is_small else None

    def value(self, expression: Term, assignment: Mapping[str, int]) -> int | None:
        """Return the value of an expression, None if the assignment does not determine it."""
        if expression.depth > _MOST_DEPTH or expression.tree_size > _MOST_NODES:
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
            deadline.extend(steps=-taken)
            return counted
        search = self.search(deadline)
        if search is None or self.terms is None:
            return None
        if search.domains is None:
            return Counted(CountAnswer(Verdict.PROVEN, 0), (), is_indexed=True)
        open_terms = [term for term in self.terms if term.kind is not Kind.CONSTANT]
        try:
            counted = count_solutions(open_terms, search.domains, self._hidden, deadline)
        except ZeroDivisionError:
            return None
        if counted.is_indexed and sum(part.size for part in counted.parts) <= _MOST_KEPT:
            self._counted = counted
        elif counted.answer.verdict is Verdict.NOT_DECIDED and deadline.remaining() > 0:
            self._exceeded = steps, steps - deadline.steps, replace(counted, parts=())
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
