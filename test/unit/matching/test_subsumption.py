"""Answers about lists of conditions, against trials of every possible dimension; and their growth."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING

import pytest
from known_dimensions import NOTHING, Known, holds

from tuninglink.matching import (
    Condition,
    Extent,
    HasExtent,
    Opaque,
    Overlaps,
    Subsumption,
    SubsumptionAnswer,
    box,
    condition_index,
    representative,
)
from tuninglink.solver import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tuninglink.matching import Dimension

SIZES = range(27)
LOWS = (-math.inf, 0, 3, 5)
HIGHS = (math.inf, 5, 8)
DIVISORS = (1, 2, 3, 4, 12)


DYNAMIC = [
    known
    for known in itertools.starmap(Known, itertools.product(LOWS, HIGHS, DIVISORS))
    if known.is_possible()
]

Point = dict[tuple[str, int, int], "int | Known"]


def is_in(point: Point, condition: Condition) -> bool:
    return all(holds(fact, point[fact.dimension]) for fact in condition.sizes)


def points(dimensions: Iterable[Dimension]) -> list[Point]:
    """Return all values of two dimensions; if both run over one loop, they do not differ."""
    first, second = dimensions
    every = [*SIZES, *DYNAMIC]
    return [
        {first: one, second: other}
        for one, other in itertools.product(every, every)
        if representative(first) != representative(second)
        or one == other
        or isinstance(one, Known)
        or isinstance(other, Known)
    ]


DIMENSIONS = {
    "different loops": [("loop", 0, 0), ("loop", 1, 0)],
    "one loop": [("loop", 0, 0), ("loop", 0, 1)],
}
POINTS = {name: points(dimensions) for name, dimensions in DIMENSIONS.items()}


def random_condition(chance: random.Random, dimensions: list[Dimension]) -> Condition:
    facts = set()
    for _ in range(chance.randint(0, 3)):
        dimension = chance.choice(dimensions)
        extents = [
            Extent(size=chance.choice([4, 6])),
            Extent(factor=chance.choice([2, 3, 4])),
            Extent(low=chance.choice([0, 3, 5])),
            Extent(high=chance.choice([5, 8])),
        ]
        facts.add(HasExtent(dimension, chance.choice(extents)))
    return Condition(names=frozenset({"linalg.generic"}), sizes=frozenset(facts))


def static(witness: Mapping[Dimension, int | None], dimensions: list[Dimension]) -> Point:
    sizes = {representative(each): size for each, size in witness.items()}
    return {each: sizes.get(representative(each)) or 1 for each in dimensions}


def witness_point(
    witness: Mapping[Dimension, int | None], condition: Condition, dimensions: list[Dimension]
) -> Point:
    """Return the dimensions of a witness; dynamic ones only have the facts that the condition requires."""
    asked = {each: fact for each, fact in box(condition.sizes).items() if fact.size is None}
    known = {each: Known(fact.low, fact.high, fact.factor) for each, fact in asked.items()}
    return {each: witness.get(each) or known.get(each, NOTHING) for each in dimensions}


@pytest.mark.parametrize("name", DIMENSIONS)
@pytest.mark.parametrize("seed", range(10))
def test_answers_are_those_of_trying_everything(name: str, seed: int) -> None:
    chance = random.Random(seed)
    dimensions = DIMENSIONS[name]
    conditions = [random_condition(chance, dimensions) for _ in range(chance.randint(3, 14))]
    inside = [[is_in(point, each) for each in conditions] for point in POINTS[name]]
    is_static = [
        all(isinstance(each, int) and each for each in point.values()) for point in POINTS[name]
    ]
    subsumption = Subsumption(conditions)
    for index, condition in enumerate(conditions):
        answer = subsumption.answer(index)
        left = [row[index] and not any(row[:index]) for row in inside]
        assert answer.verdict is (Verdict.REFUTED if any(left) else Verdict.PROVEN)
        if answer.verdict is Verdict.PROVEN:
            assert all(any(row[each] for each in answer.subsuming) for row in inside if row[index])
        else:
            point = witness_point(answer.witness, condition, dimensions)
            assert is_in(point, condition)
            assert not any(is_in(point, each) for each in conditions[:index])
        for other in range(index):
            meeting = Overlaps([condition, conditions[other]]).overlap(0, 1)
            common = [row[index] and row[other] for row in inside]
            if meeting.verdict is Verdict.PROVEN:
                point = static(meeting.witness, dimensions)
                assert is_in(point, condition)
                assert is_in(point, conditions[other])
            else:
                assert not any(map(bool.__and__, common, is_static))
                assert (meeting.verdict is Verdict.REFUTED) == (not any(common))


@pytest.mark.parametrize("seed", range(5))
def test_who_wins_is_the_first_to_hold(seed: int) -> None:
    chance = random.Random(seed)
    dimensions = DIMENSIONS["different loops"]
    conditions = [random_condition(chance, dimensions) for _ in range(40)]
    labels = [chance.choice("ab") for _ in conditions]
    overlaps = Overlaps(conditions, labels)
    for index in range(len(conditions)):
        expected = [
            other
            for other in range(index)
            if labels[other] != labels[index]
            and overlaps.overlap(index, other).verdict is Verdict.PROVEN
        ]
        winners, at_most = overlaps.earlier(index, 3)
        assert at_most >= len(expected) >= len(winners)
        for winner in winners:
            assert labels[winner.position] != labels[index]
            operation = static(winner.witness, dimensions)
            holding = [each for each in range(index + 1) if is_in(operation, conditions[each])]
            assert (holding[0], holding[-1]) == (winner.position, index)


def subsumed(condition: Condition, earlier: Sequence[Condition | Opaque]) -> SubsumptionAnswer:
    return Subsumption([*earlier, condition]).answer(len(earlier))


def of_type(kind: str, *facts: HasExtent) -> Condition:
    return Condition(names=frozenset({"linalg.generic"}), types={0: kind}, sizes=frozenset(facts))


def test_other_forms_and_opaque_matchers_leave_it_open() -> None:
    loop = ("loop", 0, 0)
    wanted = of_type("f16", HasExtent(loop, Extent(size=4)))
    unrelated = Condition(regions="something", sizes=frozenset({HasExtent(loop, Extent(size=5))}))
    related = Condition(regions="something", sizes=frozenset({HasExtent(loop, Extent(size=4))}))
    assert (
        subsumed(wanted, [of_type("f32", HasExtent(loop, Extent(size=4)))]).verdict
        is Verdict.REFUTED
    )
    assert subsumed(wanted, [unrelated]).verdict is Verdict.REFUTED
    assert subsumed(wanted, [related]).verdict is Verdict.NOT_DECIDED
    assert subsumed(wanted, [Opaque("why")]).verdict is Verdict.NOT_DECIDED
    # What is covered is so whatever else comes before.
    assert subsumed(wanted, [Opaque("why"), related, of_type("f16")]).subsuming == (2,)


def test_what_always_holds_leaves_nothing_to_others() -> None:
    """Not even to a matcher that is not understood: it is never asked."""
    wanted = of_type("f16")
    answer = Subsumption([wanted, Condition(), Opaque("why"), wanted]).answer(2)
    assert (answer.verdict, answer.subsuming) == (Verdict.PROVEN, (1,))
    assert Subsumption([wanted, Opaque("why")]).answer(1).verdict is Verdict.NOT_DECIDED


def test_what_never_holds_is_covered_by_nothing() -> None:
    first, second = DIMENSIONS["one loop"]
    for condition in (
        of_type("f16", HasExtent(first, Extent(size=4)), HasExtent(second, Extent(size=6))),
        of_type("f16", HasExtent(first, Extent(low=5)), HasExtent(first, Extent(high=4))),
        of_type(
            "f16",
            HasExtent(first, Extent(low=5)),
            HasExtent(first, Extent(high=7)),
            HasExtent(first, Extent(factor=4)),
        ),
        Condition(names=frozenset()),
    ):
        answer = subsumed(condition, [])
        assert (answer.verdict, answer.subsuming) == (Verdict.PROVEN, ())


def test_pairs_of_groups_are_compared_only_if_they_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def implies(*pair: Condition) -> bool:
        compared.append(pair)
        return True

    monkeypatch.setattr(condition_index, "implies_but_for_sizes", implies)
    Subsumption([of_type(f"type {index}") for index in range(500)])
    assert len(compared) == 500


def test_conditions_of_too_many_forms_are_not_compared() -> None:
    """Names do not distinguish matchers that accept one of two names: all pairs would have to be tried."""
    several = [Condition(names=frozenset({"a", f"b{index}"})) for index in range(800)]
    subsumption = Subsumption([*several, *several])
    fresh, again = subsumption.answer(799), subsumption.answer(800)
    assert (fresh.verdict, again.verdict) == (Verdict.NOT_DECIDED, Verdict.PROVEN)
    assert "too many forms" in fresh.reason
    assert again.subsuming == (0,)
    assert Overlaps(several).overlap(0, 1).verdict is Verdict.NOT_DECIDED


def test_any_of_many_sizes_may_be_fixed() -> None:
    chance = random.Random(0)
    dimensions = [("loop", each, 0) for each in range(16)]
    conditions = [
        of_type(
            "f16",
            *(HasExtent(each, Extent(size=4)) for each in dimensions if chance.random() < 0.1),
        )
        for _ in range(400)
    ]
    subsumption = Subsumption(conditions)
    for position, each in enumerate(conditions):
        expected = [at for at in range(position) if conditions[at].sizes <= each.sizes]
        proof = subsumption.proof(position)
        assert (proof and proof.subsuming) == ((expected[0],) if expected else None)
