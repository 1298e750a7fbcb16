"""Questions to constraint sets, compared with Z3 on random ones."""

from __future__ import annotations

import math
import pickle
import random
import threading
import time
from itertools import islice
from typing import TYPE_CHECKING

import pytest
import z3
from constraint_problems import (
    PROBLEM,
    RESOURCES,
    Tree,
    all_valid,
    box,
    build,
    is_valid,
    truths,
    written_for_z3,
)
from hypothesis import given, settings, strategies as st
from processes import PATIENCE

from tuninglink.solver import (
    AssignmentError,
    Limits,
    TermWriter,
    UndecidedError,
    Verdict,
    any_of,
    select,
)
from tuninglink.spaces.model import ConstraintSetBuilder, IntegerKnob, OneOfKnob

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.spaces.model import ConstraintSet

KNOBS = ("a", "b", "c")
SLOW = settings(max_examples=15)
random_sets = st.lists(truths(), min_size=1, max_size=3).map(build)


def key(assignment: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(assignment[name] for name in KNOBS)


@SLOW
@given(random_sets, st.integers(0, 1000))
def test_enumeration_is_what_z3_finds_by_blocking(constraints: ConstraintSet, seed: int) -> None:
    expected = all_valid(constraints)
    if expected is None:
        return
    found = [key(each) for each in constraints.enumerate(seed)]
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert found == [key(each) for each in constraints.enumerate(seed)]
    assert constraints.count().count == len(expected)
    assert constraints.count().verdict is Verdict.PROVEN


@SLOW
@given(random_sets, st.randoms(use_true_random=False))
def test_check_agrees_with_z3(constraints: ConstraintSet, chance: random.Random) -> None:
    for assignment in chance.sample(box(), 5):
        expected = is_valid(constraints, assignment)
        answer = constraints.check(assignment)
        if expected is not None:
            assert answer.verdict is (Verdict.PROVEN if expected else Verdict.REFUTED)
            assert bool(answer.violations) is not expected


@SLOW
@given(random_sets, st.randoms(use_true_random=False))
def test_enumeration_near_an_assignment_is_part_of_all(
    constraints: ConstraintSet, chance: random.Random
) -> None:
    everything = list(constraints.enumerate())
    for center in chance.sample(box(), 3):
        choices = {name: sorted({center[name], *chance.sample(range(-2, 12), 4)}) for name in KNOBS}
        expected = {
            key(assignment)
            for assignment in everything
            if sum(assignment[name] != center[name] for name in KNOBS) <= 2
            and all(assignment[name] in choices[name] for name in KNOBS)
        }
        near = [key(assignment) for assignment in constraints.enumerate_near(center, choices, 2)]
        assert len(near) == len(set(near))
        assert set(near) == expected


@SLOW
@given(random_sets, st.randoms(use_true_random=False))
def test_nearest_is_the_nearest_of_all(constraints: ConstraintSet, chance: random.Random) -> None:
    everything = list(constraints.enumerate())
    for wanted in chance.sample(box(), 3):
        answer = constraints.nearest(wanted)
        if not everything:
            assert answer.verdict is Verdict.REFUTED
            continue
        assert answer.verdict is Verdict.PROVEN

        def cost(each: Mapping[str, int], wanted: Mapping[str, int] = wanted) -> tuple[int, int]:
            changed = sum(each[name] != wanted[name] for name in KNOBS)
            return changed, abs(each["a"] - wanted["a"]) + abs(each["b"] - wanted["b"])

        assert cost(answer.assignment) == min(map(cost, everything))
        assert answer.changed == {
            name: value for name, value in answer.assignment.items() if value != wanted[name]
        }


@SLOW
@given(random_sets, st.dictionaries(st.sampled_from(KNOBS), st.integers(-4, 7)))
def test_a_core_is_a_contradiction_and_needs_every_part(
    constraints: ConstraintSet, partial: dict[str, int]
) -> None:
    answer = constraints.explain_unsat(partial)
    agreeing = [
        each
        for each in constraints.enumerate()
        if all(each[name] == value for name, value in partial.items())
    ]
    if agreeing:
        assert answer.verdict is Verdict.REFUTED
        assert key(answer.witness) in {key(each) for each in agreeing}
    elif answer.verdict is Verdict.PROVEN:
        assert answer.core
        assert set(answer.fixed.items()) <= set(partial.items())


@SLOW
@given(st.lists(truths(), min_size=1, max_size=3))
def test_exported_conditions_mean_what_z3s_own_operators_mean(trees: list[Tree]) -> None:
    context = z3.Context()
    expected = written_for_z3(trees, context)
    writer = TermWriter(context)
    exported = [writer.truth(each.expression) for each in build(trees).assertions[-len(trees) :]]
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", RESOURCES)
    assert solver.check(z3.And(exported) != z3.And(expected)) != z3.sat


def divisor_set() -> ConstraintSet:
    """Return the knobs x and y, of which x divides 48 and is a multiple of y, at most four times."""
    builder = ConstraintSetBuilder()
    x, y = builder.knob(IntegerKnob("x")), builder.knob(IntegerKnob("y"))
    times = builder.auxiliary("times")
    builder.require(x >= 1, "x >= 1", provenance="test")
    builder.require(y >= 1, "y >= 1", provenance="test")
    builder.require(48 % x == 0, "x must divide 48 ({} % {} == 0)", 48, x, provenance="test")
    builder.require(x == times * y, "x is a multiple of y", provenance="test")
    builder.require(times <= 4, "at most four times", provenance="test")
    return builder.build(PROBLEM, "#test", "test")


def test_a_violation_is_put_into_words_with_its_values() -> None:
    answer = divisor_set().check({"x": 7, "y": 7})
    assert answer.verdict is Verdict.REFUTED
    assert [str(each) for each in answer.violations] == ["x must divide 48 (48 % 7 == 0) [x = 7]"]
    assert answer.violations[0].provenance == "test"


def test_what_contradicts_through_a_hidden_unknown_is_named_together() -> None:
    answer = divisor_set().check({"x": 48, "y": 3})
    assert [each.message for each in answer.violations] == [
        "x is a multiple of y",
        "at most four times",
    ]


def test_a_core_is_minimal() -> None:
    answer = divisor_set().explain_unsat({"x": 48, "y": 3})
    assert answer.verdict is Verdict.PROVEN
    assert answer.minimal
    assert [each.message for each in answer.core] == ["x is a multiple of y", "at most four times"]
    assert answer.fixed == {"x": 48, "y": 3}
    alone = divisor_set().explain_unsat({"x": 7, "y": 1})
    assert [each.message for each in alone.core] == ["x must divide 48 (48 % 7 == 0)"]
    assert alone.fixed == {"x": 7}


def test_the_order_depends_on_the_seed_alone() -> None:
    orders = [[tuple(each.items()) for each in divisor_set().enumerate(seed)] for seed in (1, 1, 2)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def product_set(high: int = 40) -> ConstraintSet:
    builder = ConstraintSetBuilder()
    x, y = builder.knob(IntegerKnob("x", 1, high)), builder.knob(IntegerKnob("y", 1, high))
    builder.require(x * y <= 10 * high, "x * y", provenance="test")
    return builder.build(PROBLEM, "#test", "test")


def test_a_sample_is_distinct_valid_and_spread_as_the_space_is() -> None:
    constraints = product_set()
    everything = [tuple(each.values()) for each in constraints.enumerate()]
    sample = [tuple(each.values()) for each in constraints.sample(200, seed=5)]
    assert len(set(sample)) == 200
    assert set(sample) <= set(everything)
    assert sample == [tuple(each.values()) for each in constraints.sample(200, seed=5)]
    for knob in (0, 1):
        for low in range(1, 41, 10):
            share, expected = (
                sum(low <= each[knob] < low + 10 for each in values) / len(values)
                for values in (sample, everything)
            )
            assert abs(share - expected) < 0.08


def test_a_sample_larger_than_the_space_is_the_space() -> None:
    constraints = divisor_set()
    assert len(constraints.sample(10_000)) == constraints.count().count


def test_a_space_too_large_to_list_is_sampled_all_the_same() -> None:
    constraints = product_set(high=3000)
    sample = {
        tuple(each.values()) for each in constraints.sample(20, limits=Limits(PATIENCE, steps=400))
    }
    assert len(sample) == 20
    assert all(x * y <= 30_000 for x, y in sample)


def test_draws_go_on_for_a_caller_that_rejects_most_of_them() -> None:
    constraints = product_set()
    valid = constraints.count().count
    odd = [each for each in constraints.draws(seed=3) if each["x"] % 7 == 0 and each["y"] == 1]
    assert len(odd) == 40 // 7
    assert len({tuple(each.values()) for each in constraints.draws(seed=3)}) == valid


def test_draws_end_where_the_limit_is_reached() -> None:
    constraints = product_set(high=1000)
    few = list(constraints.draws(limits=Limits(math.inf, steps=600)))
    assert few == list(constraints.draws(limits=Limits(math.inf, steps=600)))
    assert 0 < len(few) < constraints.count().count
    assert all(each["x"] * each["y"] <= 10_000 for each in few)


def alternatives_set() -> ConstraintSet:
    """Return a set with pads that are zero or the tile, and products that most choices of the first factors exceed."""
    builder = ConstraintSetBuilder()
    tiles = [builder.knob(IntegerKnob(f"tile {each}", 1, 100)) for each in range(4)]
    for place, tile in enumerate(tiles):
        pad = builder.knob(IntegerKnob(f"pad {place}", 0, 4096))
        builder.require(any_of(pad == 0, pad == tile * 2), "padded or not", provenance="test")
    threads = builder.knob(IntegerKnob("threads", 1, 512))
    builder.require(threads == tiles[0] * tiles[1], "threads", provenance="test")
    memory = tiles[0] * tiles[3] + tiles[1] * tiles[2] * tiles[3]
    builder.require(memory <= 250, "memory", provenance="test")
    return builder.build(PROBLEM, "#test", "test")


def test_alternatives_and_products_are_counted_as_listed_by_hand() -> None:
    sizes = range(1, 101)
    expected = sum(
        16
        for a in sizes
        for b in range(1, 512 // a + 1)
        if b <= 100
        for c in range(1, 250 // b + 1)
        if c <= 100
        for d in range(1, 250 // (a + b * c) + 1)
        if d <= 100
    )
    constraints = alternatives_set()
    assert constraints.count(Limits(math.inf)).count == expected
    # No restart takes long where bounds of products are seen before the last factor is chosen.
    deadline = Limits(math.inf, steps=400).start()
    probed = list(islice(constraints._probes(random.Random(0), deadline), 30))
    assert len(probed) == 30
    assert all(constraints.accepts(each) for each in probed)


def test_limits_are_honest() -> None:
    constraints = product_set(high=20_000)
    count = constraints.count(Limits(PATIENCE, steps=100))
    assert count.verdict is Verdict.NOT_DECIDED
    assert count.count > 0
    assert "limit" in count.reason
    with pytest.raises(UndecidedError, match="limit"):
        list(constraints.enumerate(limits=Limits(0.1)))


def test_time_that_the_caller_takes_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    solutions = divisor_set().enumerate(limits=Limits(0.3))
    assert next(solutions)
    now = 1.0
    assert len(list(solutions)) > 10


def unbounded_set() -> ConstraintSet:
    """Return a square that is greater than 50: nothing bounds it from above."""
    builder = ConstraintSetBuilder()
    x = builder.knob(IntegerKnob("x", low=0))
    builder.require(x * x >= 50, "x * x >= 50", provenance="test")
    return builder.build(PROBLEM, "#test", "test")


def test_without_bounds_the_solver_answers() -> None:
    constraints = unbounded_set()
    assert constraints.check({"x": 7}).verdict is Verdict.REFUTED
    assert constraints.check({"x": 10**30}).verdict is Verdict.PROVEN
    assert constraints.nearest({"x": 3}).assignment == {"x": 8}
    assert constraints.explain_unsat({"x": 7}).verdict is Verdict.PROVEN
    assert constraints.explain_unsat({}).verdict is Verdict.REFUTED
    solutions = constraints.enumerate()
    assert len({next(solutions)["x"] for _ in range(5)}) == 5


def test_expressions_that_are_too_deep_to_search_are_left_to_the_solver() -> None:
    builder = ConstraintSetBuilder()
    x = builder.knob(IntegerKnob("x", 0, 20))
    value = x
    for _ in range(300):
        value = value + select(x > 3, 1, 0)
    builder.require(value <= 310, "{} is at most 10", x, provenance="test")
    constraints = builder.build(PROBLEM, "#test", "test")
    assert constraints._decider.terms is None
    assert constraints.check({"x": 10}).verdict is Verdict.PROVEN
    assert constraints.check({"x": 11}).verdict is Verdict.REFUTED
    assert {each["x"] for each in constraints.enumerate()} == set(range(11))


def test_search_and_optimization_agree_on_the_nearest() -> None:
    constraints = divisor_set()
    chance = random.Random(3)
    for _ in range(5):
        wanted = {"x": chance.randint(0, 60), "y": chance.randint(0, 60)}
        limits = Limits().start()
        model = constraints._solver.optimize(
            constraints._decider.expressions(), wanted, ["x", "y"], limits
        )
        found = constraints.nearest(wanted).assignment
        costs = [
            (sum(each[n] != wanted[n] for n in "xy"), sum(abs(each[n] - wanted[n]) for n in "xy"))
            for each in (model, found)
        ]
        assert costs[0] == costs[1]


def test_no_knobs_and_no_assertions() -> None:
    constraints = ConstraintSetBuilder().build(PROBLEM, "#test", "test")
    assert constraints.check({}).verdict is Verdict.PROVEN
    assert list(constraints.enumerate()) == [{}]
    assert constraints.count().count == 1
    assert constraints.nearest({}).assignment == {}


def test_nothing_to_choose_from() -> None:
    builder = ConstraintSetBuilder()
    builder.knob(OneOfKnob("option", ()))
    constraints = builder.build(PROBLEM, "#test", "test")
    assert list(constraints.enumerate()) == []
    assert constraints.nearest({"option": 0}).verdict is Verdict.REFUTED
    assert constraints.explain_unsat({}).verdict is Verdict.PROVEN


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ({"x": 1, "y": 1, "z": 1}, "pipeline #test has no knob 'z'; its knobs: x, y"),
        ({"x": 1}, "there is no value for knob 'y'"),
        ({"x": 1.5, "y": 1}, "the value of knob 'x' is not an integer: 1.5"),
        ({"x": True, "y": 1}, "the value of knob 'x' is not an integer: True"),
        ({"x": None, "y": 1}, "the value of knob 'x' is not an integer: None"),
    ],
)
def test_bad_assignments_are_refused_in_words(assignment: dict[str, int], message: str) -> None:
    with pytest.raises(AssignmentError, match=message.replace("#", "\\#")):
        divisor_set().check(assignment)


@pytest.mark.parametrize("value", [0, -1, -(10**40), 10**40, 2**63])
def test_zero_negative_and_huge_values_are_answered(value: int) -> None:
    constraints = divisor_set()
    assert constraints.check({"x": value, "y": 1}).verdict is Verdict.REFUTED
    assert constraints.check({"x": 1, "y": value}).verdict is Verdict.REFUTED
    assert constraints.nearest({"x": value, "y": value}).verdict is Verdict.PROVEN
    assert constraints.explain_unsat({"x": value}).verdict is Verdict.PROVEN


def test_sets_can_be_asked_from_many_threads() -> None:
    constraints = divisor_set()
    expected = constraints.count().count
    counts = []

    def ask() -> None:
        other = unbounded_set()
        assert other.check({"x": 7}).verdict is Verdict.REFUTED
        assert constraints.check({"x": 48, "y": 3}).verdict is Verdict.REFUTED
        counts.append(constraints.count().count)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert counts == [expected] * 6


def test_a_set_does_not_leave_its_process() -> None:
    with pytest.raises(TypeError, match="belongs to its process"):
        pickle.dumps(divisor_set())
