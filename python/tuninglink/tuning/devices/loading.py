"""Benchmarks on a device, loaded with their buffers; benchmarks of dynamic dispatches at all their sizes."""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

import iree.runtime as rt
import numpy as np
from numpy.typing import NDArray

from tuninglink.tuning.devices.device import (
    LOCAL_DRIVERS,
    driver_of,
    last_level_bytes,
    release_memory,
)
from tuninglink.tuning.devices.numerics import patterns, random_bytes
from tuninglink.tuning.devices.running import (
    LoadedBenchmark,
    LoadedFunction,
    Loader,
    MeasurementError,
    Overhead,
    Runnable,
    hal_type,
    place_inputs,
    to_device,
    to_host,
)
from tuninglink.tuning.devices.times import Caches, Settings
from tuninglink.tuning.programs import (
    Benchmark,
    BufferLayout,
    CompiledProgram,
    Failure,
    FailureKind,
    ParameterSource,
    ProgramInput,
    SizedFunction,
    element_type,
    is_float,
)

_LOCAL_COPIES: Final = 3
"""Copies of a module that take turns on a CPU: byte-equal code differs by several percent from place to place."""

_MOST_COPIED_BYTES: Final = 16 << 20
"""The maximum size of modules that are copied: larger ones are mostly constants, which need not be in memory several times."""

_MOST_BUFFER_BYTES: Final = 4 << 30
"""The maximum size of a buffer of many sets, in bytes."""

_COLD_FACTOR: Final = 4
"""Sets that rotate are this many times the last-level cache."""


_KEPT_PATTERNS: Final = 16
"""The layouts whose inputs are kept. Those of one have a few megabytes."""


