"""Measurement of benchmarks and programs, in the process that holds the device."""

from __future__ import annotations

import math
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import iree.runtime as rt
import numpy as np
from numpy.typing import NDArray

from tuninglink.devices.device import (
    LOCAL_DRIVERS,
    SYNCHRONOUS_DRIVER,
    describe,
    driver_of,
    open_device,
    release_memory,
    sensors_of,
    shared_cache_bytes,
)
from tuninglink.devices.numerics import (
    CANARY,
    ZEROS,
    Bytes,
    Outputs,
    Pattern,
    buffer_length,
    difference,
    find_violation,
    outputs_of,
    patterns,
)
from tuninglink.devices.running import (
    CallOutputs,
    LoadedProgram,
    Loader,
    bytes_on_host,
    parameter_indexes,
    place_inputs,
    to_host,
    worker_thread,
)
from tuninglink.devices.times import Caches, DeviceReading, Rounds, Settings, Timing
from tuninglink.programs import (
    Benchmark,
    BufferLayout,
    CompiledProgram,
    Failure,
    ParameterSource,
    SizedFunction,
)

_MOST_PROGRAMS: Final = 6
"""The number of programs that stay loaded while unused, three copies of two. Each may hold large weights."""

_LOCAL_COPIES: Final = 3
"""Copies of a module that take turns on a CPU: byte-equal code differs by several percent from place to place."""

_MOST_COPIED_BYTES: Final = 16 << 20
"""The maximum size of modules that are copied: larger ones are mostly constants, which need not be in memory several times."""

_MOST_BUFFER_BYTES: Final = 4 << 30
"""The maximum size of a buffer of many sets, in bytes."""

COLD_FACTOR: Final = 4
"""Sets that rotate are this many times the last-level cache."""

_GPU_CACHE_BYTES: Final = 256 << 20
"""The largest last-level cache of the GPUs in use: that of an MI300X (AMD's white paper on CDNA 3)."""

_KEPT_PATTERNS: Final = 16
"""The layouts whose inputs are kept. Those of one have a few megabytes."""

_OVERHEAD_CALLS: Final = 5
"""The number of empty batches whose least time is the overhead of a call."""

SAMPLE_SECONDS: Final = 0.003
"""The duration of a sample, if more than one iteration fits."""

LEAST_SAMPLES: Final = 3
MOST_SAMPLES: Final = 100
ENOUGH_SECONDS: Final = 1.0
"""Time after which one sample of a slow benchmark is enough."""

_FIRST_FACTOR: Final = 3.0
_FIRST_US: Final = 20_000.0
"""A first iteration is too slow beyond both this multiple of the limit and this number of microseconds."""

FEWEST_ROUNDS: Final = 3
"""The number of rounds that always run: fewer give no useful interval."""

_OUTPUTS: Final = " outputs"
_INPUTS: Final = " inputs"
"""The text after the name of a dispatch in traces of `--iree-flow-trace-dispatch-tensors`."""


