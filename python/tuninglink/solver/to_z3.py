"""The export of terms to Z3, which decides what the search leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import z3

from tuninglink.solver.terms import Kind, Term, graph


class TermWriter:
    """Converts terms to expressions of one context.

    Args:
        context: the context.
    """

    def __init__(self, context: z3.Context) -> None:
        self._context = context
        self._written: dict[Term, z3.ExprRef] = {}

    def truth(self, term: Term) -> z3.BoolRef:
        """Return the expression of a condition."""
        self._write_all(term)
        return self._operand(term, is_truth=True)

    def number(self, term: Term) -> z3.ArithRef:
        """Return the expression of a number."""
        self._write_all(term)
        return self._operand(term, is_truth=False)

    def _write_all(self, term: Term) -> None:
        for node in graph([term]):
            if node not in self._written:
                self._written[node] = self._write(node)

    def _write(self, term: Term) -> Any:
        kind, operands = term.kind, term.operands
        if kind is Kind.CONSTANT:
            return z3.IntVal(term.value, self._context)
        if kind is Kind.VARIABLE:
            return z3.Int(term.name, self._context)
        if kind is Kind.ITE:
            condition, *branches = operands
            is_truth = any(map(self._is_truth, branches))
            yes, no = (self._operand(branch, is_truth=is_truth) for branch in branches)
            return z3.If(self._operand(condition, is_truth=True), yes, no)
        is_truth = kind in _CONNECTIVES or any(map(self._is_truth, operands))
        return _operations()[kind](
            [self._operand(operand, is_truth=is_truth) for operand in operands]
        )

    def _is_truth(self, term: Term) -> bool:
        return isinstance(self._written[term], z3.BoolRef)

    def _operand(self, term: Term, *, is_truth: bool) -> Any:
        """Return the expression of a term; a constant can be a number or a condition."""
        if is_truth and term.kind is Kind.CONSTANT:
            return z3.BoolVal(bool(term.value), self._context)
        return self._written[term]


_CONNECTIVES: Final = frozenset({Kind.AND, Kind.OR, Kind.NOT})


@cache
def _operations() -> Mapping[Kind, Callable[[list[Any]], Any]]:
    """Return the operations of Z3. This is a function, since a table would load Z3 on import of this module."""
    return {
        Kind.ADD: z3.Sum,
        Kind.MUL: z3.Product,
        Kind.NEG: lambda operands: -operands[0],
        Kind.DIV: lambda operands: operands[0] / operands[1],
        Kind.MOD: lambda operands: operands[0] % operands[1],
        Kind.EQ: lambda operands: operands[0] == operands[1],
        Kind.LE: lambda operands: operands[0] <= operands[1],
        Kind.LT: lambda operands: operands[0] < operands[1],
        Kind.AND: z3.And,
        Kind.OR: z3.Or,
        Kind.NOT: lambda operands: z3.Not(operands[0]),
    }
