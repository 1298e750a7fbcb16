"""The standings of programs in a race against copies of a default."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tuninglink.tuning.deciding import (
    ConfidenceInterval,
    interval,
    undisturbed_speedup,
    undisturbed_us,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NARROW: Final = 0.03
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
    """The times of programs by round, against two copies of a default; those that left took part in the first rounds.

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
        eligible ones are hardly faster.
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
    return speedup.high - speedup.low <= _NARROW * speedup.median
