"""Assertions as Python functions: the search calls them often enough that walking terms would be slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.solver.terms import Kind, Term, divide, graph, modulo

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from typing import Any

    from tuninglink.solver.bounds import Bounds

    Values = list[int]

_INFIX = {
    Kind.ADD: " + ",
    Kind.MUL: " * ",
    Kind.EQ: " == ",
    Kind.LE: " <= ",
    Kind.LT: " < ",
    Kind.AND: " and ",
    Kind.OR: " or ",
}
_SIGNS = {Kind.DIV: " // ", Kind.MOD: " % "}
_TEMPLATES = {
    Kind.NEG: "(-{0})",
    Kind.NOT: "(not {0})",
    Kind.ITE: "({1} if {0} else {2})",
    Kind.DIV: "divide({0}, {1})",
    Kind.MOD: "modulo({0}, {1})",
}


class _Writer:
    """Writes terms as Python expressions, nodes that are used more than once as local variables."""

    def __init__(
        self, roots: list[Term], slots: Mapping[str, int], bounds: Bounds, local: str
    ) -> None:
        self._slots = slots
        self._bounds = bounds
        self._texts: dict[int, str] = {}
        self.lines: list[str] = []
        uses: dict[int, int] = {}
        nodes = list(graph(roots))
        for node in nodes:
            for each in node.operands:
                uses[id(each)] = uses.get(id(each), 0) + 1
        for node in nodes:
            text = self._write(node)
            if node.operands and uses.get(id(node), 0) > 1:
                name = f"{local}{len(self.lines)}"
                self.lines.append(f"{name} = {text}")
                text = name
            self._texts[id(node)] = text

    def text(self, term: Term) -> str:
        """Returns the expression of a node."""
        return self._texts[id(term)]

    def _write(self, term: Term) -> str:
        if term.kind is Kind.CONSTANT:
            return f"({term.value})"
        if term.kind is Kind.VARIABLE:
            values = self._bounds[term.name]
            fixed = values.low == values.high
            return f"({values.low})" if fixed else f"v[{self._slots[term.name]}]"
        kind = term.kind
        texts = [self._texts[id(each)] for each in term.operands]
        if kind in _SIGNS and self._bounds.of(term.operands[1]).low > 0:
            return f"({_SIGNS[kind].join(texts)})"  # where Python and SMT-LIB agree
        template = _TEMPLATES.get(kind)
        return template.format(*texts) if template else f"({_INFIX[kind].join(texts)})"


def conjunction(
    assertions: Sequence[Term], slots: Mapping[str, int], bounds: Bounds
) -> Callable[[Values], bool]:
    """Returns a function of the values that tells whether all of `assertions` hold.

    It raises `ZeroDivisionError` if it comes upon a division by zero.

    Args:
        assertions: boolean terms.
        slots: where in the values each variable stands.
        bounds: what is known about the values.
    """
    lines: list[str] = []
    # One by one, so that a cheap one that fails spares the others.
    for number, each in enumerate(sorted(assertions, key=lambda term: term.tree_size)):
        writer = _Writer([each], slots, bounds, f"a{number}_")
        lines += [*writer.lines, f"if not {writer.text(each)}: return False"]
    function: Callable[[Values], bool] = _compile([*lines, "return True"])
    return function


def outlook(
    assertions: Sequence[Term], known: frozenset[str], slots: Mapping[str, int], bounds: Bounds
) -> Callable[[Values], Hashable]:
    """Returns a function of the known values that gives all that `assertions` see of them.

    Values for which it gives the same can be exchanged: with every choice of the others, they make the same
    assertions hold.

    Args:
        assertions: boolean terms.
        known: the variables whose values are known; those that have but one value change nothing.
        slots: where in the values each variable stands.
        bounds: what is known about the values.
    """
    changing = frozenset(name for name in known if bounds[name].low != bounds[name].high)
    parts: dict[Hashable, Term] = {}
    for each in assertions:
        for part in _known_parts(each, known, changing):
            parts.setdefault((part.kind, part.name, *map(id, part.operands)), part)
    lines: list[str] = []
    for number, part in enumerate(parts.values()):
        writer = _Writer([part], slots, bounds, f"p{number}_")
        inside = [*writer.lines, f"k{number} = {writer.text(part)}"]
        # What is divided by zero looks the same whatever it is: it decides nothing, or nothing is decided.
        lines += ["try:", *(f"    {line}" for line in inside)]
        lines += ["except ZeroDivisionError:", f"    k{number} = None"]
    keys = "".join(f"k{number}, " for number in range(len(parts)))
    function: Callable[[Values], Hashable] = _compile([*lines, f"return ({keys})"])
    return function


def _known_parts(term: Term, known: frozenset[str], changing: frozenset[str]) -> Iterator[Term]:
    """Yields the largest parts of `term` whose values are known and may change."""
    if not term.variables & changing:
        return
    if term.variables <= known:
        yield term
        return
    seen = [each for each in term.operands if each.variables <= known]
    if term.kind in _FOLDABLE and len(seen) > 1:
        seen = [Term(term.kind, tuple(seen))]
    for each in (*seen, *(other for other in term.operands if not other.variables <= known)):
        yield from _known_parts(each, known, changing)


_FOLDABLE = (Kind.ADD, Kind.MUL, Kind.AND, Kind.OR)
"""What of these is known is seen as one value."""


def solution(
    equation: Term, name: str, slots: Mapping[str, int], bounds: Bounds
) -> Callable[[Values], int | None] | None:
    """Returns a function that computes from the other values what `name` must be for `equation` to hold.

    Returns:
        None if the equation does not determine the variable. Else the function, which returns None if no
        integer solves the equation, and raises `ZeroDivisionError` if it cannot tell which do.
    """
    if equation.kind is not Kind.EQ or equation.occurrences(name) != 1:
        return None
    left, right = equation.operands
    inside, other = (left, right) if name in left.variables else (right, left)
    path: list[tuple[Term, list[Term]]] = []
    while inside.kind is not Kind.VARIABLE:
        if inside.kind not in (Kind.ADD, Kind.MUL, Kind.NEG):
            return None
        nexts = [each for each in inside.operands if name in each.variables]
        path.append((inside, [each for each in inside.operands if each is not nexts[0]]))
        inside = nexts[0]
    needed = [other, *(each for _, others in path for each in others)]
    writer = _Writer(needed, slots, bounds, "t")
    lines = [*writer.lines, f"x = {writer.text(other)}"]
    for term, others in path:
        texts = [writer.text(each) for each in others]
        if term.kind is Kind.NEG:
            lines.append("x = -x")
        elif term.kind is Kind.ADD:
            lines.append(f"x -= {' + '.join(texts)}")
        else:
            lines += [f"x, r = divmod(x, {' * '.join(texts)})", "if r: return None"]
    function: Callable[[Values], int | None] = _compile([*lines, "return x"])
    return function


def _compile(lines: list[str]) -> Any:
    source = "def function(v):\n" + "".join(f"    {line}\n" for line in lines)
    scope: dict[str, object] = {"divide": divide, "modulo": modulo}
    # The source is made of operators, numbers and local names, all of them written above.
    exec(source, scope)  # noqa: S102
    return scope["function"]
