"""Bad input to constraint sets, and questions that are too hard: an answer or a clear error, in time."""

from __future__ import annotations

import re
import threading
from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import z3
from iree.compiler import ir as mlir
from processes import PATIENCE

from tuninglink.iree import OpKind, Role
from tuninglink.mlir import thread_context
from tuninglink.solver import (
    AssignmentError,
    CountAnswer,
    Limits,
    UndecidedError,
    Verdict,
    all_of,
    any_of,
    negation,
    select,
    unknown,
)
from tuninglink.spaces.model import (
    Configuration,
    ConstraintSetBuilder,
    Dimension,
    IntegerKnob,
    MismatchError,
    OneOfKnob,
    Problem,
    cached_reading,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuninglink.solver import Expression
    from tuninglink.spaces.model import ConstraintSet

PROBLEM = Problem(OpKind.OTHER)


class Sets:
    """Sets with many queries that cannot be answered in time; `None` sets no bound."""

    def __init__(self) -> None:
        self.builder = ConstraintSetBuilder()

    def knobs(self, names: str, low: int | None, high: int | None) -> list[Expression]:
        return [self.builder.knob(IntegerKnob(name, low, high)) for name in names.split()]

    def asserting(self, *conditions: Expression) -> ConstraintSet:
        for each in conditions:
            self.builder.require(each, "of the test", provenance="test")
        return self.builder.build(PROBLEM, "#test", "test")


def cubes(high: int | None) -> ConstraintSet:
    """No cube is the sum of two: nothing finds that out."""
    sets = Sets()
    x, y, z = sets.knobs("x y z", 1, high)
    return sets.asserting(x * x * x + y * y * y == z * z * z)


def pigeons() -> ConstraintSet:
    """Twelve different numbers out of eleven: a search tries all ways."""
    sets = Sets()
    return sets.asserting(
        *(a != b for a, b in combinations(sets.knobs("a b c d e f g h i j k l", 1, 11), 2))
    )


def below_itself() -> ConstraintSet:
    """Bounds that shrink by one at a time, from a number too large to wait for."""
    sets = Sets()
    x, y = sets.knobs("x y", 1, 130_000)
    return sets.asserting(x < y, y < x)


def factors() -> ConstraintSet:
    """Return the factors of a number of 120 bits."""
    sets = Sets()
    x, y = sets.knobs("x y", 2, 2**62)
    return sets.asserting(x * y == (2**61 - 1) * (2**59 - 55))


def powers() -> ConstraintSet:
    """Return a number that is too large to be written down."""
    sets = Sets()
    (x,) = sets.knobs("x", 0, None)
    squares = [x, *(sets.builder.auxiliary(f"square {index}") for index in range(40))]
    return sets.asserting(squares[-1] == 3, *(a == b * b for a, b in pairwise(squares)))


def deep() -> ConstraintSet:
    """Return an expression that is nested more deeply than Python calls."""
    sets = Sets()
    (x,) = sets.knobs("x", 0, 100)
    nested = x
    for index in range(1500):
        nested = select(nested > index % 7, nested - 1, nested + 2)
    return sets.asserting(nested == 3)


def many() -> ConstraintSet:
    """More knobs than there is time to look at."""
    sets = Sets()
    knobs = sets.knobs(" ".join(f"k{index}" for index in range(250)), 1, 100)
    return sets.asserting(*(any_of(a * b <= 50, a + b >= 150) for a, b in pairwise(knobs)))


HARD = {
    "cubes": lambda: cubes(None),
    "bounded cubes": lambda: cubes(100_000),
    "pigeons": pigeons,
    "below itself": below_itself,
    "factors": factors,
    "powers": powers,
    "deep": deep,
    "many": many,
}
EMPTY = {"cubes", "bounded cubes", "pigeons", "below itself"}
"""Those without a solution."""


def finished(question: Callable[[], object]) -> object:
    """Return the answer to a question, `UndecidedError` for one that has none, and fail if it hangs."""
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(question())
        except UndecidedError as failure:
            answers.append(failure)
        except Exception as failure:  # noqa: BLE001 - shown by the assertion below
            answers.append(failure)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert answers, "the question hangs"
    return answers[0]


@pytest.mark.parametrize("limits", [Limits(0, 0), Limits(0.2, 0.1)], ids=["no-time", "little-time"])
@pytest.mark.parametrize("name", HARD)
def test_every_question_ends_in_time(name: str, limits: Limits) -> None:
    constraints = HARD[name]()
    ones = {each.name: 1 for each in constraints.knobs}
    for question in (
        lambda: constraints.check(ones, limits),
        lambda: constraints.nearest(ones, limits),
        lambda: constraints.explain_unsat({}, limits),
        lambda: constraints.explain_unsat(ones, limits),
    ):
        answer = finished(question)
        assert isinstance(answer.verdict, Verdict), answer
        assert bool(answer.reason) is (answer.verdict is Verdict.NOT_DECIDED)
    count = finished(lambda: constraints.count(limits))
    assert isinstance(count, CountAnswer), count
    found = [
        finished(lambda: list(islice(constraints.enumerate(limits=limits), 5))),
        finished(lambda: constraints.sample(5, limits=limits)),
    ]
    for each in found:
        assert isinstance(each, list | UndecidedError), each
    if name in EMPTY:
        assert count.count == 0
        assert [] in found or all(isinstance(each, UndecidedError) for each in found)
        assert constraints.explain_unsat({}, limits).verdict is not Verdict.REFUTED
        assert constraints.nearest(ones, limits).assignment is None


def test_the_solver_is_asked_where_planning_a_search_takes_too_long() -> None:
    assert below_itself().explain_unsat({}, Limits(PATIENCE, steps=100)).verdict is Verdict.PROVEN


def test_the_reason_names_the_limit_that_was_given() -> None:
    with pytest.raises(UndecidedError, match=re.escape("the limit of 0.3 s is reached")):
        cubes(100_000).sample(5, limits=Limits(0.3))


@pytest.mark.parametrize("limits", [Limits(float("inf"), float("inf")), Limits(1e300, 1e300)])
def test_limits_may_be_as_large_as_one_likes(limits: Limits) -> None:
    sets = Sets()
    (x,) = sets.knobs("x", 0, None)
    constraints = sets.asserting(x * x == 49)
    assert constraints.explain_unsat({"x": 6}, limits).verdict is Verdict.PROVEN
    assert constraints.count(limits).count == 1


def test_a_negative_limit_is_reached_at_once() -> None:
    answer = cubes(100).explain_unsat({}, Limits(-1, -1))
    assert answer.verdict is Verdict.NOT_DECIDED
    with pytest.raises(ValueError, match="must be a number"):
        Limits(float("nan"))


# --- Values ----------------------------------------------------------------------------------------------


def halves(size: int) -> ConstraintSet:
    sets = Sets()
    (tile,) = sets.knobs("tile", 1, None)
    sets.builder.knob(OneOfKnob("kind", ("slow", "fast")))
    sets.builder.require(size % tile == 0, "{} % {} == 0", size, tile, provenance="test")
    return sets.asserting(tile <= 4096)


@pytest.mark.parametrize("value", [np.int64(8), np.uint8(8), np.array(8)])
def test_integers_of_other_libraries_are_integers(value: object) -> None:
    answer = halves(64).check({"tile": value, "kind": np.int8(1)})
    assert answer.verdict is Verdict.PROVEN
    changed = halves(60).nearest({"tile": value, "kind": 0}).changed
    assert {name: type(each) for name, each in changed.items()} == {"tile": int}


@pytest.mark.parametrize(
    "value", [True, np.True_, 8.0, np.float64(8), "8", None, [8], 8j, float("nan"), z3.IntVal(8)]
)
@pytest.mark.parametrize("question", ["check", "nearest", "explain_unsat"])
def test_what_is_no_integer_is_refused_in_words(question: str, value: object) -> None:
    with pytest.raises(AssignmentError, match="the value of knob 'tile' is not an integer: "):
        getattr(halves(64), question)({"kind": 0, "tile": value})


@pytest.mark.parametrize("question", ["check", "nearest", "explain_unsat"])
def test_numbers_that_cannot_be_written_are_refused_in_words(question: str) -> None:
    for value in (10**5000, -(10**5000)):
        with pytest.raises(AssignmentError, match="the value of knob 'tile' has more than 4096"):
            getattr(halves(64), question)({"kind": 0, "tile": value})
    large = getattr(halves(64), question)({"kind": 0, "tile": 10**1000})
    assert large.verdict is not Verdict.NOT_DECIDED


def test_no_knob_is_invented() -> None:
    for question in ("check", "nearest", "explain_unsat"):
        with pytest.raises(AssignmentError, match=r"has no knob 'tiel'; its knobs: tile, kind"):
            getattr(halves(64), question)({"tiel": 8, "kind": 0})
        with pytest.raises(AssignmentError, match="has no knob '3'"):
            getattr(halves(64), question)({3: 8})


@pytest.mark.parametrize("value", [-1, 2, 2**62, -(2**62)])
def test_an_option_that_there_is_not_is_refuted(value: int) -> None:
    answer = halves(64).check({"tile": 8, "kind": value})
    assert answer.verdict is Verdict.REFUTED
    assert answer.violations[0].values == (f"kind = {value} (not an option)",)
    assert halves(64).nearest({"tile": 8, "kind": value}).verdict is Verdict.PROVEN


@pytest.mark.parametrize("size", [0, -1, -64, 1, 2**62, 2**63, 2**64 + 1, 10**100])
def test_sizes_of_all_kinds_are_answered(size: int) -> None:
    constraints = halves(size)
    divisors = [each for each in range(1, 4097) if size % each == 0]
    assert constraints.count().count == 2 * len(divisors)
    assert {each["tile"] for each in constraints.enumerate()} == set(divisors)
    for tile in (1, 3, 4096, 2**62):
        verdict = Verdict.PROVEN if tile in divisors else Verdict.REFUTED
        assert constraints.check({"tile": tile, "kind": 0}).verdict is verdict


@pytest.mark.parametrize("n", [0, 1, 10**12])
def test_samples_of_all_sizes(n: int) -> None:
    constraints = halves(64)
    assert len(constraints.sample(n)) == min(n, 14)
    with pytest.raises(ValueError, match="must not be negative: -1"):
        constraints.sample(-1)


def test_a_problem_says_what_is_dynamic() -> None:
    sizes = (Dimension(Role.M, None), Dimension(Role.N, 0), Dimension(Role.K, 2**62))
    assert str(Problem(OpKind.CONTRACTION, sizes)) == "contraction ?x0x4611686018427387904"


# --- Sets ------------------------------------------------------------------------------------------------


def test_nothing_to_hold_and_nothing_to_choose() -> None:
    nothing = Sets().asserting()
    assert nothing.check({}).verdict is Verdict.PROVEN
    assert nothing.explain_unsat({}).witness == {}
    assert nothing.nearest({}).assignment == {}
    assert nothing.sample(3) == [{}]
    assert nothing.count().count == 1


def test_a_set_without_a_solution() -> None:
    sets = Sets()
    (x,) = sets.knobs("x", 1, 9)
    constraints = sets.asserting(x * x == 50)
    assert constraints.explain_unsat({}).verdict is Verdict.PROVEN
    assert constraints.explain_unsat({}).fixed == {}
    assert constraints.nearest({"x": 7}).verdict is Verdict.REFUTED
    assert constraints.sample(3) == list(constraints.enumerate()) == []
    assert constraints.count() == CountAnswer(Verdict.PROVEN, 0)


def test_without_bounds_there_is_no_end() -> None:
    sets = Sets()
    sets.knobs("x", None, None)
    constraints = sets.asserting()
    count = constraints.count(Limits(PATIENCE, steps=100))
    assert count.verdict is Verdict.NOT_DECIDED
    assert count.count > 0
    assert len(constraints.sample(3, limits=Limits(PATIENCE, steps=100))) == 3
    assert constraints.nearest({"x": -(10**30)}).assignment == {"x": -(10**30)}


def test_truths_and_numbers_of_python_will_do() -> None:
    sets = Sets()
    sets.knobs("x", 1, 2)
    sets.builder.require(64 % 16 == 0, "{} % 16 == 0", 64, provenance="test")
    assert sets.asserting().check({"x": 1}).verdict is Verdict.PROVEN
    sets = Sets()
    sets.knobs("x", 1, 2)
    sets.builder.require(64 % 48 == 0, "{} % 48 == 0", 64, provenance="test")
    constraints = sets.asserting()
    assert [str(each) for each in constraints.check({"x": 1}).violations] == ["64 % 48 == 0"]
    assert constraints.count().count == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: x + 1, "does not assert a truth"),
        (lambda x: all_of(x > 0, x), "does not assert a truth"),
        (lambda x: negation(select(x > 0, x > 1, x)), "does not assert a truth"),
        (lambda x: 2, "does not assert a truth"),  # noqa: ARG005
        (lambda x: None, "asserted of a NoneType"),  # noqa: ARG005
        (lambda x: z3.Int("x") > 0, "asserted of a BoolRef, not of an expression"),  # noqa: ARG005
    ],
)
def test_assertions_that_are_none_are_refused(
    wrong: Callable[[Expression], Any], message: str
) -> None:
    sets = Sets()
    (x,) = sets.knobs("x", 1, 2)
    with pytest.raises(TypeError, match=message):
        sets.asserting(wrong(x))
    with pytest.raises(TypeError, match="does not assert a truth about integers"):
        sets.builder.require(x > 0, "{}", x > 0, provenance="test")


def test_unknowns_must_be_declared() -> None:
    sets = Sets()
    (x,) = sets.knobs("x", 1, 2)
    with pytest.raises(ValueError, match="neither knobs nor auxiliary unknowns: 'z'"):
        sets.asserting(x > unknown("z"))
    with pytest.raises(ValueError, match="a knob or an auxiliary unknown 'x' already"):
        sets.knobs("x", 1, 2)


def test_readings_of_equal_configurations_are_cached_with_their_mismatches() -> None:
    calls: list[str] = []

    def read(configuration: Configuration) -> int:
        calls.append(str(configuration.lowering_config))
        if configuration.lowering_config == _configuration("odd").lowering_config:
            raise MismatchError("it is odd")
        return len(calls)

    cached = cached_reading(read)
    for _ in range(3):
        assert cached(_configuration("even")) == 1
        with pytest.raises(MismatchError, match="it is odd"):
            cached(_configuration("odd"))
    assert calls == ['"even"', '"odd"']
    # More configurations than are kept.
    for number in range(200):
        assert cached(_configuration(str(number))) == number + 3


def _configuration(text: str) -> Configuration:
    return Configuration(mlir.StringAttr.get(text, thread_context()), None)
