"""Devices in processes of their own, and sets of equal devices that share the work."""

from __future__ import annotations

import math
import signal
import statistics
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from operator import attrgetter
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX
from typing import Any, Final, Generic, TypeAlias, TypeVar

from tuninglink.devices.cuda_code import compile_ptx, ptx_modules
from tuninglink.devices.device import (
    DeviceDescription,
    DeviceError,
)
from tuninglink.devices.measurement import Measurer
from tuninglink.devices.numerics import Outputs
from tuninglink.devices.running import CallOutputs, MeasurementError
from tuninglink.devices.times import Rounds, Settings, Timing
from tuninglink.iree import WORKER_STACK_BYTES
from tuninglink.mlir import error
from tuninglink.programs import Benchmark, CompiledProgram, Failure, FailureKind, ProgramCalls
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, do_nothing

Answer = TypeVar("Answer", covariant=True)  # noqa: PLC0105

_SLACK: Final = 2.0
"""The factor by which a request may exceed its expected time, in addition to the time limit of the device."""

_ROUNDS_SECONDS: Final = 20.0
"""Time in which no further round begins, unless the caller gives another."""


@dataclass(frozen=True)
class Request(Generic[Answer]):
    """Work for the process that holds a device.

    Attributes:
        work: a function that can be imported by its name; its first argument is the `Measurer` of the process.
        arguments: its other arguments.
        expected_seconds: the duration of the work if it depends on the arguments. It extends the time limit.
        most_seconds: the longest time limit.
    """

    work: Callable[..., Answer]
    arguments: tuple[object, ...]
    expected_seconds: float = 0.0
    most_seconds: float = math.inf

    def time_limit(self, timeout: float) -> float:
        """Return the seconds after which the work counts as hanging; `timeout` if its duration is not expected."""
        return min(timeout + _SLACK * self.expected_seconds, self.most_seconds)


DESCRIBE: Final = attrgetter("description")
"""The work of a request for the description of a device."""


class Device(ABC):
    """A device that serves measurements as requests. A request raises a `DeviceError` if the device is lost.

    Attributes:
        description: the description of the device.
        together: the number of requests that it serves together.
    """

    description: DeviceDescription
    together: int = 1
    _state: tuple[float, float | None] = (0.0, None)
    """The use of the device, and since when the current request runs. A request replaces it as other threads read it."""

    @abstractmethod
    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """Return the result of a request, or its failure."""

    @property
    def use(self) -> float:
        """The time spent on requests so far, in seconds."""
        use, began = self._state
        return use if began is None else use + time.monotonic() - began

    @contextmanager
    def _metered(self) -> Iterator[None]:
        """Meter a block as a request; the device serves one at a time."""
        self._state = (self._state[0], time.monotonic())
        try:
            yield
        finally:
            self._state = (self.use, None)

    def measure(
        self, benchmark: Benchmark, seconds: float = 0.02, limit_microseconds: float | None = None
    ) -> Timing | Failure:
        """Measure one benchmark; see `Measurer.measure`."""
        return self.ask(Request(Measurer.measure, (benchmark, seconds, limit_microseconds)))

    def rounds(
        self,
        programs: Sequence[Benchmark] | Sequence[CompiledProgram],
        count: int,
        seed: int,
        seconds: float = _ROUNDS_SECONDS,
    ) -> Rounds | Failure:
        """Measure benchmarks, or whole programs, against each other; see `Measurer.rounds`."""
        arguments = (tuple(programs), count, seed, seconds)
        return self.ask(Request(Measurer.rounds, arguments, seconds))

    def program_outputs(
        self, program: CompiledProgram, most_seconds: float = math.inf
    ) -> CallOutputs | Failure:
        """Return the outputs of a call of a program; see `Request.most_seconds`."""
        return self.ask(
            Request(Measurer.program_outputs, (program,), _ROUNDS_SECONDS, most_seconds)
        )

    def compare(
        self, benchmark: Benchmark, reference: Benchmark, reduction: int = 1
    ) -> Failure | None:
        """Compare the outputs of two benchmarks; see `Measurer.compare`."""
        return self.ask(Request(Measurer.compare, (benchmark, reference, reduction)))

    def outputs(self, benchmark: Benchmark) -> Outputs | Failure:
        """Return the outputs of a benchmark; see `Measurer.outputs`."""
        return self.ask(Request(Measurer.outputs, (benchmark,)))


