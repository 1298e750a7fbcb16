"""Ranges of the sizes of loops, and the attribute by which the compiler specializes code for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Final

from iree.compiler import ir as mlir

SPECIALIZATION_RANGES: Final = "iree_codegen.specialization_ranges"
"""The attribute of an op."""

RANGES: Final = "tuninglink.specialization_ranges"
"""The attribute of a matcher in a spec: a list of a range for each loop, for each specialization."""

UNBOUNDED: Final = (1 << 53) - 1
"""The upper end of an unbounded range, which is also the compiler's upper bound of sizes."""


@dataclass(frozen=True)
class SizeRange:
    """The sizes of a loop that an entry applies to.

    Attributes:
        low: the smallest.
        high: the largest; `UNBOUNDED` for any.
        divisor: a divisor of all of them.
    """

    low: int
    high: int
    divisor: int = 1

    def __contains__(self, size: int) -> bool:
        return self.low <= size <= self.high and size % self.divisor == 0

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        high = "" if self.high >= UNBOUNDED else str(self.high)
        return f"{self.low}..{high}" + (f" by {self.divisor}" if self.divisor > 1 else "")


def ranges_around(sizes: Sequence[int], least: int = 1) -> dict[int, SizeRange]:
    """Return a range around each of several sizes. One ends where the next size is as near, by their ratio.

    A size of 1 has a range of its own, if that may be: its code needs no loop.

    Args:
        sizes: the sizes.
        least: the least number of sizes of a range.
    """
    ordered = sorted(set(sizes))
    ranges: dict[int, SizeRange] = {}
    last = SizeRange(0, 0)
    for size, following in zip(ordered, [*ordered[1:], None], strict=True):
        if size > last.high:
            low = last.high + 1
            middle = UNBOUNDED if following is None else isqrt(size * following)
            last = SizeRange(low, 1 if size == least == 1 else max(middle, low + least - 1))
        ranges[size] = last
    return ranges


def sizes_between(sizes: Sequence[int]) -> list[int]:
    """Return sizes at which configurations for the given ones may be slow: the low end of each range, and the middle.

    Args:
        sizes: the sizes.
    """
    ranges = ranges_around(sizes)
    lower = {
        between
        for size, range_ in ranges.items()
        for between in (range_.low, isqrt(range_.low * size))
    }
    return sorted(lower - set(sizes))


def specialization_ranges(
    boxes: Sequence[Mapping[int, SizeRange]], loops: int, context: mlir.Context
) -> mlir.Attribute:
    """Return the attribute that has the compiler specialize code for each of several boxes.

    Args:
        boxes: the ranges of loops, by number. Other loops may have any size.
        loops: the number of loops.
        context: the context of the attribute.
    """
    lists = (", ".join(_assumption(box.get(loop)) for loop in range(loops)) for box in boxes)
    text = ", ".join(f"[{list_}]" for list_ in lists)
    return mlir.Attribute.parse(f"#util<int.assumption.multi_array[{text}]>", context)


def range_counts(ranges: mlir.Attribute) -> list[int]:
    """Return the number of ranges in each list of a `specialization_ranges` attribute.

    The bindings provide only the text of the attribute.
    """
    lists = str(ranges).partition("[")[2].split("[")[1:]
    return [text.count("<") for text in lists]


def _assumption(sizes: SizeRange | None) -> str:
    if sizes is None:
        return "<>"
    divisor = f", udiv = {sizes.divisor}" if sizes.divisor > 1 else ""
    return f"<umin = {sizes.low}, umax = {sizes.high}{divisor}>"
