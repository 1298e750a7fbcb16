"""Assertions: conditions on knobs, as solver terms and in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.solver.terms import Term


class Grade(Enum):
    """The consequence of violating an assertion.

    - `NECESSARY`: code generation fails.
    - `SUFFICIENT`: code generation may fail. If all necessary and sufficient assertions hold, it succeeds.
    - `COMPILER`: the compiler's own constraints reject the configuration; code generation may succeed.
    - `UNSAFE`: code generation succeeds, but the code may crash.
    - `HEURISTIC`: none, but the configuration is not worth trying.
    """

    NECESSARY = "necessary"
    SUFFICIENT = "sufficient"
    COMPILER = "compiler"
    UNSAFE = "unsafe"
    HEURISTIC = "heuristic"


@dataclass(frozen=True)
class Assertion:
    """A condition on knobs.

    Attributes:
        expression: a condition on the knobs and auxiliary unknowns of the set.
        message: the expression in words; `{}` stands for a value.
        values: integer expressions whose values fill the placeholders, in order.
        provenance: the origin: the compiler, a provider, or the bound of a knob.
        grade: the consequence of its violation.
    """

    expression: Term
    message: str
    values: tuple[Term, ...] = ()
    provenance: str = ""
    grade: Grade = Grade.NECESSARY