_BROKEN: Final = frozenset({FailureKind.RUN, FailureKind.CRASH, FailureKind.TIMEOUT})
"""Failures after which the process is gone, or all further work in its context on a GPU fails."""


class DeviceProcess(Device, ExitStack):
    """A device in a separate process, one benchmark at a time.

    If a benchmark hangs or ends the process, only that benchmark is lost: the process is replaced before the next one.

    Args:
        uri: the device.
        cores: the processors for a threaded CPU device; see `open_device`.
        settings: the settings of measurements.
        timeout: the seconds that a request may take before its benchmark counts as hanging; see `Request`.

    Raises:
        DeviceError: the device does not exist or cannot be opened.
    """

    def __init__(
        self,
        uri: str,
        cores: Sequence[int] = (),
        settings: Settings | None = None,
        timeout: float = 30.0,
    ) -> None:
        super().__init__()
        self._arguments = (uri, tuple(cores), settings)
        self._timeout = timeout
        self._turn = threading.Lock()
        try:
            self.description = self._start()
        except BaseException:
            self.close()
            raise

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """See `Device`."""
        answer: Answer | Failure
        limit = request.time_limit(self._timeout)
        with self._turn:
            with self._metered():
                try:
                    answer = self._pool.submit(_answer, request, seconds=limit).result()
                except JobTimeoutError as failure:
                    message = (
                        f"no answer within {limit:.3g} s; the process of the device was replaced"
                    )
                    is_starved = self.description.is_local and failure.is_starved
                    answer = Failure(FailureKind.TIMEOUT, message, is_starved)
                except WorkerCrashedError as failure:
                    message = str(failure)
                    if self.description.is_local and failure.code == -signal.SIGSEGV:
                        stack = f"{WORKER_STACK_BYTES >> 10} KiB of stack"
                        message += f"; IREE's workers have {stack}, which it may overflow"
                    answer = Failure(FailureKind.CRASH, message, failure.is_from_outside)
            # Another thread must not ask the old process.
            if isinstance(answer, Failure) and answer.kind in _BROKEN:
                self.close()
                self._start()
        return answer

    def _start(self) -> DeviceDescription:
        """Start a process that opens the device, for which it has a minute."""
        uri = self._arguments[0]
        self._pool = Pool(1, _open_device, self._arguments)
        self.callback(self._pool.close)
        try:
            description = self._pool.submit(_answer, Request(DESCRIBE, ())).result()
        except JobTimeoutError:
            raise DeviceError(error(f"device '{uri}' does not open: it may be busy")) from None
        except WorkerCrashedError as failure:
            message = f"the process that opens device '{uri}' ended: {failure}"
            raise DeviceError(error(message)) from None
        assert isinstance(description, DeviceDescription)
        return description


# --- In the process of the device ------------------------------------------------------------------------

_measurer: Measurer


def _open_device(uri: str, cores: tuple[int, ...], settings: Settings | None) -> None:
    global _measurer  # noqa: PLW0603 - what the process is for
    _measurer = Measurer(uri, cores, settings)


def _answer(request: Request[Any]) -> Any:
    """Return the response to a request."""
    try:
        return request.work(_measurer, *request.arguments)
    except MeasurementError as failure:
        return failure.failure


# --- The first measurement of candidates, and the scales between devices

_HOPELESS: Final = 2.0
"""The slowdown against the best from which a candidate is not worth another sample."""

_AGAIN_SECONDS: Final = 0.05
"""Time for samples of a new best, which is measured a second time."""


@dataclass(frozen=True)
class Measurement:
    """The time of a candidate: the microseconds of an iteration on the first device, and the samples as taken."""

    microseconds: float
    timing: Timing


@dataclass
class BestTime:
    """The least time of a task's candidates so far, for candidates that wait for a device meanwhile. Thread-safe.

    Attributes:
        microseconds: the time on the first device; at first, the one that candidates are compared with.
    """

    microseconds: float
    lock: threading.Lock = field(default_factory=threading.Lock)


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
    with best.lock:
        best.microseconds = min(best.microseconds, microseconds)
    return Measurement(microseconds, timing)


