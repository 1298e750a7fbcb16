"""The results of comparing sets of flags, as data, and the sets under which dispatches are tuned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tuninglink.plain_data import FLAT
from tuninglink.tuning.deciding import ConfidenceInterval, ModelComparison
from tuninglink.tuning.flag_sets import DEFAULT, FlagSet

_NEAR: Final = 0.95
"""The speedup from which a set may be as fast: medians of a busy machine vary as much. EfficientNet-B0 on an H200 takes 1.09
times as long with 25 replaced wrong defaults, so that a set which avoids them may cost as much."""


@dataclass(frozen=True)
class SetResult:
    """The result of one set of flags.

    Attributes:
        flag_set: the set.
        milliseconds: the time of the program; None if it was not measured.
        speedup: the speedup over the user's flags; None if it was not measured.
        error: the relative error of the outputs; None likewise.
        note: the reason why the set was not measured or is not selected; empty otherwise.
        is_rejected: whether its outputs are rejected.
        is_slower: whether it is slower at one of the sizes of dynamic arguments.
        is_data_tiled: whether the compiler chooses the layout of operands, which specs cannot configure.
        avoided: by how much the number of defaults that are known to be miscompiled is smaller than with the user's flags.
        entries: the number of entries of the spec tuned under the set; None for the set alone.
    """

    flag_set: FlagSet = field(metadata=FLAT)
    milliseconds: float | None = None
    speedup: ConfidenceInterval | None = field(default=None, metadata=FLAT)
    error: float | None = None
    note: str = ""
    is_rejected: bool = False
    is_slower: bool = False
    is_data_tiled: bool = False
    avoided: int = 0
    entries: int | None = None

    @property
    def median(self) -> float:
        """The estimated speedup, 0 if it was not measured."""
        return self.speedup.median if self.speedup is not None else 0.0

    @property
    def low(self) -> float:
        """The lower bound of the speedup, 0 if it was not measured."""
        return self.speedup.low if self.speedup is not None else 0.0

    @property
    def rank(self) -> tuple[int, float]:
        """The sort key of acceptable sets: correct results come before speed."""
        return self.avoided, self.median

    @property
    def repairs(self) -> bool:
        """Whether the set avoids wrong defaults and may be as fast as the user's flags."""
        return self.avoided > 0 and self.median >= _NEAR

    def may_win(self, median: float) -> bool:
        """Return whether the set is acceptable, and its estimated speedup is larger than the given one."""
        return self.median > median and not self.is_rejected and not self.is_slower


@dataclass(frozen=True)
class FlagsResult:
    """The result of comparing sets of flags.

    Attributes:
        results: the sets, in the order in which they were tried.
        best: the selected set; None if the user's flags are the fastest.
        default_ms: the time of the program with the user's flags; None if it was not measured.
        noise: the speedup of the default against itself; None likewise.
        reason: the reason for comparing no sets; empty if some were compared.
        default_is_tiled: whether the compiler already chooses the layout of operands with the user's flags.
        pairs: the sets under which dispatches were tuned, with their specs, if flags were selected.
        final_ms: the time of the program with the user's flags in the comparison of these pairs.
        finding: the fault of the outputs of the program with the user's flags; empty if there is none, or it was not
            compared.
    """

    results: tuple[SetResult, ...] = ()
    best: SetResult | None = None
    default_ms: float | None = None
    noise: ConfidenceInterval | None = None
    reason: str = ""
    default_is_tiled: bool = False
    pairs: tuple[SetResult, ...] = ()
    final_ms: float | None = None
    finding: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of the best set."""
        return self.best.flag_set.flags if self.best is not None else ()

    @property
    def whole(self) -> ModelComparison | None:
        """The whole program with the selected flags and spec against the user's flags; None if it was not measured."""
        best, default_ms = self.best, self.final_ms if self.pairs else self.default_ms
        if best is None or best.speedup is None or default_ms is None or not best.milliseconds:
            return None
        return ModelComparison(default_ms, best.milliseconds, best.speedup)


@dataclass(frozen=True)
class TunedSet:
    """A set of flags with the spec tuned under it.

    Attributes:
        flag_set: the set; without flags, it stands for the user's flags.
        spec: the spec, as text.
        entries: the number of problems with an entry; with 0, the set is compared without a spec.
    """

    flag_set: FlagSet
    spec: str = ""
    entries: int = 0


_LEAST_SECONDS: Final = 45.0
"""The least time, in seconds, that is divided between two sets."""

_COMPILATIONS: Final = 40.0
"""The least of that time in compilations of the program: reading it, the defaults, the run of the whole and the final
comparison take about eight of each set."""

_REACH: Final = 2.5
"""The largest slowdown that tuning of dispatches is expected to make up for."""

_ALIKE: Final = 1.02
"""The largest slowdown for which a set without data tiling is tuned instead, as specs configure more of it."""

_SURELY_ALIKE: Final = 1.05
"""The largest slowdown by the lower bound of its speedup."""

_SAME: Final = ConfidenceInterval(1.0, 1.0, 1.0)
"""The speedup of the user's flags over themselves."""


def tuning_bases(
    result: FlagsResult, seconds: float, compile_seconds: float = 0.0
) -> list[FlagSet]:
    """Return the sets under which dispatches are tuned, the best one first.

    If the best set tiles data, specs configure little of the program. Then the best set without data tiling, perhaps
    the default, is also a base, and whole-program times decide. If there is no time for both, the set without data
    tiling is the only base, provided that it is as fast.

    Args:
        result: the comparison of the sets.
        seconds: the time for tuning.
        compile_seconds: the time of a compilation of the program.
    """
    best = result.best
    if best is None:
        return [DEFAULT]
    bases = [best.flag_set]
    if not best.is_data_tiled or result.default_is_tiled:
        return bases
    # By lower bounds, as sets that left early have wide intervals and may have large medians by chance.
    others = [other for other in result.results if not other.is_data_tiled and other.may_win(1.0)]
    others.append(SetResult(DEFAULT, speedup=_SAME))
    other = max(others, key=lambda other: other.low)
    if seconds < max(_LEAST_SECONDS, _COMPILATIONS * compile_seconds):
        is_alike = best.median <= min(_ALIKE * other.median, _SURELY_ALIKE * other.low)
        return [other.flag_set] if is_alike else bases
    if best.median <= _REACH * other.median:
        bases.append(other.flag_set)
    return bases


_MOST_RIVALS: Final = 2

_FINAL_COMPILATIONS: Final = 10.0
"""The least time for another comparison at the end, in compilations of the program."""


def finalists(result: FlagsResult, seconds: float, compile_seconds: float = 0.0) -> list[FlagSet]:
    """Return the best set and sets that are nearly as fast, fastest first, if there is time to compare them again.

    Args:
        result: the comparison of the sets.
        seconds: the time for tuning and for the comparison.
        compile_seconds: the time of a compilation of the program.
    """
    best = result.best
    if best is None or seconds < max(_LEAST_SECONDS, _FINAL_COMPILATIONS * compile_seconds):
        return []
    bar = _NEAR * best.median
    near = [
        other
        for other in result.results
        if other is not best and other.may_win(bar) and other.avoided >= best.avoided
    ]
    near.sort(key=lambda other: -other.median)
    return [best.flag_set, *(other.flag_set for other in near[:_MOST_RIVALS])]
