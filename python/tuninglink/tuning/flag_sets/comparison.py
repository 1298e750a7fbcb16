"""Comparing sets of flags by the time of the whole program."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tuninglink.tuning.deciding.decision import interval
from tuninglink.tuning.deciding.output_judge import OutputJudge
from tuninglink.tuning.flag_sets.results import FlagsResult, SetResult
from tuninglink.tuning.programs.compiled_program import PLAIN_INTEGERS
from tuninglink.tuning.results.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.devices.device_interface import Device
    from tuninglink.tuning.flag_sets.compilation import CompiledSource, ProgramSource, SetCompiler
    from tuninglink.tuning.flag_sets.sets import FlagSet
    from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls
    from tuninglink.tuning.results.output_comparison import OutputComparison

    Outputs = dict[str, tuple[NDArray[Any], ...]]

_ROUNDS: Final = 25
_MOST_ROUNDS: Final = 200
_TIMING: Final = 0.4
"""The part of the time that is kept for measuring."""

_NARROW: Final = 0.02
"""The width of intervals that more rounds need not make narrower."""


@dataclass
class FlagComparison:
    """Compares sets of flags with the flags that a user gives.

    Attributes:
        source: the program.
        flags: the flags that the user gives.
        seconds: how long all of it may take.
        min_gain: the least gain for which a set is taken, as a fraction.
        seed: fixes orders.
        judge: compares what the program computes with what it should compute.
    """

    source: ProgramSource
    flags: tuple[str, ...]
    seconds: float
    min_gain: float
    seed: int
    judge: OutputJudge = field(default_factory=OutputJudge)
    _began: float = field(default_factory=time.monotonic)

    def compile_default(self, compiler: SetCompiler) -> CompiledSource | str:
        """Compiles the program with the flags that the user gives."""
        return compiler.submit(self.source, self.flags, self._began + self.seconds).result()

    def run(
        self,
        compiler: SetCompiler,
        default: CompiledSource,
        sets: Sequence[FlagSet],
        device: Device,
    ) -> FlagsResult:
        """Compiles the program under sets of flags, and times what is new, interleaved.

        Args:
            compiler: compiles the sets, all at once.
            default: the program with the flags that the user gives.
            sets: the sets.
            device: runs the program.
        """
        if default.calls is None:
            return FlagsResult(reason="the functions of the program cannot be read")
        functions = [each for each in default.calls.functions if not each.obstacle]
        if not functions:
            return FlagsResult(reason="no function of the program can be called")
        deadline = self._began + (1 - _TIMING) * self.seconds
        jobs = [compiler.submit(self.source, (*self.flags, *each.flags), deadline) for each in sets]
        results = [SetResult(each) for each in sets]
        programs: dict[int, CompiledSource] = {}
        images = {default.image: "the default"}
        for number, job in enumerate(jobs):
            compiled = job.result()
            if isinstance(compiled, str):
                results[number] = replace(results[number], note=compiled)
            elif compiled.image in images:
                same = f"the same code as {images[compiled.image]}"
                results[number] = replace(results[number], note=same)
            else:
                images[compiled.image] = f"'{sets[number].name}'"
                programs[number] = compiled
        rounds = _Programs(device, default.calls, functions, self.seed)
        expected = rounds.outputs(default.image)
        if isinstance(expected, Failure):
            return FlagsResult(tuple(results), reason=expected.message)
        expectation = self.judge.expectation(default.calls, functions, PLAIN_INTEGERS)
        tolerance = self.judge.tolerance(functions, expected)
        for number in list(programs):
            outputs = rounds.outputs(programs[number].image)
            if isinstance(outputs, Failure):
                results[number] = replace(results[number], note=outputs.message)
                del programs[number]
            else:
                comparison = self.judge.compare(expectation, expected, outputs, tolerance)
                results[number] = self._judged(results[number], comparison, expected, outputs)
        return self._timed(rounds, default, programs, results)

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _judged(
        self, result: SetResult, comparison: OutputComparison, default: Outputs, outputs: Outputs
    ) -> SetResult:
        """Returns the result of a set with its error, and with a note if it is not taken for that."""
        rejection = self.judge.rejection(comparison, default, outputs)
        note = f"{rejection}; taken with --allow-numerics only" if rejection else comparison.failure
        return replace(result, error=comparison.tuned_error, note=note, is_rejected=bool(rejection))

    def _timed(
        self,
        rounds: _Programs,
        default: CompiledSource,
        programs: dict[int, CompiledSource],
        results: list[SetResult],
    ) -> FlagsResult:
        """Times the default, the default again, and the programs that differ from it."""
        images = [default.image, default.image, *(each.image for each in programs.values())]
        samples: list[list[float]] = []
        while len(samples) < _MOST_ROUNDS:
            left = max(0.0, self.seconds - self._elapsed)
            taken = rounds.times(images, self.seed + len(samples), left)
            if isinstance(taken, Failure):
                return FlagsResult(tuple(results), reason=taken.message)
            samples += taken
            widths = [each.high - each.low for each in _speedups(samples, self.seed)]
            if max(widths) <= _NARROW or self._elapsed > self.seconds:
                break
        noise, *speedups = _speedups(samples, self.seed)
        times = np.median(np.array(samples), axis=0) / 1000
        for column, (number, speedup) in enumerate(zip(programs, speedups, strict=True), 2):
            results[number] = replace(
                results[number], milliseconds=float(times[column]), speedup=speedup
            )
        bar = max(1 + self.min_gain, noise.high)
        winners = [
            each
            for each in results
            if each.speedup is not None and each.speedup.low > bar and not each.is_rejected
        ]
        best = max(
            winners, key=lambda each: each.speedup.median if each.speedup else 0.0, default=None
        )
        return FlagsResult(tuple(results), best, float(times[0]), noise)


class _Programs:
    """Runs the functions of compiled programs on a device.

    Args:
        device: the device.
        calls: the calls of the program.
        functions: those that can be called.
        seed: fixes orders.
    """

    def __init__(
        self, device: Device, calls: ProgramCalls, functions: Sequence[FunctionCall], seed: int
    ) -> None:
        self._device = device
        self._calls = calls
        self._functions = functions
        self._seed = seed

    def outputs(self, image: bytes) -> Outputs | Failure:
        """Returns what all functions compute, or why they cannot be run."""
        arrays: Outputs = {}
        for function in self._functions:
            program = self._calls.compiled(function, image, PLAIN_INTEGERS)
            computed = self._device.program_outputs(program)
            if isinstance(computed, Failure):
                return computed
            arrays[function.label] = computed
        return arrays

    def times(
        self, images: Sequence[bytes], seed: int, seconds: float
    ) -> list[list[float]] | Failure:
        """Returns the weighted microseconds of programs by round."""
        programs = [
            self._calls.compiled(function, image, PLAIN_INTEGERS)
            for image in images
            for function in self._functions
        ]
        rounds = self._device.program_rounds(programs, _ROUNDS, seed, seconds)
        if isinstance(rounds, Failure):
            return rounds
        weights = np.array([function.weight for function in self._functions])
        shape = (len(rounds.samples), len(images), len(weights))
        weighted = (np.array(rounds.samples).reshape(shape) * weights).sum(axis=2)
        return [[float(each) for each in row] for row in weighted]


def _speedups(samples: Sequence[Sequence[float]], seed: int) -> list[Any]:
    """Returns the speedup of each column but the first against the first."""
    times = np.array(samples)
    return [interval(times[:, 0] / times[:, column], seed) for column in range(1, times.shape[1])]
