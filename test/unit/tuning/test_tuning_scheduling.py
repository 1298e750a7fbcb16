"""The division of a run's time: accounts, turns, and the convergence of tasks."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tuninglink.devices import repetition, weighted_mean
from tuninglink.programs import Benchmark, BufferLayout, SizedFunction
from tuninglink.tuning.deciding import (
    FEWEST_MODEL_ROUNDS,
    Account,
    Contestant,
    Ledger,
    RaceRules,
    WrongDefaults,
    guard_seconds,
    program_compile_seconds,
    race_seconds,
    task_race_seconds,
)
from tuninglink.tuning.scheduling import Pace, Progress, scheduler


def progress(times: list[float], default_us: float = 100.0, trial_seconds: float = 0.1) -> Progress:
    made = Progress(default_us)
    for each in times:
        made.seconds += trial_seconds
        made.add(each)
    return made


# --- The ledger ------------------------------------------------------------------------------------------


def test_what_is_reserved_is_not_for_tasks() -> None:
    ledger = Ledger(1000.0)
    assert ledger.reserve(Account.GUARD, 100.0)
    assert ledger.reserve(Account.RANGES, 300.0)
    end = ledger.whole.deadline
    assert ledger.budget().deadline == pytest.approx(end - 400.0, abs=1e-3)
    assert ledger.spend(Account.RANGES).deadline == pytest.approx(end - 100.0, abs=1e-3)
    assert ledger.budget().deadline == pytest.approx(end - 100.0, abs=1e-3)
    assert ledger.spend(Account.GUARD).deadline == pytest.approx(end, abs=1e-3)


@pytest.mark.parametrize("account", list(Account))
def test_an_account_has_a_largest_part(account: Account) -> None:
    ledger = Ledger(1000.0)
    most = ledger.limit(account)
    assert ledger.reserve(account, most)
    assert not ledger.reserve(account, most + 1.0)
    assert ledger.reserved(account) == 0.0


def test_without_a_limit_nothing_is_reserved() -> None:
    ledger = Ledger()
    assert ledger.reserve(Account.RANGES, math.inf)
    assert math.isinf(ledger.budget().remaining)


def test_stopping_the_whole_stops_every_account() -> None:
    ledger = Ledger(1000.0)
    budget = ledger.budget()
    ledger.whole.stop()
    assert budget.is_over
    assert ledger.spend(Account.GUARD).is_stopped


# --- Progress --------------------------------------------------------------------------------------------


def test_a_task_converges_after_many_trials_without_a_gain() -> None:
    made = progress([50.0])
    for _ in range(199):
        made.add(60.0)
        assert not made.has_converged
    made.add(None)
    assert made.has_converged
    made.add(49.8)  # less than 1 % better
    assert made.has_converged
    made.add(40.0)
    assert not made.has_converged


@given(st.lists(st.floats(1.0, 200.0), max_size=60), st.integers(-5, 60))
def test_the_best_time_falls(times: list[float], trials: int) -> None:
    made = progress(times)
    trials = min(trials, len(times))
    assert made.best_after(len(times)) == made.best_us == min([100.0, *times])
    assert made.best_after(trials) == min([100.0, *times[: max(0, trials)]])


# --- Priorities ------------------------------------------------------------------------------------------


def test_the_heaviest_task_begins() -> None:
    pace = Pace()
    heavy, light = Progress(100.0), Progress(100.0)
    assert pace.expected_gain(10, heavy) > pace.expected_gain(1, light)


def test_the_task_that_is_far_from_the_fastest_rates_begins() -> None:
    pace = Pace()
    fast, slow = pace.expected_gain(1, Progress(100.0), 0.25), pace.expected_gain(1, Progress(60.0))
    assert slow > fast


def test_a_begun_task_goes_on_before_its_equal_begins() -> None:
    pace = Pace()
    assert pace.expected_gain(1, progress([90.0] * 5)) > pace.expected_gain(1, Progress(100.0))


def test_a_task_that_gains_goes_before_one_that_does_not() -> None:
    pace = Pace()
    gaining = progress([100.0 - each for each in range(50)])
    stuck = progress([100.0] * 50)
    assert pace.expected_gain(1, gaining) > pace.expected_gain(1, stuck)


def test_the_fall_from_a_poor_default_is_no_reason_to_go_on() -> None:
    pace, poor = Pace(), 100_000.0
    tuned = progress([1_700.0, *[160.0 - number for number in range(20)]], default_us=poor)
    begun = progress([1_700.0] * 15, default_us=poor)
    assert pace.expected_gain(1, begun) > pace.expected_gain(1, tuned)


def test_slow_first_trials_are_no_reason_to_leave_a_task() -> None:
    """Before a right candidate was known, each trial took more than a second."""
    quick = progress([150.0 - number / 50 for number in range(400)], 100_000.0, trial_seconds=0.05)
    slow = progress([640.0] * 25, 100_000.0, trial_seconds=1.0)
    for _ in range(25):
        slow.seconds += 0.05
        slow.add(640.0)
    pace = Pace(trial_seconds=(quick.seconds + slow.seconds) / 450)
    assert pace.expected_gain(1, slow) > pace.expected_gain(1, quick)
    assert pace.turn_seconds(slow) < 2.0


def test_all_wrong_defaults_get_a_turn_before_one_gets_a_second() -> None:
    choice = scheduler.TaskChoice()
    choice.seconds = 60.0

    def task(share: float, turns: int, *, is_ready: bool = False, is_wrong: bool = True) -> Any:
        measured = SimpleNamespace(share=share, weight=share, potential=1.0, is_small=share < 0.03)
        return SimpleNamespace(
            measured=measured,
            progress=progress([100.0] * 16 * turns),
            promise=share,
            is_new=not turns,
            is_begun=bool(turns),
            is_repaired=False,
            needs_repair=is_wrong,
            is_first_repair=is_wrong and not turns,
            is_ready=is_ready,
        )

    heavy, repaired, light = task(0.5, 0, is_wrong=False), task(0.3, 1), task(0.001, 0)
    ready = task(0.0001, 0, is_ready=True)
    assert choice.ranked([heavy, repaired, light, ready]) == [ready, light, repaired, heavy]


def test_a_task_without_gains_makes_room_for_another() -> None:
    pace = Pace()
    assert pace.expected_gain(1, progress([100.0] * 400)) < pace.expected_gain(1, Progress(100.0))


# --- Prices ----------------------------------------------------------------------------------------------

BOTTLENECK_US = (107_000.0, 87_000.0, 82_000.0)
"""The slow defaults of three bottleneck blocks of a ResNet-50 on an H200, whose candidates take 100 to 440 us."""


def contestant(microseconds: float) -> Contestant:
    return Contestant(Benchmark(b"", "f", BufferLayout((), 0, 0)), microseconds)


def test_races_with_slow_defaults_are_cheap() -> None:
    finalists = [contestant(us) for us in (100.0, 120.0, 200.0, 300.0, 400.0, 440.0)]
    races = [task_race_seconds(contestant(us), finalists) for us in BOTTLENECK_US]
    assert sum(races) < 15.0
    repaired = RaceRules(places=2, blocks=1, passes=1)
    assert task_race_seconds(contestant(300.0), finalists[:2], repaired) < 2.0


def test_races_of_dynamic_tasks_run_at_all_sizes() -> None:
    """Four sizes take 175 ms a round, and their mean is 10 ms; all finalists are compared at each size before."""
    times, weights = [1_000.0, 4_000.0, 20_000.0, 150_000.0], [1, 1, 1, 1]
    mean, repeated = weighted_mean(times, weights), repetition(times, weights)
    assert repeated.counts == (3, 1, 1, 1)
    assert mean * repeated.stretch == pytest.approx(177_000.0)
    layout = BufferLayout((), 0, 0)
    sized = tuple(SizedFunction(f"at_{size}", layout) for size in range(4))
    benchmark = Benchmark(b"", "f", layout, sized)
    default = Contestant(benchmark, mean, stretch=repeated.stretch)
    pair = [replace(default, microseconds=mean / 1.3)] * 2
    static = [contestant(mean / 1.3)] * 2
    assert task_race_seconds(default, pair) > 5 * task_race_seconds(contestant(mean), static)
    checks = 11 * (0.177 + 0.177 / 1.3)
    assert task_race_seconds(default, pair) > race_seconds(default, pair) + 2 * checks


def test_short_sizes_are_repeated_and_a_sample_stays_short() -> None:
    repeated = repetition([10.0, 1_000.0], [1, 1])
    assert repeated.counts == (100, 1)
    assert weighted_mean([10.0, 1_000.0], [1, 1]) * repeated.stretch == pytest.approx(2_000.0)


def guard_price(processor_seconds: list[float], program_us: float) -> float:
    compiling = program_compile_seconds(processor_seconds, 16)
    return guard_seconds(compiling, len(processor_seconds), program_us)


def test_the_guard_of_a_slow_program_leaves_most_of_the_time() -> None:
    seconds = [0.5] * 13
    assert guard_price(seconds, sum(BOTTLENECK_US)) < 10.0
    assert guard_price(seconds, 6_000.0) < guard_price(seconds, 3e5)
    assert guard_price([0.5] * 53, 277_000.0) < 0.1 * 180.0


def test_the_guard_of_many_dispatches_loads_all_of_them() -> None:
    """A Swin-T with 141 dispatches: both programs load in 5.9 s on an H200, if nothing is compiled ahead."""
    assert 7.0 < guard_seconds(1.0, 141, 4_300.0) < 9.0
    assert 4.0 < guard_seconds(1.0, 141, 4_300.0, is_ahead=True) < 6.0


def test_the_guard_of_a_program_that_runs_for_seconds_costs_its_fewest_rounds() -> None:
    calls = 2 * (FEWEST_MODEL_ROUNDS + 1)
    assert guard_price([0.5], 10e6) > calls * 10.0


# --- Wrong defaults --------------------------------------------------------------------------------------


def test_a_line_has_the_numbers_of_wrong_defaults_and_a_budget() -> None:
    assert not str(WrongDefaults())
    assert str(WrongDefaults(25)) == "wrong defaults: 25 of 25 replaced by right candidates"
    assert str(WrongDefaults(4, 0, 21, 173.2)) == (
        "wrong defaults: 4 of 25 replaced by right candidates; no time for 21: --budget 180s may suffice for all; "
        "the program computes wrong results"
    )
    line = str(WrongDefaults(1, advice="a flag may avoid some"))
    assert line == "wrong defaults: 1 of 1 replaced by right candidates; a flag may avoid some"
