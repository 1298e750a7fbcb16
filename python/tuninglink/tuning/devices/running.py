"""Loaded modules, and benchmarks that are ready to run batches."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Protocol

import iree.runtime as rt
import numpy as np
from numpy.typing import NDArray

from tuninglink.tuning.devices.numerics import CANARY, Pattern, buffer_length
from tuninglink.tuning.devices.times import CallTimer, wall_seconds
from tuninglink.tuning.programs import BufferLayout, Failure, FailureKind, element_type

_OVERHEAD_CALLS: Final = 5


class Overhead:
    """The running minimum of the time of an empty batch, in seconds.

    Other work on the machine only increases a time. Too large an overhead would make slow candidates seem fast.
    """

    def __init__(self) -> None:
        self.seconds = math.inf

    def observe(self, seconds: float) -> None:
        """Add an observation."""
        self.seconds = min(self.seconds, seconds)


class MeasurementError(Exception):
    """A benchmark cannot be loaded or run."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Runnable(Protocol):
    """A subject that can be measured in batches."""

    least_batch: int
    """The smallest batch that shows the time of an iteration."""

    def sample(self, batch: int) -> float:
        """Run a batch and return the microseconds of an iteration."""


_MOST_LOADED: Final = 24
"""Modules that stay loaded: those of a race. Some devices compile a module further when it is loaded."""


class LoadedFunction:
    """A function of a module in a context, which holds the module's state."""

    def __init__(self, context: rt.VmContext, function: rt.VmFunction, timer: CallTimer) -> None:
        self._context = context
        self._function = function
        self._timer = timer

    def __call__(self, arguments: Sequence[Any]) -> float:
        return self.run(arguments)[0]

    def run(
        self, arguments: Sequence[Any], wait: Callable[[], object] | None = None
    ) -> tuple[float, rt.VmVariantList]:
        """Run the function and return the seconds that it took, and its results."""
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
            if wait is not None:
                wait()

        try:
            return self._timer(call), results
        except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
            raise MeasurementError(Failure(FailureKind.RUN, str(failure))) from None


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
        self._opened = lru_cache(kept)(self._open)

    def load(
        self,
        image: bytes,
        function: str,
        copy: Hashable = None,
        libraries: tuple[rt.VmModule, ...] = (),
        *,
        anew: bool = False,
    ) -> LoadedFunction:
        """Return a function of a module.

        Args:
            image: the module.
            function: the name of the function.
            copy: distinguishes copies of one module, each of which has its own place in memory.
            libraries: the modules that it imports functions from, other than the runtime's own.
            anew: whether the module is in its initial state, not in the state that earlier calls left.

        Raises:
            MeasurementError: the device rejects the module, or the function does not exist.
        """
        began = time.perf_counter()
        try:
            module, context = (self._open if anew else self._opened)(image, copy, libraries)
        except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
            raise MeasurementError(Failure(FailureKind.LOAD, str(failure))) from None
        finally:
            self.seconds += time.perf_counter() - began
        loaded = module.lookup_function(function)
        if loaded is None:
            message = f"the module has no function '{function}'"
            raise MeasurementError(Failure(FailureKind.LOAD, message))
        return LoadedFunction(context, loaded, self._timer)

    def _open(
        self, image: bytes, copy: Hashable, libraries: tuple[rt.VmModule, ...]
    ) -> tuple[rt.VmModule, rt.VmContext]:
        module = self._mapped(image, copy)
        return module, rt.VmContext(self.instance, modules=[self._hal, *libraries, module])

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
            overhead.observe(call((*self._arguments, 0)))

    def sample(self, batch: int) -> float:
        """Run a batch; the overhead of the call does not count."""
        seconds = self._call((*self._arguments, batch)) - self._overhead.seconds
        return max(seconds, 1e-9) / batch * 1e6


# --- Arrays to and from buffers of a device, and the tensors that a program traces, kept in files

