"""Benchmarks of dynamic dispatches, loaded: their time is the weighted geometric mean over the sizes.

The ratio of two such means is the mean of the ratios, so that all sizes count alike. In an arithmetic mean, the largest size
would decide alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.devices.running import Runnable


@dataclass(frozen=True)
class SizedPart:
    """A loaded benchmark at one combination of sizes.

    Attributes:
        benchmark: the benchmark.
        weight: how much its time counts.
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
    """How often a benchmark is repeated at each of its sizes, so that short ones are measured as exactly as long ones.

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
        weights: how much the times count.
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
