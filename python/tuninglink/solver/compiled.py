"""Assertions compiled to Python functions, since the search evaluates them too often to walk terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tuninglink.solver.bounds import ANY, Bounds
from tuninglink.solver.terms import Kind, Term, divide, evaluate, graph, modulo

Values = list[int]
Result = tuple[list[int], list[int]]
"""The indices of the assertions that do not hold, and of those that are not decided."""

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


def write_source(
    roots: list[Term], slots: Mapping[str, int], bounds: Bounds, local: str, inner: str = ""
) -> tuple[list[str], list[str]]:
    """Write terms as Python expressions: the lines before them, and the expressions."""
    # Nodes with several uses become local variables.
    lines: list[str] = []
    texts: dict[int, str] = {}
    uses: dict[int, int] = {}
    nodes = list(graph(roots))
    outer = set(map(id, roots)) if inner else set()
    for node in nodes:
        for operand in node.operands:
            uses[id(operand)] = uses.get(id(operand), 0) + 1
            if inner in node.variables:
                outer.add(id(operand))
    for node in nodes:
        kind, operands = node.kind, [texts[id(operand)] for operand in node.operands]
        if kind is Kind.CONSTANT:
            text = f"({node.value})"
        elif kind is Kind.VARIABLE:
            values = bounds[node.name]
            fixed = values.low == values.high
            text = f"({values.low})" if fixed else f"v[{slots[node.name]}]"
        elif kind in _SIGNS and bounds.of(node.operands[1]).low > 0:
            text = f"({_SIGNS[kind].join(operands)})"  # Python and SMT-LIB agree for these
        elif template := _TEMPLATES.get(kind):
            text = template.format(*operands)
        else:
            text = f"({_INFIX[kind].join(operands)})"
        is_outer = id(node) in outer and inner not in node.variables
        if node.operands and (
            uses.get(id(node), 0) > 1 or (is_outer and not may_divide_by_zero(node, bounds))
        ):
            name = f"{local}{len(lines)}"
            lines.append(f"{name} = {text}")
            text = name
        texts[id(node)] = text
    return lines, [texts[id(root)] for root in roots]


def may_divide_by_zero(term: Term, bounds: Bounds) -> bool:
    return any(node.kind in _SIGNS and 0 in bounds.of(node.operands[1]) for node in graph([term]))


def conjunction(
    assertions: Sequence[Term], slots: Mapping[str, int], bounds: Bounds, inner: str = ""
) -> list[str]:
    """Return lines of a function of the values that return False unless all of `assertions` hold."""
    # They raise `ZeroDivisionError` if they evaluate a division by zero.
    lines: list[str] = []
    # One by one, cheapest first, so that a failing one avoids evaluating the rest.
    for number, assertion in enumerate(sorted(assertions, key=lambda term: term.tree_size)):
        before, (text,) = write_source([assertion], slots, bounds, f"a{number}_", inner)
        lines += [*before, f"if not {text}: return False"]
    return lines


def outlook(
    assertions: Sequence[Term],
    assigned: frozenset[str],
    slots: Mapping[str, int],
    bounds: Bounds,
    inner: str,
) -> list[str]:
    """Return lines of a function of the assigned values that return a tuple of everything that `assertions` depend on."""
    # Values with equal results are interchangeable: for every choice of the other values, they satisfy the same
    # assertions.
    changing = frozenset(name for name in assigned if bounds[name].low != bounds[name].high)
    parts: dict[Hashable, Term] = {}
    for assertion in assertions:
        for part in _assigned_parts(assertion, assigned, changing):
            parts.setdefault((part.kind, part.name, *map(id, part.operands)), part)
    lines: list[str] = []
    for number, part in enumerate(parts.values()):
        before, (text,) = write_source([part], slots, bounds, f"p{number}_", inner)
        inside = [*before, f"k{number} = {text}"]
        if not may_divide_by_zero(part, bounds):
            lines += inside
            continue
        # All numerators over zero give the same key: the term decides nothing, or nothing is decided.
        lines += _unless_by_zero(inside, f"k{number} = None")
    keys = "".join(f"k{number}, " for number in range(len(parts)))
    return [*lines, f"return ({keys})"]


def _assigned_parts(
    term: Term, assigned: frozenset[str], changing: frozenset[str]
) -> Iterator[Term]:
    """Yield the largest parts of `term` whose variables are assigned and may change."""
    if not term.variables & changing:
        return
    if term.variables <= assigned:
        yield term
        return
    seen = [operand for operand in term.operands if operand.variables <= assigned]
    if term.kind in _FOLDABLE and len(seen) > 1:
        seen = [Term(term.kind, tuple(seen))]
    for part in (*seen, *(other for other in term.operands if not other.variables <= assigned)):
        yield from _assigned_parts(part, assigned, changing)


_FOLDABLE = (Kind.ADD, Kind.MUL, Kind.AND, Kind.OR)
"""The kinds of terms whose assigned operands are combined into one value."""


def alternatives(assertion: Term, name: str) -> int:
    """Return the maximum number of values of a variable once the others are assigned; 0 if unknown."""
    # An equation with one occurrence of the variable leaves one value; a disjunction of such equations leaves one value
    # for each part.
    if assertion.kind is Kind.OR:
        counts = [alternatives(operand, name) for operand in assertion.operands]
        return sum(counts) if all(counts) else 0
    if assertion.kind is not Kind.EQ or assertion.occurrences(name) != 1:
        return 0
    node = assertion
    while node is assertion or node.kind in _INVERTIBLE:
        node = next(operand for operand in node.operands if name in operand.variables)
    return int(node.kind is Kind.VARIABLE)


def solutions(
    assertion: Term, name: str, slots: Mapping[str, int], bounds: Bounds
) -> Callable[[Values], Sequence[int]] | None:
    """Return a function that computes the values of `name` for which `assertion` holds from the other values."""
    if not alternatives(assertion, name):
        return None
    lines: list[str] = ["roots = []"]
    equations = [assertion]
    for number, equation in enumerate(equations):
        if equation.kind is Kind.OR:
            equations += equation.operands
            continue
        left, right = equation.operands
        inside, other = (left, right) if name in left.variables else (right, left)
        # Go from the side with the variable down to the variable, and undo each operation on the other side.
        steps: list[tuple[Kind, list[Term]]] = []
        while inside.kind is not Kind.VARIABLE:
            others = [operand for operand in inside.operands if name not in operand.variables]
            steps.append((inside.kind, others))
            inside = next(operand for operand in inside.operands if name in operand.variables)
        needed = [other, *(operand for _, others in steps for operand in others)]
        before, (text, *rest) = write_source(needed, slots, bounds, f"t{number}_")
        lines += [*before, f"x = {text}", "r = 0"]
        for kind, others in steps:
            texts, rest = rest[: len(others)], rest[len(others) :]
            if kind is Kind.NEG:
                lines.append("x = -x")
            elif kind is Kind.ADD:
                lines.append(f"x -= {' + '.join(texts)}")
            else:
                lines += [f"x, rest = divmod(x, {' * '.join(texts)})", "r = r or rest"]
        lines.append("if not r: roots.append(x)")
    function: Callable[[Values], Sequence[int]] = compile_function([*lines, "return roots"])
    return function


_INVERTIBLE = (Kind.ADD, Kind.MUL, Kind.NEG)


def _unless_by_zero(lines: Iterable[str], otherwise: str) -> list[str]:
    """Return lines that run some lines, and another one if these divide by zero."""
    inside = (f"    {line}" for line in lines)
    return ["try:", *inside, "except ZeroDivisionError:", f"    {otherwise}"]


def compile_function(lines: Sequence[str], arguments: str = "v") -> Any:
    """Compile lines as the body of a function, by default with `v`, the values, as its argument."""
    source = f"def function({arguments}):\n" + "".join(f"    {line}\n" for line in lines)
    scope: dict[str, object] = {"divide": divide, "modulo": modulo}
    # The source consists only of the operators, numbers and local names written above.
    exec(source, scope)  # noqa: S102
    return scope["function"]


# --- Checks of assertions as compiled Python functions: on partial assignments, in loops, and on full ones


class _UnboundedError(Exception):
    """The values of a term have no bounds that a function can compute."""


def possibility(
    assertions: Iterable[Term],
    assigned: frozenset[str],
    slots: Mapping[str, int],
    bounds: Bounds,
    inner: str,
) -> list[str]:
    """Return lines of a function of the assigned values that return False only if some assertion cannot hold."""
    lines: list[str] = []
    for number, assertion in enumerate(sorted(assertions, key=lambda term: term.tree_size)):
        writer = _BoundsWriter(assigned, slots, bounds, f"b{number}_", inner)
        try:
            condition = writer.condition(assertion)
        except _UnboundedError:
            continue
        lines += [*writer.lines, f"if not {condition}: return False"]
    return lines


@dataclass
class _BoundsWriter:
    """Writes the minimum and the maximum of terms as Python expressions."""

    assigned: frozenset[str]
    slots: Mapping[str, int]
    bounds: Bounds
    local: str
    inner: str
    lines: list[str] = field(default_factory=list)
    texts: dict[int, tuple[str, str]] = field(default_factory=dict)

    def condition(self, assertion: Term) -> str:
        """Return the expression that is false if an assertion cannot hold."""
        kind = assertion.kind
        if kind is Kind.AND or kind is Kind.OR:
            parts = [self.condition(operand) for operand in assertion.operands]
            return f"({(' and ' if kind is Kind.AND else ' or ').join(parts)})"
        if kind not in (Kind.LE, Kind.LT, Kind.EQ):
            raise _UnboundedError
        (low, most), (least, high) = map(self._range, assertion.operands)
        if kind is Kind.EQ:
            return f"({low} <= {high} and {least} <= {most})"
        return f"({low} {'<=' if kind is Kind.LE else '<'} {high})"

    def _range(self, term: Term) -> tuple[str, str]:
        key = id(term)
        if key in self.texts:
            return self.texts[key]
        if term.variables <= self.assigned:
            self.texts[key] = (self._value(term),) * 2
            return self.texts[key]
        # The bounds of a term with an unassigned variable.
        within = [self.bounds.of(operand) for operand in term.operands]
        if term.kind is Kind.ITE:
            condition, *options = term.operands
            (yes_low, yes_high), (no_low, no_high) = map(self._range, options)
            low, high = f"min({yes_low}, {no_low})", f"max({yes_high}, {no_high})"
            if condition.variables <= self.assigned:
                chosen = self._value(condition)
                low, high = (
                    f"({yes} if {chosen} else {no})"
                    for yes, no in ((yes_low, no_low), (yes_high, no_high))
                )
        elif term.kind is Kind.ADD or (
            term.kind is Kind.MUL and all(interval.low >= 0 for interval in within)
        ):
            low, high = (
                _INFIX[term.kind].join(ends)
                for ends in zip(*map(self._range, term.operands), strict=True)
            )
        elif term.kind is Kind.DIV and within[0].low >= 0 and within[1].low > 0:
            (least, most), (divisor_least, divisor_most) = map(self._range, term.operands)
            low, high = f"{least} // {divisor_most}", f"{most} // {divisor_least}"
        elif term.kind is Kind.NEG:
            least, most = self._range(term.operands[0])
            low, high = f"-{most}", f"-{least}"
        else:
            interval = self.bounds.of(term)
            if not interval.is_finite:
                raise _UnboundedError
            low, high = f"({int(interval.low)})", f"({int(interval.high)})"
        self.texts[key] = self._name(low), self._name(high)
        return self.texts[key]

    def _name(self, text: str) -> str:
        name = f"{self.local}{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _value(self, term: Term) -> str:
        if may_divide_by_zero(term, self.bounds):
            raise _UnboundedError
        local = f"{self.local}v{len(self.lines)}_"
        before, (text,) = write_source([term], self.slots, self.bounds, local, self.inner)
        self.lines += before
        return self._name(text)


Loop = Callable[[Values, Iterable[int]], Iterator[Hashable]]
"""A function of the values so far and of the choices for the next one. It sets that value and yields a key for it."""

_VALUE: Final = re.compile(r"\bv\[(\d+)\]")
_NAME: Final = re.compile(r"\b[a-z]\w*\b")
_KEYWORDS: Final = frozenset({"and", "else", "if", "max", "min", "not", "or"})
_ASSIGNMENT: Final = re.compile(r"(\w+) = (.*)")


def compile_loop(at: int, checks: Sequence[str], key: Sequence[str]) -> Loop:
    """Compile a loop over the values of a variable."""
    body = [line.replace("return False", "continue") for line in checks]
    body += [re.sub(r"^return ", "yield ", line) for line in key]
    body = [_VALUE.sub(r"u\1", line) for line in body]
    loaded = sorted({name for line in body for name in re.findall(r"\bu\d+\b", line)} - {f"u{at}"})
    before = [f"{name} = v[{name[1:]}]" for name in loaded]
    fixed, inside = {*loaded, *_KEYWORDS}, []
    for line in body:
        assignment = _ASSIGNMENT.fullmatch(line)
        if assignment and fixed.issuperset(_NAME.findall(assignment[2])):
            before.append(line)
            fixed.add(assignment[1])
        else:
            inside.append(line)
    loop = [f"for u{at} in choices:", f"    v[{at}] = u{at}", *(f"    {line}" for line in inside)]
    function: Loop = compile_function([*before, *loop], "v, choices")
    return function


_FEW: Final = 8
"""The number of judgements that take less time than compiling the assertions."""


@dataclass(eq=False)
class Judgements:
    """Judges assignments."""

    _terms: Sequence[Term]
    _count: int = 0
    # One object, since several threads may judge: the slots of the unknowns, and the function of their values.
    _compiled: tuple[dict[str, int], Callable[[Values], Result]] | None = None

    def judge(self, assignment: Mapping[str, int]) -> Result:
        """Return the indices of the assertions that an assignment violates, and of those that it leaves undecided."""
        self._count += 1
        violated: list[int] = []
        others: Sequence[int] = range(len(self._terms))
        if self._count > _FEW:
            compiled = self._compiled
            if compiled is None or compiled[0].keys() != assignment.keys():
                # Compile a function that returns the violated assertions, and those to evaluate one by one. These
                # contain unknowns without a value, or divide by zero anywhere; their values may still be determined.
                slots = {name: position for position, name in enumerate(assignment)}
                bounds, lines = Bounds(dict.fromkeys(slots, ANY)), ["violated, others = [], []"]
                for number, assertion in enumerate(self._terms):
                    later = f"others.append({number})"
                    if not assertion.variables <= slots.keys():
                        lines.append(later)
                        continue
                    before, (text,) = write_source([assertion], slots, bounds, f"a{number}_")
                    test = f"if not {text}: violated.append({number})"
                    lines += _unless_by_zero([*before, test], later)
                function = compile_function([*lines, "return violated, others"])
                compiled = self._compiled = slots, function
            slots, function = compiled
            violated, others = function([assignment[name] for name in slots])
        is_open: list[int] = []
        cache: dict[Term, int] = {}
        for index in others:
            try:
                if not evaluate(self._terms[index], assignment, cache):
                    violated.append(index)
            except (KeyError, ZeroDivisionError):
                is_open.append(index)
        return sorted(violated), is_open
