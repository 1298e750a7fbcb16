"""Cores and nearest assignments, compared with Z3's own answers about random sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from constraint_problems import PROBLEM, box, build, satisfiable, truths
from hypothesis import assume, given, settings, strategies as st

from tuninglink.solver import Expression, Limits, UndecidedError, Verdict
from tuninglink.spaces.model import ConstraintSetBuilder, IntegerKnob

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping

    from tuninglink.solver import UnsatAnswer, Violation
    from tuninglink.spaces.model import ConstraintSet

SLOW = settings(
    max_examples=20,
)
KNOBS = ("a", "b", "c")
partials = st.dictionaries(st.sampled_from(KNOBS), st.integers(-4, 7))


def numbered(original: ConstraintSet) -> ConstraintSet:
    """Return a set with the same assertions, each of which has its number for a provenance."""
    builder = ConstraintSetBuilder()
    for each in original.knobs:
        builder.knob(IntegerKnob(each.name))
    for name in original.auxiliaries:
        builder.auxiliary(name)
    for number, each in enumerate(original.assertions):
        condition = Expression(each.expression)
        builder.require(condition, "{}", number, provenance=str(number))
    return builder.build(PROBLEM, "#test", "test")


random_sets = st.lists(truths(), min_size=1, max_size=4).map(build).map(numbered)


def numbers(violations: Iterable[Violation]) -> list[int]:
    return [int(each.provenance) for each in violations]


@SLOW
@given(random_sets, partials)
def test_a_core_is_unsatisfiable_and_every_part_of_a_minimal_one_is_needed(
    constraints: ConstraintSet, partial: dict[str, int]
) -> None:
    answer = constraints.explain_unsat(partial, Limits(3, 1))
    everything = satisfiable(constraints, range(len(constraints)), partial)
    assume(answer.verdict is not Verdict.NOT_DECIDED)
    assert everything in (None, answer.verdict is Verdict.REFUTED)
    if answer.verdict is Verdict.REFUTED:
        assert all(answer.witness[name] == value for name, value in partial.items())
        assert satisfiable(constraints, range(len(constraints)), answer.witness) in (True, None)
        return
    assert set(answer.fixed.items()) <= set(partial.items())
    check_core(constraints, answer)


def check_core(constraints: ConstraintSet, answer: UnsatAnswer) -> None:
    core = numbers(answer.core)
    assert len(core) == len(set(core))
    assert satisfiable(constraints, core, answer.fixed) in (False, None)
    if answer.minimal:
        for part in core:
            rest = [each for each in core if each != part]
            assert satisfiable(constraints, rest, answer.fixed) in (True, None)
        for part in answer.fixed:
            less = {name: value for name, value in answer.fixed.items() if name != part}
            assert satisfiable(constraints, core, less) in (True, None)


@pytest.mark.parametrize("partial", [{}, {"a": 8}, {"b": 9, "a": 3}, {"a": -1}, {"a": 10**9}])
def test_cores_of_small_sets_are_minimal(partial: dict[str, int]) -> None:
    builder = ConstraintSetBuilder()
    a, b = (builder.knob(IntegerKnob(name)) for name in "ab")
    for number, each in enumerate((a >= 0, a <= 9, b >= 0, b <= 9, a * b >= 82, a + b <= 90)):
        builder.require(each, "{}", number, provenance=str(number))
    constraints = builder.build(PROBLEM, "#test", "test")
    answer = constraints.explain_unsat(partial)
    assert answer.verdict is Verdict.PROVEN
    assert answer.minimal
    assert 5 not in numbers(answer.core)
    check_core(constraints, answer)


@SLOW
@given(random_sets, st.randoms(use_true_random=False))
def test_the_violations_that_are_named_rule_the_assignment_out(
    constraints: ConstraintSet, chance: random.Random
) -> None:
    for assignment in chance.sample(box(), 4):
        answer = constraints.check(assignment)
        if answer.verdict is Verdict.REFUTED:
            violated = numbers(answer.violations)
            assert satisfiable(constraints, violated, assignment) in (False, None)


@SLOW
@given(random_sets, partials)
def test_search_and_optimization_find_assignments_that_are_equally_near(
    constraints: ConstraintSet, wanted: dict[str, int]
) -> None:
    answer = constraints.nearest(wanted, Limits(3, 1))
    assume(answer.verdict is not Verdict.NOT_DECIDED)
    try:
        optimum = constraints._solver.optimize(
            constraints._decider.expressions(), wanted, list(wanted), Limits(3, 1).start()
        )
    except UndecidedError:
        return
    if answer.assignment is None:
        assert optimum is None
        return
    assert optimum is not None

    def cost(each: Mapping[str, int]) -> tuple[int, int]:
        gaps = [abs(each[name] - value) for name, value in wanted.items()]
        return sum(gap > 0 for gap in gaps), sum(gaps)

    assert cost(answer.assignment) == cost(optimum)
    assert satisfiable(constraints, range(len(constraints)), answer.assignment) in (True, None)
