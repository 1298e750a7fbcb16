"""The times of programs by round: with and without a spec, or against copies of a default."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tuninglink.tuning.deciding import (
    ConfidenceInterval,
    FunctionComparison,
    ModelComparison,
    interval,
    undisturbed_speedup,
    undisturbed_us,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.programs.program_calls import FunctionCall
    from tuninglink.tuning.results import OutputComparison


NARROW_ROUNDS: Final = 25
"""The least number of rounds whose interval may be narrow enough."""

_NARROW: Final = 0.03
"""The width of an interval that is narrow enough."""

_CLEAR: Final = 1.5
"""Any number of rounds suffices if the interval of the ratio lies outside these bounds."""

_MOST_ROUNDS: Final = 1000


class ModelSamples:
    """The times of functions by round, without and with a spec.

    Args:
        functions: the functions, with their weights.
        seed: the seed of resamples.
    """

    def __init__(self, functions: Sequence[FunctionCall], seed: int) -> None:
        self._functions = functions
        self._seed = seed
        self._samples: list[tuple[float, ...]] = []

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self._samples)

    def add(self, samples: Sequence[tuple[float, ...]]) -> None:
        """Add rounds: the microseconds of each function without the spec and with it."""
        self._samples += samples

    @property
    def are_decided(self) -> bool:
        """Whether further rounds are pointless."""
        if not self._samples:
            return False
        *_, interval = self._times(self._weighted)
        is_narrow = interval.high - interval.low <= _NARROW and len(self) >= NARROW_ROUNDS
        is_clear = interval.low > _CLEAR or interval.high < 1 / _CLEAR
        return is_narrow or is_clear or len(self) >= _MOST_ROUNDS

    def comparison(
        self, notes: tuple[str, ...], outputs: OutputComparison | None
    ) -> ModelComparison:
        """Return the comparison of the program and its functions.

        Args:
            notes: remarks on it.
            outputs: the errors of the outputs.
        """
        functions = tuple(
            FunctionComparison(function.label, function.weight, *self._times(times))
            for function, times in zip(
                self._functions, np.swapaxes(self._by_function, 0, 1), strict=True
            )
        )
        times = self._times(self._weighted)
        default = self._weighted[: len(self) // 2 * 2, 0]
        noise = (
            undisturbed_speedup(default[::2], default[1::2], self._seed) if len(default) else None
        )
        return ModelComparison(
            *times, functions=functions, notes=notes, outputs=outputs, noise=noise
        )

    @property
    def _by_function(self) -> NDArray[np.float64]:
        """The times by round, function and program."""
        return np.array(self._samples).reshape(len(self), len(self._functions), 2)

    @property
    def _weighted(self) -> NDArray[np.float64]:
        """The weighted sums over the functions by round, without and with the spec."""
        weights = np.array([function.weight for function in self._functions])
        sums: NDArray[np.float64] = (self._by_function * weights[:, None]).sum(axis=1)
        return sums

    def _times(self, pairs: NDArray[np.float64]) -> tuple[float, float, ConfidenceInterval]:
        """Return the times without other work on the machine, in milliseconds, and the speedup."""
        default, tuned = pairs.T
        speedup = undisturbed_speedup(default, tuned, self._seed)
        return undisturbed_us(default) / 1000, undisturbed_us(tuned) / 1000, speedup


_RELATIVELY_NARROW: Final = 0.03
"""The width of an interval, relative to the speedup, that is narrow enough."""

_FAR: Final = 1.25
"""The factor beyond the noise of the default from which the interval of a program need not be narrow."""

_ALIKE: Final = 1.02
"""The speedup over the leader up to which another program may prove to be faster without further rounds."""

_QUIET: Final = 1.05
"""The factor above its time on a quiet machine up to which the default shows that the machine is quiet."""

_FIRST_COPY: Final = -2
_SECOND_COPY: Final = -1
"""The keys of the copies of the default."""


class Standings:
    """The times of programs by round, against two copies of a default; eliminated programs lack the last rounds.

    The default counts with the times of both of its copies.

    Args:
        weights: the weights of the functions that are called in a round.
        seed: the seed of resamples.
    """

    def __init__(self, weights: Sequence[int], seed: int = 0) -> None:
        self._weights = np.array(weights)
        self._seed = seed
        self._rounds: defaultdict[int, list[Sequence[float]]] = defaultdict(list)

    def __contains__(self, program: int) -> bool:
        """Return whether a program took part."""
        return program in self._rounds

    def add(self, programs: Sequence[int], rounds: Sequence[Sequence[Sequence[float]]]) -> None:
        """Add rounds.

        Args:
            programs: the programs that took part.
            rounds: the microseconds of the functions, by round, for both copies of the default and then the programs.
        """
        for times in rounds:
            keys = (_FIRST_COPY, _SECOND_COPY, *programs)
            for key, functions in zip(keys, times, strict=True):
                self._rounds[key].append(functions)

    @property
    def default_ms(self) -> float:
        """The time of the default without other work on the machine."""
        return self.milliseconds(_FIRST_COPY)

    def milliseconds(self, program: int) -> float:
        """Return the time of a program without other work on the machine."""
        return undisturbed_us(self._times(program)) / 1000

    @property
    def noise(self) -> ConfidenceInterval:
        """The speedup of the default against itself."""
        return self._speedup(self._times(_FIRST_COPY), self._times(_SECOND_COPY))

    def speedup(self, program: int, function: int | None = None) -> ConfidenceInterval:
        """Return the speedup of a program over the default, of one function or of their weighted sum."""
        copies = [self._times(copy, function) for copy in (_FIRST_COPY, _SECOND_COPY)]
        return self._speedup(np.array(copies), self._times(program, function))

    def is_quiet(self, default_ms: float | None) -> bool:
        """Return whether the machine was as quiet as before.

        Args:
            default_ms: the time of the default before; None if it was not measured.
        """
        return default_ms is None or self.default_ms <= _QUIET * default_ms

    def remaining(self, programs: Sequence[int], eligible: Collection[int]) -> list[int]:
        """Return the programs that may be faster than the fastest eligible one.

        The others are slower in the fastest rounds, and by the median of all: a few rounds may all have been disturbed.
        """
        leader = self._leader(programs, eligible)
        if leader is None:
            return list(programs)
        times = self._times(leader)
        return [
            program
            for program in programs
            if program == leader
            or self._speedup(times, self._times(program)).high > 1.0
            or self._usual_speedup(times, self._times(program)).high > 1.0
        ]

    def are_decided(self, programs: Sequence[int], eligible: Collection[int]) -> bool:
        """Return whether further rounds are pointless.

        The interval of the fastest eligible program is narrow, or far from the noise of the default, and other
        eligible programs are hardly faster.
        """
        leader = self._leader(programs, eligible)
        noise = self.noise
        if leader is None:
            return _is_narrow(noise) and all(
                _is_narrow(self.speedup(program)) for program in programs
            )
        speedup = self.speedup(leader)
        times = self._times(leader)
        is_far = speedup.low > _FAR * noise.high or _FAR * speedup.high < noise.low
        return (is_far or (_is_narrow(noise) and _is_narrow(speedup))) and all(
            self._speedup(times, self._times(program)).high <= _ALIKE
            for program in programs
            if program in eligible and program != leader
        )

    def _leader(self, programs: Sequence[int], eligible: Collection[int]) -> int | None:
        contenders = [program for program in programs if program in eligible]
        return min(contenders, key=self.milliseconds, default=None)

    def _times(self, program: int, function: int | None = None) -> NDArray[np.float64]:
        """Return the microseconds of a function, or the weighted sums of all, by round."""
        times = np.array(self._rounds[program], np.float64)
        return times @ self._weights if function is None else times[:, function]

    def _speedup(
        self, times: NDArray[np.float64], others: NDArray[np.float64]
    ) -> ConfidenceInterval:
        """Return the speedup without other work on the machine, in the rounds in which both programs took part."""
        count = min(times.shape[-1], len(others))
        return undisturbed_speedup(times[..., :count], others[:count], self._seed)

    def _usual_speedup(
        self, times: NDArray[np.float64], others: NDArray[np.float64]
    ) -> ConfidenceInterval:
        """Return the median of the ratios in these rounds."""
        count = min(len(times), len(others))
        return interval(times[:count] / others[:count], self._seed)


def _is_narrow(speedup: ConfidenceInterval) -> bool:
    return speedup.high - speedup.low <= _RELATIVELY_NARROW * speedup.median
