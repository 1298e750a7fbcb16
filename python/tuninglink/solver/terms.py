"""Integer and boolean terms: what assertions are made of.

They have the meaning that SMT-LIB gives them, and can be exported to Z3. The search reads terms and not Z3's
expressions, each access of which takes microseconds.
"""

from __future__ import annotations

import operator
from enum import IntEnum, auto
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Kind(IntEnum):
    """What a term is made with. Comparisons and the boolean kinds give 0 or 1."""

    CONSTANT = auto()
    VARIABLE = auto()
    ADD = auto()
    MUL = auto()
    NEG = auto()
    DIV = auto()
    MOD = auto()
    ITE = auto()
    EQ = auto()
    LE = auto()
    LT = auto()
    AND = auto()
    OR = auto()
    NOT = auto()


_CONSTANT: Final = Kind.CONSTANT
_VARIABLE: Final = Kind.VARIABLE
_ITE: Final = Kind.ITE
_AND: Final = Kind.AND
_OR: Final = Kind.OR
_NOTHING: Final[frozenset[str]] = frozenset()


class Term:
    """A node: its kind, its operands, and the value of a constant or the name of a variable.

    Terms never change, and are equal only to themselves. What is known of their nodes is added up as they are made:
    everybody asks for it.

    Attributes:
        kind: what the term is made with.
        operands: the terms that it is made of.
        value: the value of a constant.
        name: the name of a variable.
        variables: the names of the variables in the term.
        tree_size: how many nodes the term would have if none were shared.
        depth: how many nodes are on the longest way to a leaf.
    """

    __slots__ = ("depth", "kind", "name", "operands", "tree_size", "value", "variables")

    def __init__(
        self, kind: Kind, operands: tuple[Term, ...] = (), value: int = 0, name: str = ""
    ) -> None:
        self.kind = kind
        self.operands = operands
        self.value = value
        self.name = name
        variables = frozenset((name,)) if kind is _VARIABLE else _NOTHING
        size, depth = 1, 0
        for operand in operands:
            others = operand.variables
            if not others <= variables:
                variables = others | variables if variables else others
            size += operand.tree_size
            if operand.depth > depth:  # noqa: PLR1730 - `max` takes as long as all else here
                depth = operand.depth
        self.variables: frozenset[str] = variables
        self.tree_size: int = size
        self.depth: int = 1 + depth

    def occurrences(self, name: str) -> int:
        """Return how often the variable `name` occurs, up to two, counting each use of a shared node."""
        if name not in self.variables:
            return 0
        if self.kind is Kind.VARIABLE:
            return 1
        return min(2, sum(operand.occurrences(name) for operand in self.operands))


@lru_cache(maxsize=1 << 12)
def constant(value: int) -> Term:
    """Return the term of a number; true is 1, false 0."""
    return Term(_CONSTANT, value=int(value))


def is_condition(term: Term) -> bool:
    """Return whether a term is a truth and not a number; the constants 0 and 1 are both."""
    pending, done = [term], set()
    while pending:
        top = pending.pop()
        if top in done:
            continue
        done.add(top)
        if top.kind in _OF_CONDITIONS:
            pending += top.operands
        elif top.kind not in _COMPARISONS and not (top.kind is _CONSTANT and top.value in (0, 1)):
            return False
    return True


def make(kind: Kind, *operands: Term) -> Term:
    """Return the term of `kind` over `operands`, computed if they are all constants.

    A division by zero stays a term: SMT-LIB leaves its value open.
    """
    for operand in operands:
        if operand.kind is not _CONSTANT:
            return Term(kind, operands)
    if kind in _DIVISIONS and operands[1].value == 0:
        return Term(kind, operands)
    return constant(_OPERATIONS[kind](*[operand.value for operand in operands]))


def divide(numerator: int, divisor: int) -> int:
    """Return the quotient as SMT-LIB defines it: the remainder is never negative.

    Raises:
        ZeroDivisionError: SMT-LIB leaves the quotient open.
    """
    return numerator // divisor if divisor > 0 else -(numerator // -divisor)


def modulo(numerator: int, divisor: int) -> int:
    """Return the remainder as SMT-LIB defines it, which is never negative.

    Raises:
        ZeroDivisionError: SMT-LIB leaves the remainder open.
    """
    return numerator % abs(divisor)


def evaluate(term: Term, values: Mapping[str, int], known: dict[Term, int] | None = None) -> int:
    """Return the value of `term`; only the chosen branch of a choice is computed.

    Args:
        term: the term.
        values: the values of variables.
        known: what is known of terms for these values; what is computed is added.

    Raises:
        ZeroDivisionError: the value depends on a division by zero.
        KeyError: a variable that is needed has no value.
    """
    return _evaluate(term, values, {} if known is None else known)


def _evaluate(term: Term, values: Mapping[str, int], known: dict[Term, int]) -> int:
    kind = term.kind
    if kind is _CONSTANT:
        return term.value
    if kind is _VARIABLE:
        return values[term.name]
    if term in known:
        return known[term]
    if kind is _ITE:
        condition, yes, no = term.operands
        result = _evaluate(yes if _evaluate(condition, values, known) else no, values, known)
    elif kind is _AND or kind is _OR:
        result = int(_evaluate_lazily(term, values, known, decisive=kind is _OR))
    else:
        operands = [_evaluate(operand, values, known) for operand in term.operands]
        result = _OPERATIONS[kind](*operands)
    known[term] = result
    return result


def _evaluate_lazily(
    term: Term, values: Mapping[str, int], known: dict[Term, int], *, decisive: bool
) -> bool:
    """Find an operand that is `decisive`, whatever operands that are open would be."""
    is_open: ZeroDivisionError | None = None
    for operand in term.operands:
        try:
            if bool(_evaluate(operand, values, known)) is decisive:
                return decisive
        except ZeroDivisionError as failure:
            is_open = failure
    if is_open:
        raise is_open
    return not decisive


def graph(roots: list[Term]) -> Iterator[Term]:
    """Yield every node under `roots` once, operands before their users."""
    done: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        term, operands_done = stack.pop()
        if id(term) in done:
            continue
        if operands_done or not term.operands:
            done.add(id(term))
            yield term
        else:
            stack.append((term, True))
            stack += [(operand, False) for operand in term.operands]


_DIVISIONS = (Kind.DIV, Kind.MOD)
_COMPARISONS: Final = frozenset({Kind.EQ, Kind.LE, Kind.LT})
_OF_CONDITIONS: Final = frozenset({Kind.AND, Kind.OR, Kind.NOT, Kind.ITE})
"""Terms that are conditions if their operands are."""


_OPERATIONS: Final[Mapping[Kind, Callable[..., int]]] = {
    Kind.ADD: lambda *values: sum(values),
    Kind.MUL: lambda *values: prod(values),
    Kind.NEG: operator.neg,
    Kind.DIV: divide,
    Kind.MOD: modulo,
    Kind.ITE: lambda condition, yes, no: yes if condition else no,
    Kind.EQ: lambda one, other: int(one == other),
    Kind.LE: lambda one, other: int(one <= other),
    Kind.LT: lambda one, other: int(one < other),
    Kind.AND: lambda *values: int(all(values)),
    Kind.OR: lambda *values: int(any(values)),
    Kind.NOT: lambda value: int(not value),
}
