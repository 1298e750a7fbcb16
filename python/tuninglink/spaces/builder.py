"""Building constraint sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import z3

from tuninglink.solver.assertions import Assertion, Grade
from tuninglink.spaces.constraint_set import ConstraintSet

if TYPE_CHECKING:
    from tuninglink.spaces.knobs import Knob
    from tuninglink.spaces.problem import Problem

    Truth: TypeAlias = z3.BoolRef | bool
    Number: TypeAlias = z3.ArithRef | int


class ConstraintSetBuilder:
    """Collects knobs and assertions; what it hands out lives in a context of its own.

    Attributes:
        context: the context of the set; constants made by hand belong there.
    """

    def __init__(self) -> None:
        self.context = z3.Context()
        self._knobs: list[Knob] = []
        self._auxiliaries: list[str] = []
        self._assertions: list[Assertion] = []

    def knob(self, knob: Knob, grade: Grade = Grade.NECESSARY) -> z3.ArithRef:
        """Adds a knob and returns the unknown that stands for its value.

        Args:
            knob: the knob, whose bounds become assertions.
            grade: what follows from their violation.
        """
        unknown = self._unknown(knob.name)
        self._knobs.append(knob)
        origin = f"bounds of knob '{knob.name}'"
        if knob.low is not None:
            self.require(
                unknown >= knob.low, f"{knob.name} >= {knob.low}", provenance=origin, grade=grade
            )
        if knob.high is not None:
            self.require(
                unknown <= knob.high, f"{knob.name} <= {knob.high}", provenance=origin, grade=grade
            )
        return unknown

    def auxiliary(self, name: str) -> z3.ArithRef:
        """Adds an unknown that is no knob: an assignment is valid if some value for it exists."""
        unknown = self._unknown(name)
        self._auxiliaries.append(name)
        return unknown

    def require(
        self,
        expression: Truth,
        message: str,
        *values: Number,
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
        if isinstance(expression, bool):
            expression = z3.BoolVal(expression, self.context)
        numbers = [
            z3.IntVal(each, self.context) if isinstance(each, int) else each for each in values
        ]
        if not z3.is_bool(expression) or not all(map(z3.is_int, numbers)):
            raise TypeError(f"'{message}' does not assert a truth about integers")
        if any(each.ctx != self.context for each in (expression, *numbers)):
            raise ValueError(f"'{message}' is made with another context than the builder's")
        self._assertions.append(Assertion(expression, message, tuple(numbers), provenance, grade))

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
            context=self.context,
            unknown=unknown,
        )
        strange = made.unknowns - {*self._auxiliaries, *(each.name for each in self._knobs)}
        if strange:
            what = ", ".join(f"'{each}'" for each in sorted(strange))
            raise ValueError(f"neither knobs nor auxiliary unknowns: {what}")
        return made

    def _unknown(self, name: str) -> z3.ArithRef:
        if name in self._auxiliaries or any(name == each.name for each in self._knobs):
            raise ValueError(f"there is a knob or an auxiliary unknown '{name}' already")
        return z3.Int(name, self.context)
