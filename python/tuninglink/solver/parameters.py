"""Parameters: unknowns that have a value while rules are written, so that the rules hold for other values, too.

Code that writes rules may branch on a parameter as on an integer. The condition of the branch is then an assumption of
the rules: they hold for other values that meet the same assumptions. Code that uses the value in another way, such as
in a text, fixes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuninglink.solver.expressions import Expression, Operand
from tuninglink.solver.judgements import Judgements
from tuninglink.solver.terms import Kind, Term, evaluate, make


class Assumptions:
    """The assumptions about parameters under which rules were written.

    Attributes:
        is_fixed: whether the rules hold for these values alone.
    """

    def __init__(self, values: Mapping[str, int]) -> None:
        self._values = values
        self._terms: dict[tuple[object, ...], Term] = {}
        self._judgements: Judgements | None = None
        self.is_fixed = False

    def parameter(self, name: str) -> SizeParameter:
        """Return a parameter with a value."""
        return SizeParameter(Term(Kind.VARIABLE, name=name), self)

    def value(self, term: Term) -> int:
        """Return the value of a term over parameters."""
        return evaluate(term, self._values)

    def assume(self, term: Term) -> bool:
        """Return the value of a condition, which is assumed from now on."""
        holds = bool(self.value(term))
        key = _key(term)
        if key not in self._terms:
            self._terms[key] = term if holds else make(Kind.NOT, term)
            self._judgements = None
        return holds

    def hold(self, values: Mapping[str, int]) -> bool:
        """Return whether the rules hold for other values of the parameters."""
        if self.is_fixed:
            return values == self._values
        if self._judgements is None:
            self._judgements = Judgements(tuple(self._terms.values()))
        return self._judgements.judge(values) == ([], [])


class SizeParameter(Expression):
    """An expression over parameters. It can be used as an integer or as a truth value.

    Args:
        term: the expression.
        assumptions: receives what its uses assume.
    """

    __slots__ = ("_assumptions",)

    def __init__(self, term: Term, assumptions: Assumptions) -> None:
        super().__init__(term)
        self._assumptions = assumptions

    def combined(self, term: Term, operands: Sequence[Operand]) -> Expression:
        """Return the expression of a term: a parameter if its operands are parameters and integers."""
        if all(isinstance(operand, SizeParameter | int) for operand in operands):
            return SizeParameter(term, self._assumptions)
        return Expression(term)

    def __floordiv__(self, other: int) -> Expression:
        assert other > 0  # where Python and SMT-LIB agree
        return self / other

    def __bool__(self) -> bool:
        return self._assumptions.assume(self.term)

    def __int__(self) -> int:
        self._assumptions.is_fixed = True
        return self._assumptions.value(self.term)

    __index__ = __int__

    def __str__(self) -> str:
        return str(int(self))

    def __format__(self, specification: str) -> str:
        return format(int(self), specification)


def _key(term: Term) -> tuple[object, ...]:
    """Return a key that equal terms share."""
    return (term.kind, term.name, term.value, *map(_key, term.operands))
