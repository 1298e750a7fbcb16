"""Building constraint sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

import z3

from tuninglink.solver.assertions import Assertion, Grade
from tuninglink.solver.expressions import Expression, term_of, unknown
from tuninglink.spaces.constraint_set import ConstraintSet

if TYPE_CHECKING:
    from tuninglink.solver.terms import Term
    from tuninglink.spaces.knobs import Knob
    from tuninglink.spaces.problem import Problem

Unknown = TypeVar("Unknown", z3.ArithRef, Expression)
"""What stands for the value of a knob in assertions."""


class _Builder(ABC, Generic[Unknown]):
    """Collects knobs and assertions."""

    def __init__(self, context: z3.Context | None = None) -> None:
        self._context = context
        self._knobs: list[Knob] = []
        self._auxiliaries: list[str] = []
        self._assertions: list[Assertion] = []

    def knob(self, knob: Knob, grade: Grade = Grade.NECESSARY) -> Unknown:
        """Adds a knob and returns the unknown that stands for its value.

        Args:
            knob: the knob, whose bounds become assertions.
            grade: what follows from their violation.
        """
        value = self._declare(knob.name)
        self._knobs.append(knob)
        origin = f"bounds of knob '{knob.name}'"
        if knob.low is not None:
            self.require(
                value >= knob.low, f"{knob.name} >= {knob.low}", provenance=origin, grade=grade
            )
        if knob.high is not None:
            self.require(
                value <= knob.high, f"{knob.name} <= {knob.high}", provenance=origin, grade=grade
            )
        return value

    def auxiliary(self, name: str) -> Unknown:
        """Adds an unknown that is no knob: an assignment is valid if some value for it exists."""
        value = self._declare(name)
        self._auxiliaries.append(name)
        return value

    def require(
        self,
        expression: Any,
        message: str,
        *values: Any,
        provenance: str,
        grade: Grade = Grade.NECESSARY,
    ) -> None:
        """Adds an assertion.

        Args:
            expression: what must hold, over unknowns of this builder; Python's own truths will do.
            message: the expression in words; `{}` stands for a value.
            values: integer expressions, or integers, whose values fill the placeholders, in order.
            provenance: where the assertion comes from.
            grade: what follows from its violation.

        Raises:
            TypeError: the expression is not boolean, or a value no integer.
            ValueError: something in it was not made with this builder's context.
        """
        condition, numbers = self._read(expression, message, values)
        self._assertions.append(Assertion(condition, message, numbers, provenance, grade))

    def build(
        self, problem: Problem, pipeline: str, provider: str, *, unknown: str = ""
    ) -> ConstraintSet:
        """Returns the set; the builder is spent.

        Args:
            problem: what the configuration is for.
            pipeline: the pipeline that the knobs configure.
            provider: who says so.
            unknown: why no assignment is known to be valid, although some are known not to be; empty if the
                assertions decide.

        Raises:
            ValueError: the assertions speak of something that is neither a knob nor an auxiliary unknown.
        """
        made = ConstraintSet(
            problem=problem,
            pipeline=pipeline,
            provider=provider,
            knobs=tuple(self._knobs),
            auxiliaries=tuple(self._auxiliaries),
            assertions=tuple(self._assertions),
            context=self._context,
            unknown=unknown,
        )
        strange = made.unknowns - {*self._auxiliaries, *(each.name for each in self._knobs)}
        if strange:
            what = ", ".join(f"'{each}'" for each in sorted(strange))
            raise ValueError(f"neither knobs nor auxiliary unknowns: {what}")
        return made

    def _declare(self, name: str) -> Unknown:
        if name in self._auxiliaries or any(name == each.name for each in self._knobs):
            raise ValueError(f"there is a knob or an auxiliary unknown '{name}' already")
        return self._unknown(name)

    @abstractmethod
    def _unknown(self, name: str) -> Unknown:
        """Returns an unknown."""

    @abstractmethod
    def _read(
        self, expression: Any, message: str, values: tuple[Any, ...]
    ) -> tuple[Condition, tuple[Value, ...]]:
        """Returns a condition and the values that its message shows, checked."""


class ConstraintSetBuilder(_Builder[z3.ArithRef]):
    """Collects knobs and assertions, which are Z3's expressions in a context of their own.

    Attributes:
        context: the context of the set; constants made by hand belong there.
    """

    def __init__(self) -> None:
        self.context = z3.Context()
        super().__init__(self.context)

    def _unknown(self, name: str) -> z3.ArithRef:
        return z3.Int(name, self.context)

    def _read(
        self, expression: Any, message: str, values: tuple[Any, ...]
    ) -> tuple[Condition, tuple[Value, ...]]:
        if isinstance(expression, bool):
            expression = z3.BoolVal(expression, self.context)
        numbers = [
            z3.IntVal(each, self.context) if isinstance(each, int) else each for each in values
        ]
        if not z3.is_bool(expression) or not all(map(z3.is_int, numbers)):
            raise TypeError(f"'{message}' does not assert a truth about integers")
        if any(each.ctx != self.context for each in (expression, *numbers)):
            raise ValueError(f"'{message}' is made with another context than the builder's")
        return expression, tuple(numbers)


_WRITTEN: Final = (Expression, int)


class TermSetBuilder(_Builder[Expression]):
    """Collects knobs and assertions, which are terms; a context of Z3 is made for hard questions only."""

    def _unknown(self, name: str) -> Expression:
        return unknown(name)

    def _read(
        self, expression: Any, message: str, values: tuple[Any, ...]
    ) -> tuple[Condition, tuple[Value, ...]]:
        for each in (expression, *values):
            if not isinstance(each, _WRITTEN):
                raise TypeError(f"'{message}' does not assert a truth about integers")
        return term_of(expression), tuple(map(term_of, values))


if TYPE_CHECKING:
    Condition: TypeAlias = Term | z3.BoolRef
    Value: TypeAlias = Term | z3.ArithRef
