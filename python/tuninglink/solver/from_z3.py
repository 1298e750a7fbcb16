"""Z3's expressions as terms.

Python's interface of Z3 makes an object for each expression that it touches, which takes longer than deciding about
a configuration. So expressions are walked here through Z3's C functions, by their addresses: equal expressions of a
context have the same one.
"""

from __future__ import annotations

import ctypes
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

import z3
from z3 import z3core

from tuninglink.solver.terms import Kind, Term, constant, make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_MOST_DEPTH: Final = 200
_MOST_NODES: Final = 20_000
"""Terms are walked recursively and as trees, which suits what people and providers write."""


class OutsideFragmentError(Exception):
    """An expression uses something that terms do not have; only Z3 itself can answer about it."""


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """Returns a C function of Z3 that takes addresses and numbers, and is not asked for errors."""
    # Z3's Python interface keeps the library to itself, but hands each function to its wrapper.
    wrapped = signature(getattr(z3core, name)).parameters["_elems"].default.f
    address = ctypes.cast(wrapped, ctypes.c_void_p).value
    assert address is not None
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


_ADDRESS: Final = ctypes.c_void_p
_NUMBER: Final = ctypes.c_uint
_ast_kind = _function("Z3_get_ast_kind", _NUMBER, _ADDRESS, _ADDRESS)
_argument_count = _function("Z3_get_app_num_args", _NUMBER, _ADDRESS, _ADDRESS)
_argument = _function("Z3_get_app_arg", _ADDRESS, _ADDRESS, _ADDRESS, _NUMBER)
_declaration = _function("Z3_get_app_decl", _ADDRESS, _ADDRESS, _ADDRESS)
_declaration_kind = _function("Z3_get_decl_kind", _NUMBER, _ADDRESS, _ADDRESS)
_name = _function("Z3_get_decl_name", _ADDRESS, _ADDRESS, _ADDRESS)
_symbol_text = _function("Z3_get_symbol_string", ctypes.c_char_p, _ADDRESS, _ADDRESS)
_sort = _function("Z3_get_sort", _ADDRESS, _ADDRESS, _ADDRESS)
_sort_kind = _function("Z3_get_sort_kind", _NUMBER, _ADDRESS, _ADDRESS)
_numeral_text = _function("Z3_get_numeral_string", ctypes.c_char_p, _ADDRESS, _ADDRESS)


class TermReader:
    """Reads expressions of one context; equal expressions become one term."""

    def __init__(self) -> None:
        self._done: dict[int, Term] = {}
        self._sizes: dict[int, tuple[int, int]] = {}
        self._kept: list[z3.ExprRef] = []

    def read(self, expression: z3.ExprRef) -> Term:
        """Returns `expression` as a term.

        Raises:
            OutsideFragmentError: it holds something else than integers, booleans, their usual operations
                and constants.
        """
        self._kept.append(expression)  # an address is given again once its expression is gone
        context, root = expression.ctx_ref().value, expression.as_ast().value
        stack = [(root, _arguments(context, root))]
        while stack:
            top, children = stack[-1]
            missing = [each for each in children if each not in self._done]
            if missing:
                stack += [(each, _arguments(context, each)) for each in missing]
                continue
            stack.pop()
            if top not in self._done:
                self._check_size(top, children)
                operands = [self._done[each] for each in children]
                self._done[top] = _term(context, top, operands)
        return self._done[root]

    def _check_size(self, expression: int, children: list[int]) -> None:
        sizes = [self._sizes[each] for each in children]
        depth = 1 + max((each for each, _ in sizes), default=0)
        count = 1 + sum(each for _, each in sizes)
        check_size(depth, count)
        self._sizes[expression] = depth, count


def check_size(depth: int, count: int) -> None:
    """Checks the depth of a term, and the number of its nodes as a tree.

    Raises:
        OutsideFragmentError: it is too large to be walked.
    """
    if depth > _MOST_DEPTH or count > _MOST_NODES:
        raise OutsideFragmentError("an assertion is too large")


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


def _arguments(context: int, expression: int) -> list[int]:
    if _ast_kind(context, expression) != z3.Z3_APP_AST:
        return []
    count = _argument_count(context, expression)
    return [_argument(context, expression, position) for position in range(count)]


def _term(context: int, expression: int, operands: list[Term]) -> Term:
    if operands:
        kind = _declaration_kind(context, _declaration(context, expression))
        build = _BUILDERS.get(kind)
        if build is None:
            raise OutsideFragmentError("an operation is not supported")
        return build(operands)
    return _leaf(context, expression)


def _leaf(context: int, expression: int) -> Term:
    syntax = _ast_kind(context, expression)
    sort = _sort_kind(context, _sort(context, expression))
    if syntax == z3.Z3_NUMERAL_AST and sort == z3.Z3_INT_SORT:
        try:
            return constant(int(_numeral_text(context, expression)))
        except ValueError:
            raise OutsideFragmentError("a number has too many digits") from None
    if syntax == z3.Z3_APP_AST:
        declaration = _declaration(context, expression)
        kind = _declaration_kind(context, declaration)
        if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
            return constant(int(kind == z3.Z3_OP_TRUE))
        if kind == z3.Z3_OP_UNINTERPRETED and sort == z3.Z3_INT_SORT:
            name = _symbol_text(context, _name(context, declaration)).decode()
            return Term(Kind.VARIABLE, name=name)
    raise OutsideFragmentError("an expression is no integer and no boolean")


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
