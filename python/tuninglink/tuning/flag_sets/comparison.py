"""Comparison of sets of flags by whole-program times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from tuninglink.tuning.deciding import (
    DEFAULT_SOURCE,
    ConfidenceInterval,
    Expectation,
    OutputJudge,
    Standings,
    are_identical,
)
from tuninglink.tuning.devices import FEWEST_ROUNDS
from tuninglink.tuning.flag_sets.sets import FlagsResult, SetResult, TunedSet
from tuninglink.tuning.programs import PLAIN_INTEGERS, Failure

if TYPE_CHECKING:
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from tuninglink.tuning.devices import Device
    from tuninglink.tuning.flag_sets.sets import CompiledSource, FlagSet, ProgramSource, SetCompiler
    from tuninglink.tuning.programs import FunctionCall, ProgramCalls

    Result = TypeVar("Result", bound=SetResult)
    Job = Future[CompiledSource | str]
    Outputs = dict[str, tuple[NDArray[Any], ...]]


_TIMING: Final = 0.25
"""The fraction of the time reserved for measuring."""

_NOT_BEHIND: Final = 0.97
"""The lower bound of the speedup of a spec over the fastest set alone from which the spec is taken."""

_UNLIKE_WRONG: Final = (
    "its outputs differ from those of the default, some of whose dispatches are wrong"
)
"""The note on a set that avoids wrong defaults where there is no reference."""

_SLOW_CALL: Final = 5.0
"""The factor of the time of the default's first call, loading included, from which a set is not awaited. There are
sets under which a program does not end."""

_SHORT_CALL: Final = 10.0
"""The time, in seconds, that the first call of a set may take at least, as far as it is left."""

_NEEDED_SECONDS: Final = 1800.0
"""The time limit for compiling programs that the comparison cannot do without."""


@dataclass
class FlagComparison:
    """Compares sets of flags, alone or with specs, with the user's flags.

    Attributes:
        source: the program.
        flags: the user's flags.
        seconds: the time limit of the whole comparison.
        min_gain: the least gain for selecting a set, as a fraction.
        seed: the seed of orders.
        judge: compares outputs with expected outputs.
        default_ms: the time of the default in an earlier comparison, if there was one.
    """

    source: ProgramSource
    flags: tuple[str, ...]
    seconds: float
    min_gain: float
    seed: int
    judge: OutputJudge = field(default_factory=OutputJudge)
    default_ms: float | None = None
    _began: float = field(default_factory=time.monotonic)

    def begin(self, compiler: SetCompiler, flag_set: FlagSet, spec: str = "") -> Job:
        """Start the compilation of the program under a set of flags, with or without a spec."""
        if spec:
            seconds = _NEEDED_SECONDS  # the comparison of tuned pairs needs them all
        else:
            seconds = (1 - _TIMING) * self.seconds if flag_set.flags else self.seconds
        flags = (*self.flags, *flag_set.flags)
        return compiler.submit(self.source, flags, self._began + seconds, spec)

    def run(
        self,
        default: CompiledSource,
        jobs: Mapping[FlagSet, Job],
        device: Device,
    ) -> FlagsResult:
        """Compare sets of flags.

        Args:
            default: the program with the user's flags.
            jobs: the compilations under the sets, from `begin`.
            device: runs the program.
        """
        results = [SetResult(flag_set) for flag_set in jobs]
        judged = self._compare(default, list(jobs.values()), results, device, self._best_shown)
        return replace(judged, default_is_tiled=default.is_data_tiled)

    def run_pairs(
        self,
        compiler: SetCompiler,
        default: CompiledSource,
        jobs: Mapping[FlagSet, Job],
        tuned: Sequence[TunedSet],
        device: Device,
    ) -> FlagsResult:
        """Compare sets of flags with the specs tuned under them.

        Each set was already shown to be faster, so that the fastest one is selected despite the noise of the default. A
        spec is selected only if it is not slower than the fastest set alone.

        Args:
            compiler: compiles the pairs.
            default: the program with the user's flags.
            jobs: the compilations under the sets without specs.
            tuned: the sets with their specs.
            device: runs the program.
        """
        results = [SetResult(tuned_set.flag_set, entries=tuned_set.entries) for tuned_set in tuned]
        pairs = [
            self.begin(compiler, tuned_set.flag_set, tuned_set.spec)
            if tuned_set.entries or tuned_set.flag_set not in jobs
            else jobs[tuned_set.flag_set]
            for tuned_set in tuned
        ]
        return self._compare(default, pairs, results, device, _fastest_pair)

    def _compare(
        self,
        default: CompiledSource,
        jobs: Sequence[Job],
        results: list[Result],
        device: Device,
        select: Callable[[Sequence[Result], ProgramTimes], Result | None],
    ) -> FlagsResult:
        """Time the distinct programs, interleaved."""
        # Require functions that can be called.
        if default.calls is None:
            return FlagsResult(reason="the functions of the program cannot be read")
        if not callable_functions(default.calls):
            reasons = dict.fromkeys(function.obstacle for function in default.calls.functions)
            detail = "; ".join(reasons) or "it has none"
            return FlagsResult(reason=f"no function of the program can be called: {detail}")
        # Time the programs whose outputs are right.
        timer = ProgramTimer(device, default.calls, self.seed)
        outputs = _SetOutputs(timer, default.calls, default.image, self.judge)
        images = self._right_images(timer, default, jobs, results, outputs)
        if isinstance(images, Failure):
            return FlagsResult(tuple(results), reason=images.message)
        if not images:
            return FlagsResult(tuple(results), finding=outputs.finding)
        accepted = [not results[number].is_rejected for number in images]
        compared = list(images.values())
        times = timer.compare(default.image, compared, self._left, accepted, self.default_ms)
        if isinstance(times, Failure):
            return FlagsResult(tuple(results), reason=times.message)
        # Select the best finalist.
        finalists = [
            result
            for result, is_finalist in zip(
                _timed(times, list(images), results), times.finalists, strict=True
            )
            if (is_finalist or result.repairs) and not result.is_rejected and not result.is_slower
        ]
        best = select(finalists, times)
        for number, result in enumerate(results):
            least = max(1 + self.min_gain, best.median if best else 0.0)
            if result is not best and result.may_win(least) and not result.note:
                note = f"not certain: the default against itself is {times.noise}"
                results[number] = replace(result, note=note)
        finding = outputs.finding
        return FlagsResult(tuple(results), best, times.default_ms, times.noise, finding=finding)

    def _best_shown(self, results: Sequence[Result], times: ProgramTimes) -> Result | None:
        """Return the fastest set whose gain suffices and is larger than that of the default against itself.

        Of several sets that are equal to the default, the fastest one may have an interval above 1. Sets that avoid wrong
        defaults need no gain, and come first.
        """
        noise = max(1.0, times.noise.high)
        bar, low = max(1 + self.min_gain, noise), math.sqrt(noise)
        shown = [
            result
            for result in results
            if result.repairs or (result.median > bar and result.low > low)
        ]
        return max(shown, key=lambda result: result.rank, default=None)

    @property
    def _left(self) -> float:
        return max(0.0, self.seconds - (time.monotonic() - self._began))

    def _right_images(
        self,
        timer: ProgramTimer,
        default: CompiledSource,
        jobs: Sequence[Job],
        results: list[Result],
        outputs: _SetOutputs,
    ) -> dict[int, bytes] | Failure:
        """Return the programs to time, by position, and add notes to the results of the others.

        The programs run, and differ from the default and from each other. Outputs are compared while others compile.
        """
        images: dict[int, bytes] = {}
        names = {default.image: "the default"}
        for number, job in enumerate(jobs):
            # Skip sets that do not compile, and those with the code of an earlier one.
            compiled, result = job.result(), results[number]
            if isinstance(compiled, str):
                results[number] = replace(result, note=compiled)
                continue
            image = compiled.image
            avoided = default.wrong_defaults - compiled.wrong_defaults
            result = replace(result, is_data_tiled=compiled.is_data_tiled, avoided=avoided)
            if image in names:
                results[number] = replace(result, note=f"the same code as {names[image]}")
                continue
            names[image] = f"'{result.flag_set.name}'"
            # Run the others if there is time, and judge their outputs.
            if images and self._left < timer.run_seconds(default.image):
                results[number] = replace(result, note="it was not run: there was no time left")
                continue
            expected = outputs.expected
            if isinstance(expected, Failure):
                return expected
            default_seconds = timer.run_seconds(default.image)
            limit = max(_SLOW_CALL * default_seconds, min(_SHORT_CALL, self._left))
            judged = outputs.judge(image, result, expected, limit)
            if isinstance(judged, Failure):
                results[number] = replace(result, note=judged.message)
            else:
                results[number], images[number] = judged, image
        return images


def _fastest_pair(results: Sequence[Result], times: ProgramTimes) -> Result | None:
    """Return the fastest set. One with a spec counts only if it is hardly slower than the fastest set alone."""
    alone = max([1.0, *(result.median for result in results if not result.entries)])
    bar = 0.0 if times.are_rough else _NOT_BEHIND * alone
    ahead = [result for result in results if not result.entries or result.low >= bar]
    faster = [result for result in ahead if result.median > 1.0 or result.repairs]
    return max(faster, key=lambda result: result.rank, default=None)


def _timed(times: ProgramTimes, numbers: Sequence[int], results: list[Result]) -> list[Result]:
    """Add times to the results of the programs that were timed, and return these results."""
    for number, milliseconds, speedup, slower in zip(
        numbers, times.milliseconds, times.speedups, times.slower, strict=True
    ):
        timed = replace(results[number], milliseconds=milliseconds, speedup=speedup)
        if slower:
            notes = filter(None, (timed.note, f"slower at {slower}"))
            timed = replace(timed, note="; ".join(notes), is_slower=True)
        results[number] = timed
    return [results[number] for number in numbers]


class _SetOutputs:
    """Judges the outputs of programs: against the reference, else against the default."""

    def __init__(
        self, timer: ProgramTimer, calls: ProgramCalls, default: bytes, judge: OutputJudge
    ) -> None:
        self._timer = timer
        self._calls = calls
        self._default = default
        self._judge = judge
        self.finding = ""
        """The fault of the default's outputs; empty if they are correct, or were not compared with a reference."""

    @cached_property
    def expected(self) -> Outputs | Failure:
        return self._timer.outputs(self._default)

    def judge(
        self, image: bytes, result: Result, expected: Outputs, most_seconds: float
    ) -> Result | Failure:
        """Return the result of a program with the error of its outputs, or the failure of its run."""
        outputs = self._timer.outputs(image, most_seconds)
        if isinstance(outputs, Failure):
            return outputs
        # The judge computes the reference once, if any set has other outputs than the default. What the user expects is
        # compared in any case, as the default may be wrong.
        is_same = all(are_identical(expected[label], outputs[label]) for label in expected)
        functions = callable_functions(self._calls)
        expectation = (
            Expectation({}, DEFAULT_SOURCE)
            if is_same and not any(function.expected for function in functions)
            else self._judge.expectation(self._calls, functions, PLAIN_INTEGERS)
        )
        tolerance = self._judge.tolerance(functions, expected)
        comparison = self._judge.compare(expectation, expected, outputs, tolerance)
        self.finding = replace(comparison, tuned_error=None).finding
        rejection = self._judge.rejection(comparison, expected, outputs)
        reason, remedy = rejection or comparison.failure, "taken with --numerics any only"
        # Its dispatches are judged one by one while they are tuned under it.
        has_reference = self._judge.reference is not None
        if rejection and result.avoided > 0 and has_reference and comparison.default_error is None:
            rejection, reason = "", _UNLIKE_WRONG
        notes = (reason, comparison.note, remedy if rejection else "")
        return replace(
            result,
            error=comparison.tuned_error,
            note="; ".join(filter(None, notes)),
            is_rejected=bool(rejection),
        )


