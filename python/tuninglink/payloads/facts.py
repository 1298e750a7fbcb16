"""Facts about single dimensions, as Z3 expressions and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.matching.predicates import AtLeast, Equals, MultipleOf

if TYPE_CHECKING:
    from collections.abc import Sequence

    import z3

    from tuninglink.matching.predicates import SizeFact


def holds(fact: SizeFact, size: z3.ArithRef) -> z3.BoolRef:
    """Returns that a fact holds for a static size."""
    if isinstance(fact, Equals):
        return size == fact.size
    if isinstance(fact, MultipleOf):
        return size % fact.factor == 0
    return size >= fact.bound if isinstance(fact, AtLeast) else size <= fact.bound


def can_hold(fact: SizeFact) -> bool:
    """Tells whether a fact by itself holds for some static size."""
    if isinstance(fact, Equals):
        return fact.size >= 0
    return isinstance(fact, MultipleOf | AtLeast) or fact.bound >= 0


def in_words(fact: SizeFact) -> str:
    """Returns a fact in words."""
    kind, number, position = fact.dimension
    if kind in ("operand", "result"):
        what = f"dimension {position} of {kind} {number}"
    else:
        what = f"loop {number}" if kind == "loop" else f"{kind}[{number}]"
    if isinstance(fact, Equals):
        return f"{what} is {fact.size}"
    if isinstance(fact, MultipleOf):
        return f"{what} is a multiple of {fact.factor}"
    return (
        f"{what} is at least {fact.bound}"
        if isinstance(fact, AtLeast)
        else f"{what} is at most {fact.bound}"
    )


def contradiction(facts: Sequence[str]) -> str:
    """Returns in words that facts, which are in words themselves, contradict each other."""
    if not facts:
        return "its operation has no sizes that fit together"
    if len(facts) == 1:
        return f"it cannot be that {facts[0]}"
    return f"it cannot all be: {'; '.join(facts)}"
