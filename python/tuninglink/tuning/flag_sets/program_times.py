"""The times of variants of a program against the time of the default."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tuninglink.tuning.deciding import ConfidenceInterval, interval
from tuninglink.tuning.devices.sampling import FEWEST_ROUNDS
from tuninglink.tuning.programs.compiled_program import PLAIN_INTEGERS
from tuninglink.tuning.results import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.devices.device_process import Device
    from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls

    Outputs = dict[str, tuple[NDArray[Any], ...]]

_FIRST_ROUNDS: Final = 8
_ROUNDS: Final = 25
_MOST_ROUNDS: Final = 200
_LOADING_CALL: Final = 0.2
"""The time of a first call, in seconds, below which it tells nothing: most of it may be loading."""

_LONG_CALL: Final = 1.0
"""The time of a first call on a CPU, in seconds, from which loading is a small part of it. Drivers of GPUs may compile
for longer."""

_ROUGH: Final = 3.0
_LESS_ROUGH: Final = 1.3
"""The factors by which the ratio of two first calls may be wrong, for calls up to `_LONG_CALL` and from there on."""

_CALLS_OF_FEWEST_ROUNDS: Final = FEWEST_ROUNDS + 1
"""The calls of a program in the fewest rounds: the first one finds the size of batches."""

_NARROW: Final = 0.02
"""The width of an interval, relative to the speedup, that is narrow enough."""


@dataclass(frozen=True)
class ProgramTimes:
    """Times of programs against a default.

    Attributes:
        default_ms: the time of the default.
        noise: the speedup of the default against itself.
        milliseconds: the times of the programs.
        speedups: the speedups of the programs.
        slower: for each program, the sizes of dynamic arguments at which it is slower beyond doubt, with its speedups.
    """

    default_ms: float
    noise: ConfidenceInterval
    milliseconds: tuple[float, ...]
    speedups: tuple[ConfidenceInterval, ...]
    slower: tuple[str, ...]


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

    def outputs(self, image: bytes) -> Outputs | Failure:
        """Return the outputs of all functions, or the failure of a run."""
        arrays: Outputs = {}
        began = time.monotonic()
        for function in self._functions:
            program = self._calls.compiled(function, image, PLAIN_INTEGERS)
            computed = self._device.program_outputs(program)
            if isinstance(computed, Failure):
                return computed
            arrays[function.label] = computed
        self._call_seconds[image] = time.monotonic() - began
        return arrays

    def compare(
        self, default: bytes, images: Sequence[bytes], seconds: float
    ) -> ProgramTimes | Failure:
        """Time programs, interleaved with two copies of the default.

        A program leaves when it can no longer be the fastest, perhaps already after its call for `outputs`. The rounds
        end when the remaining intervals are narrow or the time is over. Where not even the fewest rounds fit into the
        time, as for programs that run for seconds, the calls for `outputs` decide, with wide intervals.

        Args:
            default: the default.
            images: the programs.
            seconds: the time.
        """
        end = time.monotonic() + seconds
        milliseconds: defaultdict[int, list[float]] = defaultdict(list)
        ratios: defaultdict[int, list[float]] = defaultdict(list)
        sized: defaultdict[tuple[int, str], list[float]] = defaultdict(list)
        # 0 is the second copy of the default.
        running = self._worth_rounds(default, images, seconds)
        programs = [default, *images]
        speedups = {}
        for index in range(1 if running else 0, len(programs)):
            if index in running:
                continue
            speedups[index] = self._rough_speedup(default, programs[index])
            milliseconds[index].append(1000 * self.call_seconds(programs[index]))
        count = 0
        while running:
            contestants = [0, *running]
            left = max(0.0, end - time.monotonic())
            raced = [default, *(programs[index] for index in contestants)]
            rounds = self._rounds(raced, _ROUNDS if count else _FIRST_ROUNDS, count, left)
            if isinstance(rounds, Failure):
                return rounds
            count += len(rounds)
            for first, *others in rounds:
                milliseconds[-1].append(self._total(first) / 1000)
                for index, times in zip(contestants, others, strict=True):
                    milliseconds[index].append(self._total(times) / 1000)
                    ratios[index].append(self._total(first) / self._total(times))
                    for function, one, other in zip(self._functions, first, times, strict=True):
                        if function.sizes:
                            sized[index, function.sizes].append(one / other)
            speedups |= {index: interval(values, self._seed) for index, values in ratios.items()}
            running = _possible_winners(speedups, running)
            is_known = all(_is_narrow(speedups[index]) for index in (0, *running))
            if is_known or count >= _MOST_ROUNDS or time.monotonic() > end:
                break
        medians = {index: float(np.median(values)) for index, values in milliseconds.items()}
        places = range(1, len(images) + 1)
        return ProgramTimes(
            medians[-1] if count else medians[0],
            speedups[0],
            tuple(medians[index] for index in places),
            tuple(speedups[index] for index in places),
            tuple(self._slower(index, sized) for index in places),
        )

    def _total(self, times: Sequence[float]) -> float:
        """Return the weighted sum of the times of all functions."""
        return sum(
            function.weight * time for function, time in zip(self._functions, times, strict=True)
        )

    def _slower(self, index: int, sized: Mapping[tuple[int, str], Sequence[float]]) -> str:
        """Return the sizes at which a program is slower beyond doubt, with its speedups; empty if there are none.

        Args:
            index: the program.
            sized: the ratios of the default's times to those of programs, by program and sizes.
        """
        speedups = {
            sizes: interval(ratios, self._seed)
            for (program, sizes), ratios in sized.items()
            if program == index
        }
        return "; ".join(
            f"{sizes}: {speedup}" for sizes, speedup in speedups.items() if speedup.high < 1.0
        )

    def call_seconds(self, image: bytes) -> float:
        """Return the time of the call of a program for `outputs`; 0 before it."""
        return self._call_seconds.get(image, 0.0)

    def _worth_rounds(self, default: bytes, images: Sequence[bytes], seconds: float) -> list[int]:
        """Return the programs to time in rounds: those that may be the fastest, and of these as many as the time allows.

        Args:
            default: the default, which each round runs twice.
            images: the programs, which are numbered from 1 on.
            seconds: the time.
        """
        calls = {number: self.call_seconds(image) for number, image in enumerate(images, 1)}
        fastest = min(calls.values())
        running = sorted(
            (
                number
                for number, call in calls.items()
                if call <= _LOADING_CALL or call <= self._uncertainty(fastest) * fastest
            ),
            key=calls.__getitem__,
        )
        if not self._tells_times(self.call_seconds(default)):
            return sorted(running)
        while running:
            call = 2 * self.call_seconds(default) + sum(calls[number] for number in running)
            if _CALLS_OF_FEWEST_ROUNDS * call <= seconds:
                break
            running.pop()
        return sorted(running)

    def _rough_speedup(self, default: bytes, image: bytes) -> ConfidenceInterval:
        """Return the speedup of a program from one call."""
        seconds = self._call_seconds[image]
        ratio = self._call_seconds.get(default, seconds) / seconds
        factor = self._uncertainty(seconds)
        return ConfidenceInterval(ratio / factor, ratio, ratio * factor)

    def _uncertainty(self, seconds: float) -> float:
        """Return the factor by which the ratio of two first calls may be wrong, given the time of the shorter one."""
        return _LESS_ROUGH if self._tells_times(seconds) else _ROUGH

    def _tells_times(self, seconds: float) -> bool:
        """Return whether a first call of a duration tells the time of others."""
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


def _possible_winners(speedups: dict[int, ConfidenceInterval], running: Sequence[int]) -> list[int]:
    """Return the programs that can still be the fastest."""
    bar = max((speedups[index].low for index in running), default=0.0)
    return [index for index in running if speedups[index].high >= bar]


def _is_narrow(speedup: ConfidenceInterval) -> bool:
    return speedup.high - speedup.low <= _NARROW * speedup.median
