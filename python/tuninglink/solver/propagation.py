"""Propagation of equations: values that are forced without search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from tuninglink.solver.judgements import Judgements
from tuninglink.solver.terms import Kind, Term, evaluate

_SATISFIED: Final[tuple[list[int], list[int]]] = ([], [])


class Propagation:
    """The values that equations force on unknowns, for any values of the given ones.

    The equation that determines an unknown does not depend on the values, so it is found once.

    Args:
        assertions: conditions that must all hold.
        given: the unknowns whose values are given.

    Attributes:
        determined: the unknowns whose values are given or follow.
    """

    def __init__(self, assertions: Iterable[Term], given: Collection[str] = ()) -> None:
        terms = [part for assertion in assertions for part in _conjuncts(assertion)]
        self._steps: dict[str, Term] = {}
        self._judgements = Judgements(terms)
        self.determined = determined = set(given)
        waiting = [term for term in terms if term.kind is Kind.EQ]
        while True:
            late = [equation for equation in waiting if not self._add_step(equation, determined)]
            if len(late) == len(waiting):
                return
            waiting = late

    def _add_step(self, equation: Term, determined: set[str]) -> bool:
        """Add the unknown that an equation determines; return whether all its unknowns are determined."""
        for unknown, other in (equation.operands, equation.operands[::-1]):
            is_open = unknown.kind is Kind.VARIABLE and unknown.name not in determined
            if is_open and other.variables <= determined:
                self._steps[unknown.name] = other
                determined.add(unknown.name)
                return True
        return equation.variables <= determined

    def values(self, given: Mapping[str, int]) -> dict[str, int] | None:
        """Return the only values of the unknowns for which the assertions hold.

        Args:
            given: the values of the given unknowns.

        Returns:
            None if equations alone do not determine them, or contradict each other.
        """
        values = dict(given)
        try:
            for unknown, term in self._steps.items():
                values[unknown] = evaluate(term, values)
        except ZeroDivisionError:
            return None
        return values if self._judgements.judge(values) == _SATISFIED else None


def _conjuncts(term: Term) -> Iterator[Term]:
    if term.kind is Kind.AND:
        for operand in term.operands:
            yield from _conjuncts(operand)
    else:
        yield term
