"""Equal devices that share the work: first measurements, the scales between them, and the feed of compiled candidates."""

from __future__ import annotations

import math
import statistics
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeAlias

from tuninglink.errors import TuninglinkError
from tuninglink.mlir import error
from tuninglink.tuning.devices.device import (
    COMPILING_DRIVERS,
    THREADED_DRIVER,
    DeviceDescription,
    check_devices,
    driver_of,
    open_device,
    physical_cores,
)
from tuninglink.tuning.devices.device_process import DeviceProcess
from tuninglink.tuning.devices.running import Loader, MeasurementError
from tuninglink.tuning.devices.times import DeviceUse, Settings, mean_use
from tuninglink.tuning.programs import Benchmark, Failure, FailureKind
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, do_nothing

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import Candidate
    from tuninglink.tuning.devices.device_process import Device
    from tuninglink.tuning.devices.times import Timing

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
    """The time of a benchmark on the first device over its time on another one."""

    low: float
    median: float
    high: float

    @property
    def factor(self) -> float:
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
    """The queue of compiled candidates for the devices: those that spill come last. Thread-safe.

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
        self._ready: list[tuple[Candidate, Benchmark]] = []
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
            self._ready.sort(key=lambda ready: bool((spills := ready[1].spills) and spills.words))
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
                    candidate, benchmark = self._ready.pop(0)
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


# --- Equal devices that share the work; times are compared as ratios to each device's own default

_FACTOR: Final = 20.0
_LEAST_SECONDS: Final = 3.0
"""Loading a candidate may take this many times as long as loading the default, and at least this number of seconds."""


class AheadLoader:
    """Processes that load modules onto a device and release them without running them.

    Args:
        uri: the device.
        workers: the number of processes.
        timeout: the least time limit for loading, in seconds.
    """

    def __init__(self, uri: str, workers: int, timeout: float) -> None:
        self._timeout = timeout
        self._limit = min(_LEAST_SECONDS, timeout)
        self._pool = Pool(workers, _open, (uri,))
        for _ in range(workers):
            self._pool.submit(do_nothing)  # all processes start now, at once

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def load_default(self, benchmark: Benchmark) -> None:
        """Load a default, which determines the time limit for loading its candidates."""
        with suppress(JobTimeoutError, WorkerCrashedError, CancelledError):
            seconds = max(_LEAST_SECONDS, _FACTOR * self._load(benchmark, self._timeout))
            self._limit = min(seconds, self._timeout)

    def load(self, benchmark: Benchmark) -> Failure | None:
        """Load a benchmark. If loading fails at once, the measurement reports the failure.

        Returns:
            The failure of a benchmark that takes too long; None for any other.
        """
        try:
            self._load(benchmark, self._limit)
        except JobTimeoutError as failure:
            message = f"the driver did not compile it within {failure.seconds:.3g} s"
            return Failure(FailureKind.COMPILE_TIMEOUT, message, failure.is_starved)
        except (WorkerCrashedError, CancelledError):
            pass
        return None

    def _load(self, benchmark: Benchmark, seconds: float) -> float:
        job = self._pool.submit(_load, benchmark.image, benchmark.function, seconds=seconds)
        return job.result()


_loader: Loader | None = None


def _open(uri: str) -> None:
    global _loader  # noqa: PLW0603 - what the process is for
    _loader = Loader(open_device(uri), kept=0)


def _load(image: bytes, function: str) -> float:
    """Load a module, and return the loading time in seconds."""
    assert _loader is not None
    before = _loader.seconds
    with suppress(MeasurementError):
        _loader.load(image, function)
    return _loader.seconds - before


_AHEAD: Final = 6
"""The number of modules loaded ahead of measurements, for drivers that compile modules."""

_DEVICE_OF_BACKEND: Final = {
    "llvm-cpu": "local-task",
    "vmvx": "local-task",
    "cuda": "cuda",
    "rocm": "hip",
    "vulkan": "vulkan",
    "metal": "metal",
}
"""The driver that runs a backend's code."""


def default_device(backend: str) -> str:
    """Return the device that runs a backend's code.

    Raises:
        TuninglinkError: no device is known for the backend.
    """
    if backend not in _DEVICE_OF_BACKEND:
        message = (
            f"no driver is known to run what backend '{backend}' compiles; name one with --device"
        )
        raise TuninglinkError(error(message))
    return _DEVICE_OF_BACKEND[backend]


_BACKENDS: Final = {"cuda": "cuda", "hip": "rocm", "rocm": "rocm", "llvm-cpu": "llvm-cpu"}
"""Backends by the names of devices or backends in flags."""