_HAL_TYPES: Final = {
    "f64": "FLOAT_64",
    "f32": "FLOAT_32",
    "f16": "FLOAT_16",
    "bf16": "BFLOAT_16",
    "f8E4M3FN": "FLOAT_8_E4M3_FN",
    "f8E4M3FNUZ": "FLOAT_8_E4M3_FNUZ",
    "f8E5M2": "FLOAT_8_E5M2",
    "f8E5M2FNUZ": "FLOAT_8_E5M2_FNUZ",
    "f8E8M0FNU": "FLOAT_8_E8M0_FNU",
    "i1": "BOOL_8",
    "i8": "INT_8",
    "i16": "INT_16",
    "i32": "INT_32",
    "i64": "INT_64",
    **{f"{sign}i{bits}": f"{sign.upper()}INT_{bits}" for sign in "su" for bits in (8, 16, 32, 64)},
}


def hal_type(name: str) -> Any:
    """Return the runtime's equivalent of an MLIR element type."""
    hal_type = getattr(rt.HalElementType, _HAL_TYPES.get(name.lstrip("su"), ""), None)
    if hal_type is None:
        message = f"inputs of type '{name}' cannot be made"
        raise MeasurementError(Failure(FailureKind.LOAD, message))
    return hal_type


def to_device(device: rt.HalDevice, data: NDArray[np.uint8]) -> rt.HalBuffer:
    """Copy bytes to a new buffer of a device; a `MeasurementError` means too little free memory."""
    with _allocation(len(data)):
        return device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT,
            device=device,
            buffer=data,
        )


@contextmanager
def _allocation(length: int) -> Iterator[None]:
    try:
        yield
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        message = f"cannot allocate {length} bytes on the device: {failure}"
        raise MeasurementError(Failure(FailureKind.RUN, message)) from None


