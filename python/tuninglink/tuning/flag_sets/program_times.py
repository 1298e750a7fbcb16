"""The times of variants of a program against the time of the default."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tuninglink.tuning.deciding import ConfidenceInterval
from tuninglink.tuning.deciding.round_times import Standings
from tuninglink.tuning.devices.sampling import FEWEST_ROUNDS
from tuninglink.tuning.programs.compiled_program import PLAIN_INTEGERS
from tuninglink.tuning.results import Failure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.devices.device_process import Device
    from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls

    Outputs = dict[str, tuple[NDArray[Any], ...]]

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
        """Return the programs to time in rounds: as many possibly fastest programs as the time allows.

        Args:
            default: the default, which each round runs twice.
            images: the programs, numbered from 1.
            seconds: the time.
        """
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
        """Return whether a program may be the fastest one after its first call."""
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
        """Return the possible error factor of the ratio of two first calls, given the time of the shorter call."""
        return _LESS_ROUGH if self._tells_times(seconds) else _ROUGH

    def _tells_times(self, seconds: float) -> bool:
        """Return whether a first call is long enough, on a local device, to show the time of later calls."""
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
    """Return the noise of two calls: a speedup's interval with squared bounds."""
    return ConfidenceInterval(speedup.low**2, speedup.median, speedup.high**2)
