"""Loaded modules and programs, and arrays to and from a device, in the process that holds it."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, Final

import iree.runtime as rt
import numpy as np
from numpy.typing import NDArray

from tuninglink.devices.numerics import CANARY, Bytes, Pattern, buffer_length, random_bytes
from tuninglink.files import temporary_directory
from tuninglink.iree import WORKER_STACK_BYTES
from tuninglink.programs import (
    BufferLayout,
    CompiledProgram,
    Failure,
    FailureKind,
    ParameterSource,
    ProgramInput,
    element_type,
    is_float,
)


class MeasurementError(Exception):
    """A benchmark cannot be loaded or run."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message)


@contextmanager
def _reporting(kind: FailureKind, what: str = "") -> Iterator[None]:
    """Report a failure of the runtime in a block, whose status becomes one of several types."""
    try:
        yield
    except Exception as failure:  # noqa: BLE001
        raise MeasurementError(kind, f"{what}{failure}") from None


_OWN_STACK_BYTES: Final = 12 << 10
"""The stack that the interpreter needs in a thread beyond that of IREE's task system, in bytes."""


def worker_thread() -> ThreadPoolExecutor:
    """Start a thread with as much stack as a worker of `local-task`, whose processor time counts.

    `local-sync` runs dispatches in the thread that calls it. Its processor time does not depend on other work on the
    machine, and code that would overflow the stack of a worker does so here, too.
    """
    thread = ThreadPoolExecutor(1)
    before = threading.stack_size(WORKER_STACK_BYTES + _OWN_STACK_BYTES)
    try:
        thread.submit(int).result()  # the thread starts here
    finally:
        threading.stack_size(before)
    return thread


_MOST_LOADED: Final = 24
"""Modules that stay loaded: those of a race. Some devices compile a module further when it is loaded."""


@dataclass(frozen=True)
class LoadedFunction:
    """A function of a module in a context, which holds the module's state; and the thread that calls it, if any."""

    context: rt.VmContext
    function: rt.VmFunction
    thread: ThreadPoolExecutor | None

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
        clock = time.perf_counter if self.thread is None else time.thread_time

        def call() -> float:
            before = clock()
            self.context.invoke(self.function, values, results)
            if wait is not None:
                wait()
            return clock() - before

        with _reporting(FailureKind.RUN):
            return call() if self.thread is None else self.thread.submit(call).result(), results


class Loader:
    """Loads modules onto a device; the most recently requested ones stay loaded.

    Args:
        device: the device.
        kept: the number of modules that stay loaded.
        thread: runs calls and times them; None for the calling thread, whose waiting counts, too.
        sink: receives the tensors that programs trace; None leaves them to the runtime.

    Attributes:
        instance: the instance that modules of the runtime belong to.
    """

    def __init__(
        self,
        device: rt.HalDevice,
        kept: int = _MOST_LOADED,
        thread: ThreadPoolExecutor | None = None,
        sink: rt.HalModuleDebugSink | None = None,
    ) -> None:
        self.instance = rt.VmInstance()
        self._thread = thread
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
        with _reporting(FailureKind.LOAD):
            module, context = (self._open if anew else self._opened)(image, copy, libraries)
        loaded = module.lookup_function(function)
        if loaded is None:
            raise MeasurementError(FailureKind.LOAD, f"the module has no function '{function}'")
        return LoadedFunction(context, loaded, self._thread)

    def open(self, image: bytes) -> None:
        """Open a module and release it; a `MeasurementError` means that the device rejects it."""
        with _reporting(FailureKind.LOAD):
            rt.VmContext(self.instance, modules=[self._hal, self._map(image, None)])

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


# --- Arrays to and from buffers of a device

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


_CANNOT_ALLOCATE: Final = "cannot allocate {} bytes on the device: "


def to_device(device: rt.HalDevice, data: NDArray[np.uint8]) -> rt.HalBuffer:
    """Copy bytes to a new buffer of a device; a `MeasurementError` means too little free memory."""
    with _reporting(FailureKind.RUN, _CANNOT_ALLOCATE.format(len(data))):
        return device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT,
            device=device,
            buffer=data,
        )