@dataclass(frozen=True)
class TracedTensor:
    """A tensor that was traced, in a file that is named for the hash of its bytes: equal contents are kept once."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def array(self) -> NDArray[Any]:
        """Return the elements of the tensor."""
        return np.fromfile(self.path, np.uint8).view(self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class DispatchTrace:
    """One execution of a dispatch: the name of its function, and the tensors that it reads and writes."""

    name: str
    inputs: tuple[TracedTensor, ...]
    outputs: tuple[TracedTensor, ...]


class OutputComparison(ABC):
    """Runs benchmarks once on a device and compares their outputs, given the settings of measurements."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._patterns = lru_cache(_KEPT_PATTERNS)(partial(patterns, seed=settings.seed))
        self._expected: dict[Benchmark, Outputs] = {}

    @abstractmethod
    def run_once(
        self, benchmark: Benchmark, contents: Sequence[Sequence[Pattern]], guard: Bytes
    ) -> Bytes:
        """Return the buffer of one set after an iteration of a benchmark on it, given what it and its guards held."""

    def outputs(
        self, benchmark: Benchmark, *, is_perturbed: bool = False, guard: Bytes = CANARY
    ) -> Outputs:
        """Return the outputs of one iteration of a benchmark on fresh inputs, possibly moved by about one rounding."""
        layout = benchmark.layout
        contents = self._patterns(layout)
        if is_perturbed:
            contents = patterns(layout, self._settings.seed, perturbed=True)
        after = self.run_once(benchmark, contents, guard)
        violation = find_violation(layout, contents, after) if guard is CANARY else None
        return Outputs(outputs_of(layout, after), violation)

    def compare(self, benchmark: Benchmark, reference: Benchmark, reduction: int) -> Failure | None:
        """Return the difference of the outputs of a benchmark and a reference on the same inputs, and its place, or None.

        An element of an output is a sum of `reduction` products. NaNs are around the operands of the benchmark only: a
        reference that reads beyond an operand differs from itself.
        """
        for function in benchmark.sized:
            failure = self.compare(benchmark.at(function), reference.at(function), reduction)
            if failure is not None:
                return replace(failure, message=f"at {function.sizes}: {failure.message}")
        if benchmark.sized:
            return None
        # The outputs of the last reference are kept: several benchmarks are compared with it.
        expected = self._expected.get(reference)
        if expected is None:
            if any(other.image != reference.image for other in tuple(self._expected)):
                self._expected.clear()
            expected = self._expected[reference] = self.outputs(reference, guard=ZEROS)
        # From here on, another thread may compare with another reference.
        return difference(benchmark.layout, self.outputs(benchmark), expected, reduction)


