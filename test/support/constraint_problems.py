"""Constraint sets for tests: random ones, and Z3's own answers about them."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import z3
from hypothesis import strategies as st

from tuninglink.iree import OpKind
from tuninglink.solver import all_of, any_of, negation, number, select
from tuninglink.spaces.model import ConstraintSetBuilder, IntegerKnob, OneOfKnob, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tuninglink.spaces.model import ConstraintSet

PROBLEM = Problem(OpKind.OTHER)
RESOURCES = 20_000_000
"""The limit of a query to Z3 in its own unit, so that it gives up on the same queries on every machine."""
LOW, HIGH = -3, 4

# An expression is drawn as a tree, and built for a set or for Z3.
Tree = tuple


def _numbers() -> st.SearchStrategy[Tree]:
    leaves = st.one_of(
        st.tuples(st.just("number"), st.integers(-4, 12)),
        st.tuples(st.just("unknown"), st.sampled_from(["a", "b", "c", "hidden"])),
    )

    def extend(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        binary = st.tuples(st.sampled_from(["+", "-", "*", "div", "mod"]), inner, inner)
        choice = st.tuples(st.just("if"), st.tuples(st.just("<="), inner, inner), inner, inner)
        return st.one_of(binary, st.tuples(st.just("neg"), inner), choice)

    return st.recursive(leaves, extend, max_leaves=6)


def truths() -> st.SearchStrategy[Tree]:
    """Return a strategy for boolean expressions."""
    comparisons = st.tuples(st.sampled_from(["<=", "<", "==", "!="]), _numbers(), _numbers())
    divisible = st.tuples(
        st.just("=="), st.tuples(st.just("mod"), _numbers(), _numbers()), st.just(("number", 0))
    )

    def extend(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        binary = st.tuples(st.sampled_from(["and", "or", "implies", "xor"]), inner, inner)
        return st.one_of(binary, st.tuples(st.just("not"), inner))

    return st.recursive(st.one_of(comparisons, divisible), extend, max_leaves=3)


_SHARED: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
    "neg": lambda a: -a,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}

_OF_EXPRESSIONS = {
    **_SHARED,
    "if": select,
    "and": all_of,
    "or": any_of,
    "implies": lambda a, b: any_of(negation(a), b),
    "xor": lambda a, b: a != b,
    "not": negation,
}

_OF_Z3 = {
    **_SHARED,
    "if": z3.If,
    "and": z3.And,
    "or": z3.Or,
    "implies": z3.Implies,
    "xor": z3.Xor,
    "not": z3.Not,
}


def build(trees: list[Tree]) -> ConstraintSet:
    """Return a set with the knobs a, b and c, a hidden unknown, and an assertion for each tree."""
    builder = ConstraintSetBuilder()
    unknowns: dict[str, Any] = {
        "a": builder.knob(IntegerKnob("a", LOW, HIGH)),
        "b": builder.knob(IntegerKnob("b", 1, HIGH)),
        "c": builder.knob(OneOfKnob("c", ("x", "y", "z"))),
        "hidden": builder.auxiliary("hidden"),
    }
    builder.require(unknowns["hidden"] >= LOW, "hidden from", provenance="test")
    builder.require(unknowns["hidden"] <= HIGH, "hidden to", provenance="test")

    for tree in trees:
        condition = _expression(tree, _OF_EXPRESSIONS, number, unknowns.__getitem__)
        builder.require(condition, "{} of the tree", unknowns["a"], provenance="test")
    return builder.build(PROBLEM, "#test", "test")


def written_for_z3(trees: list[Tree], context: z3.Context) -> list[z3.BoolRef]:
    """Return the same conditions, written with the operators of Z3 itself."""
    return [
        _expression(
            tree,
            _OF_Z3,
            lambda value: z3.IntVal(value, context),
            lambda name: z3.Int(name, context),
        )
        for tree in trees
    ]


def _expression(
    tree: Tree,
    operators: Mapping[str, Callable[..., Any]],
    literal: Callable[[int], Any],
    unknown: Callable[[str], Any],
) -> Any:
    head, *rest = tree
    if head == "number":
        return literal(rest[0])
    if head == "unknown":
        return unknown(rest[0])
    operands = [_expression(operand, operators, literal, unknown) for operand in rest]
    return operators[head](*operands)


def is_valid(constraints: ConstraintSet, assignment: dict[str, int]) -> bool | None:
    """Return Z3's verdict on an assignment; None if it gives up."""
    return satisfiable(constraints, range(len(constraints)), assignment)


def satisfiable(
    constraints: ConstraintSet, chosen: Iterable[int], fixed: Mapping[str, int]
) -> bool | None:
    """Return whether some assertions can hold together with values of knobs; None if Z3 gives up."""
    context, exported = _exported(constraints)
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", RESOURCES)
    solver.add(*(exported[index] for index in chosen))
    solver.add(*(z3.Int(name, context) == value for name, value in fixed.items()))
    result = solver.check()
    return None if result == z3.unknown else result == z3.sat


@lru_cache(maxsize=1)  # most tests ask several questions about one set after another
def _exported(constraints: ConstraintSet) -> tuple[z3.Context, list[z3.BoolRef]]:
    context = z3.Context()
    return context, constraints.to_z3(context)


def all_valid(constraints: ConstraintSet) -> set[tuple[int, ...]] | None:
    """Return every valid assignment, found by blocking those found before; None if Z3 gives up."""
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", RESOURCES)
    solver.add(*constraints.to_z3(context))
    unknowns = [z3.Int(each.name, context) for each in constraints.knobs]
    found = set()
    while (result := solver.check()) == z3.sat:
        model = solver.model()
        values = tuple(model.eval(each, model_completion=True).as_long() for each in unknowns)
        found.add(values)
        pairs = zip(unknowns, values, strict=True)
        solver.add(z3.Or([unknown != value for unknown, value in pairs]))
    return found if result == z3.unsat else None


def box() -> list[dict[str, int]]:
    """Return every assignment within the bounds of the knobs, and some outside."""
    ranges = [range(LOW - 1, HIGH + 2), range(HIGH + 2), range(4)]
    return [dict(zip("abc", values, strict=True)) for values in itertools.product(*ranges)]
