"""Running whole programs in the process that holds the device: their outputs, and their times in turn."""

from __future__ import annotations

import math
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import iree.runtime as rt
import numpy as np

from tuninglink.tuning.devices.buffers import hal_type, to_device, to_host
from tuninglink.tuning.devices.inputs import random_bytes
from tuninglink.tuning.devices.parameter_files import parameter_module
from tuninglink.tuning.devices.running import Loader
from tuninglink.tuning.programs.element_types import element_type, is_float

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.devices.running import LoadedFunction
    from tuninglink.tuning.programs.compiled_program import CompiledProgram, ProgramInput

    Array = NDArray[Any]

_COPIES: Final = 3
"""Copies of a module that take turns on a CPU: byte-equal code differs by several percent from place to place."""

_MOST_LOADED: Final = 2 * _COPIES
"""Modules that stay loaded when they are not in use: with large weights, each takes much room."""

_MOST_COPIED: Final = 32 << 20
"""Bytes of a module that is copied. Larger ones have dispatches enough for their places to average out."""


class ProgramRunner:
    """Runs whole programs on a device.

    Args:
        device: the device.
        seed: fixes random inputs and weights.
        is_local: whether the device is the CPU.
    """

    def __init__(self, device: rt.HalDevice, seed: int, *, is_local: bool) -> None:
        self._device = device
        self._loader = Loader(device, _MOST_LOADED)
        self._seed = seed
        self._is_local = is_local
        self._parameters = lru_cache(1)(parameter_module)

    @property
    def loading_seconds(self) -> float:
        """How long loading modules took so far."""
        return self._loader.seconds

    def outputs(self, program: CompiledProgram) -> tuple[Array, ...]:
        """Runs a program once from its initial state.

        Returns:
            Its results, and then the arguments that it writes to, in order.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        return self._load(program).outputs()

    def copies(self, program: CompiledProgram) -> list[LoadedProgram]:
        """Returns a program ready to run, in several places in memory where these make a difference.

        Raises:
            MeasurementError: it cannot be loaded.
        """
        is_copied = self._is_local and len(program.image) <= _MOST_COPIED
        return [self._load(program, copy) for copy in range(_COPIES if is_copied else 1)]

    def _load(self, program: CompiledProgram, copy: int = 0) -> LoadedProgram:
        libraries: tuple[rt.VmModule, ...] = ()
        if program.parameters.parameters or program.parameters.files:
            libraries = (self._parameters(self._loader.instance, program.parameters, self._seed),)
        return LoadedProgram(
            self._device, self._loader, program, copy=copy, libraries=libraries, seed=self._seed
        )
class LoadedProgram:
    """A function of a program with its inputs.

    A call of a stateful program is timed in a fresh context, after one that warms it up: every call meets the same
    state.
    """

    least_batch = 1

    def __init__(
        self,
        device: rt.HalDevice,
        loader: Loader,
        program: CompiledProgram,
        *,
        copy: int,
        libraries: tuple[rt.VmModule, ...],
        seed: int,
    ) -> None:
        self._device = device
        self._loader = loader
        self._program = program
        self._place = (program.image, copy, libraries)
        self._seed = seed
        self._inputs = self._arguments()
        self._function = loader.load_module(*self._place).function(program.function)
        self._updates = any(argument.is_updated for argument in program.inputs)

    def sample(self, batch: int) -> float:
        """Calls the function as often as `batch` says; returns the microseconds of a call."""
        if self._program.is_stateful:
            return self._sample_anew()
        if self._updates:
            self._inputs = self._arguments()
        return sum(self._call(self._function, self._inputs)[0] for _ in range(batch)) / batch * 1e6

    def outputs(self) -> tuple[Array, ...]:
        """Returns what a call in a fresh context computes."""
        module = self._loader.load_anew(*self._place)
        inputs = self._arguments()
        _, results = self._call(module.function(self._program.function), inputs)
        updated = [
            value
            for value, argument in zip(inputs, self._program.inputs, strict=True)
            if argument.is_updated
        ]
        views = [_value(results, number) for number in range(results.size)]
        return tuple(
            to_host(self._device, view) if isinstance(view, rt.HalBufferView) else np.asarray(view)
            for view in (*views, *updated)
        )

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
        before = time.perf_counter()
        _, results = function.run([*inputs, rt.HalFence(0), done])
        done.wait()
        return time.perf_counter() - before, results

    def _arguments(self) -> list[Any]:
        return [
            self._argument(argument, number) for number, argument in enumerate(self._program.inputs)
        ]

    def _argument(self, argument: ProgramInput, number: int) -> Any:
        name = argument.element_type
        data = self._content(argument, number)
        if argument.is_scalar:
            dtype = element_type(name)
            assert dtype is not None
            value = data.view(dtype)[0]
            return float(value) if is_float(name) else int(value)
        kind = hal_type(name)
        return rt.HalBufferView(to_device(self._device, data), list(argument.shape), kind)

    def _content(self, argument: ProgramInput, number: int) -> NDArray[np.uint8]:
        if argument.content is not None:
            return np.frombuffer(argument.content, np.uint8)
        count, seed = math.prod(argument.shape), (self._seed, number)
        dtype = element_type(argument.element_type)
        if dtype is None or dtype.kind != "i" or dtype.itemsize == 1:
            return random_bytes(argument.element_type, count, seed)
        low, high = self._program.integers
        values = np.random.default_rng(seed).integers(low, high, count, dtype, endpoint=True)
        return values.view(np.uint8)


def _value(results: rt.VmVariantList, number: int) -> Any:
    """Returns a result: a buffer view, or a number."""
    value = results.get_variant(number)
    return results.get_as_object(number, rt.HalBufferView) if isinstance(value, rt.VmRef) else value
