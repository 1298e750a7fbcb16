"""Decisions from interleaved times: whether a candidate is faster than the default, and with what confidence.

The same samples and seed give the same decision. The modules of this package use the decisions in races of finalists,
comparisons of whole programs, and verification of winners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tuninglink.plain_data import FLAT, HIDDEN, named, written
from tuninglink.programs import OutputComparison

_RESAMPLES: Final = 2000
_FEWEST_RESAMPLES: Final = 500
_DRAWS: Final = 400_000
"""The draws of rounds for an interval from which on it has fewer resamples."""

_CONFIDENCE: Final = 0.975
"""With 0.95, 4 of 199 races of identical code had a winner on four cores at a load average of 10 to 27; with this, 2."""

_TAIL: Final = (1 - _CONFIDENCE) / 2

_FEWEST: Final = 3
"""The fewest rounds for a meaningful interval."""

_UNDISTURBED: Final = 0.2
"""The fraction of the rounds, the fastest ones, whose mean stands for the time without other work on the machine.

Other work, for example on the other thread of a core, makes many calls of a program 1.5 times as long, and those of some
programs more than those of others: whether a median is a time with it or without it is chance.
"""

_BUSY: Final = 1.2
"""The ratio of the bounds of the default's speedup over itself from which the machine is too busy. It is 1.02 on an idle
one."""

QUORUM: Final = 0.8
"""The fraction of blocks that outvotes the others: all of three or four, four of five. With three of four, twice as many
identical programs win beside other work that makes one block in five 1.5 to 2 times as long."""

_LIKELY_SLOWER: Final = 0.99
"""The speedup of a whole program below which a spec is not kept, however wide the interval is."""


class Outcome(Enum):
    """The outcome of comparing a candidate with the default."""

    FASTER = "faster"
    NOT_FASTER = "not-faster"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ConfidenceInterval:
    """An estimate of a speedup: the time of the default over the time of the candidate, above 1 if it is faster.

    Attributes:
        median: the estimate: of dispatches the median of the ratios of the rounds, of whole programs the ratio of their
            times without other work on the machine.
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

    @property
    def is_noise(self) -> bool:
        """Whether the speedup of a program over itself shows that the machine is too busy to compare programs."""
        return self.high > _BUSY * self.low


