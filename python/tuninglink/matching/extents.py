"""What a condition asks of single dimensions, and the questions about it that arithmetic answers.

The size of a static dimension is known. Of a dynamic one the compiler may know bounds and a divisor, whatever the
program says of it: a matcher that asks for more than is known does not match. So what holds for all sizes need not
hold for a dimension: none of the sizes from 100 on that are multiples of 64 is below 128, but of a dimension that is
known to be both it is not known to be at least 128.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.matching.predicates import AtLeast, AtMost, Dimension, Equals, MultipleOf, extent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tuninglink.matching.predicates import SizeFact


@dataclass(frozen=True, slots=True)
class Extent:
    """What is asked of one dimension.

    Attributes:
        size: it is static and has this size; None if it need not be.
        low: it is known to be at least so large.
        high: it is known to be at most so large.
        factor: it is known to be a multiple of this.
    """

    size: int | None = None
    low: int | None = None
    high: int | None = None
    factor: int = 1

    def admits(self, size: int) -> bool:
        """Tells whether a static dimension of a size is what is asked for."""
        return (
            (self.size is None or self.size == size)
            and (self.low is None or self.low <= size)
            and (self.high is None or size <= self.high)
            and size % self.factor == 0
        )

    def implies(self, other: Extent) -> bool:
        """Tells whether every dimension, static or not, that is what is asked for here is so there, too."""
        if self.size is not None:
            return other.admits(self.size)
        return (
            other.size is None
            and (other.low is None or (self.low is not None and self.low >= other.low))
            and (other.high is None or (self.high is not None and self.high <= other.high))
            and self.factor % other.factor == 0
        )

    def both(self, other: Extent) -> Extent:
        """Returns what asks for both."""
        lows = [each for each in (self.low, other.low) if each is not None]
        highs = [each for each in (self.high, other.high) if each is not None]
        low = max(lows, default=None)
        size = self.size if other.size is None else other.size
        if size is not None and self.size not in (None, size):
            low = size + 1  # Two sizes at once: nothing has the one that is kept.
        factor = math.lcm(self.factor, other.factor)
        return Extent(size, low, min(highs, default=None), factor)

    def static_size(self) -> int | None:
        """Returns the least size of 1 or more that will do, else 0 if that does, None if there is none."""
        if self.size is not None:
            return self.size if self.size >= 0 and self.admits(self.size) else None
        steps = max(1, -(-(self.low or 1) // self.factor))
        if self.high is not None:
            steps = min(steps, self.high // self.factor)
        size = steps * self.factor
        return size if size >= 0 and self.admits(size) else None


ANYTHING: Final = Extent()
"""What asks for nothing."""

Box = dict[Dimension, Extent]
"""Constraints per dimension."""


def box(sizes: Iterable[SizeFact]) -> Box:
    """Returns what facts ask of each dimension."""
    result: Box = {}
    for fact in sizes:
        asked = _asked(fact)
        known = result.get(fact.dimension)
        result[fact.dimension] = asked if known is None else known.both(asked)
    return result


def _asked(fact: SizeFact) -> Extent:
    match fact:
        case Equals(_, size):
            return Extent(size=size)
        case MultipleOf(_, factor):
            return Extent(factor=factor)
        case AtLeast(_, bound):
            return Extent(low=bound)
        case AtMost(_, bound):
            return Extent(high=bound)


def static_box(*boxes: Box) -> Box:
    """Returns what is asked of the sizes if all dimensions are static, so that those of one loop are the same."""
    result: Box = {}
    for each in boxes:
        for dimension, asked in each.items():
            key = extent(dimension)
            known = result.get(key)
            result[key] = asked if known is None else known.both(asked)
    return result


def is_empty(asked: Box) -> bool:
    """Tells whether no dimensions are what is asked for, dynamic ones included."""
    if any(each.static_size() is None for each in asked.values()):
        return True
    fixed: dict[Dimension, int] = {}
    for dimension, each in asked.items():
        if each.size is not None and fixed.setdefault(extent(dimension), each.size) != each.size:
            return True
    return False


def contains(wide: Box, narrow: Box) -> bool:
    """Tells whether all dimensions, static or not, that are what `narrow` asks for are what `wide` asks for.

    Args:
        wide: any box.
        narrow: a box that is not empty. Its dimensions without a size can all be dynamic at once, with no more
            known of them than it asks for; so several boxes together contain it only if one of them does.
    """
    return all(narrow.get(dimension, ANYTHING).implies(each) for dimension, each in wide.items())


def static_sizes(asked: Box) -> dict[Dimension, int] | None:
    """Returns static sizes of at least 1 that are what is asked for, None if there are none.

    Args:
        asked: as `static_box` returns it.
    """
    sizes = {dimension: each.static_size() for dimension, each in asked.items()}
    known = {dimension: size for dimension, size in sizes.items() if size}
    return known if len(known) == len(sizes) else None


def point(sizes: Mapping[Dimension, int], dimensions: Iterable[Dimension]) -> Box:
    """Returns the box of which nothing but static dimensions of these sizes is a part."""
    return {each: Extent(size=sizes[extent(each)]) for each in dimensions}