# --- The times of variants of a program against the time of the default --------------------------

_FIRST_ROUNDS: Final = 8
_ROUNDS: Final = 25
"""The least number of further rounds; there are half as many as before if these are more."""

_MOST_ROUNDS: Final = 1000
_LOADING_CALL: Final = 0.2
"""The time of a first call, in seconds, below which it is not used: most of it may be for weights that are read from files."""

_LONG_CALL: Final = 1.0
"""The time of a first call on a CPU, in seconds, from which that is a small part of it. Drivers of GPUs may compile
for longer."""

_ROUGH: Final = 3.0
_LESS_ROUGH: Final = 1.3
"""The factors by which the ratio of two first calls may be wrong, for calls up to `_LONG_CALL` and from there on."""

_REPEATING: Final = 0.25
"""The largest fraction of the time for calls that are repeated."""

_PATIENCE: Final = 30.0
"""The time, in seconds, for the machine to become as quiet as it was in an earlier comparison. A hot one may not."""

_CALLS_OF_FEWEST_ROUNDS: Final = FEWEST_ROUNDS + 1
"""The calls of a program in the fewest rounds: the first one finds the size of batches."""


@dataclass(frozen=True)
class ProgramTimes:
    """Times of programs against a default.

    Attributes:
        default_ms: the time of the default.
        noise: the speedup of the default against itself.
        milliseconds: the times of the programs.
        speedups: the speedups of the programs.
        finalists: for each program, whether it may be the fastest one.
        slower: for each program, the sizes of dynamic arguments at which it is certainly slower, with its speedups.
        are_rough: whether the times are from single calls, because no rounds fit into the time limit.
    """

    default_ms: float
    noise: ConfidenceInterval
    milliseconds: tuple[float, ...]
    speedups: tuple[ConfidenceInterval, ...]
    finalists: tuple[bool, ...]
    slower: tuple[str, ...]
    are_rough: bool = False


