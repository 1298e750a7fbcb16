"""Measurements on a board by the runtime's tools.

What a measurement is, the batch sizes and the order in rounds are those of `Measurer`; a sample is a run of a tool, which
starts anew and warms up.
"""

from __future__ import annotations

import copy
import math
import random
import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Final

import numpy as np

from tuninglink.devices.board_calls import (
    BENCHMARK,
    KEPT,
    ONCE,
    RUN,
    array_of,
    board_arguments,
    buffer_arguments,
    buffer_file,
    check,
    readings_of,
    sampling,
    times,
)
from tuninglink.devices.measurement import (
    COLD_FACTOR,
    ENOUGH_SECONDS,
    FEWEST_ROUNDS,
    LARGEST_BATCH,
    LARGEST_STEP,
    LEAST_SAMPLES,
    LONGEST,
    MOST_SAMPLES,
    SAMPLE_SECONDS,
    OutputComparison,
    weighted_mean,
)
from tuninglink.devices.numerics import CANARY, Bytes, Pattern, buffer_length
from tuninglink.devices.running import CallOutputs, MeasurementError
from tuninglink.devices.times import Caches, DeviceReading, Rounds, Settings, Timing
from tuninglink.programs import Benchmark, BufferLayout, CompiledProgram, FailureKind, SizedFunction
from tuninglink.runner import Board, BoardFile, Call, CallResult

_PARTS: Final = 10
"""A candidate runs this part of a batch before its samples: longer than the call, and short if it is slow."""

_CHUNK_SECONDS: Final = 10.0
"""The time of the rounds that travel together."""

_SPACE_PART: Final = 4
"""The sets of a benchmark fill at most this part of the free space on the board."""

_MOST_SETS_BYTES: Final = 64 << 20
"""The maximum size of the sets of a benchmark, which each run of a tool reads from a file."""

_CACHE_BYTES: Final = 32 << 20

_BYTES: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

_THROTTLED: Final = 0.9
"""The part of the highest clock below which a processor whose governor is `performance` is throttled."""

_COOLING_SECONDS: Final = 10.0
_COOLINGS: Final = 3

_RESULT: Final = re.compile(r"^result\[(\d+)\]: (.*)$")


