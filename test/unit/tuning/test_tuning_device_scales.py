"""Scales between equal devices."""

from __future__ import annotations

import random

import pytest

from tuninglink.tuning.devices.device_set import REPEATS, DefaultTimes


def measured(factor: float, noise: float, seed: int, defaults: int = 1) -> DefaultTimes:
    """Return times on two devices, of which the second takes `factor` times as long."""
    chance = random.Random(seed)
    times = DefaultTimes()
    for default in range(defaults):
        for _ in range(REPEATS):
            for device, us in (("first", 100.0 + default), ("second", factor * (100.0 + default))):
                times.add(device, default, us * chance.lognormvariate(0, noise))
    return times


def test_a_device_that_is_twice_as_slow_has_a_scale_of_a_half() -> None:
    scale = measured(2.0, 0.02, 0).scale("first", "second")
    assert scale.low < 0.5 < scale.high
    assert scale.factor == scale.median == pytest.approx(0.5, rel=0.03)


def test_equal_devices_have_no_scale_however_noisy_a_single_time_is() -> None:
    """One measurement of each of two equal workers made 2.83 of a speedup of 1.27."""
    factors = [measured(1.0, 0.5, seed).scale("first", "second").factor for seed in range(50)]
    assert factors.count(1.0) >= 42


def test_more_defaults_make_the_interval_narrower() -> None:
    widths = []
    for defaults in (1, 4, 16):
        scale = measured(1.0, 0.1, 1, defaults).scale("first", "second")
        widths.append(scale.high - scale.low)
    assert widths == sorted(widths, reverse=True)


def test_too_few_times_have_no_scale() -> None:
    times = DefaultTimes()
    assert times.scale("first", "second").factor == 1.0
    times.add("first", 0, 1.0)
    times.add("second", 0, 2.0)
    assert times.scale("first", "second").factor == 1.0
    assert times.scale("first", "first").factor == 1.0
    with pytest.raises(KeyError):
        times.least("third", 0)