class ProgramTimer:
    """Runs the functions of variants of a program.

    Args:
        device: the device.
        calls: the calls of the program.
        seed: the seed of orders.
    """

    def __init__(self, device: Device, calls: ProgramCalls, seed: int) -> None:
        self._device = device
        self._calls = calls
        self._functions = callable_functions(calls)
        self._seed = seed
        self._call_seconds: dict[bytes, float] = {}
        self._run_seconds: dict[bytes, float] = {}

    def outputs(self, image: bytes, most_seconds: float = math.inf) -> Outputs | Failure:
        """Return the outputs of all functions, or the failure of a run.

        Args:
            image: the program.
            most_seconds: the longest time limit of each call.
        """
        arrays: Outputs = {}
        seconds, began = 0.0, time.monotonic()
        for function in self._functions:
            program = self._calls.compiled(function, image, PLAIN_INTEGERS)
            computed = self._device.program_outputs(program, most_seconds)
            if isinstance(computed, Failure):
                return computed
            arrays[function.label] = computed.arrays
            seconds += computed.seconds
        self._call_seconds[image] = seconds
        self._run_seconds[image] = time.monotonic() - began
        return arrays

    def compare(
        self,
        default: bytes,
        images: Sequence[bytes],
        seconds: float,
        accepted: Sequence[bool] | None = None,
        default_ms: float | None = None,
    ) -> ProgramTimes | Failure:
        """Time programs, interleaved with two copies of the default.

        A program is dropped when it can no longer be the fastest, possibly right after its call for `outputs`. The
        rounds end when the remaining programs are equally fast and certainly faster than the default, when their
        intervals are narrow, or when the time is over. If an earlier comparison was less noisy, the rounds continue
        for a while and no program is dropped, since a load slows some programs down more than others. If not even the
        minimum number of rounds fits into the time, as for programs that run for seconds, the calls for `outputs`
        decide, with wide intervals.

        Args:
            default: the default.
            images: the programs.
            seconds: the time limit.
            accepted: for each program, whether it may be selected. The others cause no program to be dropped. By
                default, all are accepted.
            default_ms: the time of the default in an earlier comparison, if there was one.
        """
        # Run rounds of those that may still be the fastest, until one is or time is over.
        end = time.monotonic() + seconds
        patient_until = time.monotonic() + _PATIENCE
        places = range(1, len(images) + 1)
        eligible = {place for place in places if accepted is None or accepted[place - 1]}
        running = self._worth_rounds(default, images, seconds)
        standings = Standings([function.weight for function in self._functions], self._seed)
        count = 0
        while running:
            raced = [default, default, *(images[place - 1] for place in running)]
            left = max(0.0, end - time.monotonic())
            more = max(_ROUNDS, count // 2) if count else _FIRST_ROUNDS
            rounds = self._rounds(raced, more, count, left)
            if isinstance(rounds, Failure):
                return rounds
            count += len(rounds)
            standings.add(running, rounds)
            eligible -= {place for place in running if self._slower(standings, place)}
            is_quiet = standings.is_quiet(default_ms) or time.monotonic() > patient_until
            if is_quiet:
                running = standings.remaining(running, eligible)
            if count >= _MOST_ROUNDS or time.monotonic() > end:
                break
            if is_quiet and standings.are_decided(running, eligible):
                break
        # Programs without a round have the times of their first calls.
        return ProgramTimes(
            standings.default_ms if count else 1000 * self.call_seconds(default),
            standings.noise if count else _squared(self._rough_speedup(default, default)),
            tuple(
                standings.milliseconds(place)
                if place in standings
                else 1000 * self.call_seconds(image)
                for place, image in enumerate(images, 1)
            ),
            tuple(
                standings.speedup(place)
                if place in standings
                else self._rough_speedup(default, image)
                for place, image in enumerate(images, 1)
            ),
            tuple(place in running or not count for place in places),
            tuple(self._slower(standings, place) if place in standings else "" for place in places),
            are_rough=not count,
        )

    def _slower(self, standings: Standings, place: int) -> str:
        """Return the sizes at which a program is certainly slower, with its speedups; empty if there are none."""
        speedups = {
            function.sizes: standings.speedup(place, number)
            for number, function in enumerate(self._functions)
            if function.sizes
        }
        return "; ".join(
            f"{sizes}: {speedup}" for sizes, speedup in speedups.items() if speedup.high < 1.0
        )

    def call_seconds(self, image: bytes) -> float:
        """Return the time of a program's call for `outputs`; 0 before the call."""
        return self._call_seconds.get(image, 0.0)

    def run_seconds(self, image: bytes) -> float:
        """Return the time of `outputs` for a program, including loading; 0 before the call."""
        return self._run_seconds.get(image, 0.0)

    def _worth_rounds(self, default: bytes, images: Sequence[bytes], seconds: float) -> list[int]:
        """Return the programs to time in rounds: as many possibly fastest programs as the time allows."""
        self._repeat_calls([image for image in images if not self._is_near(image, images)], seconds)
        running = sorted(
            (number for number, image in enumerate(images, 1) if self._is_near(image, images)),
            key=lambda number: self.call_seconds(images[number - 1]),
        )
        if not self._tells_times(self.call_seconds(default)):
            return sorted(running)
        while running:
            calls = [2 * self.call_seconds(default)]
            calls += [self.call_seconds(images[number - 1]) for number in running]
            if _CALLS_OF_FEWEST_ROUNDS * sum(calls) <= seconds:
                break
            running.pop()
        return sorted(running)

    def _is_near(self, image: bytes, images: Sequence[bytes]) -> bool:
        call = self.call_seconds(image)
        fastest = min(map(self.call_seconds, images))
        return call <= _LOADING_CALL or call <= self._uncertainty(fastest) * fastest

    def _repeat_calls(self, images: Sequence[bytes], seconds: float) -> None:
        """Call programs again on a CPU if the time allows: other sets were being compiled during the first call."""
        runs = sum(map(self.run_seconds, images))
        if not images or not self._device.description.is_local or runs > _REPEATING * seconds:
            return
        for image in images:
            before = self.call_seconds(image)
            if not isinstance(self.outputs(image), Failure):
                self._call_seconds[image] = min(before, self.call_seconds(image))

    def _rough_speedup(self, default: bytes, image: bytes) -> ConfidenceInterval:
        """Return the speedup of a program from one call."""
        seconds = self._call_seconds[image]
        ratio = self._call_seconds.get(default, seconds) / seconds
        factor = self._uncertainty(seconds)
        return ConfidenceInterval(ratio / factor, ratio, ratio * factor)

    def _uncertainty(self, seconds: float) -> float:
        return _LESS_ROUGH if self._tells_times(seconds) else _ROUGH

    def _tells_times(self, seconds: float) -> bool:
        return seconds >= _LONG_CALL and self._device.description.is_local

    def _rounds(
        self, images: Sequence[bytes], count: int, seed: int, seconds: float
    ) -> list[list[list[float]]] | Failure:
        """Return the microseconds of programs by round, program and function."""
        programs = [
            self._calls.compiled(function, image, PLAIN_INTEGERS)
            for image in images
            for function in self._functions
        ]
        rounds = self._device.program_rounds(programs, count, self._seed + seed, seconds)
        if isinstance(rounds, Failure):
            return rounds
        shape = (len(rounds.samples), len(images), len(self._functions))
        times: list[list[list[float]]] = np.array(rounds.samples).reshape(shape).tolist()
        return times


def callable_functions(calls: ProgramCalls) -> list[FunctionCall]:
    """Return the callable functions of a program."""
    return [function for function in calls.functions if not function.obstacle]


def _squared(speedup: ConfidenceInterval) -> ConfidenceInterval:
    return ConfidenceInterval(speedup.low**2, speedup.median, speedup.high**2)