class BoardMeasurer(OutputComparison):
    """Measures on a board; the methods are those of `Measurer`.

    Args:
        board: the board.
        driver: the driver of the runtime there.
        settings: the settings of measurements.
    """

    def __init__(self, board: Board, driver: str, settings: Settings) -> None:
        super().__init__(settings)
        self._board = board
        self._driver = driver
        self._seconds = 60.0
        # The same for all candidates, also where later sessions find less space.
        space = board.state.number("space")
        self._most_sets_bytes = _MOST_SETS_BYTES
        if space is not None:
            self._most_sets_bytes = min(_MOST_SETS_BYTES, space * 1024 // _SPACE_PART)
        self._buffer = lru_cache(KEPT)(self._new_buffer)
        self._results: dict[tuple[str, int], list[str]] = {}
        # Of each layout, the iterations of a sample, and the least time of one so far in microseconds.
        self._batches: dict[BufferLayout, int] = {}
        self._least: dict[BufferLayout, float] = {}
        # Of each benchmark, the time of an iteration of its functions in microseconds.
        self._iteration_times: dict[bytes, list[float]] = {}

    def within(self, seconds: float) -> BoardMeasurer:
        """Return a measurer on the same board whose calls have another time limit."""
        limited = copy.copy(self)
        limited._seconds = seconds  # noqa: SLF001 - of the same class
        return limited

    def measure(
        self, benchmark: Benchmark, seconds: float, limit_microseconds: float | None = None
    ) -> Timing:
        """Measure one benchmark; see `Measurer.measure`."""
        functions = _functions(benchmark)
        weights = [function.weight for function in functions]
        limit = math.inf if limit_microseconds is None else limit_microseconds
        # Run a few iterations of a candidate, and of what has no batch size yet.
        if limit_microseconds is not None or any(f.layout not in self._least for f in functions):
            single, batch, readings = self._once(benchmark, functions)
            if (once := weighted_mean(single, weights)) > limit:
                return Timing((once,), batch, readings)
            for function, microseconds in zip(functions, single, strict=True):
                self._note(function.layout, microseconds)
        # Sample with batches that are long enough, which later candidates share.
        while True:
            batches = [self._batch(function.layout) for function in functions]
            calls = []
            for function, batch in zip(functions, batches, strict=True):
                taken = max(SAMPLE_SECONDS, self._least[function.layout] * batch / 1e6)
                count = min(max(int(seconds / taken), LEAST_SAMPLES), MOST_SAMPLES)
                repeats = count if taken * LEAST_SAMPLES < ENOUGH_SECONDS else 1
                calls.append(self._benchmark(benchmark, function, batch, repeats))
            results = self._run_cool(calls)
            samples = [
                [sample / batch for sample in times(result, self._driver)]
                for result, batch in zip(results, batches, strict=True)
            ]
            for function, taken_us in zip(functions, samples, strict=True):
                self._note(function.layout, min(taken_us))
            if batches == [self._batch(function.layout) for function in functions]:
                break
        self._iteration_times[_key(benchmark)] = [min(taken_us) for taken_us in samples]
        means = [weighted_mean(row, weights) for row in zip(*samples, strict=False)]
        return Timing(tuple(means), batches[0], readings_of(results))

    def _once(
        self, benchmark: Benchmark, functions: Sequence[SizedFunction]
    ) -> tuple[list[float], int, tuple[DeviceReading, ...]]:
        """Run a part of a batch of each function twice; return the times of iterations, the first batch and the readings."""
        batches = [
            max(self._sets(function.layout), self._batch(function.layout) // _PARTS)
            for function in functions
        ]
        results = self._board.run(
            [
                self._benchmark(benchmark, function, count, runs=2)
                for function, count in zip(functions, batches, strict=True)
            ]
        )
        single = [
            min(times(result, self._driver)) / count
            for result, count in zip(results, batches, strict=True)
        ]
        self._iteration_times[_key(benchmark)] = single
        return single, batches[0], readings_of(results)

    def _note(self, layout: BufferLayout, microseconds: float) -> None:
        """Take the time of an iteration into account, for the number of iterations in a sample."""
        self._least[layout] = min(microseconds, self._least.get(layout, math.inf))
        batch = self._batches.get(layout, self._sets(layout))
        taken = max(self._least[layout] * batch, 1e-3)
        if taken < SAMPLE_SECONDS * 1e6 / 4:
            step = min(SAMPLE_SECONDS * 1e6 / taken, LARGEST_STEP)
            batch = min(math.ceil(batch * step), LARGEST_BATCH)
        self._batches[layout] = batch

    def _batch(self, layout: BufferLayout) -> int:
        return self._batches.get(layout, self._sets(layout))

    def rounds(
        self, programs: Sequence[Benchmark | CompiledProgram], count: int, seed: int, seconds: float
    ) -> Rounds:
        """Measure benchmarks, or whole programs, against each other; see `Measurer.rounds`."""
        chance = random.Random(seed)  # noqa: S311 - no secret
        # The calls of a sample of each program, and how to read their times.
        sampled: list[tuple[list[Call], Callable[[list[CallResult]], float]]] = []
        batches: list[int] = []
        # All benchmarks have equal batches, unless one is several times as slow as another.
        counts_of = [
            [math.ceil(SAMPLE_SECONDS * 1e6 / taken_us) for taken_us in self._times_of(program)]
            for program in programs
        ]
        most = [max(counts) for counts in zip(*counts_of, strict=True)]
        for position, program in enumerate(programs):
            if isinstance(program, CompiledProgram):
                call = self._program_call(program)
                sampled.append(([call], lambda results: times(results[0], self._driver)[-1]))
                batches.append(1)
                continue
            functions = _functions(program)
            counts = [
                max(min(fitting, int(LONGEST * count)), self._sets(function.layout))
                for function, fitting, count in zip(
                    functions, most, counts_of[position], strict=True
                )
            ]
            calls = [
                self._benchmark(program, function, batch)
                for function, batch in zip(functions, counts, strict=True)
            ]
            weights = [function.weight for function in functions]
            sampled.append((calls, partial(self._mean, counts, weights)))
            batches.append(counts[0])
        # Run a few rounds, then as many as the time allows.
        rounds: list[tuple[float, ...]] = []
        readings: list[DeviceReading] = []
        began, chunk = time.monotonic(), FEWEST_ROUNDS
        while len(rounds) < count:
            orders = [
                chance.sample(range(len(programs)), len(programs))
                for _ in range(min(chunk, count - len(rounds)))
            ]
            places = [index for order in orders for index in order]
            results = iter(self._run_cool([call for index in places for call in sampled[index][0]]))
            for order in orders:
                samples = [0.0] * len(programs)
                for index in order:
                    calls, read = sampled[index]
                    taken = [next(results) for _ in calls]
                    samples[index] = read(taken)
                    readings += readings_of(taken)
                rounds.append(tuple(samples))
            passed = time.monotonic() - began
            left = min(seconds - passed, _CHUNK_SECONDS)
            chunk = int(left * len(rounds) / passed)
            if chunk < 1:
                break
        return Rounds(tuple(rounds), tuple(batches), tuple(readings))

    def _times_of(self, program: Benchmark | CompiledProgram) -> list[float]:
        """Return the microseconds of an iteration of each function of a benchmark; none for a whole program."""
        if isinstance(program, CompiledProgram):
            return []
        if _key(program) not in self._iteration_times:
            self.measure(program, SAMPLE_SECONDS)
        return self._iteration_times[_key(program)]

    def _mean(
        self, batches: Sequence[int], weights: Sequence[int], results: Sequence[CallResult]
    ) -> float:
        samples = [
            min(times(result, self._driver)) / batch
            for result, batch in zip(results, batches, strict=True)
        ]
        return weighted_mean(samples, weights)

    def run_once(
        self, benchmark: Benchmark, contents: Sequence[Sequence[Pattern]], guard: Bytes
    ) -> Bytes:
        """See `OutputComparison`."""
        layout = benchmark.layout
        is_usual = contents is self._patterns(layout) and guard is CANARY
        buffer = self._buffer(layout, 1) if is_usual else buffer_file(layout, contents, 1, guard)
        module = BoardFile(benchmark.image)
        arguments = (
            *self._module(module, benchmark.function),
            *buffer_arguments(buffer, layout, 1, 1),
            "--output=@buffer.bin",
        )
        (result,) = self._board.run([Call(RUN, arguments, (module, buffer), self._seconds)])
        check(result)
        after = np.frombuffer(result.files.get("buffer.bin", b""), np.uint8)
        if len(after) != buffer_length(layout):
            raise MeasurementError(FailureKind.RUN, f"'{RUN}' wrote {len(after)} bytes")
        return after

    def program_outputs(self, program: CompiledProgram) -> CallOutputs:
        """Run a program once from its initial state; see `Measurer.program_outputs`."""
        if any(argument.is_updated for argument in program.inputs):
            message = "arguments that the program writes to are not read from a board"
            raise MeasurementError(FailureKind.RUN, message)
        arguments = board_arguments(program, self._settings.seed)
        module = BoardFile(program.image)
        words = (*self._module(module, program.function), *arguments.flags)
        files = (module, *arguments.files)
        # The types of the results, once for all variants of a program; the time, and the results.
        key = program.function, hash(program.inputs)
        timing = Call(BENCHMARK, (*words, *ONCE), files, self._seconds)
        if key not in self._results:
            typing = Call(RUN, (*words, "--output_max_element_count=0"), files, self._seconds)
            (result,) = self._board.run([typing])
            check(result)
            lines = result.stdout.splitlines()
            self._results[key] = [
                f"{match[2]} {lines[place + 1] if match[2].endswith('buffer_view') else ''}".strip()
                for place, line in enumerate(lines)
                if (match := _RESULT.match(line))
            ]
        types = self._results[key]
        outputs = [f"--output=@{number}.bin" for number in range(len(types))]
        running = Call(RUN, (*words, *outputs), files, self._seconds)
        timed, result = self._board.run([timing, running])
        check(result)
        seconds = times(timed, self._driver)[-1] / 1e6
        arrays = [
            array_of(kind, result.files.get(f"{number}.bin", b""))
            for number, kind in enumerate(types)
        ]
        return CallOutputs(tuple(arrays), seconds)

    # --- Calls of tools -----------------------------------------------------------------------------------------

    def _module(self, module: BoardFile, function: str) -> tuple[str, ...]:
        return (f"--module={module.path}", f"--device={self._driver}", f"--function={function}")

    def _benchmark(
        self,
        benchmark: Benchmark,
        function: SizedFunction,
        batch: int,
        repeats: int = 1,
        runs: int = 0,
    ) -> Call:
        """Return the call that takes samples of a benchmark: of at least a duration, or as many runs as given."""
        layout, module = function.layout, BoardFile(benchmark.image)
        sets = self._sets(layout)
        buffer = self._buffer(layout, layout.copies(sets))
        arguments = (
            *self._module(module, function.name),
            *buffer_arguments(buffer, layout, sets, batch),
            *(sampling(repeats) if not runs else (*ONCE, f"--benchmark_repetitions={runs}")),
        )
        return Call(BENCHMARK, arguments, (module, buffer), self._seconds)

    def _program_call(self, program: CompiledProgram) -> Call:
        """Return the call that takes a sample of a program. Calls of a stateful one follow a single call."""
        arguments = board_arguments(program, self._settings.seed)
        module = BoardFile(program.image)
        how = (*ONCE, "--benchmark_repetitions=2") if program.is_stateful else sampling(1)
        words = (*self._module(module, program.function), *arguments.flags, *how)
        return Call(BENCHMARK, words, (module, *arguments.files), self._seconds)

    def _run_cool(self, calls: Sequence[Call]) -> list[CallResult]:
        """Run calls, again after a pause if the board throttles its clock."""
        results = self._board.run(calls)
        if set(self._board.state.all("governor")) != {"performance"}:
            return results
        for pauses in range(_COOLINGS + 1):
            # The clock that a processor names as its highest may be one that it never has, as with all cores in use.
            clocks = [result.clock_mhz for result in results if result.clock_mhz is not None]
            self._board.highest_mhz = max([self._board.highest_mhz, *clocks])
            if not clocks or min(clocks) >= _THROTTLED * self._board.highest_mhz:
                break
            if pauses == _COOLINGS:
                self._board.highest_mhz = max(clocks)  # pauses do not help
                break
            time.sleep(_COOLING_SECONDS)
            results = self._board.run(calls)
        return results

    # --- Buffers ------------------------------------------------------------------------------------------------

    def _new_buffer(self, layout: BufferLayout, sets: int) -> BoardFile:
        return buffer_file(layout, self._patterns(layout), sets)

    def _sets(self, layout: BufferLayout) -> int:
        """Return the number of sets of a benchmark; see `Measurer`."""
        most = max(1, self._most_sets_bytes // layout.stride)
        match self._settings.caches:
            case Caches.WARM:
                return 1
            case Caches.PROGRAM:
                return max(1, min(layout.program_sets, layout.variants * most))
        sizes = self._board.state.all("cache")
        known = (size for size in sizes if size[-1:] in _BYTES and size[:-1].isdecimal())
        largest = max((int(size[:-1]) * _BYTES[size[-1]] for size in known), default=0)
        cache_bytes = largest or _CACHE_BYTES
        copies = COLD_FACTOR * cache_bytes // layout.stride + 1
        return layout.variants * max(2, min(copies, most))


def _key(benchmark: Benchmark) -> bytes:
    return blake2b(benchmark.image, digest_size=16).digest() + benchmark.function.encode()


def _functions(benchmark: Benchmark) -> tuple[SizedFunction, ...]:
    return benchmark.measured or (SizedFunction(benchmark.function, benchmark.layout),)
