"""Counting without listing, compared with listing, with Z3 and with sums made by hand."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from configured_programs import EMIT_CONSTRAINTS, configured, constraints_ops
from constraint_problems import PROBLEM, all_valid, build, truths
from hypothesis import given, settings, strategies as st

from tuninglink.solver import (
    CountAnswer,
    Expression,
    Kind,
    Limits,
    Verdict,
    all_of,
    any_of,
    decider,
    divisors,
    make,
    search as counting,
)
from tuninglink.spaces import knob_template, read_constraints
from tuninglink.spaces.model import ConstraintSetBuilder, IntegerKnob

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.solver import Term
    from tuninglink.spaces.model import ConstraintSet

SLOW = settings(max_examples=25)
trees = st.lists(truths(), min_size=1, max_size=3)


def renamed(term: Term, unknowns: Mapping[str, Expression]) -> Term:
    """Return a term with other unknowns in place of its own."""
    if term.kind is Kind.VARIABLE:
        return unknowns[term.name].term
    operands = [renamed(operand, unknowns) for operand in term.operands]
    return make(term.kind, *operands) if operands else term


def copies(original: ConstraintSet, number: int, most: int | None = None) -> ConstraintSet:
    """Return a set of several copies of another, whose knobs `a` together are at most `most`."""
    builder = ConstraintSetBuilder()
    firsts = []
    for copy in range(number):
        unknowns = {
            knob.name: builder.knob(IntegerKnob(f"{knob.name}{copy}", knob.low, knob.high))
            for knob in original.knobs
        }
        firsts.append(next(iter(unknowns.values())))
        unknowns |= {name: builder.auxiliary(f"{name}{copy}") for name in original.auxiliaries}
        for assertion in original.assertions:
            condition = Expression(renamed(assertion.expression, unknowns))
            builder.require(condition, assertion.message, provenance="test")
    if most is not None:
        builder.require(sum(firsts) <= most, "the sum", provenance="test")
    return builder.build(PROBLEM, "#test", "test")


def counted(constraints: ConstraintSet) -> CountAnswer | None:
    """Return the count without listing; None after a division by zero."""
    found = constraints._decider.count(Limits(math.inf, steps=400).start())
    return found and found.answer


def is_honest(answer: CountAnswer | None, expected: int) -> bool:
    if answer is None or answer.verdict is Verdict.NOT_DECIDED:
        return answer is None or answer.count <= expected
    return answer.count == expected


@SLOW
@given(trees)
def test_what_is_not_connected_is_multiplied(some: list) -> None:
    original = build(some)
    expected = all_valid(original)
    if expected is None:
        return
    assert original.count() == CountAnswer(Verdict.PROVEN, len(expected))
    assert is_honest(counted(copies(original, 4)), len(expected) ** 4)


@SLOW
@given(trees, st.integers(-6, 12))
def test_what_is_connected_by_a_sum_is_counted_by_sums(some: list, most: int) -> None:
    original = build(some)
    expected = all_valid(original)
    if expected is None:
        return
    ways = Counter(a for a, _, _ in expected)
    sums = Counter({0: 1})
    for _ in range(5):
        longer: Counter[int] = Counter()
        for total, before in sums.items():
            for a, now in ways.items():
                longer[total + a] += before * now
        sums = longer
    count = sum(number for total, number in sums.items() if total <= most)
    assert is_honest(counted(copies(original, 5, most)), count)


def tiles(batch: int, size: int, memory: int) -> ConstraintSet:
    """Return a batched matmul: tiles that divide, subgroups that divide the tiles, operands that fit in memory."""
    builder = ConstraintSetBuilder()
    names = {"b": batch, "m": size, "n": size, "k": size}
    tile = {each: builder.knob(IntegerKnob(each, 1, names[each])) for each in names}
    for each, extent in names.items():
        builder.require(extent % tile[each] == 0, f"{each} divides", provenance="test")
    for each in "mn":
        subgroups = builder.knob(IntegerKnob(f"{each} subgroups", 1, 4))
        builder.require(tile[each] % subgroups == 0, "even parts", provenance="test")
    used = tile["b"] * (tile["m"] + tile["n"]) * tile["k"] * 2
    builder.require(used <= memory, "memory", provenance="test")
    return builder.build(PROBLEM, "#test", "test")


def test_a_batched_problem_of_ten_million() -> None:
    batch, size, memory = 64, 55440, 1 << 22
    b = np.array(divisors(batch), dtype=np.int64)[:, None, None, None]
    each = np.array(divisors(size), dtype=np.int64)
    parts = sum((each % subgroups == 0).astype(np.int64) for subgroups in range(1, 5))
    m, n, k = each[None, :, None, None], each[None, None, :, None], each[None, None, None, :]
    fits = (b * (m + n) * k * 2 <= memory).sum(axis=(0, 3))
    expected = int((fits * parts[:, None] * parts[None, :]).sum())
    assert expected > 10_000_000
    assert tiles(batch, size, memory).count() == CountAnswer(Verdict.PROVEN, expected)


@pytest.mark.parametrize(
    ("target", "expected"), [("sm_80", [529, 18864, 34460]), ("gfx942", [259, 12337, 19110])]
)
def test_the_spaces_of_a_convolution(target: str, expected: list[int]) -> None:
    module = configured("large_convolution", target, EMIT_CONSTRAINTS)
    sets = [
        read_constraints(each, knob_template(each), PROBLEM) for each in constraints_ops(module)
    ]
    answers = [each.count() for each in sets]
    assert sorted(each.count for each in answers) == expected
    assert {each.verdict for each in answers} == {Verdict.PROVEN}
    assert sorted(len(list(each.enumerate())) for each in sets) == expected


@pytest.mark.parametrize("number", [1, 3])
def test_at_the_limit_there_are_at_least_as_many_as_said(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(counting, "_NODES_BETWEEN_CHECKS", 1)
    constraints = copies(tiles(4, 12, 200), number)
    exact = constraints.count().count
    assert constraints.count().verdict is Verdict.PROVEN
    before = 0
    steps = 0
    answer = CountAnswer(Verdict.NOT_DECIDED, 0)
    while answer.verdict is not Verdict.PROVEN:
        steps += max(1, steps // 20)
        answer = constraints.count(Limits(math.inf, steps=steps))
        assert before <= answer.count <= exact
        reason = f"the limit of {steps:g} steps is reached"
        assert answer.reason == (reason if answer.verdict is Verdict.NOT_DECIDED else "")
        before = answer.count
    assert answer.count == exact


def test_counting_looks_at_less_than_there_are() -> None:
    constraints = tiles(64, 5040, 1 << 20)
    number = constraints.count().count
    looks = 400
    nodes = looks * counting._NODES_BETWEEN_CHECKS
    assert number > 2 * nodes
    assert constraints.count(Limits(math.inf, steps=looks)) == CountAnswer(Verdict.PROVEN, number)


def test_a_count_that_exceeded_its_steps_is_tried_again_with_more_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "_NODES_BETWEEN_CHECKS", 1)
    constraints = tiles(4, 60, 500)
    counts = []

    def count(*arguments: object) -> counting.Counted:
        counts.append(arguments)
        return counting.count_solutions(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(decider, "count_solutions", count)
    few = Limits(math.inf, steps=200)
    first = constraints.count(few)
    assert first.verdict is Verdict.NOT_DECIDED
    assert constraints.count(few) == first
    assert len(counts) == 1
    assert constraints.count(Limits(math.inf, steps=1e6)).verdict is Verdict.PROVEN
    assert len(counts) == 2


def test_forgetting_what_was_counted_costs_nothing_but_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    constraints = tiles(4, 60, 500)
    expected = constraints.count()
    monkeypatch.setattr(counting, "_MOST_REMEMBERED", 3)
    assert constraints.count() == expected
    assert expected.count == len(list(constraints.enumerate()))


def test_what_is_hidden_is_not_counted() -> None:
    builder = ConstraintSetBuilder()
    x, y = (builder.knob(IntegerKnob(name, 0, 9)) for name in "xy")
    free, tied = builder.auxiliary("free"), builder.auxiliary("tied")
    for each in (free, tied):
        builder.require(all_of(each >= 0, each <= 5), "from 0 to 5", provenance="test")
    builder.require(free * 2 >= x, "free", provenance="test")
    builder.require(any_of(tied == y, tied * tied == y), "tied", provenance="test")
    constraints = builder.build(PROBLEM, "#test", "test")
    expected = prod([10, len({0, 1, 2, 3, 4, 5, 9})])
    assert constraints.count() == CountAnswer(Verdict.PROVEN, expected)
    assert len(list(constraints.enumerate())) == expected


# --- Looking solutions up by their number ----------------------------------------------------------------


@SLOW
@given(trees)
def test_every_solution_has_a_number(some: list) -> None:
    constraints = build(some)
    found = constraints._decider.count(Limits().start())
    if found is None:
        return
    assert found.is_indexed
    numbers = range(found.answer.count)
    expected = {tuple(each.values()) for each in constraints.enumerate()}
    solutions = [constraints._in_order(found.solution(number)) for number in numbers]
    assert {tuple(each.values()) for each in solutions} == expected
    assert len(solutions) == len(expected)


def test_a_sample_of_millions_has_their_histograms() -> None:
    builder = ConstraintSetBuilder()
    knobs = [builder.knob(IntegerKnob(name, 1, 200)) for name in "abc"]
    builder.require(sum(knobs) <= 300, "the sum", provenance="test")
    constraints = builder.build(PROBLEM, "#test", "test")
    ways = [sum(min(200, 300 - a - b) for b in range(1, 201) if a + b < 300) for a in range(1, 201)]
    total = sum(ways)
    assert constraints.count() == CountAnswer(Verdict.PROVEN, total)
    sample = constraints.sample(400, seed=3)
    assert sample == constraints.sample(400, seed=3)
    assert sample != constraints.sample(400, seed=4)
    assert len({tuple(each.values()) for each in sample}) == 400
    assert all(sum(each.values()) <= 300 for each in sample)
    for name in "abc":
        gap = sum(
            abs(
                sum(low < each[name] <= low + 20 for each in sample) / 400
                - sum(ways[low : low + 20]) / total
            )
            for low in range(0, 200, 20)
        )
        assert gap / 2 < 0.1, name


def test_a_sample_of_ten_million_is_valid() -> None:
    constraints = tiles(64, 55440, 1 << 22)
    sample = constraints.sample(100)
    assert len({tuple(each.values()) for each in sample}) == 100
    assert all(constraints.check(each).verdict is Verdict.PROVEN for each in sample)


def test_the_same_sample_comes_in_every_process() -> None:
    program = (
        "from test_constraints_counting import copies, tiles\n"
        "constraints = copies(tiles(4, 60, 500), 3)\n"
        "print(constraints.sample(5, seed=2), next(constraints.enumerate(seed=2)))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
        ).stdout
        for seed in "12"
    }
    assert len(outputs) == 1
