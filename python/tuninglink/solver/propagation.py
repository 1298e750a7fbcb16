"""Values that equations force, one after the other, without search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.solver.terms import Kind, Term, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def forced_values(assertions: Iterable[Term]) -> dict[str, int] | None:
    """Return the only values with which assertions hold, None if equations alone do not tell them.

    Args:
        assertions: conditions, all of which are to hold.
    """
    terms = [part for assertion in assertions for part in _conjuncts(assertion)]
    values: dict[str, int] = {}
    waiting = [term for term in terms if term.kind is Kind.EQ]
    while True:
        late = [each for each in waiting if not _solve(each, values)]
        if len(late) == len(waiting):
            break
        waiting = late
    try:
        return values if all(evaluate(each, values) for each in terms) else None
    except (KeyError, ZeroDivisionError):
        return None


def _conjuncts(term: Term) -> Iterator[Term]:
    if term.kind is Kind.AND:
        for operand in term.operands:
            yield from _conjuncts(operand)
    else:
        yield term


def _solve(equation: Term, values: dict[str, int]) -> bool:
    """Add the value that an equation forces on an unknown; tells whether all its values are known."""
    for unknown, other in (equation.operands, equation.operands[::-1]):
        is_open = unknown.kind is Kind.VARIABLE and unknown.name not in values
        if is_open and other.variables <= values.keys():
            try:
                values[unknown.name] = evaluate(other, values)
            except ZeroDivisionError:
                return False
            return True
    return equation.variables <= values.keys()