class Measurer(OutputComparison):
    """Measures benchmarks and programs on a device that it holds. What cannot be loaded or run raises a `MeasurementError`.

    Args:
        uri: the device.
        cores: the processors for a threaded CPU device; see `open_device`.
        settings: the settings of measurements.

    Raises:
        DeviceError: the device cannot be opened.
    """

    def __init__(
        self, uri: str, cores: Sequence[int] = (), settings: Settings | None = None
    ) -> None:
        super().__init__(settings or Settings())
        self.description = describe(uri, cores)
        self._uri = uri
        self._device = open_device(self.description.uri, cores)
        self._sensors = sensors_of(uri)
        thread = worker_thread() if driver_of(uri) == SYNCHRONOUS_DRIVER else None
        self._loader = Loader(self._device, thread=thread)
        self._programs = Loader(self._device, _MOST_PROGRAMS, thread)
        # Data that benchmarks or programs share
        self._parameters: dict[tuple[rt.VmInstance, ParameterSource], rt.VmModule] = {}
        self._buffers: dict[tuple[BufferLayout, int], rt.HalBuffer] = {}
        self._repetitions: dict[tuple[SizedFunction, ...], Repetition] = {}
        # The least seconds of an empty batch, as other work on the machine only increases a time. Too large an overhead
        # would make slow candidates seem fast.
        self._overheads: dict[BufferLayout, float] = {}

    def measure(
        self, benchmark: Benchmark, seconds: float, limit_microseconds: float | None = None
    ) -> Timing:
        """Measure one benchmark.

        Args:
            benchmark: the benchmark.
            seconds: the time limit of sampling; three samples are taken in any case, unless they take over a second.
            limit_microseconds: the time of an iteration above which no batch is run.
        """
        subject = self._subject(benchmark)
        once = subject.sample(1)
        if limit_microseconds is not None:
            # A single iteration is as uncertain as the overhead of the call.
            limit = limit_microseconds + self._overheads[benchmark.layout] * 1e6
            if limit < once < max(_FIRST_FACTOR * limit, _FIRST_US):
                # The first iteration also pays for code and pages that are not there yet.
                once = subject.sample(1)
            if once > limit:
                # Of a short iteration, a sample is cheap, and shows its time without the overhead of the call.
                few = max(1, int(SAMPLE_SECONDS * 1e6 / once))
                once = subject.sample(few) if few > 1 else once
                if few == 1 or once > limit_microseconds:
                    return Timing((once,), few, self._sensors())
        batch, _ = subject.batches()
        samples: list[float] = []
        began = time.perf_counter()
        while len(samples) < MOST_SAMPLES:
            taken = time.perf_counter() - began
            if samples and taken >= (ENOUGH_SECONDS if len(samples) < LEAST_SAMPLES else seconds):
                break
            samples.append(subject.sample(batch))
        return Timing(tuple(samples), batch, self._sensors())

    def rounds(
        self, programs: Sequence[Benchmark | CompiledProgram], count: int, seed: int, seconds: float
    ) -> Rounds:
        """Measure benchmarks, or whole programs, against each other: each runs once per round, in random order.

        All have equal batches, since times from unequal batches are not quite comparable. The exception is one that is
        several times as slow as another: the inaccuracy does not matter there, and a smaller batch saves time.

        Args:
            programs: benchmarks of the same layout; or programs, whose samples are times of a call.
            count: the number of rounds.
            seed: fixes the order within the rounds, and which copies of the modules run.
            seconds: the time after which no further round begins, unless there are too few.
        """
        if any(isinstance(program, CompiledProgram) for program in programs):
            release_memory(self._device)
        subjects = [self._subject(program, seed) for program in programs]
        chance = random.Random(seed)  # noqa: S311 - no secret
        fitting, longest = zip(*(subject.batches() for subject in subjects), strict=True)
        batches = tuple(min(max(fitting), most) for most in longest)
        rounds: list[tuple[float, ...]] = []
        readings: list[DeviceReading] = []
        end = time.monotonic() + seconds
        while len(rounds) < count and (len(rounds) < FEWEST_ROUNDS or time.monotonic() < end):
            samples = [0.0] * len(subjects)
            for index in chance.sample(range(len(subjects)), len(subjects)):
                copy = chance.randrange(len(subjects[index].copies))
                samples[index] = subjects[index].sample(batches[index], copy)
            rounds.append(tuple(samples))
            readings += self._sensors()
        return Rounds(tuple(rounds), batches, tuple(readings))

    def _subject(self, program: Benchmark | CompiledProgram, seed: int | None = None) -> Subject:
        """Load a benchmark or a program to be sampled; with a seed, in the copies that take turns."""
        copies: Sequence[Hashable] = [None]
        is_copied = (
            driver_of(self._uri) in LOCAL_DRIVERS and len(program.image) <= _MOST_COPIED_BYTES
        )
        if seed is not None and is_copied:
            copies = [(seed, position) for position in range(_LOCAL_COPIES)]
        if isinstance(program, CompiledProgram):
            loaded = [self._load_program(program, self._programs, copy) for copy in copies]
            return Subject([one.sample for one in loaded], 1)
        if not program.measured:
            sampled = [self._load(program, copy, [program.layout]) for copy in copies]
            return Subject(sampled, self._sets(program.layout))
        # A benchmark of a dynamic dispatch runs at several sizes, one after another. An iteration takes the mean of
        # their times.
        layouts = [function.layout for function in program.measured]
        least_batch = max(map(self._sets, layouts))
        weights = [function.weight for function in program.measured]
        sampled = []
        for copy in copies:
            functions = [
                self._load(program.at(function), copy, layouts) for function in program.measured
            ]
            if program.measured not in self._repetitions:
                # Those of the first one count for all: times of unequal batches are not comparable.
                times = []
                for function, layout in zip(functions, layouts, strict=True):
                    function(self._sets(layout))  # it pays for code and pages
                    times.append(function(self._sets(layout)))
                self._repetitions[program.measured] = repetition(times, weights)
            repeated = self._repetitions[program.measured]
            sampled.append(partial(_mean_sample, functions, repeated.counts, weights))
        return Subject(sampled, least_batch, repeated.stretch)

    def load(self, image: bytes, function: str = "") -> float:
        """Load a module; return the seconds. Release it unless a function is given: drivers keep what they compile."""
        began = time.perf_counter()
        if function:
            self._loader.load(image, function)
            return time.perf_counter() - began
        self._loader.open(image)
        seconds = time.perf_counter() - began
        release_memory(self._device)
        return seconds

    def _sets(self, layout: BufferLayout) -> int:
        """Return the number of sets of a benchmark, which is also the smallest batch that shows its time."""
        if self._settings.caches is Caches.WARM:
            return 1
        if self._settings.caches is Caches.PROGRAM:
            return layout.program_sets
        is_local = driver_of(self._uri) in LOCAL_DRIVERS
        cache_bytes = shared_cache_bytes([0]) if is_local else _GPU_CACHE_BYTES
        copies = COLD_FACTOR * cache_bytes // layout.stride + 1
        return layout.variants * max(2, min(copies, _MOST_BUFFER_BYTES // layout.stride))

    def _load(
        self, benchmark: Benchmark, copy: Hashable, layouts: Collection[BufferLayout]
    ) -> Sample:
        """Load a benchmark on its buffer; release all other buffers except those of `layouts`."""
        layout = benchmark.layout
        function = self._loader.load(benchmark.image, benchmark.function, copy)
        sets = self._sets(layout)
        key = (layout, layout.copies(sets))
        if key not in self._buffers:
            for other in [buffer for buffer in self._buffers if buffer[0] not in layouts]:
                del self._buffers[other]
            release_memory(self._device)
            contents = self._patterns(layout)
            self._buffers[key] = place_inputs(self._device, layout, contents, key[1])
        # A batch begins with the first set. A batch that does not reach the last set would leave some sets in the caches.
        arguments = (self._buffers[key], sets, layout.stride)
        empty = min(function.run((*arguments, 0))[0] for _ in range(_OVERHEAD_CALLS))
        self._overheads[layout] = min(self._overheads.get(layout, math.inf), empty)

        def sample(batch: int) -> float:
            seconds = function.run((*arguments, batch))[0] - self._overheads[layout]
            return max(seconds, 1e-9) / batch * 1e6

        return sample

    def _load_program(
        self, program: CompiledProgram, loader: Loader, copy: Hashable = None
    ) -> LoadedProgram:
        libraries: tuple[rt.VmModule, ...] = ()
        if program.parameters.parameters or program.parameters.files:
            # Keep the parameters of the last program, which may be large.
            key = loader.instance, program.parameters
            if key not in self._parameters:
                indexes = parameter_indexes(program.parameters, self._settings.seed)
                providers = [index.create_provider(scope=scope) for scope, index in indexes.items()]
                module = rt.create_io_parameters_module(loader.instance, *providers)
                self._parameters = {key: module}
            libraries = (self._parameters[key],)
        load = partial(loader.load, program.image, program.function, copy, libraries)
        return LoadedProgram(self._device, load, program, self._settings.seed)

    def program_outputs(self, program: CompiledProgram) -> CallOutputs:
        """Run a program once from its initial state."""
        release_memory(self._device)
        return self._load_program(program, self._programs).outputs()

    def program_traces(
        self, program: CompiledProgram, directory: str
    ) -> tuple[tuple[NDArray[Any], ...], list[DispatchTrace]]:
        """Run once a program compiled with `--iree-flow-trace-dispatch-tensors`; tensors go to files in a directory."""
        traces: list[DispatchTrace] = []
        inputs: dict[str, tuple[TracedTensor, ...]] = {}

        def receive(key: str, views: Sequence[rt.HalBufferView]) -> None:
            tensors = []
            for view in views:
                array = to_host(self._device, view)
                content = array.tobytes()
                path = Path(directory) / blake2b(content, digest_size=16).hexdigest()
                if not path.exists():
                    path.write_bytes(content)
                tensors.append(TracedTensor(path, array.dtype, array.shape))
            if key.endswith(_INPUTS):
                inputs[key.removesuffix(_INPUTS)] = tuple(tensors)
            elif key.endswith(_OUTPUTS):
                name = key.removesuffix(_OUTPUTS)
                function = name.rpartition("::")[2]
                traces.append(DispatchTrace(function, inputs.get(name, ()), tuple(tensors)))

        sink = rt.HalModuleDebugSink(receive)
        loaded = self._load_program(program, Loader(self._device, 1, sink=sink))
        return loaded.outputs().arrays, traces

    def run_once(
        self, benchmark: Benchmark, contents: Sequence[Sequence[Pattern]], guard: Bytes
    ) -> Bytes:
        """See `OutputComparison`."""
        layout = benchmark.layout
        buffer = place_inputs(self._device, layout, contents, guard=guard)
        function = self._loader.load(benchmark.image, benchmark.function)
        function.run((buffer, 1, layout.stride, 1))
        return bytes_on_host(self._device, buffer)[: buffer_length(layout)]


# --- Sampling of loaded programs: the size of batches, and means over sizes

Sample = Callable[[int], float]
"""Runs a batch of a loaded program, and returns the microseconds of an iteration."""

LARGEST_BATCH: Final = 1 << 20
LARGEST_STEP: Final = 16
"""The maximum growth of batches during the search for their size."""

_SLOW: Final = 8.0
"""An iteration that takes this many samples is slow: its first-time costs do not matter."""

LONGEST: Final = 4.0
"""The factor by which a sample may be longer than necessary so that batches are equal."""


@dataclass
class Subject:
    """A sampled program, in one or several copies that differ only in their place in memory.

    Attributes:
        copies: run the copies.
        least_batch: the smallest batch that shows the time of an iteration.
        stretch: the duration of its iteration in a sample over that of a single one, as of several sizes.
    """

    copies: Sequence[Sample]
    least_batch: int
    stretch: float = 1.0
    _microseconds: float = math.inf

    def sample(self, batch: int, copy: int = 0) -> float:
        """Run a batch and return the microseconds of an iteration."""
        microseconds = self.copies[copy](batch)
        if batch >= self.least_batch:
            self._microseconds = min(self._microseconds, microseconds)
        return microseconds

    def batches(self) -> tuple[int, int]:
        """Return the number of iterations in a sample, and the largest one that another subject may ask for.

        A single iteration mostly measures the call, so the batch grows until it measures the iterations. It grows by
        steps, since a batch that seems to take no time may only have run in a quiet moment of a busy machine.
        """
        batch, enough = self.least_batch, SAMPLE_SECONDS / self.stretch * 1e6
        if math.isinf(self._microseconds):
            self.sample(batch)
        taken = self._microseconds * batch
        if taken < _SLOW * enough:
            taken = min(taken, self.sample(batch) * batch)
            while taken < enough / 2 and batch < LARGEST_BATCH:
                batch = math.ceil(batch * min(enough / max(taken, 0.001), LARGEST_STEP))
                taken = self.sample(batch) * batch
            self._microseconds = taken / batch
        fitting, longest = (
            max(min(math.ceil(us / self._microseconds), LARGEST_BATCH), self.least_batch)
            for us in (enough, LONGEST * enough)
        )
        # Run the copies that have not run, unless they are slow.
        if self._microseconds * self.least_batch < _SLOW * enough:
            for copy in range(1, len(self.copies)):
                self.sample(self.least_batch, copy)
        return fitting, longest


def _mean_sample(
    samples: Sequence[Sample], repeats: Sequence[int], weights: Sequence[int], batch: int
) -> float:
    """Run a batch at each of several sizes; return the microseconds of an iteration."""
    times = [sample(batch * count) for sample, count in zip(samples, repeats, strict=True)]
    return weighted_mean(times, weights)


@dataclass(frozen=True)
class Repetition:
    """The repetitions of a benchmark at each of its sizes, so that short ones are measured as exactly as long ones."""

    counts: tuple[int, ...]
    stretch: float


def repetition(times: Sequence[float], weights: Sequence[int]) -> Repetition:
    """Return the repetitions of a benchmark at each of its sizes, which the duration of a sample limits."""
    longest = min(max(times), SAMPLE_SECONDS * 1e6)
    counts = tuple(max(1, round(longest / time)) for time in times)
    whole = sum(count * time for count, time in zip(counts, times, strict=True))
    return Repetition(counts, whole / weighted_mean(times, weights))


def weighted_mean(times: Sequence[float], weights: Sequence[int]) -> float:
    """Return the weighted geometric mean of times."""
    return math.exp(fmean(map(math.log, times), weights))
