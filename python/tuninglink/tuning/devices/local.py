"""Equal devices that share the work; times are compared as ratios to each device's own default.

Modules are loaded ahead of their measurement, for drivers that compile on loading. CUDA's driver compiles PTX when a
module is loaded, which takes longer than measuring it, and keeps the result in a cache on disk that all processes
share. A module that another process has loaded before loads instantly in the process that measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import Final, Self

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error
from tuninglink.tuning.devices import Settings
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
from tuninglink.tuning.devices.device_set import (
    REPEATS,
    BestTime,
    DefaultTimes,
    Measurement,
    screen,
)
from tuninglink.tuning.devices.running import Loader, MeasurementError
from tuninglink.tuning.programs.benchmark import Benchmark
from tuninglink.tuning.results import Failure, FailureKind
from tuninglink.tuning.scheduling import DeviceUse, mean_use
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, do_nothing

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
    same = {"local-task", "local-sync"}
    return driver == device_driver or (driver in same and device_driver in same)


def _shared_cores(uris: Sequence[str]) -> list[list[int]]:
    """Return the processors of each device: threaded CPU devices divide them among themselves.

    Raises:
        TuninglinkError: there are fewer processors than devices.
    """
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
