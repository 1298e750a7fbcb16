"""Terms written with Python operators, as in Z3's interface: integers, comparisons, choices, connectives, parameters.

A parameter is an unknown with a value while rules are written. Code that writes rules may branch on it as on an
integer. The condition of the branch then becomes an assumption of the rules. The rules also hold for other values that
meet the same assumptions. Code that uses the value in another way, such as in a text, fixes the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tuninglink.solver.compiled import Judgements
from tuninglink.solver.terms import Kind, Term, constant, evaluate, make

Operand: TypeAlias = "Expression | int"


def _operator(
    kind: Kind, *, is_reflected: bool = False
) -> Callable[[Expression, Operand], Expression]:
    def apply(self: Expression, other: Operand) -> Expression:
        return _made(kind, other, self) if is_reflected else _made(kind, self, other)

    return apply


class Expression:
    """A wrapper of a term with Python operators. Comparisons give conditions; division follows SMT-LIB."""

    __slots__ = ("term",)
    __hash__: Final = None  # type: ignore[assignment] # `==` returns an expression

    def __init__(self, term: Term) -> None:
        self.term = term

    def __neg__(self) -> Expression:
        return _made(Kind.NEG, self)

    __add__ = _operator(Kind.ADD)
    __radd__ = _operator(Kind.ADD, is_reflected=True)
    __mul__ = _operator(Kind.MUL)
    __rmul__ = _operator(Kind.MUL, is_reflected=True)
    __truediv__ = _operator(Kind.DIV)
    __rtruediv__ = _operator(Kind.DIV, is_reflected=True)
    __mod__ = _operator(Kind.MOD)
    __rmod__ = _operator(Kind.MOD, is_reflected=True)
    __le__ = _operator(Kind.LE)
    __lt__ = _operator(Kind.LT)
    __ge__ = _operator(Kind.LE, is_reflected=True)
    __gt__ = _operator(Kind.LT, is_reflected=True)

    def __sub__(self, other: Operand) -> Expression:
        return self + _made(Kind.NEG, other)

    def __rsub__(self, other: Operand) -> Expression:
        return other + -self

    def __eq__(self, other: Operand) -> Expression:  # type: ignore[override]
        return _made(Kind.EQ, self, other)

    def __ne__(self, other: Operand) -> Expression:  # type: ignore[override]
        return negation(self == other)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth before its unknowns have values")


def number(value: Operand) -> Expression:
    """Return an integer or truth value as an expression; an expression is returned unchanged."""
    return value if isinstance(value, Expression) else Expression(term_of(value))


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
    term = make(kind, *map(term_of, operands))
    # A term over parameters and integers is a parameter.
    for operand in operands:
        if operand.__class__ is SizeParameter:
            if all(isinstance(operand, SizeParameter | int) for operand in operands):
                return SizeParameter(term, operand.assumptions)
            break
    return Expression(term)


@dataclass(eq=False)
class Assumptions:
    """The assumptions about parameters under which rules were written."""

    values: Mapping[str, int]
    is_fixed: bool = False
    _terms: dict[tuple[object, ...], Term] = field(default_factory=dict)
    _judgements: Judgements | None = None

    def parameter(self, name: str) -> SizeParameter:
        """Return a parameter with a value."""
        return SizeParameter(Term(Kind.VARIABLE, name=name), self)

    def assume(self, term: Term) -> bool:
        """Return the value of a condition, and record the value as an assumption."""
        holds = bool(evaluate(term, self.values))
        key = _key(term)
        if key not in self._terms:
            self._terms[key] = term if holds else make(Kind.NOT, term)
            self._judgements = None
        return holds

    def hold(self, values: Mapping[str, int]) -> bool:
        """Return whether the rules hold for other values of the parameters."""
        if self.is_fixed:
            return values == self.values
        if self._judgements is None:
            self._judgements = Judgements(tuple(self._terms.values()))
        return self._judgements.judge(values) == ([], [])


class SizeParameter(Expression):
    """An expression over parameters. It can be used as an integer or as a truth value."""

    __slots__ = ("assumptions",)

    def __init__(self, term: Term, assumptions: Assumptions) -> None:
        super().__init__(term)
        self.assumptions = assumptions

    def __floordiv__(self, other: int) -> Expression:
        assert other > 0  # where Python and SMT-LIB agree
        return self / other

    def __bool__(self) -> bool:
        return self.assumptions.assume(self.term)

    def __int__(self) -> int:
        self.assumptions.is_fixed = True
        return evaluate(self.term, self.assumptions.values)

    __index__ = __int__

    def __str__(self) -> str:
        return str(int(self))

    def __format__(self, specification: str) -> str:
        return format(int(self), specification)


def _key(term: Term) -> tuple[object, ...]:
    return (term.kind, term.name, term.value, *map(_key, term.operands))