def place_inputs(
    device: rt.HalDevice,
    layout: BufferLayout,
    contents: Sequence[Sequence[Pattern]],
    sets: int = 1,
    guard: Bytes = CANARY,
) -> rt.HalBuffer:
    """Return a new buffer of a device with the sets of a benchmark, whose bindings hold the given patterns.

    One period of each pattern travels to the device, which repeats them: buffers may have gigabytes.
    """
    length = -(-buffer_length(layout, sets) // len(guard)) * len(guard)
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
    staged = to_device(device, np.concatenate([guard, *periods]))
    with _reporting(FailureKind.RUN, _CANNOT_ALLOCATE.format(length)):
        buffer = device.allocator.allocate_buffer(
            memory_type=int(rt.MemoryType.DEVICE_LOCAL),
            allowed_usage=int(rt.BufferUsage.DEFAULT),
            allocation_size=length,
        )
    # Copies of a step are independent of each other; each copy doubles what is there.
    steps: list[list[tuple[rt.HalBuffer, int, int, int]]] = []
    at = len(guard)
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
    with _reporting(FailureKind.RUN, _CANNOT_ALLOCATE.format(length)):
        done, commands = device.create_semaphore(0), []
        for number, step in enumerate([[], *steps]):
            command = rt.HalCommandBuffer(device)
            if not number:
                command.fill(buffer, guard, 0, length)
            for source, source_offset, offset, size in step:
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


# --- Whole programs: their inputs, parameters and outputs


def input_bytes(
    argument: ProgramInput, number: int, seed: int, integers: tuple[int, int]
) -> NDArray[np.uint8]:
    """Return the elements of the argument at a position; random integers are from the first to the second of two."""
    if argument.content is not None:
        return np.frombuffer(argument.content, np.uint8)
    count = math.prod(argument.shape)
    dtype = element_type(argument.element_type)
    if dtype is None or dtype.kind != "i" or dtype.itemsize == 1:
        return random_bytes(argument.element_type, count, (seed, number))
    low, high = integers
    generator = np.random.default_rng((seed, number))
    return generator.integers(low, high, count, dtype, endpoint=True).view(np.uint8)


def parameter_indexes(source: ParameterSource, seed: int) -> dict[str, rt.ParameterIndex]:
    """Return the parameters of a program by scope; a `MeasurementError` means that a file cannot be read."""
    indexes: defaultdict[str, rt.ParameterIndex] = defaultdict(rt.ParameterIndex)
    with _reporting(FailureKind.LOAD, "cannot read parameters: "):
        for file in source.files:
            indexes[file.scope].load(file.path)
    for number, parameter in enumerate(source.parameters if source.is_synthetic else ()):
        kind, shape = parameter.element_type, parameter.shape
        values = random_bytes(kind, math.prod(shape), (seed, number))
        dtype = element_type(kind)
        if dtype is not None and is_float(kind) and len(shape) > 1:
            # Of such a scale that a product has the magnitude of its other factor.
            scale = 1 / math.sqrt(math.prod(shape[1:]) or 1)
            values = (values.view(dtype).astype(np.float32) * scale).astype(dtype).view(np.uint8)
        rt.parameter_index_add_numpy_ndarray(indexes[parameter.scope], parameter.key, values)
    return dict(indexes)


def program_arguments(
    program: CompiledProgram, seed: int, place: Callable[[bytes | Path, str], str]
) -> tuple[str, ...]:
    """Return the inputs and the parameters of a program as flags of the runtime's tools.

    Args:
        program: the program and its inputs.
        seed: fixes random inputs and parameters.
        place: receives the content of a file, or its path, and the suffix of its name; returns the path that the tool opens.

    Raises:
        MeasurementError: a file of parameters cannot be read.
    """
    flags = []
    for number, argument in enumerate(program.inputs):
        content = input_bytes(argument, number, seed, program.integers)
        if argument.is_scalar:
            dtype = element_type(argument.element_type)
            assert dtype is not None
            flags.append(f"--input={content.view(dtype)[0]}")
            continue
        sizes = "".join(f"{size}x" for size in argument.shape)
        flags.append(f"--input={sizes}{argument.element_type}=@{place(content.tobytes(), '.bin')}")
    # The parameters: the user's files, or an archive of random ones.
    paths = [(file.scope, Path(file.path)) for file in program.parameters.files]
    archives = [(scope, place(path, path.suffix)) for scope, path in paths]
    if program.parameters.is_synthetic:
        indexes = parameter_indexes(program.parameters, seed)
        with temporary_directory() as directory:
            for scope, index in indexes.items():
                archive = directory / "parameters.irpa"
                index.create_archive_file(str(archive))
                archives.append((scope, place(archive.read_bytes(), archive.suffix)))
    flags += [
        f"--parameters={scope}={path}" if scope else f"--parameters={path}"
        for scope, path in archives
    ]
    return tuple(flags)


def files_in(directory: Path) -> Callable[[bytes | Path, str], str]:
    """Return the places of arguments for tools on this machine: new files in a directory, and given files as they are."""
    numbers = count()

    def place(content: bytes | Path, suffix: str) -> str:
        if isinstance(content, Path):
            return str(content)
        file = directory / f"argument-{next(numbers)}{suffix}"
        file.write_bytes(content)
        return str(file)

    return place


@dataclass(frozen=True, eq=False)
class CallOutputs:
    """The outputs of a call of a program.

    Attributes:
        arrays: its results, and then the arguments that it writes to, in order.
        seconds: the time of the call, without loading the program.
    """

    arrays: tuple[NDArray[Any], ...]
    seconds: float


@dataclass
class LoadedProgram:
    """A function of a program with its inputs.

    A call of a stateful program is timed in a fresh context, after a warm-up call: every call starts from the same
    state.
    """

    device: rt.HalDevice
    load: Callable[..., LoadedFunction]
    program: CompiledProgram
    seed: int

    def __post_init__(self) -> None:
        self._inputs = self._arguments()
        self._function = self.load()

    def sample(self, batch: int) -> float:
        """Call the function `batch` times; return the microseconds of a call."""
        if self.program.is_stateful:
            function = self.load(anew=True)
            self._call(function, self._inputs)
            return self._call(function, self._inputs)[0] * 1e6
        if any(argument.is_updated for argument in self.program.inputs):
            self._inputs = self._arguments()
        return sum(self._call(self._function, self._inputs)[0] for _ in range(batch)) / batch * 1e6

    def outputs(self) -> CallOutputs:
        """Return the outputs of a call in a fresh context."""
        function = self.load(anew=True)
        inputs = self._arguments()
        seconds, results = self._call(function, inputs)
        values = []
        for number in range(results.size):
            value = results.get_variant(number)
            if isinstance(value, rt.VmRef):
                value = results.get_as_object(number, rt.HalBufferView)
            values.append(value)
        pairs = zip(inputs, self.program.inputs, strict=True)
        values += [value for value, argument in pairs if argument.is_updated]
        arrays = (
            to_host(self.device, value)
            if isinstance(value, rt.HalBufferView)
            else np.asarray(value)
            for value in values
        )
        return CallOutputs(tuple(arrays), seconds)

    def _call(
        self, function: LoadedFunction, inputs: Sequence[Any]
    ) -> tuple[float, rt.VmVariantList]:
        if not self.program.has_fences:
            return function.run(inputs)
        done = rt.HalFence.create_at(self.device.create_semaphore(0), 1)
        return function.run([*inputs, rt.HalFence(0), done], done.wait)

    def _arguments(self) -> list[Any]:
        values: list[Any] = []
        for number, argument in enumerate(self.program.inputs):
            name = argument.element_type
            data = input_bytes(argument, number, self.seed, self.program.integers)
            if argument.is_scalar:
                dtype = element_type(name)
                assert dtype is not None
                value = data.view(dtype)[0]
                values.append(float(value) if is_float(name) else int(value))
                continue
            kind = getattr(rt.HalElementType, _HAL_TYPES.get(name.lstrip("su"), ""), None)
            if kind is None:
                raise MeasurementError(FailureKind.LOAD, f"inputs of type '{name}' cannot be made")
            buffer = to_device(self.device, data)
            values.append(rt.HalBufferView(buffer, list(argument.shape), kind))
        return values
