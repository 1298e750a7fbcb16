"""The sets of flags under which dispatches are tuned: the best one, and one that tuning may make faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.tuning.flag_sets.sets import DEFAULT

if TYPE_CHECKING:
    from tuninglink.tuning.flag_sets.results import FlagsResult
    from tuninglink.tuning.flag_sets.sets import FlagSet

_LEAST_SECONDS: Final = 45.0
"""The least time, in seconds, that is divided between two sets."""

_REACH: Final = 2.5
"""The largest slowdown that tuning of dispatches is expected to make up for."""


def tuning_bases(result: FlagsResult, seconds: float) -> list[FlagSet]:
    """Return the sets under which dispatches are tuned, the best one first.

    If the best set tiles data, specs configure little of the program. Then the best set without data tiling, perhaps
    the default, is also a base, and whole-program times decide.

    Args:
        result: the comparison of the sets.
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
            and not set_result.is_slower
            and set_result.median > median
        ):
            median, other = set_result.median, set_result.flag_set
    if best.median <= _REACH * median:
        bases.append(other)
    return bases