def backend_of(flags: Sequence[str]) -> str:
    """Return the backend that flags name; empty if they name no backend."""
    values = {value for flag in flags for value in flag.partition("=")[2].split(",")}
    return next((backend for name, backend in _BACKENDS.items() if name in values), "")


def check_named_devices(uris: Sequence[str], flags: Sequence[str]) -> None:
    """Check the devices that a run names, or that run code for its flags, before anything is compiled.

    Raises:
        DeviceError: the driver or the device does not exist.
    """
    backend = backend_of(flags)
    check_devices(uris or ((default_device(backend),) if backend else ()))


def may_run(driver: str, backend: str) -> bool:
    """Return whether a driver may run a backend's code; an unknown driver may."""
    device_driver = _DEVICE_OF_BACKEND.get(backend, driver)
    return driver == device_driver or {driver, device_driver} <= {"local-task", "local-sync"}


def _shared_cores(uris: Sequence[str]) -> list[list[int]]:
    """Return the processors of each device: threaded CPU devices divide them among themselves."""
    if len(uris) == 1 or THREADED_DRIVER not in uris:
        return [[] for _ in uris]
    cores = physical_cores()
    if len(uris) > len(cores):
        message = (
            f"{len(uris)} devices '{THREADED_DRIVER}' need as many cores; there are {len(cores)}"
        )
        raise TuninglinkError(error(message))
    share = len(cores) // len(uris)
    return [cores[first * share : (first + 1) * share] for first in range(len(uris))]


class Devices:
    """Devices of one kind, each in a separate process.

    Args:
        uris: the devices.
        settings: the settings of measurements.
        timeout: the seconds after which a benchmark counts as hanging.

    Attributes:
        first: the device that races are run on.
        at_once: the number of benchmarks that they accept at once; see `DeviceSet`.

    Raises:
        DeviceError: a device is missing or cannot be opened.
        TuninglinkError: the devices are not equal, or there are more CPU devices than cores.
    """

    def __init__(self, uris: Sequence[str], settings: Settings, timeout: float) -> None:
        self._processes: list[DeviceProcess] = []
        self._free: SimpleQueue[DeviceProcess] = SimpleQueue()
        self._defaults = DefaultTimes()
        compiles = driver_of(uris[0]) in COMPILING_DRIVERS
        self._ahead: AheadLoader | None = None
        self.at_once = len(uris) + (_AHEAD if compiles else 0)
        self._threads = ThreadPoolExecutor(self.at_once)
        try:
            for uri, cores in zip(uris, _shared_cores(uris), strict=True):
                self._processes.append(DeviceProcess(uri, cores, settings, timeout))
            self._expect_equal(uris)
            if compiles:  # not before: what opens a device at the same time delays it
                self._ahead = AheadLoader(uris[0], _AHEAD, timeout)
        except BaseException:
            self.close()
            raise
        for process in self._processes:
            self._free.put(process)

    def _expect_equal(self, uris: Sequence[str]) -> None:
        names = [process.description.name for process in self._processes]
        for uri, name in zip(uris, names, strict=True):
            if name != names[0]:
                message = (
                    f"device '{uri}' is a {name}, and '{uris[0]}' is a {names[0]}; "
                    "devices that share the work must be equal"
                )
                raise TuninglinkError(error(message))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.close()
        if self._ahead is not None:
            self._ahead.close()
        self._threads.shutdown(wait=False)

    @property
    def first(self) -> DeviceProcess:
        """The first device."""
        return self._processes[0]

    @property
    def descriptions(self) -> list[DeviceDescription]:
        """Descriptions of the devices."""
        return [process.description for process in self._processes]

    @property
    def use(self) -> DeviceUse:
        """See `DeviceSet`."""
        return mean_use([process.use for process in self._processes])

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """See `DeviceSet`."""
        if self._ahead is not None:
            self._ahead.load_default(benchmark)
        repeats = REPEATS if len(self._processes) > 1 else 1
        for _ in range(repeats):
            for process in self._processes:
                timing = process.measure(benchmark, seconds / repeats)
                if isinstance(timing, Failure):
                    return timing
                self._defaults.add(process, benchmark, timing.least)
        return self._defaults.least(self.first, benchmark)

    def submit(self, benchmark: Benchmark, best: BestTime) -> Future[Measurement | Failure]:
        """See `DeviceSet`."""
        return self._threads.submit(self._measure, benchmark, best)

    def _measure(self, benchmark: Benchmark, best: BestTime) -> Measurement | Failure:
        if self._ahead is not None:
            failure = self._ahead.load(benchmark)
            if failure is not None:
                return failure
        device = self._free.get()
        try:
            scale = self._defaults.scale(self.first, device)
            return screen(device, benchmark, best, scale.factor)
        finally:
            self._free.put(device)
