"""Loaded modules, and benchmarks that are ready to run batches."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

import iree.runtime as rt

from tuninglink.tuning.devices import CallTimer, wall_seconds
from tuninglink.tuning.results import Failure, FailureKind

_OVERHEAD_CALLS: Final = 5


class Overhead:
    """The running minimum of the time of an empty batch.

    Other work on the machine only increases a time. Too large an overhead would make slow candidates seem fast.

    Attributes:
        seconds: the least time so far.
    """

    def __init__(self) -> None:
        self.seconds = math.inf

    def observe(self, seconds: float) -> None:
        """Add an observation."""
        self.seconds = min(self.seconds, seconds)


class MeasurementError(Exception):
    """A benchmark cannot be loaded or run.

    Attributes:
        failure: the reason.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Runnable(Protocol):
    """A subject that can be measured in batches."""

    least_batch: int
    """The smallest batch that shows the time of an iteration."""

    def sample(self, batch: int) -> float:
        """Run a batch and return the microseconds of an iteration.

        Raises:
            MeasurementError: it fails.
        """


_MOST_LOADED: Final = 24
"""Modules that stay loaded: those of a race. Some devices compile a module further when it is loaded."""


def _nothing() -> None:
    """Do nothing; the default for `wait`."""


class LoadedFunction:
    """A function of a module in a context, which holds the module's state.

    Args:
        context: the context.
        function: the function.
        timer: runs calls and times them.
    """

    def __init__(self, context: rt.VmContext, function: rt.VmFunction, timer: CallTimer) -> None:
        self._context = context
        self._function = function
        self._timer = timer

    def __call__(self, arguments: Sequence[Any]) -> float:
        """Run the function; see `run`."""
        return self.run(arguments)[0]

    def run(
        self, arguments: Sequence[Any], wait: Callable[[], object] = _nothing
    ) -> tuple[float, rt.VmVariantList]:
        """Run the function and return the seconds that it took, and its results.

        Args:
            arguments: its arguments.
            wait: waits for the results if the function returns before they are computed.

        Raises:
            MeasurementError: it fails.
        """
        values = rt.VmVariantList(len(arguments))
        for argument in arguments:
            if isinstance(argument, int):
                values.push_int(argument)
            elif isinstance(argument, float):
                values.push_float(argument)
            else:
                values.push_ref(argument)
        results = rt.VmVariantList(1)

        def call() -> None:
            self._context.invoke(self._function, values, results)
            wait()

        try:
            return self._timer(call), results
        except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
            raise MeasurementError(Failure(FailureKind.RUN, str(failure))) from None


class LoadedModule:
    """A module in a context, which holds its state.

    Args:
        module: the module.
        context: the context.
        timer: runs calls and times them.
    """

    def __init__(self, module: rt.VmModule, context: rt.VmContext, timer: CallTimer) -> None:
        self._module = module
        self._context = context
        self._timer = timer

    def function(self, name: str) -> LoadedFunction:
        """Return a function of the module.

        Raises:
            MeasurementError: there is no such function.
        """
        function = self._module.lookup_function(name)
        if function is None:
            message = f"the module has no function '{name}'"
            raise MeasurementError(Failure(FailureKind.LOAD, message))
        return LoadedFunction(self._context, function, self._timer)


class Loader:
    """Loads modules onto a device; the most recently requested ones stay loaded.

    Args:
        device: the device.
        kept: the number of modules that stay loaded.
        timer: runs calls and times them.
        sink: receives the tensors that programs trace; None leaves them to the runtime.

    Attributes:
        instance: the instance that modules of the runtime belong to.
        seconds: the time spent on loading so far.
    """

    def __init__(
        self,
        device: rt.HalDevice,
        kept: int = _MOST_LOADED,
        timer: CallTimer = wall_seconds,
        sink: rt.HalModuleDebugSink | None = None,
    ) -> None:
        self.instance = rt.VmInstance()
        self.seconds = 0.0
        self._timer = timer
        self._hal = rt.create_hal_module(self.instance, device, debug_sink=sink)
        self._mapped = lru_cache(kept)(self._map)
        self._loaded = lru_cache(kept)(self.load_anew)

    def load(self, image: bytes, function: str, copy: Hashable = None) -> LoadedFunction:
        """Return a function of a module.

        Args:
            image: the module.
            function: the name of the function.
            copy: distinguishes copies of one module, each of which has its own place in memory.

        Raises:
            MeasurementError: the device rejects the module, or there is no such function.
        """
        return self.load_module(image, copy).function(function)

    def load_module(
        self, image: bytes, copy: Hashable = None, libraries: tuple[rt.VmModule, ...] = ()
    ) -> LoadedModule:
        """Return a module with the state that earlier calls left; see `load_anew`."""
        return self._loaded(image, copy, libraries)

    def load_anew(
        self, image: bytes, copy: Hashable = None, libraries: tuple[rt.VmModule, ...] = ()
    ) -> LoadedModule:
        """Return a module in its initial state.

        Args:
            image: the module.
            copy: see `load`.
            libraries: the modules that it imports functions from, other than the runtime's own.

        Raises:
            MeasurementError: the device rejects the module.
        """
        began = time.perf_counter()
        try:
            module = self._mapped(image, copy)
            context = rt.VmContext(self.instance, modules=[self._hal, *libraries, module])
        except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
            raise MeasurementError(Failure(FailureKind.LOAD, str(failure))) from None
        finally:
            self.seconds += time.perf_counter() - began
        return LoadedModule(module, context, self._timer)

    def _map(self, image: bytes, copy: Hashable) -> rt.VmModule:
        """Map a module from a file in memory: a copy would have arbitrary alignment."""
        del copy  # part of the key of the cache
        with os.fdopen(os.memfd_create("tuninglink"), "wb") as file:
            file.write(image)
            file.flush()
            return rt.VmModule.mmap(self.instance, f"/proc/self/fd/{file.fileno()}")


class LoadedBenchmark:
    """A benchmark on its buffer.

    A batch begins with the first set. A batch that does not reach the last set would leave some sets in the caches.
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
        """Run a batch; the overhead of the call does not count."""
        return max(self._seconds(batch) - self._overhead.seconds, 1e-9) / batch * 1e6

    def _seconds(self, batch: int) -> float:
        return self._call((*self._arguments, batch))
