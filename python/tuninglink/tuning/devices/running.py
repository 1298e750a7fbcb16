"""Loaded benchmarks and programs, ready to run batches."""

from __future__ import annotations

import math
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import iree.runtime as rt

from tuninglink.tuning.devices.call_timing import wall_seconds
from tuninglink.tuning.results.failures import Failure, FailureKind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from tuninglink.tuning.devices.call_timing import CallTimer

_OVERHEAD_CALLS: Final = 5


class Overhead:
    """The running minimum of the time of an empty batch.

    Other work only adds to it. A value that is too large would make fast candidates of slow ones.

    Attributes:
        seconds: the least time so far.
    """

    def __init__(self) -> None:
        self.seconds = math.inf

    def observe(self, seconds: float) -> None:
        """Adds an observation."""
        self.seconds = min(self.seconds, seconds)


class MeasurementError(Exception):
    """A benchmark cannot be loaded or run.

    Attributes:
        failure: why.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Runnable(Protocol):
    """What is measured: it runs in batches."""

    least_batch: int
    """The smallest batch that says what an iteration takes."""

    def sample(self, batch: int) -> float:
        """Runs a batch and returns the microseconds of an iteration.

        Raises:
            MeasurementError: it fails.
        """


_MOST_LOADED: Final = 24
"""Modules that stay loaded: those of a race. Some devices compile a module further when it is loaded."""


class Loader:
    """Loads modules onto a device; those that were asked for last stay loaded.

    Args:
        device: the device.
        kept: how many stay loaded.
        timer: runs calls and times them.

    Attributes:
        seconds: how long loading took so far.
    """

    def __init__(
        self,
        device: rt.HalDevice,
        kept: int = _MOST_LOADED,
        timer: CallTimer = wall_seconds,
    ) -> None:
        self.seconds = 0.0
        self._timer = timer
        self._instance = rt.VmInstance()
        self._hal = rt.create_hal_module(self._instance, device)
        self.load = lru_cache(kept)(self._load)

    def _load(
        self, image: bytes, function: str, copy: Hashable = None
    ) -> Callable[[Sequence[Any]], float]:
        """Returns a function of a module: it takes arguments, runs and returns the seconds that it took.

        Args:
            image: the module.
            function: the name of the function.
            copy: tells copies of one module apart, each of which has its own place in memory.

        Raises:
            MeasurementError: the device does not take the module, or there is no such function.
        """
        del copy  # part of the key of the cache
        began = time.perf_counter()
        try:
            module = rt.VmModule.copy_buffer(self._instance, image)
            context = rt.VmContext(self._instance, modules=[self._hal, module])
            found = module.lookup_function(function)
        except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
            raise MeasurementError(Failure(FailureKind.LOAD, str(failure))) from None
        finally:
            self.seconds += time.perf_counter() - began
        if found is None:
            message = f"the module has no function '{function}'"
            raise MeasurementError(Failure(FailureKind.LOAD, message))

        def call(arguments: Sequence[Any]) -> float:
            given = rt.VmVariantList(len(arguments))
            for each in arguments:
                given.push_int(each) if isinstance(each, int) else given.push_ref(each)
            results = rt.VmVariantList(1)
            try:
                return self._timer(lambda: context.invoke(found, given, results))
            except Exception as failure:  # noqa: BLE001 - as above
                raise MeasurementError(Failure(FailureKind.RUN, str(failure))) from None

        return call


class LoadedBenchmark:
    """A benchmark on its buffer.

    A batch begins with the first set: one that does not reach the last would leave some in the caches.
    """

    def __init__(
        self,
        call: Callable[[Sequence[Any]], float],
        buffer: rt.HalBuffer,
        sets: int,
        stride: int,
        overhead: Overhead,
    ) -> None:
        self.least_batch = sets
        self._call = call
        self._arguments = (buffer, sets, stride)
        self._overhead = overhead
        for _ in range(_OVERHEAD_CALLS):
            overhead.observe(self._seconds(0))

    def sample(self, batch: int) -> float:
        """Runs a batch; the overhead of the call does not count."""
        return max(self._seconds(batch) - self._overhead.seconds, 1e-9) / batch * 1e6

    def _seconds(self, batch: int) -> float:
        return self._call((*self._arguments, batch))


class LoadedProgram:
    """A function of a program with its inputs."""

    least_batch = 1

    def __init__(
        self, call: Callable[[Sequence[Any]], float], inputs: Sequence[rt.HalBufferView]
    ) -> None:
        self._call = call
        self._inputs = inputs

    def sample(self, batch: int) -> float:
        """Calls the function as often as `batch` says."""
        return sum(self._call(self._inputs) for _ in range(batch)) / batch * 1e6
