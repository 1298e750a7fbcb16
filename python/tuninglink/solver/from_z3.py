"""Z3's expressions as terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from tuninglink.solver.terms import Kind, Term, constant, make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_MOST_DEPTH = 200
_MOST_NODES = 20_000
"""Terms are walked recursively and as trees, which suits what people and providers write."""


class OutsideFragmentError(Exception):
    """An expression uses something that terms do not have; only Z3 itself can answer about it."""


class TermReader:
    """Reads expressions of one context; equal expressions become one term."""

    def __init__(self) -> None:
        self._done: dict[int, Term] = {}
        self._kept: list[z3.ExprRef] = []

    def read(self, expression: z3.ExprRef) -> Term:
        """Returns `expression` as a term.

        Raises:
            OutsideFragmentError: it holds something else than integers, booleans, their usual operations
                and constants.
        """
        stack = [expression]
        while stack:
            top = stack[-1]
            if top.get_id() in self._done:
                stack.pop()
                continue
            children = top.children()
            missing = [each for each in children if each.get_id() not in self._done]
            if missing:
                stack += missing
                continue
            operands = [self._done[each.get_id()] for each in children]
            term = self._done[top.get_id()] = _term(top, operands)
            if term.depth > _MOST_DEPTH or term.tree_size > _MOST_NODES:
                raise OutsideFragmentError("an assertion is too large")
            self._kept.append(top)  # an identifier is given again once its expression is gone
        return self._done[expression.get_id()]


def unknowns(expressions: Iterable[z3.ExprRef]) -> set[str]:
    """Returns the names of the constants in expressions, those of quantifiers not among them."""
    found: set[str] = set()
    seen: set[int] = set()
    pending = list(expressions)
    kept = []  # an identifier is given again once its expression is gone
    while pending:
        top = pending.pop()
        if top.get_id() in seen:
            continue
        seen.add(top.get_id())
        kept.append(top)
        if z3.is_const(top) and top.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.add(top.decl().name())
        pending += top.children()
    return found


def _term(expression: z3.ExprRef, operands: list[Term]) -> Term:
    if z3.is_int_value(expression):
        try:
            return constant(expression.as_long())
        except ValueError:
            raise OutsideFragmentError("a number has too many digits") from None
    if not z3.is_app(expression) or not (z3.is_int(expression) or z3.is_bool(expression)):
        raise OutsideFragmentError(f"'{expression.sexpr()}' is no integer and no boolean")
    kind = expression.decl().kind()
    if kind == z3.Z3_OP_UNINTERPRETED and not operands and z3.is_int(expression):
        return Term(Kind.VARIABLE, name=expression.decl().name())
    build = _BUILDERS.get(kind)
    if build is None:
        raise OutsideFragmentError(f"'{expression.decl().name()}' is not supported")
    return build(operands)


def _simple(kind: Kind) -> Callable[[list[Term]], Term]:
    return lambda operands: make(kind, *operands)


def _swapped(kind: Kind) -> Callable[[list[Term]], Term]:
    return lambda operands: make(kind, operands[1], operands[0])


def _difference(operands: list[Term]) -> Term:
    first, *rest = operands
    return make(Kind.ADD, first, *(make(Kind.NEG, each) for each in rest))


def _implication(operands: list[Term]) -> Term:
    return make(Kind.OR, make(Kind.NOT, operands[0]), operands[1])


def _distinct(operands: list[Term]) -> Term:
    pairs = [(a, b) for index, a in enumerate(operands) for b in operands[index + 1 :]]
    return make(Kind.AND, *(make(Kind.NOT, make(Kind.EQ, a, b)) for a, b in pairs))


_BUILDERS: dict[int, Callable[[list[Term]], Term]] = {
    z3.Z3_OP_TRUE: lambda _: constant(1),
    z3.Z3_OP_FALSE: lambda _: constant(0),
    z3.Z3_OP_ADD: _simple(Kind.ADD),
    z3.Z3_OP_SUB: _difference,
    z3.Z3_OP_MUL: _simple(Kind.MUL),
    z3.Z3_OP_UMINUS: _simple(Kind.NEG),
    z3.Z3_OP_IDIV: _simple(Kind.DIV),
    z3.Z3_OP_MOD: _simple(Kind.MOD),
    z3.Z3_OP_ITE: _simple(Kind.ITE),
    z3.Z3_OP_EQ: _simple(Kind.EQ),
    z3.Z3_OP_LE: _simple(Kind.LE),
    z3.Z3_OP_LT: _simple(Kind.LT),
    z3.Z3_OP_GE: _swapped(Kind.LE),
    z3.Z3_OP_GT: _swapped(Kind.LT),
    z3.Z3_OP_AND: _simple(Kind.AND),
    z3.Z3_OP_OR: _simple(Kind.OR),
    z3.Z3_OP_NOT: _simple(Kind.NOT),
    z3.Z3_OP_IMPLIES: _implication,
    z3.Z3_OP_DISTINCT: _distinct,
    z3.Z3_OP_XOR: lambda operands: make(Kind.NOT, make(Kind.EQ, *operands)),
}
