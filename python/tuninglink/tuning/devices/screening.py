"""First measurements of candidates, which order them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.results.failures import Failure

if TYPE_CHECKING:
    from tuninglink.tuning.devices.device_interface import Device
    from tuninglink.tuning.devices.timing import Timing
    from tuninglink.tuning.programs.benchmark import Benchmark

_HOPELESS: Final = 2.0
"""How many times as slow as the best a candidate is not worth another sample."""

_AGAIN_SECONDS: Final = 0.05
"""Time for samples of a new best, which is measured a second time."""


@dataclass(frozen=True)
class Measurement:
    """The time of a candidate.

    Attributes:
        microseconds: of an iteration on the first device.
        timing: the samples, as they were taken.
    """

    microseconds: float
    timing: Timing


def screen(
    device: Device, benchmark: Benchmark, best_microseconds: float, scale: float = 1.0
) -> Measurement | Failure:
    """Measure a candidate for the first time. A new best is measured again, and the slower figure counts.

    Args:
        device: measures it.
        benchmark: the candidate.
        best_microseconds: the least time of the task so far, on the first device.
        scale: the time of a benchmark on the first device over its time on this one.

    Raises:
        DeviceError: the device is gone.
    """
    limit = _HOPELESS * best_microseconds / scale
    timing = device.measure(benchmark, limit_microseconds=limit)
    if isinstance(timing, Failure):
        return timing
    if timing.least * scale < best_microseconds:
        again = device.measure(benchmark, _AGAIN_SECONDS)
        if isinstance(again, Failure):
            return again
        timing = max(timing, again, key=lambda measured: measured.least)
    return Measurement(timing.least * scale, timing)
