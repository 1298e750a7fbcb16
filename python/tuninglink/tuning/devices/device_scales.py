"""Scales between equal devices, from repeated measurements of the same defaults on all of them."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

REPEATS: Final = 5
"""How often a default is measured on each of several devices: the interval of fewer ratios says nothing."""


@dataclass(frozen=True)
class Scale:
    """The time of a benchmark on the first device over its time on another one.

    Attributes:
        low: the lower bound of the interval.
        median: the estimate.
        high: the upper bound.
    """

    low: float
    median: float
    high: float

    @property
    def factor(self) -> float:
        """The factor for times on the other device: 1 if the interval does not show that the devices differ."""
        return 1.0 if self.low <= 1.0 <= self.high else self.median


@dataclass(frozen=True)
class DefaultTimes:
    """Times of defaults by device, in the order in which the devices took turns."""

    _times: defaultdict[tuple[Hashable, int], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, device: Hashable, default: Hashable, microseconds: float) -> None:
        """Add the time of a default on a device."""
        self._times[device, hash(default)].append(microseconds)

    def least(self, device: Hashable, default: Hashable) -> float:
        """Return the least time of a default on a device.

        Raises:
            KeyError: it was not measured there.
        """
        times = self._times.get((device, hash(default)))
        if not times:
            raise KeyError(device)
        return min(times)

    def scale(self, first: Hashable, device: Hashable) -> Scale:
        """Return the scale of a device, from all defaults that were measured on both.

        The interval is that of the sign test (95 %); of five ratios it reaches from the least to the largest.
        """
        ratios = sorted(
            first_us / device_us
            for (measured, default), times in list(self._times.items())
            if measured == first
            for first_us, device_us in zip(
                times, self._times.get((device, default), ()), strict=False
            )
        )
        count = len(ratios)
        if count < REPEATS:
            return Scale(0.0, statistics.median(ratios or [1.0]), math.inf)
        outside = max(0, int((count - 2 * math.sqrt(count)) / 2))
        return Scale(ratios[outside], statistics.median(ratios), ratios[-1 - outside])
