"""Equal devices that share the work: first measurements, the scales between them, and the feed of compiled candidates."""

from __future__ import annotations

import math
import statistics
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from tuninglink.tuning.results import Failure

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tuninglink.tuning.candidates import Candidate
    from tuninglink.tuning.devices import Timing
    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.devices.device_process import Device
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.scheduling import DeviceUse

    Job: TypeAlias = "Future[Measurement | Failure]"


_HOPELESS: Final = 2.0
"""The slowdown against the best from which a candidate is not worth another sample."""

_AGAIN_SECONDS: Final = 0.05
"""Time for samples of a new best, which is measured a second time."""


@dataclass(frozen=True)
class Measurement:
    """The time of a candidate.

    Attributes:
        microseconds: the microseconds of an iteration on the first device.
        timing: the samples, as they were taken.
    """

    microseconds: float
    timing: Timing


class BestTime:
    """The least time of a task's candidates so far, for candidates that wait for a device meanwhile. Thread-safe.

    Args:
        microseconds: the time that candidates are compared with at first.

    Attributes:
        microseconds: the least time, on the first device.
    """

    def __init__(self, microseconds: float) -> None:
        self.microseconds = microseconds
        self._lock = threading.Lock()

    def observe(self, microseconds: float) -> None:
        """Add the time of a candidate."""
        with self._lock:
            self.microseconds = min(self.microseconds, microseconds)


def screen(
    device: Device, benchmark: Benchmark, best: BestTime, scale: float = 1.0
) -> Measurement | Failure:
    """Measure a candidate for the first time. A new best is measured again, and the slower figure counts.

    Args:
        device: measures it.
        benchmark: the candidate.
        best: the least time of the task so far, to which that of the candidate is added.
        scale: the time of a benchmark on the first device over its time on this one.

    Raises:
        DeviceError: the device is lost.
    """
    limit = _HOPELESS * best.microseconds / scale
    timing = device.measure(benchmark, limit_microseconds=limit)
    if isinstance(timing, Failure):
        return timing
    if timing.least * scale < best.microseconds:
        again = device.measure(benchmark, _AGAIN_SECONDS)
        if isinstance(again, Failure):
            return again
        timing = max(timing, again, key=lambda measured: measured.least)
    microseconds = timing.least * scale
    best.observe(microseconds)
    return Measurement(microseconds, timing)


class DeviceSet(Protocol):
    """Equal devices that share the work: `Devices` on this machine, `ClusterDevices` on others."""

    @property
    def first(self) -> Device:
        """The device that races are run on."""

    @property
    def descriptions(self) -> Sequence[DeviceDescription]:
        """Descriptions of the devices."""

    @property
    def use(self) -> DeviceUse:
        """The average use of the devices so far."""

    @property
    def at_once(self) -> int:
        """The number of benchmarks accepted at once: one for each device, and those loaded ahead."""

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """Measure the default of a task on each device; return the microseconds of an iteration on the first."""

    def submit(self, benchmark: Benchmark, best: BestTime) -> Future[Measurement | Failure]:
        """Measure a candidate on the next device that is free, after its default was measured.

        Args:
            benchmark: the candidate.
            best: the least time of the task; see `screen`.

        Returns:
            A future of its time, or of its failure.
        """


REPEATS: Final = 5
"""The number of measurements of a default on each of several devices: the interval of fewer ratios is too wide."""


@dataclass(frozen=True)
class Scale:
    """The time of a benchmark on the first device over its time on another one.

    Attributes:
        low: the lower bound of the interval.
        median: the estimate.
        high: the upper bound.
    """

    low: float
    median: float
    high: float

    @property
    def factor(self) -> float:
        """The factor for times on the other device: 1 if the interval does not show that the devices differ."""
        return 1.0 if self.low <= 1.0 <= self.high else self.median


@dataclass(frozen=True)
class DefaultTimes:
    """Times of defaults by device, in the order of measurement."""

    _times: defaultdict[tuple[Hashable, int], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, device: Hashable, default: Hashable, microseconds: float) -> None:
        """Add the time of a default on a device."""
        self._times[device, hash(default)].append(microseconds)

    def least(self, device: Hashable, default: Hashable) -> float:
        """Return the least time of a default on a device.

        Raises:
            KeyError: no default was measured on the device.
        """
        times = self._times.get((device, hash(default)))
        if not times:
            raise KeyError(device)
        return min(times)

    def scale(self, first: Hashable, device: Hashable) -> Scale:
        """Return the scale of a device, from all defaults that were measured on it and on the first device.

        The interval is that of the sign test (95 %); of five ratios it reaches from the least to the largest.
        """
        ratios = sorted(
            first_us / device_us
            for (measured, default), times in list(self._times.items())
            if measured == first
            for first_us, device_us in zip(
                times, self._times.get((device, default), ()), strict=False
            )
        )
        count = len(ratios)
        if count < REPEATS:
            return Scale(0.0, statistics.median(ratios or [1.0]), math.inf)
        outside = max(0, int((count - 2 * math.sqrt(count)) / 2))
        return Scale(ratios[outside], statistics.median(ratios), ratios[-1 - outside])


class Measure(Protocol):
    """Measures benchmarks, as many at once as `at_once`."""

    @property
    def at_once(self) -> int:
        """See `DeviceSet`."""

    def submit(self, benchmark: Benchmark, best: BestTime) -> Job:
        """Return a future of the time of a candidate, or of its failure."""


class Feed:
    """The queue of compiled candidates for the devices. Thread-safe.

    Args:
        measure: measures them.
        default_us: the time of the compiler's choice; infinity if slower candidates may win.
        done: receives each candidate with the job that measured it, from any thread.
    """

    def __init__(
        self,
        measure: Measure,
        default_us: float,
        done: Callable[[Candidate, Benchmark, Job], None],
    ) -> None:
        self._measure = measure
        self._done = done
        self._lock = threading.RLock()
        self._ready: deque[tuple[Candidate, Benchmark]] = deque()
        self._measuring = 0
        self._is_open = False
        self._is_pumping = False
        self._best = BestTime(default_us)

    @property
    def ready(self) -> int:
        """The number of candidates waiting for a device."""
        return len(self._ready)

    @property
    def measuring(self) -> int:
        """The number of candidates being measured."""
        return self._measuring

    def open(self) -> None:
        """Start to hand candidates to devices."""
        self._is_open = True
        self._pump()

    def close(self) -> None:
        """Stop handing candidates to devices; running measurements continue."""
        self._is_open = False

    def put(self, candidate: Candidate, benchmark: Benchmark) -> None:
        """Add a candidate, and hand it to a device if one is free."""
        with self._lock:
            self._ready.append((candidate, benchmark))
        self._pump()

    def clear(self) -> None:
        """Drop the waiting candidates."""
        with self._lock:
            self._ready.clear()

    def _pump(self) -> None:
        with self._lock:
            if self._is_pumping:
                return  # a job was already done
            self._is_pumping = True
            try:
                while self._is_open and self._ready and self._measuring < self._measure.at_once:
                    candidate, benchmark = self._ready.popleft()
                    self._measuring += 1
                    job = self._measure.submit(benchmark, self._best)
                    job.add_done_callback(partial(self._finish, candidate, benchmark))
            finally:
                self._is_pumping = False

    def _finish(self, candidate: Candidate, benchmark: Benchmark, job: Job) -> None:
        with self._lock:
            self._measuring -= 1
        self._done(candidate, benchmark, job)
        self._pump()
