"""Terms written with Python operators, as in Z3's interface: integers, comparisons, choices, connectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from tuninglink.solver.terms import Kind, Term, constant, make

Operand: TypeAlias = "Expression | int"


class Expression:
    """A wrapper of a term with Python operators. Comparisons give conditions; division follows SMT-LIB.

    Attributes:
        term: the term.
    """

    __slots__ = ("term",)
    __hash__: Final = None  # type: ignore[assignment] # `==` returns an expression

    def __init__(self, term: Term) -> None:
        self.term = term

    def combined(self, term: Term, operands: Sequence[Operand]) -> Expression:  # noqa: ARG002
        """Return the expression of a term over operands, of which this is one; kinds of expressions may differ."""
        return Expression(term)

    def __neg__(self) -> Expression:
        return _made(Kind.NEG, self)

    def __add__(self, other: Operand) -> Expression:
        return _made(Kind.ADD, self, other)

    def __radd__(self, other: Operand) -> Expression:
        return _made(Kind.ADD, other, self)

    def __sub__(self, other: Operand) -> Expression:
        return self + _made(Kind.NEG, other)

    def __rsub__(self, other: Operand) -> Expression:
        return other + -self

    def __mul__(self, other: Operand) -> Expression:
        return _made(Kind.MUL, self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return _made(Kind.MUL, other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return _made(Kind.DIV, self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return _made(Kind.DIV, other, self)

    def __mod__(self, other: Operand) -> Expression:
        return _made(Kind.MOD, self, other)

    def __rmod__(self, other: Operand) -> Expression:
        return _made(Kind.MOD, other, self)

    def __eq__(self, other: Operand) -> Expression:  # type: ignore[override]
        return _made(Kind.EQ, self, other)

    def __ne__(self, other: Operand) -> Expression:  # type: ignore[override]
        return negation(self == other)

    def __le__(self, other: Operand) -> Expression:
        return _made(Kind.LE, self, other)

    def __lt__(self, other: Operand) -> Expression:
        return _made(Kind.LT, self, other)

    def __ge__(self, other: Operand) -> Expression:
        return _made(Kind.LE, other, self)

    def __gt__(self, other: Operand) -> Expression:
        return _made(Kind.LT, other, self)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth before its unknowns have values")


def number(value: Operand) -> Expression:
    """Return an integer or truth value as an expression; an expression is returned as it is."""
    if isinstance(value, Expression):
        return value
    return Expression(constant(int(value)))


def unknown(name: str) -> Expression:
    """Return the unknown with a name."""
    return Expression(Term(Kind.VARIABLE, name=name))


def select(condition: Operand, yes: Operand, no: Operand) -> Expression:
    """Return the choice between two expressions by a condition."""
    return _made(Kind.ITE, condition, yes, no)


def all_of(*conditions: Operand) -> Expression:
    """Return the condition that all conditions hold."""
    return _made(Kind.AND, *conditions)


def any_of(*conditions: Operand) -> Expression:
    """Return the condition that at least one of the conditions holds."""
    return _made(Kind.OR, *conditions)


def negation(condition: Operand) -> Expression:
    """Return the negation of a condition."""
    return _made(Kind.NOT, condition)


def term_of(operand: Operand) -> Term:
    """Return the term of an expression, or of a Python integer or bool."""
    return operand.term if isinstance(operand, Expression) else constant(int(operand))


def _made(kind: Kind, *operands: Operand) -> Expression:
    terms = [
        operand.term if isinstance(operand, Expression) else term_of(operand)
        for operand in operands
    ]
    term = make(kind, *terms)
    for operand in operands:
        if isinstance(operand, Expression) and operand.__class__ is not Expression:
            return operand.combined(term, operands)
    return Expression(term)
