"""Assertions: what the knobs must fulfil, in a solver's terms and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import z3


@dataclass(frozen=True)
class Assertion:
    """Something that must hold.

    Attributes:
        expression: a boolean expression over the knobs and auxiliary unknowns of the set, in its context.
        message: the expression in words; `{}` stands for a value.
        values: integer expressions whose values fill the placeholders, in order.
        provenance: where it comes from: the compiler, a provider, the bound of a knob.
    """

    expression: z3.BoolRef
    message: str
    values: tuple[z3.ArithRef, ...] = ()
    provenance: str = ""
