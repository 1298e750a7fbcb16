"""Benchmarks on a device, loaded with their buffers; benchmarks of dynamic dispatches at all their sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from typing import Final

import iree.runtime as rt

from tuninglink.tuning.devices import Caches, Settings
from tuninglink.tuning.devices.buffers import to_device
from tuninglink.tuning.devices.device import LOCAL_DRIVERS, driver_of
from tuninglink.tuning.devices.hardware import last_level_bytes
from tuninglink.tuning.devices.inputs import make_inputs
from tuninglink.tuning.devices.running import LoadedBenchmark, Loader, Overhead, Runnable
from tuninglink.tuning.devices.sampling import (
    Repetition,
    SizedBenchmark,
    SizedPart,
    Subject,
    repetition,
)
from tuninglink.tuning.programs.benchmark import Benchmark, BufferLayout, SizedFunction

_LOCAL_COPIES: Final = 3
"""Copies of a module that take turns on a CPU: byte-equal code differs by several percent from place to place."""

_MOST_COPIED_BYTES: Final = 16 << 20
"""The maximum size of modules that are copied: larger ones are mostly constants, which need not be in memory several times."""

_MOST_BUFFER_BYTES: Final = 4 << 30
"""The maximum size of a buffer of many sets, in bytes."""

_COLD_FACTOR: Final = 4
"""Sets that rotate are this many times the last-level cache."""


class BenchmarkLoader:
    """Loads benchmarks, and keeps shared data: buffers, overheads of calls, and repetitions by size.

    Args:
        uri: the device.
        device: the same, opened.
        loader: loads the functions of benchmarks.
        settings: the settings of measurements.
    """

    def __init__(self, uri: str, device: rt.HalDevice, loader: Loader, settings: Settings) -> None:
        self._uri = uri
        self._device = device
        self._loader = loader
        self._settings = settings
        self._is_local = driver_of(uri) in LOCAL_DRIVERS
        self._buffers: dict[tuple[BufferLayout, int], rt.HalBuffer] = {}
        self._repetitions: dict[tuple[SizedFunction, ...], Repetition] = {}
        self._overheads: defaultdict[BufferLayout, Overhead] = defaultdict(Overhead)

    def overhead(self, layout: BufferLayout) -> float:
        """Return the seconds that a call of a benchmark with a layout takes in addition to its iterations."""
        return self._overheads[layout].seconds

    def subject(self, benchmark: Benchmark, copies: Sequence[Hashable] = (None,)) -> Subject:
        """Load copies of a benchmark, to be sampled.

        Args:
            benchmark: the benchmark.
            copies: the keys of the copies of its module.

        Raises:
            MeasurementError: it cannot be loaded or run.
        """
        loaded = [self._load(benchmark, copy) for copy in copies]
        repeated = self._repetitions.get(benchmark.measured)
        stretch = 1.0 if repeated is None else repeated.stretch
        return Subject(loaded, self._settings.sample_seconds / stretch)

    def copies(self, image: bytes, seed: int) -> Sequence[Hashable]:
        """Return the keys of the copies of a module for rounds with a seed."""
        if self._is_local and len(image) <= _MOST_COPIED_BYTES:
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
            repeated = repetition(
                [_first_time(function) for function in functions],
                weights,
                self._settings.sample_seconds,
            )
            self._repetitions[benchmark.measured] = repeated
        return SizedBenchmark([*map(SizedPart, functions, weights, repeated.counts)])

    def _load_function(
        self, benchmark: Benchmark, copy: Hashable, layouts: Collection[BufferLayout]
    ) -> LoadedBenchmark:
        """Load a benchmark on its buffer.

        Args:
            benchmark: the benchmark, at one combination of sizes.
            copy: the number of the copy of the module.
            layouts: the layouts whose buffers are kept.
        """
        layout = benchmark.layout
        return LoadedBenchmark(
            self._loader.load(benchmark.image, benchmark.function, copy),
            self._buffer(layout, layouts),
            self._sets(layout),
            layout.stride,
            self._overheads[layout],
        )

    def _sets(self, layout: BufferLayout) -> int:
        if self._settings.caches is Caches.WARM:
            return 1
        if self._settings.caches is Caches.PROGRAM:
            return layout.program_sets
        cache_bytes = self._settings.last_level_bytes or last_level_bytes(self._uri)
        copies = _COLD_FACTOR * cache_bytes // layout.stride + 1
        return layout.variants * max(2, min(copies, _MOST_BUFFER_BYTES // layout.stride))

    def _buffer(self, layout: BufferLayout, kept: Collection[BufferLayout]) -> rt.HalBuffer:
        """Return the buffer for benchmarks of a layout; release all other buffers except those of `kept`."""
        key = (layout, layout.copies(self._sets(layout)))
        if key not in self._buffers:
            for other in [buffer for buffer in self._buffers if buffer[0] not in kept]:
                del self._buffers[other]
            self._buffers[key] = to_device(
                self._device, make_inputs(*key, seed=self._settings.seed)
            )
        return self._buffers[key]


def _first_time(benchmark: Runnable) -> float:
    """Return the time of a benchmark that was just loaded, in microseconds.

    Raises:
        MeasurementError: it cannot be run.
    """
    benchmark.sample(benchmark.least_batch)  # it pays for code and pages that are not there yet
    return benchmark.sample(benchmark.least_batch)