@dataclass(frozen=True)
class Decision:
    """The decision on a candidate from blocks of rounds.

    Attributes:
        speedup: the speedup over all rounds.
        default_us: the time of the default without other work on the machine, in microseconds.
        tuned_us: that of the candidate: the default's over the speedup.
        blocks: the speedup in each block.
        contrary: the block that left the decision open although the speedup over all rounds is above the threshold;
            None if there is none.
        default_interval: the bounds of the median time of the default, which other work on the machine makes longer.
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


@dataclass(frozen=True)
class FunctionComparison:
    """A function of the program, without and with the spec.

    Attributes:
        name: its name.
        weight: the number of its calls.
        default_ms: the time of a call without the spec and without other work on the machine, in milliseconds.
        tuned_ms: the time with the spec.
    """

    name: str
    weight: int
    default_ms: float
    tuned_ms: float
    speedup: ConfidenceInterval = field(metadata=FLAT)


@dataclass(frozen=True)
class ModelComparison:
    """The whole program, without and with the spec.

    Attributes:
        default_ms: the time without the spec and without other work on the machine, in milliseconds: of all functions,
            weighted by their calls.
        tuned_ms: the time with the spec.
        functions: the times by function.
        noise: the speedup of the default against itself; None if it was not measured.
        failure: the failure or wrong result with the spec; empty if the program runs and is right.
        outputs: the errors of its outputs; None if it does not run.
        default_fails: whether `default_ms` is with entries for defaults that fail, without which the program does not run.
    """

    default_ms: float
    tuned_ms: float
    speedup: ConfidenceInterval = field(metadata=FLAT)
    functions: tuple[FunctionComparison, ...] = ()
    notes: tuple[str, ...] = field(default=(), metadata=HIDDEN)
    failure: str = ""
    outputs: OutputComparison | None = field(default=None, metadata=HIDDEN)
    noise: ConfidenceInterval | None = field(default=None, metadata=HIDDEN)
    default_fails: bool = field(default=False, metadata=HIDDEN)

    @property
    def is_slower(self) -> bool:
        """Whether the program fails or is slower with the spec: certainly, or probably if the machine is busy.

        A program that the spec repairs may be slower.
        """
        if self.failure:
            return True
        is_repaired = self.outputs is not None and self.outputs.is_repaired
        is_likely = self.speedup.high < 1.0 or self.speedup.median < _LIKELY_SLOWER
        return is_likely and not is_repaired


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
    low, high = np.quantile(medians, (_TAIL, 1 - _TAIL))
    return ConfidenceInterval(float(low), median, float(high))


def undisturbed_us(times: ArrayLike) -> float:
    """Return the estimated time of a program on an idle machine: other work only adds to a time."""
    return float(_fastest(np.asarray(times, np.float64).reshape(1, -1))[0])


def undisturbed_speedup(times: ArrayLike, others: ArrayLike, seed: int = 0) -> ConfidenceInterval:
    """Return the speedup of one program over another without other work on the machine, with its bootstrap interval.

    Args:
        times: the times of the slower program by round, or of several copies of it.
        others: the times of the faster program in the same rounds, in the same form.
        seed: the seed of the resamples of rounds.

    Raises:
        ValueError: there are no rounds.
    """
    slower, faster = (np.atleast_2d(np.asarray(rounds, np.float64)) for rounds in (times, others))
    count = slower.shape[1]
    if not count:
        raise ValueError("there is no speedup without rounds")
    speedup = undisturbed_us(slower) / undisturbed_us(faster)
    if count < _FEWEST:
        return ConfidenceInterval(0.0, speedup, float("inf"))
    resamples = min(_RESAMPLES, max(_FEWEST_RESAMPLES, _DRAWS // count))
    chosen = np.random.default_rng(seed).integers(0, count, (resamples, count))
    resampled = [
        _fastest(np.concatenate([copy[chosen] for copy in program], axis=1))
        for program in (slower, faster)
    ]
    low, high = np.quantile(resampled[0] / resampled[1], (_TAIL, 1 - _TAIL))
    return ConfidenceInterval(float(low), speedup, float(high))


def decide(
    blocks: Sequence[Sequence[tuple[float, float]]], min_gain: float = 0.02, seed: int = 0
) -> Decision:
    """Decide whether a candidate is faster than the default.

    The candidate is faster if the interval over all rounds and the median of each block are above `1 + min_gain`: the
    cause of one fast block may not last. Of five blocks and more, four fifths outvote the others, which other work on
    the machine may have disturbed. It is not faster if the interval over all rounds is below that.

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
    votes, contrary = sum(block.median > least for block in intervals), None
    if speedup.high < least:
        outcome = Outcome.NOT_FASTER
    elif speedup.low <= least:
        outcome = Outcome.UNDECIDED
    elif votes < QUORUM * len(intervals):
        outcome, contrary = Outcome.UNDECIDED, slowest
    else:
        outcome = Outcome.FASTER
    default_us = undisturbed_us(rounds[:, 0])
    bounds = (interval(times, seed).interval for times in rounds.T)
    times = default_us, default_us / speedup.median
    return Decision(outcome, speedup, *times, intervals, contrary, *bounds)


def _ratios(rounds: ArrayLike) -> np.ndarray:
    times = np.asarray(rounds, np.float64)
    return times[:, 0] / times[:, 1]


def _fastest(times: NDArray[np.float64]) -> NDArray[np.float64]:
    count = max(1, round(_UNDISTURBED * times.shape[1]))
    fastest: NDArray[np.float64] = np.partition(times, count - 1, axis=1)[:, :count].mean(axis=1)
    return fastest
