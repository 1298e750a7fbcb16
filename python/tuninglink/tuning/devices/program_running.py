"""Running whole programs in the process that holds the device: their outputs, and their interleaved times."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import iree.runtime as rt
import numpy as np

from tuninglink.tuning.devices.buffers import (
    DispatchTrace,
    ValueTracer,
    hal_type,
    to_device,
    to_host,
)
from tuninglink.tuning.devices.inputs import random_bytes
from tuninglink.tuning.devices.running import LoadedFunction, Loader, MeasurementError
from tuninglink.tuning.programs.compiled_program import (
    CompiledProgram,
    Parameter,
    ParameterSource,
    ProgramInput,
    element_type,
    is_float,
)
from tuninglink.tuning.results import Failure, FailureKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.devices import CallTimer

    Array = NDArray[Any]
    _Place = tuple[bytes, Hashable, tuple[rt.VmModule, ...]]


def input_bytes(
    argument: ProgramInput, number: int, seed: int, integers: tuple[int, int]
) -> NDArray[np.uint8]:
    """Return the elements of an argument.

    Args:
        argument: the argument.
        number: its position.
        seed: fixes random elements.
        integers: the least and the largest random integer.
    """
    if argument.content is not None:
        return np.frombuffer(argument.content, np.uint8)
    count = math.prod(argument.shape)
    dtype = element_type(argument.element_type)
    if dtype is None or dtype.kind != "i" or dtype.itemsize == 1:
        return random_bytes(argument.element_type, count, (seed, number))
    low, high = integers
    generator = np.random.default_rng((seed, number))
    return generator.integers(low, high, count, dtype, endpoint=True).view(np.uint8)


def parameter_module(instance: rt.VmInstance, source: ParameterSource, seed: int) -> rt.VmModule:
    """Return the module that programs load their parameters from; see `parameter_indexes`.

    Raises:
        MeasurementError: a file cannot be read.
    """
    indexes = parameter_indexes(source, seed)
    providers = [index.create_provider(scope=scope) for scope, index in indexes.items()]
    return rt.create_io_parameters_module(instance, *providers)


def parameter_indexes(source: ParameterSource, seed: int) -> dict[str, rt.ParameterIndex]:
    """Return the parameters of a program by scope.

    Args:
        source: the parameters, and the files that hold them.
        seed: fixes the parameters if there are no files.

    Raises:
        MeasurementError: a file cannot be read.
    """
    indexes: defaultdict[str, rt.ParameterIndex] = defaultdict(rt.ParameterIndex)
    try:
        for file in source.files:
            indexes[file.scope].load(file.path)
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        message = f"cannot read parameters: {failure}"
        raise MeasurementError(Failure(FailureKind.LOAD, message)) from None
    if source.is_synthetic:
        for number, parameter in enumerate(source.parameters):
            values = _random(parameter, (seed, number))
            rt.parameter_index_add_numpy_ndarray(indexes[parameter.scope], parameter.key, values)
    return dict(indexes)


def _random(parameter: Parameter, seed: tuple[int, int]) -> np.ndarray:
    """Return random weights, scaled so that a product has the magnitude of its other factor."""
    data = random_bytes(parameter.element_type, math.prod(parameter.shape), seed)
    dtype = element_type(parameter.element_type)
    if dtype is None or not is_float(parameter.element_type) or len(parameter.shape) < 2:  # noqa: PLR2004
        return data
    scale = 1 / math.sqrt(math.prod(parameter.shape[1:]) or 1)
    return (data.view(dtype).astype(np.float32) * scale).astype(dtype).view(np.uint8)


_MOST_LOADED: Final = 6
"""The number of modules that stay loaded while unused, three copies of two programs. Each may hold large weights."""


class ProgramRunner:
    """Runs whole programs on a device.

    Args:
        device: the device.
        seed: fixes random inputs and weights.
        timer: runs calls and times them.
    """

    def __init__(self, device: rt.HalDevice, seed: int, timer: CallTimer) -> None:
        self._device = device
        self._loader = Loader(device, _MOST_LOADED, timer)
        self._seed = seed
        self._parameters = lru_cache(1)(parameter_module)

    @property
    def loading_seconds(self) -> float:
        """The time spent on loading modules so far, in seconds."""
        return self._loader.seconds

    def outputs(self, program: CompiledProgram) -> CallOutputs:
        """Run a program once from its initial state.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        (loaded,) = self.load(program, [None])
        return loaded.outputs()

    def traces(
        self, program: CompiledProgram, directory: str
    ) -> tuple[tuple[Array, ...], list[DispatchTrace]]:
        """Run once a program compiled with `--iree-flow-trace-dispatch-tensors`.

        Args:
            program: the program.
            directory: the directory for the values of its dispatches.

        Returns:
            Its outputs, see `outputs`, and the executions of its dispatches.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        tracer = ValueTracer(self._device, directory)
        loader = Loader(self._device, 1, sink=tracer.sink)
        place = self._place(program, loader)
        loaded = LoadedProgram(self._device, loader, program, place, self._seed)
        return loaded.outputs().arrays, tracer.dispatches()

    def load(self, program: CompiledProgram, copies: Sequence[Hashable]) -> list[LoadedProgram]:
        """Return a program ready to run, in several places in memory.

        Args:
            program: the program.
            copies: the keys of the places.

        Raises:
            MeasurementError: it cannot be loaded.
        """
        return [
            LoadedProgram(
                self._device,
                self._loader,
                program,
                self._place(program, self._loader, copy),
                self._seed,
            )
            for copy in copies
        ]

    def _place(self, program: CompiledProgram, loader: Loader, copy: Hashable = None) -> _Place:
        libraries: tuple[rt.VmModule, ...] = ()
        if program.parameters.parameters or program.parameters.files:
            libraries = (self._parameters(loader.instance, program.parameters, self._seed),)
        return program.image, copy, libraries


@dataclass(frozen=True, eq=False)
class CallOutputs:
    """The outputs of a call of a program.

    Attributes:
        arrays: its results, and then the arguments that it writes to, in order.
        seconds: the time of the call, without loading the program.
    """

    arrays: tuple[Array, ...]
    seconds: float


class LoadedProgram:
    """A function of a program with its inputs.

    A call of a stateful program is timed in a fresh context, after a warm-up call: every call starts from the same
    state.
    """

    least_batch = 1

    def __init__(
        self,
        device: rt.HalDevice,
        loader: Loader,
        program: CompiledProgram,
        place: _Place,
        seed: int,
    ) -> None:
        self._device = device
        self._loader = loader
        self._program = program
        self._place = place
        self._seed = seed
        self._inputs = self._arguments()
        self._function = loader.load_module(*self._place).function(program.function)
        self._updates = any(argument.is_updated for argument in program.inputs)

    def sample(self, batch: int) -> float:
        """Call the function `batch` times; return the microseconds of a call."""
        if self._program.is_stateful:
            return self._sample_anew()
        if self._updates:
            self._inputs = self._arguments()
        return sum(self._call(self._function, self._inputs)[0] for _ in range(batch)) / batch * 1e6

    def outputs(self) -> CallOutputs:
        """Return the outputs of a call in a fresh context."""
        module = self._loader.load_anew(*self._place)
        inputs = self._arguments()
        seconds, results = self._call(module.function(self._program.function), inputs)
        updated = [
            value
            for value, argument in zip(inputs, self._program.inputs, strict=True)
            if argument.is_updated
        ]
        views = [_value(results, number) for number in range(results.size)]
        arrays = (
            to_host(self._device, view) if isinstance(view, rt.HalBufferView) else np.asarray(view)
            for view in (*views, *updated)
        )
        return CallOutputs(tuple(arrays), seconds)

    def _sample_anew(self) -> float:
        function = self._loader.load_anew(*self._place).function(self._program.function)
        self._call(function, self._inputs)
        return self._call(function, self._inputs)[0] * 1e6

    def _call(
        self, function: LoadedFunction, inputs: Sequence[Any]
    ) -> tuple[float, rt.VmVariantList]:
        if not self._program.has_fences:
            return function.run(inputs)
        done = rt.HalFence.create_at(self._device.create_semaphore(0), 1)
        return function.run([*inputs, rt.HalFence(0), done], done.wait)

    def _arguments(self) -> list[Any]:
        return [
            self._argument(argument, number) for number, argument in enumerate(self._program.inputs)
        ]

    def _argument(self, argument: ProgramInput, number: int) -> Any:
        name = argument.element_type
        data = input_bytes(argument, number, self._seed, self._program.integers)
        if argument.is_scalar:
            dtype = element_type(name)
            assert dtype is not None
            value = data.view(dtype)[0]
            return float(value) if is_float(name) else int(value)
        kind = hal_type(name)
        return rt.HalBufferView(to_device(self._device, data), list(argument.shape), kind)


def _value(results: rt.VmVariantList, number: int) -> Any:
    """Return a result: a buffer view, or a number."""
    value = results.get_variant(number)
    return results.get_as_object(number, rt.HalBufferView) if isinstance(value, rt.VmRef) else value
