"""Equal devices that share the work: first measurements, the scales between them, and the feed of compiled candidates."""

from __future__ import annotations

import math
import statistics
import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from tuninglink.errors import TuninglinkError
from tuninglink.mlir import error
from tuninglink.tuning.devices.device import (
    COMPILING_DRIVERS,
    THREADED_DRIVER,
    DeviceDescription,
    DeviceError,
    check_devices,
    driver_of,
    open_device,
    physical_cores,
)
from tuninglink.tuning.devices.device_process import Device, DeviceProcess
from tuninglink.tuning.devices.running import Loader, MeasurementError
from tuninglink.tuning.devices.times import DeviceUse, Settings, Timing, mean_use
from tuninglink.tuning.programs import Benchmark, Failure, FailureKind
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, do_nothing

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import Candidate

    Job: TypeAlias = "Future[Measurement | Failure]"


_HOPELESS: Final = 2.0
"""The slowdown against the best from which a candidate is not worth another sample."""

_AGAIN_SECONDS: Final = 0.05
"""Time for samples of a new best, which is measured a second time."""


@dataclass(frozen=True)
class Measurement:
    """The time of a candidate: the microseconds of an iteration on the first device, and the samples as taken."""

    microseconds: float
    timing: Timing


class BestTime:
    """The least time of a task's candidates so far, for candidates that wait for a device meanwhile. Thread-safe.

    Args:
        microseconds: the time on the first device that candidates are compared with at first.
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


REPEATS: Final = 5
"""The number of measurements of a default on each of several devices: the interval of fewer ratios is too wide."""


@dataclass(frozen=True)
class Scale:
    """The time of a benchmark on the first device over its time on another one, with its interval."""

    low: float
    median: float
    high: float

    @property
    def factor(self) -> float:
        """The scale, or 1 if the devices may be equal."""
        return 1.0 if self.low <= 1.0 <= self.high else self.median


class DefaultTimes:
    """Times of defaults by device, in the order of measurement."""

    def __init__(self) -> None:
        self._times: defaultdict[tuple[Hashable, int], list[float]] = defaultdict(list)

    def add(self, device: Hashable, default: Hashable, microseconds: float) -> None:
        """Add the time of a default on a device."""
        self._times[device, hash(default)].append(microseconds)

    def least(self, device: Hashable, default: Hashable) -> float:
        """Return the least time of a default on a device; a `KeyError` means that it was not measured there."""
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


_PATIENCE: Final = 1.0
"""The time after which it is looked for lost devices again, in seconds."""


class DeviceLostError(DeviceError):
    """A device is gone, and with it the pending request."""


class DeviceSet(ABC):
    """Equal devices that share the work: `Devices` on this machine, `ClusterDevices` on others.

    If a device is lost, its pending request is retried on another one; losing the last one ends the work.
    """

    def __init__(self, most: int) -> None:
        self._devices: list[Device] = []
        self._free: SimpleQueue[Device] = SimpleQueue()
        self._defaults = DefaultTimes()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(most)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop without waiting for running measurements."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def first(self) -> Device:
        """The device that races are run on."""
        return self._devices[0]

    @property
    def descriptions(self) -> Sequence[DeviceDescription]:
        """Descriptions of the devices."""
        return [device.description for device in self._devices]

    @property
    def use(self) -> DeviceUse:
        """The average use of the devices so far."""
        return mean_use([device.use for device in self._devices])

    @property
    @abstractmethod
    def at_once(self) -> int:
        """The number of benchmarks accepted at once: one for each device, and those loaded ahead."""

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """Measure the default of a task on each device; return the microseconds of an iteration on the first."""
        repeats = REPEATS if len(self._devices) > 1 else 1
        for _ in range(repeats):
            for device in list(self._devices):
                try:
                    failure = self._measure_once(device, benchmark, seconds / repeats)
                except DeviceLostError as lost:
                    self._leave(device, lost)
                    continue
                if failure is not None:
                    return failure
        return self._defaults.least(self._devices[0], benchmark)

    def _measure_once(self, device: Device, default: Benchmark, seconds: float) -> Failure | None:
        timing = device.measure(default, seconds)
        if isinstance(timing, Failure):
            return timing
        self._defaults.add(device, default, timing.least)
        return None

    def submit(self, benchmark: Benchmark, best: BestTime) -> Job:
        """Return a future of the time of a candidate, or of its failure, on the next device that is free.

        Its default was measured before. `best` is the least time of the task; see `screen`.
        """
        return self._threads.submit(self._measure, benchmark, best)

    def _measure(self, benchmark: Benchmark, best: BestTime) -> Measurement | Failure:
        while True:
            device = self._next_free()
            try:
                scale = self._defaults.scale(self._devices[0], device)
                return screen(device, benchmark, best, scale.factor)
            except DeviceLostError as lost:
                self._leave(device, lost)
            finally:
                self._free.put(device)

    def _next_free(self) -> Device:
        while True:
            try:
                device = self._free.get(timeout=_PATIENCE)
            except Empty:
                if not self._devices:
                    raise DeviceLostError(error("all devices are gone")) from None
                continue
            if device in self._devices:
                return device

    def _leave(self, device: Device, lost: DeviceLostError) -> None:
        """Continue without a device; if it was the last one, raise its error."""
        with self._lock:
            self._devices = [other for other in self._devices if other is not device]
        if not self._devices:
            raise lost


class Feed:
    """The queue of compiled candidates for the devices: those that spill come last. Thread-safe.

    Args:
        devices: measure them.
        default_us: the time of the compiler's choice; infinity if slower candidates may win.
        done: receives each candidate with the job that measured it, from any thread.

    Attributes:
        measuring: the number of candidates being measured.
    """

    def __init__(
        self,
        devices: DeviceSet,
        default_us: float,
        done: Callable[[Candidate, Benchmark, Job], None],
    ) -> None:
        self._devices = devices
        self._done = done
        self._lock = threading.RLock()
        self.measuring = 0
        self._ready: list[tuple[Candidate, Benchmark]] = []
        self._is_open = False
        self._is_pumping = False
        self._best = BestTime(default_us)

    @property
    def ready(self) -> int:
        """The number of candidates waiting for a device."""
        return len(self._ready)

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
                while self._is_open and self._ready and self.measuring < self._devices.at_once:
                    candidate, benchmark = self._ready.pop(0)
                    self.measuring += 1
                    job = self._devices.submit(benchmark, self._best)
                    job.add_done_callback(partial(self._finish, candidate, benchmark))
            finally:
                self._is_pumping = False

    def _finish(self, candidate: Candidate, benchmark: Benchmark, job: Job) -> None:
        with self._lock:
            self.measuring -= 1
        self._done(candidate, benchmark, job)
        self._pump()


# --- Equal devices that share the work; times are compared as ratios to each device's own default

_FACTOR: Final = 20.0
_LEAST_SECONDS: Final = 3.0
"""Loading a candidate may take this many times as long as loading the default, and at least this number of seconds."""


class AheadLoader:
    """Processes that load modules onto a device and release them without running them, within `timeout` seconds."""

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
        """Load a benchmark; return the failure of one that takes too long. The measurement reports all others."""
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


class Devices(DeviceSet):
    """Devices of one kind, each in a separate process.

    Args:
        uris: the devices.
        settings: the settings of measurements.
        timeout: the seconds after which a benchmark counts as hanging.

    Raises:
        DeviceError: a device is missing or cannot be opened.
        TuninglinkError: the devices are not equal, or there are more CPU devices than cores.
    """

    def __init__(self, uris: Sequence[str], settings: Settings, timeout: float) -> None:
        compiles = driver_of(uris[0]) in COMPILING_DRIVERS
        self._at_once = len(uris) + (_AHEAD if compiles else 0)
        super().__init__(self._at_once)
        self._opened = ExitStack()
        self._ahead: AheadLoader | None = None
        # Threaded CPU devices divide the cores among themselves.
        cores: list[int] = []
        if len(uris) > 1 and THREADED_DRIVER in uris:
            cores = physical_cores()
            if len(uris) > len(cores):
                needed = f"{len(uris)} devices '{THREADED_DRIVER}' need as many cores"
                raise TuninglinkError(error(f"{needed}; there are {len(cores)}"))
        share = len(cores) // len(uris)
        try:
            for number, uri in enumerate(uris):
                own = cores[number * share : (number + 1) * share]
                process = DeviceProcess(uri, own, settings, timeout)
                self._opened.callback(process.close)
                self._devices.append(process)
                self._free.put(process)
            # They must be equal to share the work.
            first = self._devices[0].description.name
            for uri, name in zip(uris, [own.name for own in self.descriptions], strict=True):
                if name != first:
                    names = f"device '{uri}' is a {name}, and '{uris[0]}' is a {first}"
                    message = f"{names}; devices that share the work must be equal"
                    raise TuninglinkError(error(message))
            if compiles:  # not before: what opens a device at the same time delays it
                self._ahead = AheadLoader(uris[0], _AHEAD, timeout)
                self._opened.callback(self._ahead.close)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the processes."""
        self._opened.close()
        super().close()

    @property
    def at_once(self) -> int:
        """See `DeviceSet`."""
        return self._at_once

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """See `DeviceSet`."""
        if self._ahead is not None:
            self._ahead.load_default(benchmark)
        return super().measure_default(benchmark, seconds)

    def _measure(self, benchmark: Benchmark, best: BestTime) -> Measurement | Failure:
        failure = None if self._ahead is None else self._ahead.load(benchmark)
        return super()._measure(benchmark, best) if failure is None else failure
