"""Z3, for queries that the search cannot answer: the export of terms, and calls with a time limit.

A context must not be used by two threads at once, nor in a process forked from the one that created it. Users of a
context therefore take turns.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, TypeAlias

import z3

from tuninglink.solver.terms import Deadline, Kind, Term, UndecidedError, graph


class TermWriter:
    """Converts terms to expressions of one context."""

    def __init__(self, context: z3.Context) -> None:
        self._context = context
        self._written: dict[Term, z3.ExprRef] = {}

    def truth(self, term: Term) -> z3.BoolRef:
        """Return the expression of a condition."""
        self._write(term)
        return self._operand(term, is_truth=True)

    def number(self, term: Term) -> z3.ArithRef:
        """Return the expression of a number."""
        self._write(term)
        return self._written[term]

    def _write(self, root: Term) -> None:
        for term in graph([root]):
            if term in self._written:
                continue
            kind, operands = term.kind, term.operands
            if kind is Kind.CONSTANT:
                self._written[term] = z3.IntVal(term.value, self._context)
            elif kind is Kind.VARIABLE:
                self._written[term] = z3.Int(term.name, self._context)
            else:
                # Constants are truth values next to conditions. The first operand of a choice is a condition.
                start = int(kind is Kind.ITE)
                is_truth = kind in _CONNECTIVES or any(
                    isinstance(self._written[operand], z3.BoolRef) for operand in operands[start:]
                )
                self._written[term] = _OPERATIONS[kind](
                    *(self._operand(operand, is_truth=True) for operand in operands[:start]),
                    *(self._operand(operand, is_truth=is_truth) for operand in operands[start:]),
                )

    def _operand(self, term: Term, *, is_truth: bool) -> Any:
        if is_truth and term.kind is Kind.CONSTANT:
            return z3.BoolVal(bool(term.value), self._context)
        return self._written[term]


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


class Solver:
    """Z3 queries about assertions; a model assigns a value to each integer unknown.

    The first query creates the context, which takes longer than most answers.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._lock = threading.RLock()
        self._process = os.getpid()

    @cached_property
    def _context(self) -> z3.Context:
        context = z3.Context()
        # Python releases expressions at any time, even while another thread uses the context.
        z3.Z3_enable_concurrent_dec_ref(context.ref())
        return context

    @cached_property
    def _writer(self) -> TermWriter:
        return TermWriter(self._context)

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
            solver.add(*self._expressions(assertions), *self._equalities(fixed))
            return self._model(solver, deadline)

    def core(
        self, assertions: Sequence[Term], fixed: Mapping[str, int], deadline: Deadline
    ) -> tuple[list[int], list[str]]:
        """Return the assertions (by index) and the fixed values that contradict each other."""
        with self.turn(deadline):
            solver = z3.Solver(ctx=self._context)
            parts: dict[str, int | str] = {}
            keys: list[int | str] = [*range(len(assertions)), *fixed]
            expressions = [*self._expressions(assertions), *self._equalities(fixed)]
            for key, expression in zip(keys, expressions, strict=True):
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
            solver.add(*self._expressions(assertions))
        while True:
            deadline.check()
            with self.turn(deadline):
                model = self._model(solver, deadline)
                if model is None:
                    return
                solution = {name: model[name] for name in shown}
                same = z3.And(z3.BoolVal(val=True, ctx=self._context), *self._equalities(solution))
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
            optimizer.add(*self._expressions(assertions))
            zero = z3.IntVal(0, self._context)
            one = z3.IntVal(1, self._context)
            changes = [z3.If(equality, zero, one) for equality in self._equalities(target)]
            gaps = [z3.Int(name, self._context) - target[name] for name in measured]
            distances = [z3.If(gap >= 0, gap, -gap) for gap in gaps]
            optimizer.minimize(z3.Sum([zero, *changes]))
            optimizer.minimize(z3.Sum([zero, *distances]))
            return self._model(optimizer, deadline)

    def _expressions(self, conditions: Sequence[Term]) -> list[z3.BoolRef]:
        return [self._writer.truth(condition) for condition in conditions]

    def _equalities(self, fixed: Mapping[str, int]) -> list[z3.BoolRef]:
        return [
            z3.Int(name, self._context) == z3.IntVal(value, self._context)
            for name, value in fixed.items()
        ]

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
