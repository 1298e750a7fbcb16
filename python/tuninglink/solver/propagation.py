"""Propagation of equations: values that are forced without search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tuninglink.solver.terms import Kind, Term, evaluate


def forced_values(assertions: Iterable[Term]) -> dict[str, int] | None:
    """Return the only values for which assertions hold, None if equations alone do not determine them.

    Args:
        assertions: conditions that must all hold.
    """
    terms = [part for assertion in assertions for part in _conjuncts(assertion)]
    values: dict[str, int] = {}
    waiting = [term for term in terms if term.kind is Kind.EQ]
    while True:
        late = [equation for equation in waiting if not _solve(equation, values)]
        if len(late) == len(waiting):
            break
        waiting = late
    try:
        return values if all(evaluate(term, values) for term in terms) else None
    except (KeyError, ZeroDivisionError):
        return None


def _conjuncts(term: Term) -> Iterator[Term]:
    if term.kind is Kind.AND:
        for operand in term.operands:
            yield from _conjuncts(operand)
    else:
        yield term


def _solve(equation: Term, values: dict[str, int]) -> bool:
    """Add the value that an equation forces on an unknown; return whether all its unknowns have values."""
    for unknown, other in (equation.operands, equation.operands[::-1]):
        is_open = unknown.kind is Kind.VARIABLE and unknown.name not in values
        if is_open and other.variables <= values.keys():
            try:
                values[unknown.name] = evaluate(other, values)
            except ZeroDivisionError:
                return False
            return True
    return equation.variables <= values.keys()
