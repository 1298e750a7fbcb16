"""The interface of a device, and the process that holds one and is replaced if a benchmark hangs or crashes."""

from __future__ import annotations

import math
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, Generic, Self, TypeVar

from tuninglink.errors import Diagnostic
from tuninglink.iree import WORKER_STACK_BYTES
from tuninglink.mlir import error
from tuninglink.tuning.devices.device import DeviceDescription, DeviceError, describe
from tuninglink.tuning.devices.loading import CallOutputs
from tuninglink.tuning.devices.measurement import Measurer
from tuninglink.tuning.devices.numerics import Outputs
from tuninglink.tuning.devices.running import MeasurementError
from tuninglink.tuning.devices.times import DeviceUse, Rounds, Settings, Timing, UseMeter
from tuninglink.tuning.programs import Benchmark, CompiledProgram, Failure, FailureKind
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

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


class Device(ABC):
    """A device that serves measurements as requests. A request raises a `DeviceError` if the device is lost."""

    @property
    @abstractmethod
    def description(self) -> DeviceDescription:
        """The description of the device."""

    @property
    def use(self) -> DeviceUse:
        """The use of the device so far."""
        return DeviceUse()

    @abstractmethod
    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """Return the result of a request, or its failure."""

    def measure(
        self, benchmark: Benchmark, seconds: float = 0.02, limit_microseconds: float | None = None
    ) -> Timing | Failure:
        """Measure one benchmark; see `Measurer.measure`."""
        return self.ask(Request(Measurer.measure, (benchmark, seconds, limit_microseconds)))

    def rounds(
        self,
        benchmarks: Sequence[Benchmark],
        count: int,
        seed: int,
        seconds: float = _ROUNDS_SECONDS,
    ) -> Rounds | Failure:
        """Measure benchmarks against each other; see `Measurer.rounds`."""
        arguments = (tuple(benchmarks), count, seed, seconds)
        return self.ask(Request(Measurer.rounds, arguments, seconds))

    def program_rounds(
        self,
        programs: Sequence[CompiledProgram],
        count: int,
        seed: int,
        seconds: float = _ROUNDS_SECONDS,
    ) -> Rounds | Failure:
        """Measure whole programs against each other; see `Measurer.program_rounds`."""
        arguments = (tuple(programs), count, seed, seconds)
        return self.ask(Request(Measurer.program_rounds, arguments, seconds))

    def program_outputs(
        self, program: CompiledProgram, most_seconds: float = math.inf
    ) -> CallOutputs | Failure:
        """Return the outputs of a call of a program; see `ProgramRunner.outputs` and `Request.most_seconds`."""
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


_OPENING_SECONDS: Final = 60.0
"""The time limit for opening a device; the first context on a GPU of a large machine takes seconds."""


_BROKEN: Final = frozenset({FailureKind.RUN, FailureKind.CRASH, FailureKind.TIMEOUT})
"""Failures after which the process is gone, or all further work in its context on a GPU fails."""


class DeviceProcess(Device):
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
        self._arguments = (uri, tuple(cores), settings)
        self._timeout = timeout
        self._meter = UseMeter()
        self._turn = Lock()
        try:
            self._description = self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._pool.close()

    @property
    def description(self) -> DeviceDescription:
        """The description of the device."""
        return self._description

    @property
    def use(self) -> DeviceUse:
        """The use of the device so far."""
        return self._meter.use

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """See `Device`."""
        answer: Answer | Failure
        limit = request.time_limit(self._timeout)
        with self._turn, self._meter.question():
            try:
                job = self._pool.submit(_answer, request, seconds=limit)
                answer, loading_seconds = job.result()
                self._meter.loaded(loading_seconds)
            except JobTimeoutError as failure:
                message = f"no answer within {limit:.3g} s; the process of the device was replaced"
                is_starved = self._description.is_local and failure.is_starved
                answer = Failure(FailureKind.TIMEOUT, message, is_starved)
            except WorkerCrashedError as failure:
                message = str(failure)
                if self._description.is_local and failure.code == -signal.SIGSEGV:
                    stack = f"{WORKER_STACK_BYTES >> 10} KiB of stack"
                    message += f"; IREE's workers have {stack}, which it may overflow"
                answer = Failure(FailureKind.CRASH, message, failure.is_from_outside)
        if isinstance(answer, Failure) and answer.kind in _BROKEN:
            self.close()
            self._start()
        return answer

    def _start(self) -> DeviceDescription:
        """Start a process that opens the device."""
        uri = self._arguments[0]
        self._pool = Pool(1, _open_device, self._arguments)
        try:
            answer = self._pool.submit(_describe, seconds=_OPENING_SECONDS).result()
        except JobTimeoutError:
            raise DeviceError(error(f"device '{uri}' does not open: it may be busy")) from None
        except WorkerCrashedError as failure:
            message = f"the process that opens device '{uri}' ended: {failure}"
            raise DeviceError(error(message)) from None
        if isinstance(answer, DeviceDescription):
            return answer
        raise DeviceError(*answer)


# --- In the process of the device ------------------------------------------------------------------------

_measurer: Measurer | DeviceError
_description: DeviceDescription


def _open_device(uri: str, cores: tuple[int, ...], settings: Settings | None) -> None:
    global _measurer, _description  # noqa: PLW0603 - what the process is for
    try:
        _description = describe(uri, cores)
        _measurer = Measurer(uri, cores, settings)
    except DeviceError as failure:
        _measurer = failure


def _answer(request: Request[Any]) -> tuple[Any, float]:
    """Return the response to a request, and the time of loading modules for it, in seconds."""
    if isinstance(_measurer, DeviceError):
        return Failure(FailureKind.LOAD, str(_measurer)), 0.0
    before = _measurer.loading_seconds
    try:
        answer = request.work(_measurer, *request.arguments)
    except MeasurementError as failure:
        return failure.failure, 0.0
    return answer, _measurer.loading_seconds - before


def _describe() -> DeviceDescription | tuple[Diagnostic, ...]:
    return _measurer.diagnostics if isinstance(_measurer, DeviceError) else _description
