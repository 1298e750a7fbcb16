"""Devices: the processes that hold them, measurement in these processes, and the times of benchmarks, as data."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Final, Protocol

from tuninglink.iree import WORKER_STACK_BYTES
from tuninglink.plain_data import FLAT, named

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
        sample_seconds: the duration of a sample, if more than one iteration fits.
        last_level_bytes: the size of the last-level cache; detected by default.
    """

    caches: Caches = Caches.PROGRAM
    seed: int = 0
    sample_seconds: float = 0.003
    last_level_bytes: int | None = None


@dataclass(frozen=True)
class DeviceReading:
    """The state of a device during a measurement; None for values that its driver does not report."""

    clock_mhz: int | None = None
    power_watts: float | None = None
    temperature_celsius: float | None = None

    def __bool__(self) -> bool:
        return self != DeviceReading()


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
        taken = [reading for reading in readings if reading]
        ranges = {}
        for quantity in (item.name for item in fields(DeviceReading)):
            values = [getattr(reading, quantity) for reading in taken]
            reported = [value for value in values if value is not None]
            if reported:
                bounds = min(reported), statistics.median(reported), max(reported)
                ranges[quantity] = ReadingRange(*bounds)
        return cls(**ranges) if taken else None


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


_OWN_STACK_BYTES: Final = 12 << 10
"""The stack that the interpreter needs in a thread beyond that of IREE's task system, in bytes."""


CallTimer = Callable[[Callable[[], object]], float]
"""Runs a call and returns the seconds that it took."""


def wall_seconds(call: Callable[[], object]) -> float:
    """Run a call in this thread and return the seconds that passed."""
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


class WorkerThread:
    """A thread with as much stack as a worker of `local-task`, whose processor time counts.

    `local-sync` runs dispatches in the thread that calls it. Its processor time does not depend on other work on the
    machine, and code that would overflow the stack of a worker does so here, too.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        before = threading.stack_size(WORKER_STACK_BYTES + _OWN_STACK_BYTES)
        try:
            self._thread.submit(int).result()  # the thread starts here
        finally:
            threading.stack_size(before)

    def __call__(self, call: Callable[[], object]) -> float:
        return self._thread.submit(_processor_seconds, call).result()


def _processor_seconds(call: Callable[[], object]) -> float:
    before = time.thread_time()
    call()
    return time.thread_time() - before


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
class DeviceUse:
    """The time that devices were in use; the mean of several devices.

    Attributes:
        busy_seconds: the time spent on requests.
        loading_seconds: the part of it spent on loading modules.
    """

    busy_seconds: float = field(default=0.0, metadata=named("device_seconds"))
    loading_seconds: float = 0.0

    def __add__(self, other: DeviceUse) -> DeviceUse:
        return DeviceUse(
            self.busy_seconds + other.busy_seconds, self.loading_seconds + other.loading_seconds
        )

    def __sub__(self, other: DeviceUse) -> DeviceUse:
        return self + DeviceUse(-other.busy_seconds, -other.loading_seconds)


def mean_use(uses: Sequence[DeviceUse]) -> DeviceUse:
    """Return the mean of the use of several devices."""
    total, count = sum(uses, DeviceUse()), max(1, len(uses))
    return DeviceUse(total.busy_seconds / count, total.loading_seconds / count)


@dataclass(frozen=True)
class StageTime:
    """The time of a stage.

    Attributes:
        seconds: its total duration.
        use: the device use during the stage.
    """

    seconds: float = 0.0
    use: DeviceUse = field(default=DeviceUse(), metadata=FLAT)

    def __add__(self, other: StageTime) -> StageTime:
        return StageTime(self.seconds + other.seconds, self.use + other.use)


class Used(Protocol):
    """An object that meters its use."""

    @property
    def use(self) -> DeviceUse:
        """The use since opening."""


class UseMeter:
    """A meter of the use of one device, which serves one request at a time. Other threads may read it."""

    def __init__(self) -> None:
        self._state: tuple[DeviceUse, float | None] = (DeviceUse(), None)

    @contextmanager
    def question(self) -> Iterator[None]:
        """Meter a block as a request."""
        self._state = (self._state[0], time.monotonic())
        try:
            yield
        finally:
            self._state = (self.use, None)

    def loaded(self, seconds: float) -> None:
        use, began = self._state
        self._state = (use + DeviceUse(0.0, seconds), began)

    @property
    def use(self) -> DeviceUse:
        use, began = self._state
        return use if began is None else use + DeviceUse(time.monotonic() - began)


class Timeline:
    """The time of each stage of a run. Exactly one stage runs at any time, so their times add up to the total.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._devices: Used | None = None
        self._stages: list[Stage] = [Stage.OTHER]
        self._times: dict[Stage, StageTime] = {}
        self._use = DeviceUse()
        self.began = self._since = clock()

    def watch(self, devices: Used) -> None:
        """Include the use of devices from now on."""
        self._devices = devices

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Attribute the time of a block to a stage instead of the enclosing one."""
        self._close()
        self._stages.append(stage)
        try:
            yield
        finally:
            self._close()
            self._stages.pop()

    @property
    def times(self) -> Mapping[Stage, StageTime]:
        """The time of each stage so far, in the order in which they first ended."""
        self._close()
        return dict(self._times)

    @property
    def total(self) -> StageTime:
        """The time of all stages so far."""
        return sum(self.times.values(), StageTime())

    def _close(self) -> None:
        """Add the time since the last call to the current stage."""
        now = self._clock()
        use = self._devices.use if self._devices is not None else DeviceUse()
        stage = self._stages[-1]
        result = StageTime(now - self._since, use - self._use)
        self._times[stage] = self._times.get(stage, StageTime()) + result
        self._since, self._use = now, use