REPEATS: Final = 5
"""The number of measurements of a default on each of several devices: the interval of fewer ratios is too wide."""


DefaultTimes: TypeAlias = dict[tuple[Hashable, int], list[float]]
"""Times by device and by the hash of a default, in the order of measurement."""


def scale_of(times: DefaultTimes, first: Hashable, device: Hashable) -> float:
    """Return the time of a benchmark on the first device over its time on another one; 1 if the devices may be equal.

    The scale is the median of the ratios of all defaults that were measured on both. Its interval is that of the sign
    test (95 %); of five ratios it reaches from the least to the largest.
    """
    ratios = sorted(
        first_us / device_us
        for (measured, default), firsts in list(times.items())
        if measured == first
        for first_us, device_us in zip(firsts, times.get((device, default), ()), strict=False)
    )
    count = len(ratios)
    outside = max(0, int((count - 2 * math.sqrt(count)) / 2))
    if count < REPEATS or ratios[outside] <= 1.0 <= ratios[-1 - outside]:
        return 1.0
    return statistics.median(ratios)


# --- Equal devices that share the work; times are compared as ratios to each device's own default

_PATIENCE: Final = 1.0
"""The time after which it is looked for lost devices again, in seconds."""

AHEAD: Final = 6
"""The number of modules loaded ahead of measurements, for drivers that compile modules."""


class DeviceLostError(DeviceError):
    """A device is gone, and with it the pending request."""