def place_inputs(
    device: rt.HalDevice,
    layout: BufferLayout,
    contents: Sequence[Sequence[Pattern]],
    sets: int = 1,
) -> rt.HalBuffer:
    """Return a new buffer of a device with the sets of a benchmark, whose bindings hold the given patterns.

    One period of each pattern travels to the device, which repeats them: buffers may have gigabytes.
    """
    length = -(-buffer_length(layout, sets) // len(CANARY)) * len(CANARY)
    levels = [
        [
            (binding.offset + part.start, part.length, part.content[: part.length])
            for binding, parts in zip(layout.bindings, contents, strict=True)
            for part in parts[chosen]
            if part.length
        ]
        # The patterns of parts replace those of whole bindings.
        for chosen in (slice(1), slice(1, None))
    ]
    periods = [content for level in levels for _, _, content in level]
    staged = to_device(device, np.concatenate([CANARY, *periods]))
    with _allocation(length):
        buffer = device.allocator.allocate_buffer(
            memory_type=int(rt.MemoryType.DEVICE_LOCAL),
            allowed_usage=int(rt.BufferUsage.DEFAULT),
            allocation_size=length,
        )
    # Copies of a step are independent of each other; each copy doubles what is there.
    steps: list[list[tuple[rt.HalBuffer, int, int, int]]] = []
    at = len(CANARY)
    for level in levels:
        step = []
        for offset, _, content in level:
            step.append((staged, at, offset, len(content)))
            at += len(content)
        repeats = [_doubling(offset, len(content), size) for offset, size, content in level]
        steps += [
            step,
            *([(buffer, *copy) for copy in copies if copy] for copies in zip_longest(*repeats)),
        ]
    steps += [[(buffer, *copy)] for copy in _doubling(0, layout.stride, sets * layout.stride)]
    done, commands = device.create_semaphore(0), []
    for number in range(1 + len(steps)):
        command = rt.HalCommandBuffer(device)
        if not number:
            command.fill(buffer, CANARY, 0, length)
        for source, source_offset, offset, size in steps[number - 1] if number else ():
            command.copy(source, buffer, source_offset, offset, size)
        command.end()
        commands.append(command)
        fences = rt.HalFence.create_at(done, number), rt.HalFence.create_at(done, number + 1)
        device.queue_execute(command, *fences)
    rt.HalFence.create_at(done, len(commands)).wait()
    return buffer


def _doubling(offset: int, filled: int, length: int) -> Iterator[tuple[int, int, int]]:
    """Yield the offsets and sizes of copies that repeat the bytes at an offset up to a length."""
    while filled < length:
        count = min(filled, length - filled)
        yield offset, offset + filled, count
        filled += count


def to_host(device: rt.HalDevice, view: rt.HalBufferView) -> NDArray[Any]:
    """Return the elements of a buffer view, as bytes if their type is unknown."""
    data = bytes_on_host(device, view.get_buffer())
    names = {int(getattr(rt.HalElementType, hal)): name for name, hal in _HAL_TYPES.items()}
    dtype = element_type(names.get(int(view.element_type), ""))
    return data if dtype is None else data.view(dtype).reshape(view.shape)


def bytes_on_host(device: rt.HalDevice, buffer: rt.HalBuffer) -> NDArray[np.uint8]:
    """Return a copy of the bytes of a buffer.

    The runtime imports a NumPy array as the target of the copy if the device supports it. Vulkan does, but not at the
    addresses that NumPy allocates (`minImportedHostPointerAlignment`).
    """
    view = rt.HalBufferView(buffer, [buffer.byte_length()], rt.HalElementType.UINT_8)
    try:
        data = rt.DeviceArray(device, view).to_host()
        return data if data.flags.owndata else np.array(data)
    except ValueError:
        # A copy of the bytes of a buffer, by way of another buffer of the device that the host can map.
        staging = device.allocator.allocate_buffer(
            memory_type=int(rt.MemoryType.HOST_LOCAL | rt.MemoryType.DEVICE_VISIBLE),
            allowed_usage=int(rt.BufferUsage.TRANSFER_TARGET | rt.BufferUsage.MAPPING_SCOPED),
            allocation_size=buffer.byte_length(),
        )
        copied = device.create_semaphore(0)
        device.queue_copy(
            buffer,
            staging,
            wait_semaphores=rt.HalFence.create_at(copied, 0),
            signal_semaphores=rt.HalFence.create_at(copied, 1),
        )
        rt.HalFence.create_at(copied, 1).wait()
        mapped = staging.map()
        return np.array(mapped.asarray([buffer.byte_length()], np.dtype(np.uint8)))


_OUTPUTS: Final = " outputs"
_INPUTS: Final = " inputs"
"""The text after the name of a dispatch in traces of `--iree-flow-trace-dispatch-tensors`."""


@dataclass(frozen=True)
class TracedTensor:
    """A tensor that was traced, in a file that is named for the hash of its bytes: equal contents are kept once."""

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def array(self) -> NDArray[Any]:
        """Return the elements of the tensor."""
        return np.fromfile(self.path, np.uint8).view(self.dtype).reshape(self.shape)

    def has_same_bytes(self, other: TracedTensor) -> bool:
        """Return whether the bytes of another tensor are equal."""
        return Path(self.path).name == Path(other.path).name


@dataclass(frozen=True)
class DispatchTrace:
    """One execution of a dispatch: the name of its function, and the tensors that it reads and writes."""

    name: str
    inputs: tuple[TracedTensor, ...]
    outputs: tuple[TracedTensor, ...]


class ValueTracer:
    """Receives the tensors that a program traces, in the order in which it runs."""

    def __init__(self, device: rt.HalDevice, directory: str) -> None:
        self._device = device
        self._directory = Path(directory)
        self._events: list[tuple[str, tuple[TracedTensor, ...]]] = []
        self.sink = rt.HalModuleDebugSink(self._receive)

    def _receive(self, key: str, views: Sequence[rt.HalBufferView]) -> None:
        self._events.append((key, tuple(map(self._keep, views))))

    def _keep(self, view: rt.HalBufferView) -> TracedTensor:
        array = to_host(self._device, view)
        content = array.tobytes()
        path = self._directory / blake2b(content, digest_size=16).hexdigest()
        if not path.exists():
            path.write_bytes(content)
        return TracedTensor(str(path), array.dtype, array.shape)

    def dispatches(self) -> list[DispatchTrace]:
        """Return the executions of dispatches so far."""
        traces = []
        inputs: dict[str, tuple[TracedTensor, ...]] = {}
        for key, tensors in self._events:
            if key.endswith(_INPUTS):
                inputs[key.removesuffix(_INPUTS)] = tensors
            elif key.endswith(_OUTPUTS):
                name = key.removesuffix(_OUTPUTS)
                traces.append(
                    DispatchTrace(name.rpartition("::")[2], inputs.get(name, ()), tensors)
                )
        return traces
