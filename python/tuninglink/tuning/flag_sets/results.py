"""What comes of comparing sets of flags, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.tuning.deciding.decision import ConfidenceInterval
    from tuninglink.tuning.flag_sets.sets import FlagSet


@dataclass(frozen=True)
class SetResult:
    """What came of one set of flags.

    Attributes:
        flag_set: the set.
        milliseconds: the time of the program; None if it was not measured.
        speedup: against the flags that the user gives; None if it was not measured.
        error: how far the outputs are from what is expected, relative to their magnitude; None likewise.
        note: why it was not measured, or is not taken; empty otherwise.
        is_rejected: whether its outputs are not accepted.
    """

    flag_set: FlagSet
    milliseconds: float | None = None
    speedup: ConfidenceInterval | None = None
    error: float | None = None
    note: str = ""
    is_rejected: bool = False


@dataclass(frozen=True)
class FlagsResult:
    """What came of comparing sets of flags.

    Attributes:
        results: the sets, in the order in which they were tried.
        best: the set that is taken; None if the flags that the user gives are the fastest.
        default_ms: the time of the program with the flags that the user gives; None if it was not measured.
        noise: the speedup of the default against itself; None likewise.
        reason: why no set was compared; empty if some were.
    """

    results: tuple[SetResult, ...] = ()
    best: SetResult | None = None
    default_ms: float | None = None
    noise: ConfidenceInterval | None = None
    reason: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of the best set."""
        return self.best.flag_set.flags if self.best is not None else ()
