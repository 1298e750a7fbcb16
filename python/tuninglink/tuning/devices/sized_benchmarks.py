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
        self._weights = sum(part.weight for part in parts)

    def sample(self, batch: int) -> float:
        """Run a batch at each of the sizes; return the microseconds of an iteration.

        Raises:
            MeasurementError: it fails.
        """
        total = sum(
            part.weight * math.log(part.benchmark.sample(batch * part.repeats))
            for part in self._parts
        )
        return math.exp(total / self._weights)


def repeats_of(benchmarks: Sequence[Runnable], sample_seconds: float) -> tuple[int, ...]:
    """Return how often each of several benchmarks is repeated, so that short ones are measured as exactly as long ones.

    Args:
        benchmarks: a benchmark at each of its sizes.
        sample_seconds: the time after which more repetitions do not help.

    Raises:
        MeasurementError: one cannot be run.
    """
    times = []
    for benchmark in benchmarks:
        benchmark.sample(benchmark.least_batch)  # it pays for code and pages that are not there yet
        times.append(benchmark.sample(benchmark.least_batch))
    longest = min(max(times), sample_seconds * 1e6)
    return tuple(max(1, round(longest / time)) for time in times)
