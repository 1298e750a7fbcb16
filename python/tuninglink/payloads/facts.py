"""Facts about single dimensions, as conditions and in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tuninglink.solver.expressions import Expression, all_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.matching.predicates import HasExtent


def holds(fact: HasExtent, size: Expression) -> Expression:
    """Returns that a fact holds for a static size."""
    asked = fact.extent
    parts = [] if asked.size is None else [size == asked.size]
    parts += [size >= int(asked.low)] if asked.low > -math.inf else []
    parts += [size <= int(asked.high)] if asked.high < math.inf else []
    parts += [size % asked.factor == 0] if asked.factor > 1 else []
    return all_of(*parts)


def in_words(fact: HasExtent) -> str:
    """Returns a fact in words."""
    kind, number, position = fact.dimension
    if kind in ("operand", "result"):
        what = f"dimension {position} of {kind} {number}"
    else:
        what = f"loop {number}" if kind == "loop" else f"{kind}[{number}]"
    return f"{what} is {fact.extent}"


def contradiction(facts: Sequence[str]) -> str:
    """Returns in words that facts, which are in words themselves, contradict each other."""
    if not facts:
        return "its operation has no sizes that fit together"
    if len(facts) == 1:
        return f"it cannot be that {facts[0]}"
    return f"it cannot all be: {'; '.join(facts)}"
