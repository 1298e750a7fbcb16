"""Boxes of sizes around those that are measured, which together hold all sizes."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from tuninglink.iree.size_ranges import UNBOUNDED, SizeRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.programs.benchmark import SizedFunction

Box = dict[int, SizeRange]
"""Ranges of loops, by their numbers."""


def boxes_around(
    functions: Sequence[SizedFunction], loops: Sequence[int], least: int = 1
) -> list[Box]:
    """Return boxes around the combinations of sizes that are measured; none overlaps another.

    Args:
        functions: the functions for the sizes.
        loops: the numbers of the loops whose sizes differ.
        least: how many sizes a range has at least.

    Returns:
        Nothing if a size is not known.
    """
    columns: dict[int, list[int]] = {}
    for loop in loops:
        sizes = [function.loops[loop] for function in functions if loop < len(function.loops)]
        static = [size for size in sizes if size]
        if len(static) < len(functions):
            return []
        columns[loop] = static
    ranges = {loop: _ranges(sizes, least) for loop, sizes in columns.items()}
    boxes: list[Box] = []
    for position in range(len(functions)):
        box = {loop: ranges[loop][columns[loop][position]] for loop in loops}
        if box not in boxes:
            boxes.append(box)
    return boxes


def _ranges(sizes: Sequence[int], least: int) -> dict[int, SizeRange]:
    """Return the range of each size. One ends where the next size is as near, by their ratio.

    A size of 1 has a range of its own, if that may be: its code needs no loop.
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
