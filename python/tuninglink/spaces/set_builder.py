"""The builder of constraint sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.solver import Assertion, Grade, Kind, Term, is_condition
from tuninglink.solver.expressions import Expression, term_of, unknown
from tuninglink.spaces.constraint_set import ConstraintSet

if TYPE_CHECKING:
    from tuninglink.spaces.knobs import Knob
    from tuninglink.spaces.workload import Problem


class ConstraintSetBuilder:
    """Collects knobs and assertions, which are expressions of `tuninglink.solver`."""

    def __init__(self) -> None:
        self._knobs: list[Knob] = []
        self._auxiliaries: list[str] = []
        self._assertions: list[Assertion] = []

    def knob(self, knob: Knob, grade: Grade = Grade.NECESSARY) -> Expression:
        """Add a knob and return the unknown that stands for its value.

        Args:
            knob: the knob, whose bounds become assertions.
            grade: the consequence of their violation.
        """
        value = self._declare(knob.name)
        self._knobs.append(knob)
        origin = f"bounds of knob '{knob.name}'"
        if knob.low is not None:
            self.require(
                value >= knob.low, f"{knob.name} >= {{}}", knob.low, provenance=origin, grade=grade
            )
        if knob.high is not None:
            self.require(
                value <= knob.high,
                f"{knob.name} <= {{}}",
                knob.high,
                provenance=origin,
                grade=grade,
            )
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
        """Add an assertion.

        Args:
            condition: the condition over unknowns of this builder.
            message: the condition in words; `{}` stands for a value.
            values: integer expressions, or integers, whose values fill the placeholders, in order.
            provenance: the origin of the assertion.
            grade: the consequence of its violation.

        Raises:
            TypeError: the condition is a number or not an expression, or a value is a condition or not an expression.
        """
        written = _term(condition, message)
        numbers = tuple(_term(value, message) for value in values)
        if not is_condition(written) or any(map(_is_no_number, numbers)):
            raise TypeError(f"'{message}' does not assert a truth about integers")
        self._assertions.append(Assertion(written, message, numbers, provenance, grade))

    def build(
        self, problem: Problem, pipeline: str, provider: str, *, unknown: str = ""
    ) -> ConstraintSet:
        """Return the set; the builder must not be used afterwards.

        Args:
            problem: the problem to configure.
            pipeline: the pipeline that the knobs configure.
            provider: the name of the provider.
            unknown: why the assertions can refute an assignment but not prove one; empty if they decide.

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


def _term(operand: Expression | int, message: str) -> Term:
    if not isinstance(operand, Expression | int):
        raise TypeError(
            f"'{message}' is asserted of a {type(operand).__name__}, "
            "not of an expression of tuninglink.spaces"
        )
    return term_of(operand)


def _is_no_number(term: Term) -> bool:
    return term.kind is not Kind.CONSTANT and is_condition(term)
