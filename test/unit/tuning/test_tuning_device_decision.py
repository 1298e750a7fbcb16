"""Decisions from samples, races on a device whose times are known, and comparisons of outputs."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest
from device_benchmarks import LAYOUT, make_inputs
from hypothesis import given, settings, strategies as st

from tuninglink.devices import (
    Device,
    Rounds,
    Timing,
    compare,
    find_violation,
    outputs_of,
    patterns,
)
from tuninglink.programs import (
    Access,
    Benchmark,
    Binding,
    BufferLayout,
    Failure,
    FailureKind,
    element_type,
    is_float,
)
from tuninglink.tuning.deciding import (
    Contestant,
    Outcome,
    Race,
    RaceRules,
    Standings,
    decide,
    interval,
    race_seconds,
    undisturbed_speedup,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.devices import DeviceDescription, Request


IMMEDIATE = RaceRules(gap_seconds=0.0)
"""Rules without pauses."""


def blocks(
    speedup: float, noise: float, seed: int, drift: float = 0.0
) -> list[list[tuple[float, float]]]:
    chance = random.Random(seed)
    return [
        [
            (
                100 * chance.lognormvariate(drift * block, noise),
                100 / speedup * chance.lognormvariate(0, noise),
            )
            for _ in range(25)
        ]
        for block in range(3)
    ]


def test_a_clear_gain_is_faster_and_none_is_not() -> None:
    decision = decide(blocks(1.3, 0.03, 0))
    assert decision.outcome is Outcome.FASTER
    assert decision.speedup.low < 1.3 < decision.speedup.high
    assert decision.default_us == pytest.approx(96, rel=0.03)
    assert decision.default_us / decision.tuned_us == pytest.approx(decision.speedup.median)
    assert decide(blocks(0.9, 0.03, 0)).outcome is Outcome.NOT_FASTER
    assert decide(blocks(1.005, 0.005, 0)).outcome is Outcome.NOT_FASTER


def test_other_work_on_the_machine_does_not_lengthen_the_times_of_a_decision() -> None:
    """The best candidate had 35 us while candidates were tried, and 235 us in the race."""
    quiet = blocks(2.0, 0.01, 0)
    busy = [
        [(9 * pair[0], 9 * pair[1]) if i % 4 else pair for i, pair in enumerate(b)] for b in quiet
    ]
    decision = decide(busy)
    assert decision.default_us == pytest.approx(decide(quiet).default_us, rel=0.03)
    assert decision.tuned_us == pytest.approx(decide(quiet).tuned_us, rel=0.03)


def test_one_block_that_differs_is_not_believed() -> None:
    found = blocks(1.0, 0.01, 3)
    found[2] = blocks(1.1, 0.01, 3)[2]
    assert decide(found).outcome is not Outcome.FASTER


def test_a_block_that_contradicts_a_clear_gain_is_shown() -> None:
    rounds = [*blocks(2.0, 0.02, 0)[:2], blocks(1.0, 0.3, 1)[0]]
    decision = decide(rounds)
    assert decision.outcome is Outcome.UNDECIDED
    assert decision.speedup.low > 1.5
    assert decision.contrary == decision.blocks[2]
    assert str(decision) == f"{decision.speedup}, but {decision.contrary} in block 3 of 3"


def test_four_of_five_blocks_outvote_the_other_one() -> None:
    disturbed, faster = blocks(0.6, 0.02, 1), [*blocks(1.3, 0.02, 0), *blocks(1.3, 0.02, 2)]
    outvoted = decide([disturbed[0], *faster[:4]])
    assert (outvoted.outcome, outvoted.contrary) == (Outcome.FASTER, None)
    assert decide([disturbed[0], *faster[:3]]).outcome is not Outcome.FASTER
    assert decide([*disturbed[:2], *faster[:4]]).outcome is not Outcome.FASTER


def test_one_noisy_block_does_not_hide_a_clear_gain() -> None:
    """`undecided: 2.033 [2.016, 2.057]` came from a block whose own interval reached below the threshold."""
    noisy = [*blocks(2.0, 0.01, 0)[:2], blocks(2.0, 1.5, 1)[0]]
    decision = decide(noisy)
    assert min(each.low for each in decision.blocks) < 1.02
    assert decision.outcome is Outcome.FASTER
    assert str(decision) == str(decision.speedup)


@pytest.mark.parametrize("seed", range(5))
def test_programs_are_compared_without_the_other_work_that_two_of_three_calls_meet(
    seed: int,
) -> None:
    """Of two programs on a machine with two threads a core, the one that was slower alone had the lower median."""
    chance = np.random.default_rng(seed)
    noise = chance.lognormal(0.0, 0.02, (2, 60))
    is_disturbed = chance.random((2, 60)) > 0.33
    slower = 10.5 * noise[0] * np.where(is_disturbed[0], 1.2, 1.0)
    faster = 10.0 * noise[1] * np.where(is_disturbed[1], 1.5, 1.0)
    assert interval(slower / faster).median < 1.0
    speedup = undisturbed_speedup(slower, faster, seed)
    assert speedup.low <= 1.05 <= speedup.high
    assert 1.0 < speedup.median < 1.1


def test_a_speedup_without_rounds_is_an_error_and_one_of_two_rounds_is_open() -> None:
    with pytest.raises(ValueError, match="without rounds"):
        undisturbed_speedup([], [])
    assert undisturbed_speedup([2.0, 2.0], [1.0, 1.0]).interval == (0.0, float("inf"))


def test_noise_leaves_a_small_gain_undecided() -> None:
    assert decide(blocks(1.03, 0.1, 1)).outcome is Outcome.UNDECIDED
    assert decide(blocks(1.03, 0.1, 1)).contrary is None


def test_identical_code_has_no_winner() -> None:
    outcomes = [decide(blocks(1.0, 0.08, seed, drift=0.01)).outcome for seed in range(200)]
    assert outcomes.count(Outcome.FASTER) <= 2


def test_a_decision_depends_on_the_seed_alone() -> None:
    assert decide(blocks(1.1, 0.05, 5), seed=7) == decide(blocks(1.1, 0.05, 5), seed=7)


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=40))
@settings(max_examples=50)
def test_an_interval_holds_the_median(ratios: list[float]) -> None:
    found = interval(ratios)
    assert found.low <= found.median <= found.high


def test_survivors_are_the_fastest_ones() -> None:
    standings = Standings()
    assert standings.survivors(4) == []
    us = {5: 50.0, 6: 200.0, 7: 90.0, 8: 51.0}
    rounds = [(100.0, *(time + number for time in us.values())) for number in range(8)]
    standings.add([*us], rounds)
    assert standings.survivors(4) == [5, 8]
    assert standings.survivors(1) == [5]
    assert len(standings) == 8


def test_rivals_of_one_race_may_have_rounds_of_their_own() -> None:
    """Finalists that are too slow for one group race in several ones, each with the default."""
    standings = Standings()
    standings.add([0], [(100.0, 50.0)] * 8)
    standings.add([1], [(200.0, 80.0)] * 8)
    assert standings.rivals == [0, 1]
    assert standings.survivors(2) == [1]
    assert standings.speedup(0).median == pytest.approx(2.0)
    assert standings.speedup(1).median == pytest.approx(2.5)


@dataclass
class Simulated(Device):
    """A device whose images contain the times of their benchmarks.

    Attributes:
        times: microseconds by image.
        noise: the deviation of the logarithm of a time.
        wrong: the images that compute something else.
        failing: the images that fail whenever they run.
        patience: the seconds that a round may take.
        asked: the number of benchmarks in each measurement.
    """

    times: Mapping[bytes, float]
    noise: float = 0.01
    wrong: frozenset[bytes] = frozenset()
    failing: frozenset[bytes] = frozenset()
    patience: float = float("inf")
    asked: list[int] = field(default_factory=list)

    @property
    def description(self) -> DeviceDescription:
        raise NotImplementedError

    def ask(self, request: Request) -> object:
        raise NotImplementedError

    def measure(self, each: Benchmark, *_: object) -> Timing | Failure:
        if each.image in self.failing:
            return Failure(FailureKind.RUN, "fault")
        return Timing((self.times[each.image],), 1)

    def rounds(
        self, benchmarks: Sequence[Benchmark], count: int, seed: int, *_: object
    ) -> Rounds | Failure:
        images = [each.image for each in benchmarks]
        if any(each in self.failing for each in images):
            return Failure(FailureKind.RUN, "fault")
        if sum(self.times[each] for each in images) > self.patience * 1e6:
            return Failure(FailureKind.TIMEOUT, "no answer")
        self.asked.append(len(images))
        chance = random.Random(seed)
        return Rounds(
            tuple(
                tuple(self.times[each] * chance.lognormvariate(0, self.noise) for each in images)
                for _ in range(count)
            ),
            batches=(1,) * len(images),
        )

    def check(self, benchmark: Benchmark) -> Failure | None:
        return Failure(FailureKind.WRONG, "differs") if benchmark.image in self.wrong else None


def raced(
    device: Simulated, *candidates: bytes, rules: RaceRules = IMMEDIATE
) -> tuple[bytes | None, Outcome | None, dict[bytes, FailureKind]]:
    """Return the winner of a race, the outcome of its confirmation, and the failures."""
    result = begun(device, *candidates, rules=rules).run()
    winner = None if result.winner is None else candidates[result.winner]
    outcome = result.decision.outcome if result.decision else None
    failures = {candidates[each]: failure.kind for each, failure in result.failures.items()}
    return winner, outcome, failures


def begun(device: Simulated, *candidates: bytes, rules: RaceRules = IMMEDIATE) -> Race:
    default, *contestants = (
        Contestant(Benchmark(each, "f", LAYOUT), device.times[each])
        for each in (b"default", *candidates)
    )
    return Race(device, default, contestants, device.check, rules)


TIMES = {b"default": 100.0, b"a": 90.0, b"b": 60.0, b"c": 300.0, b"d": 62.0, b"same": 100.0}


def test_a_race_is_won_by_the_fastest() -> None:
    device = Simulated(TIMES)
    assert raced(device, b"a", b"b", b"c", b"d") == (b"b", Outcome.FASTER, {})
    assert device.asked[0] == 5
    assert device.asked[-3:] == [2, 2, 2]


def test_a_wrong_finalist_is_disqualified() -> None:
    device = Simulated(TIMES, wrong=frozenset({b"b"}))
    assert raced(device, b"a", b"b", b"d") == (b"d", Outcome.FASTER, {b"b": FailureKind.WRONG})


def test_a_failing_finalist_does_not_end_the_race() -> None:
    device = Simulated(TIMES, failing=frozenset({b"b"}))
    assert raced(device, b"a", b"b", b"d") == (b"d", Outcome.FASTER, {b"b": FailureKind.RUN})


def test_finalists_that_are_wrong_or_fail_are_replaced_until_all_places_are_taken() -> None:
    wrong, failing = frozenset({b"b"}), frozenset({b"d"})
    device = Simulated(TIMES, wrong=wrong, failing=failing)
    rules = replace(IMMEDIATE, places=1)
    result = begun(device, b"b", b"a", rules=rules).run()
    assert result.winner == 1
    found = raced(device, b"b", b"d", b"a", b"same", rules=replace(IMMEDIATE, places=2))
    assert found == (b"a", Outcome.FASTER, {b"b": FailureKind.WRONG, b"d": FailureKind.RUN})


def test_candidates_are_drawn_only_as_long_as_there_are_places() -> None:
    device = Simulated(TIMES)
    drawn: list[bytes] = []

    def draw() -> Iterator[Contestant]:
        for each in (b"b", b"d", b"a"):
            drawn.append(each)
            yield Contestant(Benchmark(each, "f", LAYOUT), TIMES[each])

    default = Contestant(Benchmark(b"default", "f", LAYOUT), 100.0)
    Race(device, default, draw(), device.check, replace(IMMEDIATE, places=2)).run()
    assert drawn == [b"b", b"d"]


def test_no_finalist_beats_the_default() -> None:
    assert raced(Simulated(TIMES), b"c") == (b"c", Outcome.NOT_FASTER, {})
    assert raced(Simulated(TIMES), b"c", b"c")[:2] == (None, None)
    assert raced(Simulated(TIMES))[:2] == (None, None)
    assert raced(Simulated(TIMES), b"same")[1] is not Outcome.FASTER


def test_slow_finalists_race_in_one_heat_and_only_the_nearest_ones_race() -> None:
    device = Simulated({b"default": 4e6, b"b": 2.5e6, b"d": 2.6e6, b"a": 3e6})
    assert raced(device, b"b", b"d", b"a") == (b"b", Outcome.FASTER, {})
    assert device.asked == [2, 2, 2, 2, 2]


def test_a_joint_heat_that_fails_is_raced_in_parts() -> None:
    times = {b"default": 4e6, b"a": 3e6, b"b": 2.5e6, b"d": 2.9e6}
    device = Simulated(times, patience=7.5)
    assert raced(device, b"a", b"b", b"d") == (b"b", Outcome.FASTER, {})
    assert set(device.asked) == {2}


def test_a_race_that_cannot_be_measured_is_not_decided_and_says_why() -> None:
    device = Simulated({b"default": 4e6, b"a": 3e6, b"b": 2.5e6}, patience=5)
    result = begun(device, b"a", b"b").run()
    assert (result.winner, result.decision, dict(result.failures)) == (None, None, {})
    assert result.reason == "the race could not be measured: no answer"
    device = Simulated(TIMES, wrong=frozenset({b"a", b"b"}))
    assert (
        begun(device, b"a", b"b").run().reason == "all 2 finalists failed, the first one: differs"
    )
    assert begun(Simulated(TIMES), b"c", b"c").run().reason == ""


def test_a_ratio_far_from_the_threshold_needs_few_rounds() -> None:
    times = {b"default": 100_000.0, b"b": 100.0}
    result = begun(Simulated(times), b"b").run()
    assert result.decision is not None
    assert result.decision.outcome is Outcome.FASTER
    assert sum(len(each.samples) for each in result.confirmation) <= 15
    assert len(result.decision.blocks) == 3
    near = begun(Simulated(TIMES), b"a").run()
    assert sum(len(each.samples) for each in near.confirmation) == 75


def test_the_price_of_a_race_follows_from_the_slower_program() -> None:
    slow, fast = (Contestant(Benchmark(b"", "f", LAYOUT), us) for us in (1.4e6, 0.4e6))
    assert race_seconds(slow, [fast]) < 22
    assert race_seconds(slow, [fast] * 6) < 60
    assert race_seconds(fast, [fast] * 6) < race_seconds(slow, [fast] * 6)
    default = Contestant(Benchmark(b"", "f", LAYOUT), 100.0)
    assert race_seconds(default, [default] * 6) < 6
    assert race_seconds(default, []) == 0
    # A candidate that is hundreds of times as fast is confirmed by few rounds.
    slow = Contestant(Benchmark(b"", "f", LAYOUT), 1e5)
    clear, near = (Contestant(Benchmark(b"", "f", LAYOUT), us) for us in (200.0, 9e4))
    assert race_seconds(slow, [clear]) < race_seconds(slow, [near]) / 2


def test_two_races_advance_in_turns_while_each_has_its_pauses() -> None:
    device = Simulated(TIMES)
    rules = replace(IMMEDIATE, gap_seconds=3600.0)
    races = [begun(device, each, rules=rules) for each in (b"a", b"b")]
    for _ in range(2):
        for race in races:
            assert race.due <= time.monotonic()
            race.advance()
    for race in races:
        assert race.result is None
        assert race.due > time.monotonic() + 3000
        while race.result is None:
            race.advance()
        assert race.result.decision is not None
        assert race.result.decision.outcome is Outcome.FASTER


@dataclass
class Disturbed(Simulated):
    """A device on which other work makes all finalists slow in some measurements.

    Attributes:
        slow: the numbers of the measurements, from 0.
    """

    slow: frozenset[int] = frozenset()

    def rounds(
        self, benchmarks: Sequence[Benchmark], count: int, seed: int, *_: object
    ) -> Rounds | Failure:
        rounds = super().rounds(benchmarks, count, seed)
        if isinstance(rounds, Failure) or len(self.asked) - 1 not in self.slow:
            return rounds
        samples = ((first, *(2.2 * us for us in others)) for first, *others in rounds.samples)
        return replace(rounds, samples=tuple(samples))


LEADING = {b"default": 100.0, b"a": 85.0, b"b": 80.0}


@pytest.mark.parametrize(("slow", "blocks"), [((0,), 5), ((2,), 5), ((4,), 5), ((0, 1), 10)])
def test_other_work_in_few_blocks_does_not_hide_a_large_lead(
    slow: tuple[int, ...], blocks: int
) -> None:
    """Of three blocks one read 0.61, and a candidate 1.32 times as fast for a third of the time was undecided."""
    result = begun(Disturbed(LEADING, slow=frozenset(slow)), b"b").run()
    assert result.decision is not None
    assert result.decision.outcome is Outcome.FASTER
    assert result.decision.speedup.low > 1.2
    assert len(result.decision.blocks) == blocks


def test_other_work_in_the_heats_does_not_hide_a_large_lead() -> None:
    device = Disturbed(LEADING, slow=frozenset({0, 1}))
    assert raced(device, b"a", b"b") == (b"b", Outcome.FASTER, {})
    assert raced(Disturbed(TIMES, slow=frozenset({0, 1})), b"same", b"same")[:2] == (None, None)


def test_a_large_lead_in_the_first_samples_alone_is_refuted() -> None:
    same = Contestant(Benchmark(b"same", "f", LAYOUT), 70.0)
    default = Contestant(Benchmark(b"default", "f", LAYOUT), 100.0)
    device = Simulated(TIMES)
    result = Race(device, default, [same], device.check, IMMEDIATE).run()
    assert result.decision is not None
    assert result.decision.outcome is Outcome.NOT_FASTER
    assert len(result.decision.blocks) == 6


def test_a_lead_far_above_the_one_before_needs_two_passes() -> None:
    default, rival = (
        Contestant(Benchmark(each, "f", LAYOUT), 100.0) for each in (b"default", b"b")
    )
    device = Simulated(TIMES)
    result = Race(device, default, [rival], device.check, IMMEDIATE).run()
    assert result.decision is not None
    assert result.decision.outcome is Outcome.FASTER
    assert len(result.decision.blocks) == 6


def test_a_late_race_with_a_large_lead_waits_for_time() -> None:
    late, device = replace(IMMEDIATE, deadline=0.0), Disturbed(LEADING, slow=frozenset({4}))
    race = begun(device, b"b", rules=late)
    while race.due < math.inf:
        race.advance()
    assert race.result is None
    race.resume(math.inf)
    while race.result is None:
        race.advance()
    assert race.result.decision is not None
    assert race.result.decision.outcome is Outcome.FASTER
    # Without time, it ends.
    result = begun(replace(device, asked=[]), b"b", rules=late).run()
    assert result.decision is not None
    assert result.decision.outcome is Outcome.UNDECIDED
    assert result.decision.contrary == result.decision.blocks[2]


def binding(name: str, shape: tuple[int, ...], width: int) -> Binding:
    count = int(np.prod(shape))
    return Binding(Access.WRITE, name, shape, 64, count * width)


@pytest.mark.parametrize("name", ["f32", "f16", "bf16"])
def test_another_order_of_summation_agrees_and_a_missing_term_does_not(name: str) -> None:
    dtype = np.dtype({"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[name])
    chance = np.random.default_rng(0)
    left = chance.uniform(-1, 1, (32, 512)).astype(np.float32)
    right = chance.uniform(-1, 1, (512, 16)).astype(np.float32)
    exact = (left.astype(np.float64) @ right).astype(dtype)
    other = np.add.accumulate(left[:, :, None] * right[None], axis=1)[:, -1].astype(dtype)
    short = (left[:, :-64] @ right[:-64]).astype(dtype)
    kind = binding(name, (32, 16), dtype.itemsize)
    expected, actual, wrong = (each.reshape(-1).view(np.uint8) for each in (exact, other, short))
    assert compare(kind, actual, expected, 512).agrees
    assert not compare(kind, wrong, expected, 512).agrees


def test_nan_and_infinity_must_stand_where_they_are_expected() -> None:
    kind = binding("f32", (2, 2), 4)
    expected = np.array([1, np.nan, np.inf, 2], np.float32)
    assert compare(kind, expected.view(np.uint8), expected.view(np.uint8)).agrees
    for index, value in ((0, np.nan), (1, 1.0), (2, -np.inf), (2, 3.0), (3, np.inf)):
        actual = expected.copy()
        actual[index] = value
        found = compare(kind, actual.view(np.uint8), expected.view(np.uint8))
        assert (found.agrees, found.wrong) == (False, 1)
        assert found.index == (index // 2, index % 2)


def test_integers_must_be_equal() -> None:
    kind = binding("i32", (4,), 4)
    expected = np.array([1, 2, 3, 4], np.int32)
    actual = np.array([1, 2, 4, 4], np.int32)
    found = compare(kind, actual.view(np.uint8), expected.view(np.uint8))
    assert (found.agrees, found.index, found.expected, found.actual) == (False, (2,), 3, 4)


TYPES = [
    "f64",
    "f32",
    "f16",
    "bf16",
    "f8E4M3FNUZ",
    "f8E5M2",
    "i8",
    "i32",
    "i64",
    "i1",
    "i4",
    "f4E2M1FN",
]


@pytest.mark.parametrize("name", TYPES)
def test_inputs_are_random_and_no_floating_point_number_is_zero(name: str) -> None:
    width = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2}.get(name, 1)
    layout = BufferLayout(
        (Binding(Access.READ, name, (256,), 64, 256 * width),), 128 + 256 * width, 64
    )
    made = make_inputs(layout, sets=2, seed=3)
    values = made[64 : 64 + 256 * width]
    assert len(np.unique(values)) > 1
    assert (make_inputs(layout, sets=2, seed=3) == made).all()
    assert (made[: layout.stride] == made[layout.stride : 2 * layout.stride]).all()
    if is_float(name):
        assert values.reshape(256, width).any(axis=1).all()


@given(st.integers(0, 639))
@settings(max_examples=80)
def test_a_canary_sees_every_byte_outside_of_outputs(place: int) -> None:
    layout = BufferLayout(
        (Binding(Access.READ, "f32", (16,), 64, 64), Binding(Access.WRITE, "f32", (32,), 256, 128)),
        stride=576,
        guard=64,
    )
    before = make_inputs(layout)
    after = before.copy()
    after[place] ^= 0xFF
    found = find_violation(layout, patterns(layout, 0), after)
    assert (found is None) == (256 <= place < 384)
    if found is not None:
        where = "before binding 0" if place < 64 else f"after binding {int(place >= 256)}"
        assert found == f"1 bytes written out of bounds, the first at byte {place}, {where}"
    assert set(outputs_of(layout, after)) == {1}


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_values_beyond_operands_are_not_numbers(name: str) -> None:
    dtype = element_type(name)
    assert dtype is not None
    binding = Binding(Access.READ, name, (16,), 64, 16 * dtype.itemsize)
    layout = BufferLayout((binding,), stride=320, guard=64)
    with np.errstate(invalid="ignore"):  # the NaNs are signaling ones
        whole = make_inputs(layout).view(dtype).astype(np.float64)
    inside = slice(64 // dtype.itemsize, 64 // dtype.itemsize + 16)
    assert np.isfinite(whole[inside]).all()
    whole[inside] = np.nan
    assert np.isnan(whole).all()
    # A read beyond an operand, also times zero, is the likely cause of a NaN.
    actual, expected = np.zeros((2, 16), dtype)
    actual[3] = np.nan
    found = compare(binding, actual.view(np.uint8), expected.view(np.uint8))
    assert str(found).endswith("it may read beyond an operand, where there are NaNs")


def test_changes_of_a_long_input_are_counted_from_the_first() -> None:
    length = 1 << 20
    layout = BufferLayout(
        (
            Binding(Access.WRITE, "f32", (16,), 64, 64),
            Binding(Access.READ, "i8", (length,), 192, length),
        ),
        stride=length + 256,
        guard=64,
    )
    before = make_inputs(layout)
    after = before.copy()
    places = [200, (1 << 18) + 127, (1 << 18) + 128, length]
    after[places] ^= 0xFF
    after[70] ^= 0xFF  # an output
    message = "4 bytes written out of bounds, the first at byte 200, after binding 1"
    assert find_violation(layout, patterns(layout, 0), after) == message


def test_the_whole_program_is_compared_with_itself() -> None:
    standings = Standings()
    standings.add([0], [(100.0, 50.0)])
    assert standings.noise is None
    standings = Standings()
    standings.add([0], [(100.0, 50.0), (120.0, 50.0)] * 6)
    noise = standings.noise
    assert noise is not None
    assert noise.median == pytest.approx(100 / 120)
    standings.add([0], [(100.0, 50.0)])
    assert standings.noise == noise


def test_a_default_with_copies_is_compared_with_its_copy() -> None:
    standings = Standings((1, 10), copies=2)
    standings.add([3], [(100.0, 20.0, 150.0, 30.0, 50.0, 10.0)] * 4)
    assert standings.noise is not None
    assert standings.noise.median == pytest.approx(300 / 450)
    assert standings.default_ms() == pytest.approx(0.3)
    assert standings.milliseconds(3) == pytest.approx(0.15)
    assert standings.milliseconds(3, 1) == pytest.approx(0.01)
