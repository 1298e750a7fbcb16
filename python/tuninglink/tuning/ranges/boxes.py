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


def boxes_around(functions: Sequence[SizedFunction], loops: Sequence[int]) -> list[Box]:
    """Returns a box for each combination of sizes that is measured; one box does not overlap another.

    Args:
        functions: the functions for the sizes.
        loops: the numbers of the loops whose sizes differ.

    Returns:
        Nothing if a size is not known.
    """
    columns: dict[int, list[int]] = {}
    for loop in loops:
        sizes = [function.loops[loop] for function in functions if loop < len(function.loops)]
        known = [size for size in sizes if size]
        if len(known) < len(functions):
            return []
        columns[loop] = known
    ranges = {loop: _ranges(sizes) for loop, sizes in columns.items()}
    boxes: list[Box] = []
    for position in range(len(functions)):
        box = {loop: ranges[loop][columns[loop][position]] for loop in loops}
        if box not in boxes:
            boxes.append(box)
    return boxes


def _ranges(sizes: Sequence[int]) -> dict[int, SizeRange]:
    """Returns the range of each size. One ends where the next size is as near, by their ratio.

    A size of 1 has a range of its own: its code needs no loop.
    """
    ordered = sorted(set(sizes))
    ranges: dict[int, SizeRange] = {}
    low = 1
    for size, following in zip(ordered, [*ordered[1:], None], strict=True):
        if size == 1:
            high = 1
        elif following is None:
            high = UNBOUNDED
        else:
            high = isqrt(size * following)
        ranges[size] = SizeRange(low, high)
        low = high + 1
    return ranges