class BenchmarkLoader:
    """Loads benchmarks, and keeps shared data: buffers, overheads of calls, and repetitions by size."""

    def __init__(self, uri: str, device: rt.HalDevice, loader: Loader, settings: Settings) -> None:
        self._uri = uri
        self._device = device
        self._loader = loader
        self._settings = settings
        self._buffers: dict[tuple[BufferLayout, int], rt.HalBuffer] = {}
        self.patterns = lru_cache(_KEPT_PATTERNS)(partial(patterns, seed=settings.seed))
        self._repetitions: dict[tuple[SizedFunction, ...], Repetition] = {}
        self.overheads: defaultdict[BufferLayout, Overhead] = defaultdict(Overhead)

    def subject(self, benchmark: Benchmark, copies: Sequence[Hashable] = (None,)) -> Subject:
        """Load copies of a benchmark, to be sampled."""
        loaded = [self._load(benchmark, copy) for copy in copies]
        repeated = self._repetitions.get(benchmark.measured)
        stretch = 1.0 if repeated is None else repeated.stretch
        return Subject(loaded, self._settings.sample_seconds / stretch)

    def copies(self, image: bytes, seed: int) -> Sequence[Hashable]:
        """Return the names of the copies of a module that take turns."""
        if driver_of(self._uri) in LOCAL_DRIVERS and len(image) <= _MOST_COPIED_BYTES:
            return [(seed, position) for position in range(_LOCAL_COPIES)]
        return [None]

    def _load(self, benchmark: Benchmark, copy: Hashable) -> Runnable:
        """Load a copy of a benchmark; one of a dynamic dispatch runs at all its sizes."""
        if not benchmark.measured:
            return self._load_function(benchmark, copy, [benchmark.layout])
        layouts = [function.layout for function in benchmark.measured]
        functions = [
            self._load_function(benchmark.at(function), copy, layouts)
            for function in benchmark.measured
        ]
        weights = [function.weight for function in benchmark.measured]
        repeated = self._repetitions.get(benchmark.measured)
        if repeated is None:
            # Those of the first one count for all: times of unequal batches are not comparable.
            times = []
            for function in functions:
                function.sample(function.least_batch)  # it pays for code and pages
                times.append(function.sample(function.least_batch))
            repeated = repetition(times, weights, self._settings.sample_seconds)
            self._repetitions[benchmark.measured] = repeated
        return SizedBenchmark(functions, weights, repeated.counts)

    def _load_function(
        self, benchmark: Benchmark, copy: Hashable, layouts: Collection[BufferLayout]
    ) -> LoadedBenchmark:
        """Load a benchmark on its buffer; release all other buffers except those of `layouts`."""
        layout = benchmark.layout
        call = self._loader.load(benchmark.image, benchmark.function, copy)
        sets = self._sets(layout)
        key = (layout, layout.copies(sets))
        if key not in self._buffers:
            for other in [buffer for buffer in self._buffers if buffer[0] not in layouts]:
                del self._buffers[other]
            release_memory(self._device)
            contents = self.patterns(layout)
            self._buffers[key] = place_inputs(self._device, layout, contents, key[1])
        return LoadedBenchmark(
            call, self._buffers[key], sets, layout.stride, self.overheads[layout]
        )

    def _sets(self, layout: BufferLayout) -> int:
        if self._settings.caches is Caches.WARM:
            return 1
        if self._settings.caches is Caches.PROGRAM:
            return layout.program_sets
        cache_bytes = self._settings.last_level_bytes or last_level_bytes(self._uri)
        copies = _COLD_FACTOR * cache_bytes // layout.stride + 1
        return layout.variants * max(2, min(copies, _MOST_BUFFER_BYTES // layout.stride))


# --- Sampling of loaded programs: the size of batches, rounds in which programs take turns, and means over sizes

_LARGEST_BATCH: Final = 1 << 20
_LARGEST_STEP: Final = 16
"""The maximum growth of batches during the search for their size."""

_SLOW: Final = 8.0
"""An iteration that takes this many samples is slow: its first-time costs do not matter."""

_LONGEST: Final = 4.0
"""The factor by which a sample may be longer than necessary so that batches are equal."""

FEWEST_ROUNDS: Final = 3
"""The number of rounds that always run: fewer give no useful interval."""


class Subject:
    """A sampled program, in one or several copies that differ only in their place in memory."""

    def __init__(self, copies: Sequence[Runnable], sample_seconds: float) -> None:
        self._copies = copies
        self._least_batch = copies[0].least_batch
        self._wanted = sample_seconds * 1e6
        self._microseconds = math.inf

    def sample(self, batch: int, copy: int = 0) -> float:
        """Run a batch and return the microseconds of an iteration."""
        microseconds = self._copies[copy].sample(batch)
        if batch >= self._least_batch:
            self._microseconds = min(self._microseconds, microseconds)
        return microseconds

    def sample_any(self, batch: int, chance: random.Random) -> float:
        """Run a batch of one of the copies, at random."""
        return self.sample(batch, chance.randrange(len(self._copies)))

    def fitting_batch(self) -> int:
        """Return the number of iterations in a sample.

        A single iteration mostly measures the call, so the batch grows until it measures the iterations. It grows by
        steps, since a batch that seems to take no time may only have run in a quiet moment of a busy machine.
        """
        batch = self._least_batch
        if math.isinf(self._microseconds):
            self.sample(batch)
        taken = self._microseconds * batch
        if taken >= _SLOW * self._wanted:
            return batch
        taken = min(taken, self.sample(batch) * batch)
        while taken < self._wanted / 2 and batch < _LARGEST_BATCH:
            batch = math.ceil(batch * min(self._wanted / max(taken, 0.001), _LARGEST_STEP))
            taken = self.sample(batch) * batch
        self._microseconds = taken / batch
        return self._batch_of(self._wanted)

    def longest_batch(self) -> int:
        """Return the largest number of iterations in a sample that another subject may ask for."""
        return self._batch_of(_LONGEST * self._wanted)

    def _batch_of(self, microseconds: float) -> int:
        batch = math.ceil(microseconds / self._microseconds)
        return max(min(batch, _LARGEST_BATCH), self._least_batch)

    def warm_up(self) -> None:
        """Run the copies that have not run, unless they are slow."""
        if self._microseconds * self._least_batch < _SLOW * self._wanted:
            for copy in range(1, len(self._copies)):
                self.sample(self._least_batch, copy)


def interleave(
    subjects: Sequence[Subject],
    count: int,
    seed: int,
    seconds: float,
    after_round: Callable[[], None],
) -> tuple[tuple[tuple[float, ...], ...], tuple[int, ...]]:
    """Run each subject once per round, in random order; return the times by round and subject, and the batches.

    All subjects have equal batches, since times from unequal batches are not quite comparable. The exception is a
    subject that is several times as slow as another: the inaccuracy does not matter there, and a smaller batch
    saves time.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    shared = max(subject.fitting_batch() for subject in subjects)
    batches = tuple(min(shared, subject.longest_batch()) for subject in subjects)
    for subject in subjects:
        subject.warm_up()
    rounds: list[tuple[float, ...]] = []
    end = time.monotonic() + seconds
    while len(rounds) < count and (len(rounds) < FEWEST_ROUNDS or time.monotonic() < end):
        samples = [0.0] * len(subjects)
        for index in chance.sample(range(len(subjects)), len(subjects)):
            samples[index] = subjects[index].sample_any(batches[index], chance)
        rounds.append(tuple(samples))
        after_round()
    return tuple(rounds), batches


class SizedBenchmark:
    """A benchmark that runs at several sizes, one after another. An iteration takes the mean of their times."""

    def __init__(
        self, benchmarks: Sequence[Runnable], weights: Sequence[int], repeats: Sequence[int]
    ) -> None:
        self.least_batch = max(benchmark.least_batch for benchmark in benchmarks)
        self._benchmarks = benchmarks
        self._weights = weights
        self._repeats = repeats

    def sample(self, batch: int) -> float:
        """Run a batch at each of the sizes; return the microseconds of an iteration."""
        parts = zip(self._benchmarks, self._repeats, strict=True)
        times = [benchmark.sample(batch * repeats) for benchmark, repeats in parts]
        return weighted_mean(times, self._weights)


@dataclass(frozen=True)
class Repetition:
    """The repetitions of a benchmark at each of its sizes, so that short ones are measured as exactly as long ones."""

    counts: tuple[int, ...]
    stretch: float


def repetition(times: Sequence[float], weights: Sequence[int], sample_seconds: float) -> Repetition:
    """Return the repetitions of a benchmark at each of its sizes, which `sample_seconds` limit."""
    longest = min(max(times), sample_seconds * 1e6)
    counts = tuple(max(1, round(longest / time)) for time in times)
    whole = sum(count * time for count, time in zip(counts, times, strict=True))
    return Repetition(counts, whole / weighted_mean(times, weights))


def weighted_mean(times: Sequence[float], weights: Sequence[int]) -> float:
    """Return the weighted geometric mean of times."""
    total = sum(weight * math.log(time) for time, weight in zip(times, weights, strict=True))
    return math.exp(total / sum(weights))


# --- Running whole programs in the process that holds the device: their outputs, and their interleaved times


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
    try:
        for file in source.files:
            indexes[file.scope].load(file.path)
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        message = f"cannot read parameters: {failure}"
        raise MeasurementError(Failure(FailureKind.LOAD, message)) from None
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


@dataclass(frozen=True, eq=False)
class CallOutputs:
    """The outputs of a call of a program.

    Attributes:
        arrays: its results, and then the arguments that it writes to, in order.
        seconds: the time of the call, without loading the program.
    """

    arrays: tuple[NDArray[Any], ...]
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
        load: Callable[..., LoadedFunction],
        program: CompiledProgram,
        seed: int,
    ) -> None:
        self._device = device
        self._load = load
        self._program = program
        self._seed = seed
        self._inputs = self._arguments()
        self._function = load()

    def sample(self, batch: int) -> float:
        """Call the function `batch` times; return the microseconds of a call."""
        if self._program.is_stateful:
            function = self._load(anew=True)
            self._call(function, self._inputs)
            return self._call(function, self._inputs)[0] * 1e6
        if any(argument.is_updated for argument in self._program.inputs):
            self._inputs = self._arguments()
        return sum(self._call(self._function, self._inputs)[0] for _ in range(batch)) / batch * 1e6

    def outputs(self) -> CallOutputs:
        """Return the outputs of a call in a fresh context."""
        function = self._load(anew=True)
        inputs = self._arguments()
        seconds, results = self._call(function, inputs)
        updated = [
            value
            for value, argument in zip(inputs, self._program.inputs, strict=True)
            if argument.is_updated
        ]
        values = []
        for number in range(results.size):
            value = results.get_variant(number)
            is_reference = isinstance(value, rt.VmRef)
            values.append(
                results.get_as_object(number, rt.HalBufferView) if is_reference else value
            )
        arrays = (
            to_host(self._device, value)
            if isinstance(value, rt.HalBufferView)
            else np.asarray(value)
            for value in (*values, *updated)
        )
        return CallOutputs(tuple(arrays), seconds)

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
