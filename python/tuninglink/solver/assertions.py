"""Assertions: conditions on knobs, in a solver's terms and in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.solver.terms import Term


class Grade(Enum):
    """What follows from the violation of an assertion.

    - `NECESSARY`: code generation fails.
    - `SUFFICIENT`: code generation may fail. Where all necessary and sufficient assertions hold, it succeeds.
    - `COMPILER`: the compiler's own constraints reject the configuration; code generation may succeed.
    - `HEURISTIC`: nothing; the configuration is only not worth trying.
    """

    NECESSARY = "necessary"
    SUFFICIENT = "sufficient"
    COMPILER = "compiler"
    HEURISTIC = "heuristic"


@dataclass(frozen=True)
class Assertion:
    """A condition on knobs.

    Attributes:
        expression: a condition on the knobs and auxiliary unknowns of the set.
        message: the expression in words; `{}` stands for a value.
        values: integer expressions whose values fill the placeholders, in order.
        provenance: where it comes from: the compiler, a provider, the bound of a knob.
        grade: what follows from its violation.
    """

    expression: Term
    message: str
    values: tuple[Term, ...] = ()
    provenance: str = ""
    grade: Grade = Grade.NECESSARY
