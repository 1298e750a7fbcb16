"""Decisions from interleaved times: whether a candidate is faster than the default, and with what confidence.

The same samples and seed give the same decision. The modules of this package use them: races of finalists, comparisons
of whole programs, and verification of winners.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

import numpy as np

from tuninglink.plain_data import FLAT, HIDDEN, named, written

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

_RESAMPLES: Final = 2000
_CONFIDENCE: Final = 0.975
"""With 0.95, 4 of 199 races of identical code had a winner on four cores at a load average of 10 to 27; with this, 2."""

_FEWEST: Final = 3
"""The fewest rounds for a meaningful interval."""


class Outcome(Enum):
    """The outcome of comparing a candidate with the default."""

    FASTER = "faster"
    NOT_FASTER = "not-faster"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ConfidenceInterval:
    """An estimate of a speedup: the time of the default over the time of the candidate, above 1 if it is faster.

    Attributes:
        low: the lower bound.
        median: the estimate, the median of the ratios of the rounds.
        high: the upper bound.
    """

    low: float = field(metadata=HIDDEN)
    median: float = field(metadata=named("speedup"))
    high: float = field(metadata=HIDDEN)

    @property
    @written()
    def interval(self) -> tuple[float, float]:
        """The bounds of the bootstrap interval (97.5 %) of the speedup."""
        return self.low, self.high

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Decision:
    """The decision on a candidate from blocks of rounds.

    Attributes:
        outcome: the verdict.
        speedup: the speedup over all rounds.
        default_us: the median time of the default, in microseconds.
        tuned_us: the median time of the candidate, in microseconds.
        blocks: the speedup in each block.
        contrary: the block that left the decision open although the speedup over all rounds is above the threshold;
            None if there is none.
        default_interval: the bounds of the median time of the default.
        tuned_interval: the bounds of the median time of the candidate.
    """

    outcome: Outcome = field(metadata=HIDDEN)
    speedup: ConfidenceInterval = field(metadata=FLAT)
    default_us: float
    tuned_us: float
    blocks: tuple[ConfidenceInterval, ...] = field(metadata=HIDDEN)
    contrary: ConfidenceInterval | None = field(default=None, metadata=HIDDEN)
    default_interval: tuple[float, float] | None = field(default=None, metadata=HIDDEN)
    tuned_interval: tuple[float, float] | None = field(default=None, metadata=HIDDEN)

    def __str__(self) -> str:
        if self.contrary is None:
            return str(self.speedup)
        number = self.blocks.index(self.contrary) + 1
        return f"{self.speedup}, but {self.contrary} in block {number} of {len(self.blocks)}"


def interval(ratios: ArrayLike, seed: int = 0) -> ConfidenceInterval:
    """Return the median of ratios with its bootstrap interval (97.5 %, percentiles of 2,000 resamples).

    Args:
        ratios: one ratio per round.
        seed: the seed of the resamples.

    Raises:
        ValueError: there are no ratios.
    """
    values = np.asarray(ratios, np.float64)
    if not len(values):
        raise ValueError("there is no median of nothing")
    median = float(np.median(values))
    if len(values) < _FEWEST:
        return ConfidenceInterval(0.0, median, float("inf"))
    chosen = np.random.default_rng(seed).integers(0, len(values), (_RESAMPLES, len(values)))
    medians = np.median(values[chosen], axis=1)
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(medians, (tail, 1 - tail))
    return ConfidenceInterval(float(low), median, float(high))


def decide(
    blocks: Sequence[Sequence[tuple[float, float]]], min_gain: float = 0.02, seed: int = 0
) -> Decision:
    """Decide whether a candidate is faster than the default.

    It is faster if the interval over all rounds and the median of each block are above `1 + min_gain`: the cause of one
    fast block may not last. It is not if the interval over all rounds is below.

    Args:
        blocks: blocks of rounds, seconds apart; a round holds the times of the default and of the candidate.
        min_gain: the least gain worth an entry, as a fraction.
        seed: the seed of the resamples.

    Raises:
        ValueError: there are no rounds.
    """
    rounds = np.asarray([pair for block in blocks for pair in block], np.float64)
    if not len(rounds):
        raise ValueError("there is no decision without rounds")
    intervals = tuple(
        interval(_ratios(block), seed + index) for index, block in enumerate(blocks) if len(block)
    )
    speedup = interval(_ratios(rounds), seed)
    least = 1 + min_gain
    slowest = min(intervals, key=lambda block_interval: block_interval.median)
    contrary = None
    if speedup.high < least:
        outcome = Outcome.NOT_FASTER
    elif speedup.low <= least:
        outcome = Outcome.UNDECIDED
    elif slowest.median <= least:
        outcome, contrary = Outcome.UNDECIDED, slowest
    else:
        outcome = Outcome.FASTER
    default, tuned = (interval(times, seed) for times in rounds.T)
    medians, bounds = (default.median, tuned.median), (default.interval, tuned.interval)
    return Decision(outcome, speedup, *medians, intervals, contrary, *bounds)


def survivors(
    ratios: Mapping[int, Sequence[float]], keep: int, seed: int = 0, least: float = 1.0
) -> list[int]:
    """Return the candidates that stay in a race, fastest first.

    A candidate leaves if the upper bound of its speedup is below the lower bound of the leader's or below the least
    speedup, or if `keep` others are faster.

    Args:
        ratios: the time of the default over that of the candidate in each round, by candidate.
        keep: the number of candidates that may stay.
        seed: the seed of the resamples.
        least: the least speedup.
    """
    if not ratios:
        return []
    speedups = {key: interval(samples, seed) for key, samples in ratios.items()}
    order = sorted(speedups, key=lambda key: -speedups[key].median)
    bar = max(least, speedups[order[0]].low)
    return [key for key in order if speedups[key].high >= bar][:keep]


def _ratios(rounds: ArrayLike) -> np.ndarray:
    times = np.asarray(rounds, np.float64)
    return times[:, 0] / times[:, 1]


_NARROW: Final = 0.02
"""The width of an interval, relative to the speedup, that is narrow enough."""

_FAR: Final = 1.25
"""The factor beyond the noise of the default from which the interval of a program need not be narrow."""

_ALIKE: Final = 1.02
"""The speedup over the leader up to which another program may prove to be faster without further rounds."""

_FIRST_COPY: Final = -2
_SECOND_COPY: Final = -1
"""The keys of the copies of the default."""


class Standings:
    """The times of programs by round, against two copies of a default; those that left took part in the first rounds.

    The default counts with the geometric mean of its copies, which has less noise than one of them.

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
        """The median time of the default."""
        return self.milliseconds(_FIRST_COPY)

    def milliseconds(self, program: int) -> float:
        """Return the median time of a program."""
        return float(np.median(self._times(program))) / 1000

    @property
    def noise(self) -> ConfidenceInterval:
        """The speedup of the default against itself."""
        ratios = _round_ratios(self._times(_FIRST_COPY), self._times(_SECOND_COPY))
        return interval(ratios, self._seed)

    def speedup(self, program: int, function: int | None = None) -> ConfidenceInterval:
        """Return the speedup of a program over the default, of one function or of their weighted sum."""
        return interval(self._speedups(program, function), self._seed)

    def remaining(self, programs: Sequence[int], eligible: Collection[int]) -> list[int]:
        """Return the programs that may be faster than the fastest eligible one."""
        leader = self._leader(programs, eligible)
        if leader is None:
            return list(programs)
        return [
            program
            for program in programs
            if program == leader or self._against(leader, program).high > 1.0
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
        is_far = speedup.low > _FAR * noise.high or _FAR * speedup.high < noise.low
        return (is_far or (_is_narrow(noise) and _is_narrow(speedup))) and all(
            self._against(leader, program).high <= _ALIKE
            for program in programs
            if program in eligible
        )

    def _leader(self, programs: Sequence[int], eligible: Collection[int]) -> int | None:
        contenders = [program for program in programs if program in eligible]
        return max(
            contenders, key=lambda program: float(np.median(self._speedups(program))), default=None
        )

    def _speedups(self, program: int, function: int | None = None) -> NDArray[np.float64]:
        """Return the speedups of a program over the default by round; see `speedup`."""
        first, second = self._times(_FIRST_COPY, function), self._times(_SECOND_COPY, function)
        return _round_ratios(np.sqrt(first * second), self._times(program, function))

    def _against(self, leader: int, program: int) -> ConfidenceInterval:
        """Return the speedup of a program over the leader."""
        return interval(_round_ratios(self._times(leader), self._times(program)), self._seed)

    def _times(self, program: int, function: int | None = None) -> NDArray[np.float64]:
        """Return the microseconds of a function, or the weighted sums of all, by round."""
        times = np.array(self._rounds[program], np.float64)
        return times @ self._weights if function is None else times[:, function]


def _round_ratios(times: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ratios of the times of two programs in the rounds that both took part in."""
    count = min(len(times), len(others))
    return times[:count] / others[:count]


def _is_narrow(speedup: ConfidenceInterval) -> bool:
    return speedup.high - speedup.low <= _NARROW * speedup.median
