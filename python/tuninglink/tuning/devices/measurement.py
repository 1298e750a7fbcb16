"""Measurement of benchmarks and programs, in the process that holds the device."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from tuninglink.tuning.devices import (
    DeviceReading,
    Rounds,
    Settings,
    Timing,
    WorkerThread,
    wall_seconds,
)
from tuninglink.tuning.devices.benchmark_loading import BenchmarkLoader
from tuninglink.tuning.devices.buffers import DispatchTrace, bytes_on_host, to_device
from tuninglink.tuning.devices.device import (
    SYNCHRONOUS_DRIVER,
    driver_of,
    open_device,
)
from tuninglink.tuning.devices.inputs import (
    find_violation,
    make_inputs,
    outputs_of,
)
from tuninglink.tuning.devices.numerics import Outputs, difference
from tuninglink.tuning.devices.program_running import CallOutputs, ProgramRunner
from tuninglink.tuning.devices.running import (
    Loader,
)
from tuninglink.tuning.devices.sampling import (
    Interleaving,
    Subject,
)
from tuninglink.tuning.devices.sensors import sensors_of
from tuninglink.tuning.results import Failure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.devices.inputs import Bytes
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.programs.compiled_program import CompiledProgram

_LEAST_SAMPLES: Final = 3
_MOST_SAMPLES: Final = 100
_ENOUGH_SECONDS: Final = 1.0
"""Time after which one sample of a slow benchmark is enough."""

_FIRST_FACTOR: Final = 3.0
_FIRST_US: Final = 20_000.0
"""A first iteration is too slow beyond both this multiple of the limit and this number of microseconds."""


class Measurer:
    """Measures benchmarks on a device that it holds.

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
        self._settings = settings or Settings()
        self._device = open_device(uri, cores)
        self._sensors = sensors_of(uri)
        timer = WorkerThread() if driver_of(uri) == SYNCHRONOUS_DRIVER else wall_seconds
        self._loader = Loader(self._device, timer=timer)
        self._benchmarks = BenchmarkLoader(uri, self._device, self._loader, self._settings)
        self._inputs = lru_cache(1)(partial(make_inputs, seed=self._settings.seed))
        self._expected: dict[Benchmark, Outputs] = {}
        self._programs = ProgramRunner(self._device, self._settings.seed, timer)

    @property
    def loading_seconds(self) -> float:
        """The time spent on loading modules so far, in seconds."""
        return self._loader.seconds + self._programs.loading_seconds

    def measure(
        self, benchmark: Benchmark, seconds: float, limit_microseconds: float | None = None
    ) -> Timing:
        """Measure one benchmark.

        Args:
            benchmark: the benchmark.
            seconds: the time limit of sampling; three samples are taken in any case, unless they take over a second.
            limit_microseconds: the time of an iteration above which no batch is run.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        subject = self._benchmarks.subject(benchmark)
        once = subject.sample(1)
        if limit_microseconds is not None:
            # A single iteration is as uncertain as the overhead of the call.
            limit = limit_microseconds + self._benchmarks.overhead(benchmark.layout) * 1e6
            if limit < once < max(_FIRST_FACTOR * limit, _FIRST_US):
                # The first iteration also pays for code and pages that are not there yet.
                once = subject.sample(1)
            if once > limit:
                # Of a short iteration, a sample is cheap, and shows its time without the overhead of the call.
                few = max(1, int(self._settings.sample_seconds * 1e6 / once))
                once = subject.sample(few) if few > 1 else once
                if few == 1 or once > limit_microseconds:
                    return Timing((once,), few, self._readings())
        batch = subject.fitting_batch()
        samples: list[float] = []
        began = time.perf_counter()
        while _needs_more(len(samples), time.perf_counter() - began, seconds):
            samples.append(subject.sample(batch))
        return Timing(tuple(samples), batch, self._readings())

    def rounds(
        self, benchmarks: Sequence[Benchmark], count: int, seed: int, seconds: float
    ) -> Rounds:
        """Measure benchmarks against each other: each runs once per round; see `Interleaving`.

        Args:
            benchmarks: the benchmarks, all of the same layout.
            count: the number of rounds.
            seed: fixes the order within the rounds, and which copies of the modules run.
            seconds: the time after which no further round begins, unless there are too few.

        Raises:
            MeasurementError: a program or benchmark cannot be loaded or run.
        """
        subjects = [
            self._benchmarks.subject(benchmark, self._benchmarks.copies(benchmark.image, seed))
            for benchmark in benchmarks
        ]
        return self._rounds(subjects, Interleaving(count, seed, seconds))

    def program_rounds(
        self, programs: Sequence[CompiledProgram], count: int, seed: int, seconds: float
    ) -> Rounds:
        """Measure whole programs against each other, as `rounds` does benchmarks; samples are times of a call.

        Raises:
            MeasurementError: a program or benchmark cannot be loaded or run.
        """
        copies = [
            self._programs.load(program, self._benchmarks.copies(program.image, seed))
            for program in programs
        ]
        subjects = [Subject(copy, self._settings.sample_seconds) for copy in copies]
        return self._rounds(subjects, Interleaving(count, seed, seconds))

    def program_outputs(self, program: CompiledProgram) -> CallOutputs:
        """Return the outputs of a call of a program; see `ProgramRunner.outputs`.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        return self._programs.outputs(program)

    def program_traces(
        self, program: CompiledProgram, directory: str
    ) -> tuple[tuple[NDArray[Any], ...], list[DispatchTrace]]:
        """Return the outputs of a call of a program, and the values of its dispatches; see `ProgramRunner.traces`.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        return self._programs.traces(program, directory)

    def compare(self, benchmark: Benchmark, reference: Benchmark, reduction: int) -> Failure | None:
        """Compare the outputs of two benchmarks on the same inputs.

        Args:
            benchmark: the benchmark that is checked.
            reference: the benchmark whose results are right.
            reduction: the number of products in an element of an output.

        Returns:
            None if they agree; else the difference and its place.

        Raises:
            MeasurementError: a program or benchmark cannot be loaded or run.
        """
        for function in benchmark.sized:
            failure = self.compare(benchmark.at(function), reference.at(function), reduction)
            if failure is not None:
                return replace(failure, message=f"at {function.sizes}: {failure.message}")
        if benchmark.sized:
            return None
        expected = self.expected(reference)
        return difference(benchmark.layout, self.outputs(benchmark), expected, reduction)

    def expected(self, benchmark: Benchmark) -> Outputs:
        """Return the result of `outputs`, cached for the last module, since several benchmarks are compared with it.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        if benchmark not in self._expected:
            if any(other.image != benchmark.image for other in self._expected):
                self._expected.clear()
            self._expected[benchmark] = self.outputs(benchmark)
        return self._expected[benchmark]

    def outputs(self, benchmark: Benchmark, inputs: Bytes | None = None) -> Outputs:
        """Return the outputs of one iteration of a benchmark on fresh inputs.

        Args:
            benchmark: the benchmark.
            inputs: the initial content of the buffer; by default, that of `make_inputs`.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        layout = benchmark.layout
        before = self._inputs(layout) if inputs is None else inputs
        buffer = to_device(self._device, before)
        call = self._loader.load(benchmark.image, benchmark.function)
        call((buffer, 1, layout.stride, 1))
        after = bytes_on_host(self._device, buffer)
        violation = find_violation(layout, before, after)
        return Outputs(
            {index: binding.copy() for index, binding in outputs_of(layout, after).items()},
            None if violation is None else str(violation),
        )

    def _rounds(self, subjects: Sequence[Subject], interleaving: Interleaving) -> Rounds:
        readings: list[DeviceReading] = []
        samples, batches = interleaving.run(subjects, lambda: readings.extend(self._readings()))
        return Rounds(samples, batches, tuple(readings))

    def _readings(self) -> tuple[DeviceReading, ...]:
        reading = self._sensors.read()
        return (reading,) if reading else ()


def _needs_more(samples: int, taken: float, seconds: float) -> bool:
    """Return whether more samples are needed after some time."""
    if samples < _LEAST_SAMPLES:
        return not samples or taken < _ENOUGH_SECONDS
    return samples < _MOST_SAMPLES and taken < seconds
