"""Building constraint sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from tuninglink.constraints.assertions import Assertion
from tuninglink.constraints.constraint_set import ConstraintSet

if TYPE_CHECKING:
    from tuninglink.constraints.knobs import Knob
    from tuninglink.constraints.problem import Problem


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

    def knob(self, knob: Knob) -> z3.ArithRef:
        """Adds a knob and returns the unknown that stands for its value.

        The bounds of the knob become assertions.
        """
        unknown = self._unknown(knob.name)
        self._knobs.append(knob)
        origin = f"bounds of knob '{knob.name}'"
        if knob.low is not None:
            self.require(unknown >= knob.low, f"{knob.name} >= {knob.low}", provenance=origin)
        if knob.high is not None:
            self.require(unknown <= knob.high, f"{knob.name} <= {knob.high}", provenance=origin)
        return unknown

    def auxiliary(self, name: str) -> z3.ArithRef:
        """Adds an unknown that is no knob: an assignment is valid if some value for it exists."""
        unknown = self._unknown(name)
        self._auxiliaries.append(name)
        return unknown

    def require(
        self,
        expression: z3.BoolRef,
        message: str,
        *values: z3.ArithRef,
        provenance: str,
    ) -> None:
        """Adds an assertion; see `Assertion`."""
        self._assertions.append(Assertion(expression, message, values, provenance))

    def build(self, problem: Problem, pipeline: str, provider: str) -> ConstraintSet:
        """Returns the set; the builder is spent.

        Args:
            problem: what the configuration is for.
            pipeline: the pipeline that the knobs configure.
            provider: who says so.
        """
        return ConstraintSet(
            problem=problem,
            pipeline=pipeline,
            provider=provider,
            knobs=tuple(self._knobs),
            auxiliaries=tuple(self._auxiliaries),
            assertions=tuple(self._assertions),
            context=self.context,
        )

    def _unknown(self, name: str) -> z3.ArithRef:
        if name in self._auxiliaries or any(name == each.name for each in self._knobs):
            raise ValueError(f"there is a knob or an auxiliary unknown '{name}' already")
        return z3.Int(name, self.context)