class DeviceSet(ExitStack):
    """Equal devices that share the work: `Devices` on this machine, `ClusterDevices` on others.

    If a device is lost, its pending request is retried on another one; losing the last one ends the work.

    Args:
        most: the largest number of benchmarks that are accepted at once.

    Attributes:
        ahead: loads benchmarks before a device is free; None if that would save no time.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._devices: list[Device] = []
        self._free: SimpleQueue[Device] = SimpleQueue()
        self._defaults: DefaultTimes = {}
        self._default: Benchmark | None = None  # the last one
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(most)
        self.ahead: AheadLoader | None = None
        # Closing does not wait for running measurements, but ends the processes that run them.
        self.callback(self._threads.shutdown, wait=False, cancel_futures=True)

    def add(self, device: Device) -> None:
        """Let a device take part from now on."""
        with self._lock:
            self._devices.append(device)
        for _ in range(device.together):
            self._free.put(device)

    @property
    def first(self) -> Device:
        """The device that races are run on."""
        return self._devices[0]

    @property
    def descriptions(self) -> Sequence[DeviceDescription]:
        """Descriptions of the devices."""
        return [device.description for device in self._devices]

    @property
    def use(self) -> float:
        """The average use of the devices so far, in seconds."""
        devices = self._devices
        return sum(device.use for device in devices) / max(1, len(devices))

    @property
    def at_once(self) -> int:
        """The number of benchmarks accepted at once: what the devices serve, and those loaded ahead."""
        served = sum(device.together for device in self._devices)
        return served + (AHEAD if self.ahead is not None else 0)

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """Measure the default of a task on each device; return the microseconds of an iteration on the first."""
        self._default = benchmark
        if self.ahead is not None:
            self.ahead.load(benchmark, is_default=True)
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
        return min(self._defaults[self._devices[0], hash(benchmark)])

    def _measure_once(self, device: Device, default: Benchmark, seconds: float) -> Failure | None:
        timing = device.measure(default, seconds)
        if isinstance(timing, Failure):
            return timing
        self._defaults.setdefault((device, hash(default)), []).append(timing.least)
        return None

    def submit(self, benchmark: Benchmark, best: BestTime) -> Future[Measurement | Failure]:
        """Return a future of the time of a candidate, or of its failure, on the next device that is free.

        Its default was measured before. `best` is the least time of the task; see `screen`.
        """
        return self._threads.submit(self._measure, benchmark, best)

    def _measure(self, benchmark: Benchmark, best: BestTime) -> Measurement | Failure:
        if self.ahead is not None and (failure := self.ahead.load(benchmark)) is not None:
            return failure
        while True:
            # Wait for the next free device that is not lost.
            try:
                device = self._free.get(timeout=_PATIENCE)
            except Empty:
                if not self._devices:
                    raise DeviceLostError(error("all devices are gone")) from None
                continue
            if device not in self._devices:
                continue
            try:
                scale = scale_of(self._defaults, self._devices[0], device)
                return screen(device, benchmark, best, scale)
            except DeviceLostError as lost:
                self._leave(device, lost)
            finally:
                self._free.put(device)

    def _leave(self, device: Device, lost: DeviceLostError) -> None:
        """Continue without a device; if it was the last one, raise its error. The last one stays for its description."""
        with self._lock:
            left = [other for other in self._devices if other is not device]
            self._devices = left or self._devices
        if not left:
            raise lost


_FACTOR: Final = 20.0
_LEAST_SECONDS: Final = 3.0
"""Loading a candidate may take this many times as long as loading the default, and at least this number of seconds."""


_PROGRAM_SECONDS: Final = 60.0
"""The time limit for loading a whole program ahead."""


class AheadLoader:
    """Processes that load modules onto a device and release them without running them, within `timeout` seconds.

    Attributes:
        modules: the compilations of the modules of PTX of programs, by their texts.
    """

    def __init__(self, uri: str, workers: int, timeout: float) -> None:
        self._timeout = timeout
        self._limit = min(_LEAST_SECONDS, timeout)
        self.pool = Pool(workers, _open_device, (uri, (), None))
        self.modules: dict[bytes, Future[None]] = {}
        self._lock = threading.Lock()  # programs begin and wait in several threads
        for _ in range(workers):
            self.pool.submit(do_nothing)  # all processes start now, at once

    def load(self, benchmark: Benchmark, *, is_default: bool = False) -> Failure | None:
        """Load a benchmark; return the failure of one that takes too long. The measurement reports all others.

        A default determines the time limit for loading its candidates.
        """
        limit = self._timeout if is_default else self._limit
        try:
            seconds = self.begin(benchmark.image, limit).result()
        except JobTimeoutError as failure:
            message = f"the driver did not compile it within {failure.seconds:.3g} s"
            return Failure(FailureKind.COMPILE_TIMEOUT, message, failure.is_starved)
        except (WorkerCrashedError, CancelledError, DeviceError):
            return None
        if is_default and not isinstance(seconds, Failure):
            self._limit = min(max(_LEAST_SECONDS, _FACTOR * seconds), self._timeout)
        return None

    def begin(self, image: bytes, seconds: float = _PROGRAM_SECONDS) -> Future[float | Failure]:
        """Start to load a module within a time limit; the result is the time that it takes."""
        return self.pool.submit(_answer, Request(Measurer.load, (image,)), seconds=seconds)

    def begin_program(self, image: bytes, calls: ProgramCalls | None) -> None:
        """Start to load a program: its modules of PTX in parallel, if there are several, each of them once.

        One with a single module is not loaded if its parameters are elsewhere: it does not load without them.
        """
        with suppress(RuntimeError):  # it is closed
            has_parameters = calls is None or calls.parameters.parameters or calls.parameters.files
            if not self._begin_modules(image) and not has_parameters:
                self.begin(image)

    def await_program(self, image: bytes, seconds: float) -> bool:
        """Wait for the compilations of a program's modules of PTX, which begin now if they have not; return whether they end."""
        jobs: list[Future[None]] = []
        with suppress(RuntimeError):
            jobs = self._begin_modules(image)
        return not wait(jobs, max(0.0, min(seconds, TIMEOUT_MAX))).not_done

    def _begin_modules(self, image: bytes) -> list[Future[None]]:
        """Return the compilations of a program's modules of PTX; none if there is one only."""
        modules = ptx_modules(image)
        with self._lock:
            # The longest take most of the time, so they come first.
            for text in sorted(set(modules), key=len, reverse=True) if len(modules) > 1 else ():
                if text not in self.modules:
                    job = self.pool.submit(compile_ptx, text, seconds=_PROGRAM_SECONDS)
                    self.modules[text] = job
            return [self.modules[text] for text in modules if text in self.modules]
