"""The sets of flags under which dispatches are tuned: one, or two where tuning may overtake the best one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.tuning.flag_sets.sets import DEFAULT

if TYPE_CHECKING:
    from tuninglink.tuning.flag_sets.results import FlagsResult
    from tuninglink.tuning.flag_sets.sets import FlagSet

_LEAST_SECONDS: Final = 45.0
"""Less time is not divided."""

_REACH: Final = 2.5
"""Tuning dispatches is not expected to make up for more than this factor."""


def tuning_bases(result: FlagsResult, seconds: float) -> list[FlagSet]:
    """Return the sets under which dispatches are tuned, the best one first.

    Where the best set tiles data, specs configure little of the program. Then the best set that does not tile data is
    a base as well, which may be the default: the whole program decides in the end.

    Args:
        result: what came of comparing the sets.
        seconds: the time for tuning.
    """
    best = result.best
    if best is None:
        return [DEFAULT]
    bases = [best.flag_set]
    if not best.is_data_tiled or result.default_is_tiled or seconds < _LEAST_SECONDS:
        return bases
    median, other = 1.0, DEFAULT
    for set_result in result.results:
        if (
            not set_result.is_data_tiled
            and not set_result.is_rejected
            and set_result.median > median
        ):
            median, other = set_result.median, set_result.flag_set
    if best.median <= _REACH * median:
        bases.append(other)
    return bases
