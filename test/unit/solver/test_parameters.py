"""Rules written with parameters hold for the values that meet their assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constraint_problems import build, truths
from hypothesis import given, strategies as st

from tuninglink.payloads import Propagation
from tuninglink.solver import (
    Assumptions,
    Expression,
    Judgements,
    SizeParameter,
    evaluate,
    select,
    unknown,
)

if TYPE_CHECKING:
    from tuninglink.solver import Term

sizes = st.integers(1, 300)


def _rules(size: SizeParameter | int, tile: Expression) -> list[Expression | bool]:
    """Return rules that branch on a size, as those of spaces do."""
    most = max(-(-size // step) * step for step in (16, 48))
    bound = 128
    while bound < min(size, 512):
        bound *= 2
    rules = [tile <= most, tile <= bound, size % tile == 0]
    if 0 < size <= 8:
        rules.append(tile == size)
    return [*rules, select(tile < (size or 7), tile, size) >= 2]


@given(first=sizes, others=st.lists(sizes), tile=st.integers(1, 64))
def test_rules_hold_for_other_values(first: int, others: list[int], tile: int) -> None:
    assumptions = Assumptions({"size": first})
    shared = _rules(assumptions.parameter("size"), unknown("tile"))
    assert not assumptions.is_fixed
    for other in (first, *others):
        if assumptions.hold({"size": other}):
            own = _rules(other, unknown("tile"))
            values = {"tile": tile, "size": other}
            assert [_truth(rule, values) for rule in shared] == [
                _truth(rule, values) for rule in own
            ]
        else:
            assert other != first


def _truth(rule: Any, values: dict[str, int]) -> bool:
    return bool(evaluate(rule.term, values)) if isinstance(rule, Expression) else rule


def test_a_branch_is_an_assumption() -> None:
    assumptions = Assumptions({"size": 100})
    assert assumptions.parameter("size") > 64
    assert assumptions.hold({"size": 65})
    assert not assumptions.hold({"size": 64})


def test_a_text_fixes_the_value() -> None:
    assumptions = Assumptions({"size": 100})
    assert f"{assumptions.parameter('size')} rows" == "100 rows"
    assert assumptions.is_fixed
    assert not assumptions.hold({"size": 101})


@given(
    trees=st.lists(truths(), min_size=1, max_size=6),
    values=st.lists(st.fixed_dictionaries(dict.fromkeys("abc", st.integers(-3, 5)))),
    hidden=st.none() | st.integers(-3, 5),
)
def test_compiled_judgements_are_those_of_evaluation(
    trees: list[Any], values: list[dict[str, int]], hidden: int | None
) -> None:
    terms = [assertion.expression for assertion in build(trees).assertions]
    judgements = Judgements(terms)
    unknowns = {} if hidden is None else {"hidden": hidden}
    for assignment in [{**chosen, **unknowns} for chosen in values] * 10:  # compiled after some
        assert judgements.judge(assignment) == _judged(terms, assignment)


def _judged(terms: list[Term], values: dict[str, int]) -> tuple[list[int], list[int]]:
    violated, is_open = [], []
    for index, term in enumerate(terms):
        try:
            if not evaluate(term, values):
                violated.append(index)
        except (KeyError, ZeroDivisionError):
            is_open.append(index)
    return violated, is_open


@given(first=st.integers(-20, 20), second=st.integers(-20, 20))
def test_equations_force_values_for_all_given_ones(first: int, second: int) -> None:
    one, other, product = unknown("one"), unknown("other"), unknown("product")
    conditions = [one == unknown("first"), other + one == product, product == unknown("second")]
    terms = [condition.term for condition in (*conditions, product <= 10)]
    undetermined = Propagation(terms, ["first"])
    assert "product" not in undetermined.determined
    assert undetermined.values({"first": first}) is None
    shared = Propagation([*terms, (other == product - one).term], ["first", "second"])
    expected = {"one": first, "other": second - first, "product": second}
    values = shared.values({"first": first, "second": second})
    assert values == (expected | {"first": first, "second": second} if second <= 10 else None)
