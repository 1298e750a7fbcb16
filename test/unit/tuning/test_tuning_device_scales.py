"""Scales between equal devices, and the best time that candidates are compared with."""

from __future__ import annotations

import random

import pytest

from tuninglink.devices import REPEATS, BestTime, Timing, scale_of, screen
from tuninglink.programs import Benchmark, BufferLayout


def measured(
    factor: float, noise: float, seed: int, defaults: int = 1
) -> dict[tuple[str, int], list[float]]:
    """Return times on two devices, of which the second takes `factor` times as long."""
    chance = random.Random(seed)
    times: dict[tuple[str, int], list[float]] = {}
    for default in range(defaults):
        for _ in range(REPEATS):
            for device, us in (("first", 100.0 + default), ("second", factor * (100.0 + default))):
                times.setdefault((device, default), []).append(us * chance.lognormvariate(0, noise))
    return times


def test_a_device_that_is_twice_as_slow_has_a_scale_of_a_half() -> None:
    assert scale_of(measured(2.0, 0.02, 0), "first", "second") == pytest.approx(0.5, rel=0.03)


def test_equal_devices_have_no_scale_however_noisy_a_single_time_is() -> None:
    """One measurement of each of two equal workers made 2.83 of a speedup of 1.27."""
    factors = [scale_of(measured(1.0, 0.5, seed), "first", "second") for seed in range(50)]
    assert factors.count(1.0) >= 42


def test_more_defaults_show_a_smaller_difference() -> None:
    scales = [
        [scale_of(measured(1.05, 0.1, seed, count), "first", "second") for count in (1, 64)]
        for seed in range(4)
    ]
    assert all(few == 1.0 and many == pytest.approx(1 / 1.05, rel=0.02) for few, many in scales)


def test_too_few_times_have_no_scale() -> None:
    assert scale_of({}, "first", "second") == 1.0
    times = {("first", 0): [1.0], ("second", 0): [2.0]}
    assert scale_of(times, "first", "second") == 1.0
    assert scale_of(times, "first", "first") == 1.0


# --- The best time -----------------------------------------------------------------------------------------


class Limits:
    """A device on which a candidate takes as long as its image says. It keeps the limits of measurements."""

    def __init__(self) -> None:
        self.limits: list[float | None] = []

    def measure(
        self, benchmark: Benchmark, _seconds: float = 0.0, limit_microseconds: float | None = None
    ) -> Timing:
        self.limits.append(limit_microseconds)
        return Timing((float(benchmark.image),), 1)


def test_candidates_are_compared_with_the_best_when_their_measurement_begins() -> None:
    device, best = Limits(), BestTime(100.0)
    waiting = [Benchmark(image, "f", BufferLayout((), 0, 0)) for image in (b"90", b"10", b"80")]
    for benchmark in waiting:
        screen(device, benchmark, best)
    assert device.limits == [200.0, None, 180.0, None, 20.0]
    assert best.microseconds == 10.0
