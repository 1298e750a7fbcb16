"""The times of benchmarks and of the stages of a run, and the conditions of measurements, as data."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import Enum
from typing import Final

PROTOCOL_VERSION: Final = 1
"""The version of the measuring protocol. It changes when the same kernel would get another time."""


class Caches(Enum):
    """Whether data is in the caches when an iteration begins."""

    WARM = "warm"
    COLD = "cold"
    PROGRAM = "program"
    """Caches as the program leaves them: it uses other data between two calls of a dispatch."""


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement of benchmarks.

    Attributes:
        caches: whether the data stays in the caches.
        seed: fixes the inputs.
    """

    caches: Caches = Caches.PROGRAM
    seed: int = 0


@dataclass(frozen=True)
class DeviceReading:
    """The state of a device during a measurement; None for values that its driver does not report."""

    clock_mhz: int | None = None
    power_watts: float | None = None
    temperature_celsius: float | None = None


@dataclass(frozen=True)
class ReadingRange:
    """The range of one quantity over several readings."""

    least: float
    median: float
    most: float


@dataclass(frozen=True)
class Conditions:
    """The state of a device during measurements; None for values that its driver does not report."""

    clock_mhz: ReadingRange | None = None
    power_watts: ReadingRange | None = None
    temperature_celsius: ReadingRange | None = None

    @classmethod
    def of(cls, readings: Iterable[DeviceReading]) -> Conditions | None:
        """Return the ranges of readings; None without a value."""
        ranges, taken = {}, list(readings)
        for quantity in (item.name for item in fields(DeviceReading)):
            values = [getattr(reading, quantity) for reading in taken]
            reported = [value for value in values if value is not None]
            if reported:
                bounds = min(reported), statistics.median(reported), max(reported)
                ranges[quantity] = ReadingRange(*bounds)
        return cls(**ranges) if ranges else None


@dataclass(frozen=True)
class Timing:
    """The times of one benchmark.

    Attributes:
        samples: microseconds per iteration, one sample per batch, in the order of the runs.
        batch: the iterations of a sample.
        readings: the state of the device after them; empty if its driver reports nothing.
    """

    samples: tuple[float, ...]
    batch: int
    readings: tuple[DeviceReading, ...] = ()

    @property
    def clocks_mhz(self) -> tuple[int, ...]:
        """The known clocks of the device."""
        return tuple(r.clock_mhz for r in self.readings if r.clock_mhz is not None)

    @property
    def median(self) -> float:
        """The median of the samples."""
        return statistics.median(self.samples)

    @property
    def least(self) -> float:
        """The least sample, by which candidates are ordered: other work only adds to the time."""
        return min(self.samples)


@dataclass(frozen=True)
class Rounds:
    """Interleaved times of several benchmarks: each runs once per round, in random order.

    Attributes:
        samples: microseconds per iteration, by round and benchmark.
        batches: the iterations of a sample, by benchmark.
        readings: the state of the device after each round; empty if its driver reports nothing.
    """

    samples: tuple[tuple[float, ...], ...]
    batches: tuple[int, ...]
    readings: tuple[DeviceReading, ...] = ()

    def timing(self, index: int) -> Timing:
        """Return the times of one benchmark."""
        samples = tuple(sample[index] for sample in self.samples)
        return Timing(samples, self.batches[index], self.readings)


def duration(microseconds: float) -> str:
    """Return a time with four digits in a suitable unit: `190.1 us`, `18.51 ms`."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= factor:
            return f"{microseconds / factor:.4g} {unit}"
    return f"{microseconds:.4g} us"


# --- The use of a run's time: its stages, and the device use in each


class Stage(Enum):
    """A stage of tuning."""

    PROGRAM = "program"  # compilation of the program to its dispatches
    DEVICES = "devices"  # opening of devices
    DEFAULTS = "defaults"  # compilation and measurement of the compiler's choices
    SPACES = "spaces"  # construction of search spaces and matchers
    SEARCH = "search"  # choice of candidates by the search
    COMPILATION = "compilation"  # compilation of candidates while none is measured
    MEASUREMENT = "measurement"  # measurement of candidates, while others may compile
    REFERENCE = "reference"  # comparison of defaults with references
    RACE = "race"  # checks and races of finalists
    CONFIRMATION = "confirmation"  # measurement of the winner in fresh rounds
    VERIFICATION = "verification"  # compilation with the spec: is its binary the winner's?
    MODEL = "model"  # runs of the whole program with and without the spec
    OTHER = "other"  # everything else


@dataclass(frozen=True)
class UsedTime:
    """The time of a stage.

    Attributes:
        seconds: the total duration.
        device_seconds: the time spent on requests to devices; the mean of several devices.
    """

    seconds: float = 0.0
    device_seconds: float = 0.0


class Timeline:
    """The time of each stage of a run. Exactly one stage runs at any time, so their times add up to the total.

    Attributes:
        device_use: returns the seconds in which the devices of the run were in use so far; 0 before they are opened.
    """

    def __init__(self) -> None:
        self.device_use: Callable[[], float] = float
        self._stages: list[Stage] = [Stage.OTHER]
        self._times: dict[Stage, UsedTime] = {}
        self.began = time.monotonic()
        self._until = (self.began, 0.0)

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Attribute the time of a block to a stage instead of the enclosing one."""
        self.times()
        self._stages.append(stage)
        try:
            yield
        finally:
            self.times()
            self._stages.pop()

    def times(self) -> dict[Stage, UsedTime]:
        """Return the time of each stage so far, in the order in which they first ended."""
        # Add the time since the last call to the current stage.
        now, stage = (time.monotonic(), self.device_use()), self._stages[-1]
        used = self._times.get(stage, UsedTime())
        self._times[stage] = UsedTime(
            used.seconds + now[0] - self._until[0], used.device_seconds + now[1] - self._until[1]
        )
        self._until = now
        return dict(self._times)
