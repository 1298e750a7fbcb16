"""Boxes of sizes around those that are measured, which together hold all sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.iree.size_ranges import SizeRange, ranges_around

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        least: the least number of sizes of a range.

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
    ranges = {loop: ranges_around(sizes, least) for loop, sizes in columns.items()}
    boxes: list[Box] = []
    for position in range(len(functions)):
        box = {loop: ranges[loop][columns[loop][position]] for loop in loops}
        if box not in boxes:
            boxes.append(box)
    return boxes


def box_above(
    box: Mapping[int, SizeRange], excluded: SizedFunction, functions: Sequence[SizedFunction]
) -> Box:
    """Return a box that begins at the next larger size of some functions.

    Args:
        box: a box.
        excluded: a function for sizes in it, which are excluded.
        functions: functions for sizes in it.
    """
    narrowed = dict(box)
    for loop, sizes in box.items():
        least = excluded.loops[loop] or 0
        larger = [size for function in functions if (size := function.loops[loop] or 0) > least]
        if larger:
            narrowed[loop] = SizeRange(min(larger), sizes.high, sizes.divisor)
    return narrowed
