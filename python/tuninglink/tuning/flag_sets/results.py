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
        is_data_tiled: whether the layout of operands is the compiler's choice, which specs cannot configure.
    """

    flag_set: FlagSet
    milliseconds: float | None = None
    speedup: ConfidenceInterval | None = None
    error: float | None = None
    note: str = ""
    is_rejected: bool = False
    is_data_tiled: bool = False

    @property
    def median(self) -> float:
        """The estimated speedup, 0 if it was not measured."""
        return self.speedup.median if self.speedup is not None else 0.0


@dataclass(frozen=True)
class PairResult(SetResult):
    """What came of a set of flags together with the spec that was tuned under it.

    Attributes:
        entries: how many entries the spec has.
    """

    entries: int = 0


@dataclass(frozen=True)
class FlagsResult:
    """What came of comparing sets of flags.

    Attributes:
        results: the sets, in the order in which they were tried.
        best: the set that is taken; None if the flags that the user gives are the fastest.
        default_ms: the time of the program with the flags that the user gives; None if it was not measured.
        noise: the speedup of the default against itself; None likewise.
        reason: why no set was compared; empty if some were.
        default_is_tiled: whether the layout of operands is the compiler's choice already with the flags of the user.
        pairs: the sets under which dispatches were tuned, with their specs, if there are several.
    """

    results: tuple[SetResult, ...] = ()
    best: SetResult | None = None
    default_ms: float | None = None
    noise: ConfidenceInterval | None = None
    reason: str = ""
    default_is_tiled: bool = False
    pairs: tuple[SetResult, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of the best set."""
        return self.best.flag_set.flags if self.best is not None else ()
