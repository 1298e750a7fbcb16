"""Sampling of loaded programs: the size of batches, rounds in which programs take turns, and means over sizes."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tuninglink.tuning.devices.running import Runnable


_LARGEST_BATCH: Final = 1 << 20
_LARGEST_STEP: Final = 16
"""The maximum growth of batches during the search for their size."""

_SLOW: Final = 8.0
"""An iteration that takes this many samples is slow: its first-time costs do not matter."""

_LONGEST: Final = 4.0
"""The factor by which a sample may be longer than necessary so that batches are equal."""

FEWEST_ROUNDS: Final = 3
"""The number of rounds that always run: fewer give no useful interval."""


class Subject:
    """A sampled program, in one or several copies that differ only in their place in memory.

    Args:
        copies: the loaded copies.
        sample_seconds: the duration of a sample, if more than one iteration fits.
    """

    def __init__(self, copies: Sequence[Runnable], sample_seconds: float) -> None:
        self._copies = copies
        self._wanted = sample_seconds * 1e6
        self._microseconds = math.inf

    def sample(self, batch: int, copy: int = 0) -> float:
        """Run a batch and return the microseconds of an iteration.

        Raises:
            MeasurementError: it fails.
        """
        microseconds = self._copies[copy].sample(batch)
        if batch >= self._least_batch:
            self._microseconds = min(self._microseconds, microseconds)
        return microseconds

    def sample_any(self, batch: int, chance: random.Random) -> float:
        """Run a batch on one of the copies; see `sample`."""
        return self.sample(batch, chance.randrange(len(self._copies)))

    def fitting_batch(self) -> int:
        """Return the number of iterations in a sample.

        A single iteration mostly measures the call, so the batch grows until it measures the iterations. It grows by
        steps, since a batch that seems to take no time may only have run in a quiet moment of a busy machine.
        """
        batch = self._least_batch
        if math.isinf(self._microseconds):
            self.sample(batch)
        taken = self._microseconds * batch
        if taken >= _SLOW * self._wanted:
            return batch
        taken = min(taken, self.sample(batch) * batch)
        while taken < self._wanted / 2 and batch < _LARGEST_BATCH:
            batch = math.ceil(batch * min(self._wanted / max(taken, 0.001), _LARGEST_STEP))
            taken = self.sample(batch) * batch
        self._microseconds = taken / batch
        fitting = math.ceil(batch * self._wanted / taken)
        return max(min(fitting, _LARGEST_BATCH), self._least_batch)

    def longest_batch(self) -> int:
        """Return the maximum number of iterations in a sample, once `fitting_batch` was called."""
        longest = math.ceil(_LONGEST * self._wanted / self._microseconds)
        return max(min(longest, _LARGEST_BATCH), self._least_batch)

    def warm_up(self) -> None:
        """Run each further copy once, unless that takes more time than it saves."""
        if self._microseconds * self._least_batch < _SLOW * self._wanted:
            for copy in range(1, len(self._copies)):
                self.sample(self._least_batch, copy)

    @property
    def _least_batch(self) -> int:
        return self._copies[0].least_batch


@dataclass(frozen=True)
class Interleaving:
    """The settings of interleaved measurements.

    Attributes:
        count: the number of rounds.
        seed: fixes the order within the rounds, and which copies run.
        seconds: the time after which no further round begins, unless there are too few.
    """

    count: int
    seed: int
    seconds: float

    def run(
        self, subjects: Sequence[Subject], after_round: Callable[[], None]
    ) -> tuple[tuple[tuple[float, ...], ...], tuple[int, ...]]:
        """Run each subject once per round, in random order.

        All subjects have equal batches, since times from unequal batches are not quite comparable. The exception is a
        subject that is several times as slow as another: the inaccuracy does not matter there, and a smaller batch
        saves time.

        Returns:
            The microseconds of an iteration by round and subject, and the batch of each subject.

        Raises:
            MeasurementError: a subject fails.
        """
        chance = random.Random(self.seed)  # noqa: S311 - no secret
        shared = max(subject.fitting_batch() for subject in subjects)
        batches = tuple(min(shared, subject.longest_batch()) for subject in subjects)
        for subject in subjects:
            subject.warm_up()
        rounds: list[tuple[float, ...]] = []
        end = time.monotonic() + self.seconds
        while len(rounds) < self.count and (len(rounds) < FEWEST_ROUNDS or time.monotonic() < end):
            samples = [0.0] * len(subjects)
            for index in chance.sample(range(len(subjects)), len(subjects)):
                samples[index] = subjects[index].sample_any(batches[index], chance)
            rounds.append(tuple(samples))
            after_round()
        return tuple(rounds), batches


@dataclass(frozen=True)
class SizedPart:
    """A loaded benchmark at one combination of sizes.

    Attributes:
        benchmark: the benchmark.
        weight: the weight of its time.
        repeats: its iterations for each iteration of the whole; more where an iteration is short.
    """

    benchmark: Runnable
    weight: int
    repeats: int


class SizedBenchmark:
    """A benchmark that runs at several sizes, one after another. An iteration takes the mean of their times.

    Args:
        parts: the benchmark at each of the sizes.
    """

    def __init__(self, parts: Sequence[SizedPart]) -> None:
        self.least_batch = max(part.benchmark.least_batch for part in parts)
        self._parts = parts

    def sample(self, batch: int) -> float:
        """Run a batch at each of the sizes; return the microseconds of an iteration.

        Raises:
            MeasurementError: it fails.
        """
        times = [part.benchmark.sample(batch * part.repeats) for part in self._parts]
        return weighted_mean(times, [part.weight for part in self._parts])


@dataclass(frozen=True)
class Repetition:
    """The repetitions of a benchmark at each of its sizes, so that short ones are measured as exactly as long ones.

    Attributes:
        counts: the repetitions by size.
        stretch: the time of all of them over the weighted geometric mean of the times.
    """

    counts: tuple[int, ...]
    stretch: float


def repetition(times: Sequence[float], weights: Sequence[int], sample_seconds: float) -> Repetition:
    """Return how often a benchmark is repeated at each of its sizes.

    Args:
        times: its times, in microseconds.
        weights: the weights of the times.
        sample_seconds: the time after which more repetitions do not help.
    """
    longest = min(max(times), sample_seconds * 1e6)
    counts = tuple(max(1, round(longest / time)) for time in times)
    whole = sum(count * time for count, time in zip(counts, times, strict=True))
    return Repetition(counts, whole / weighted_mean(times, weights))


def weighted_mean(times: Sequence[float], weights: Sequence[int]) -> float:
    """Return the weighted geometric mean of times."""
    total = sum(weight * math.log(time) for time, weight in zip(times, weights, strict=True))
    return math.exp(total / sum(weights))
