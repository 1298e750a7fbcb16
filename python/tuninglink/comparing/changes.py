"""Changes from one report or spec to a later one, as data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, TypeVar

from tuninglink.plain_data import written

_Item = TypeVar("_Item")

LEAST_CHANGE: Final = 0.01
"""The smallest relevant change of a time: intervals of one run do not contain the drift of clocks between two."""

_WIDTH: Final = 0.05
"""The smallest relevant change where neither time has an interval: about the width of that of two runs of the same code."""


class ChangeKind(Enum):
    """The direction of a change: for better or worse."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    CHANGE = "change"


def kind_of(was: str, now: str, best: str) -> ChangeKind:
    """Return the kind of a change between two states, given the best state."""
    if was == best:
        return ChangeKind.REGRESSION
    return ChangeKind.IMPROVEMENT if now == best else ChangeKind.CHANGE


@dataclass(frozen=True)
class Change:
    """A difference between two reports about one dispatch, or between two specs about one entry.

    Attributes:
        kind: whether it is for better or worse.
        what: the dispatch or entry, in words.
        text: the old and the new state.
    """

    kind: ChangeKind
    what: str
    text: str


@dataclass(frozen=True)
class Estimate:
    """A measured figure.

    Attributes:
        value: the figure.
        low: the lower bound of its interval; None without one.
        high: the upper bound.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def inverse(self) -> Estimate:
        """One divided by the figure."""
        low, high = (
            None if bound is None else 1 / bound if bound else math.inf
            for bound in (self.high, self.low)
        )
        return Estimate(1 / self.value, low, high)

    def scaled(self, factor: float) -> Estimate:
        """Return the figure times a factor."""
        low, high = (None if bound is None else factor * bound for bound in (self.low, self.high))
        return Estimate(factor * self.value, low, high)


def time_change(old: Estimate, new: Estimate, least: float) -> ChangeKind | None:
    """Return whether a time is longer or shorter than another one; None if the intervals do not show it.

    Times differ if their intervals are disjoint. The interval of a time without bounds is a single point.

    Args:
        old: a time.
        new: a later one.
        least: the smallest relevant change, as a fraction.
    """
    if old.low is None and new.low is None:
        least = max(least, _WIDTH)
    before, after = (
        (
            estimate.value if estimate.low is None else estimate.low,
            estimate.value if estimate.high is None else estimate.high,
        )
        for estimate in (old, new)
    )
    if after[0] > before[1] and new.value > old.value * (1 + least):
        return ChangeKind.REGRESSION
    if after[1] < before[0] and old.value > new.value * (1 + least):
        return ChangeKind.IMPROVEMENT
    return None


@dataclass(frozen=True)
class Side:
    """A dispatch or an entry in one of two reports or specs.

    Attributes:
        state: its status or outcome.
        time: its time with the spec, with an interval if known.
        unit: the unit of the time.
        speedup: the speedup over the compiler's choice; 1 without a winner, None if unknown.
        configuration: its configuration, as MLIR prints it.
    """

    state: str
    time: Estimate | None = None
    unit: str = "µs"
    speedup: Estimate | None = None
    configuration: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparedItem:
    """A dispatch, an entry, or the whole program, in two reports or specs.

    Attributes:
        what: the item, in words.
        old: the item in the old one; None if it is missing.
        new: the item in the new one; None if it is missing.
        changes: the changes between the old and the new item.
    """

    what: str
    old: Side | None
    new: Side | None
    changes: tuple[Change, ...]

    @property
    @written()
    def kind(self) -> ChangeKind | None:
        """The kind of the most important change; None without a change."""
        kinds = {change.kind for change in self.changes}
        return next((kind for kind in ChangeKind if kind in kinds), None)


@dataclass(frozen=True)
class Source:
    """One of two reports or specs.

    Attributes:
        path: its path.
        facts: the conditions of its figures, such as the device, by name.
    """

    path: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """The changes from one report or spec to a later one, as a JSON document.

    Attributes:
        subject: the compared documents.
        old: the old one.
        new: the new one.
        items: the dispatches or entries, in the order of the old one, then the new ones; then the whole program.
        notes: remarks on the whole comparison.
        format: the kind of the document.
        version: its version. Additions do not change it; changes and removals do.
    """

    format: Literal["tuninglink.comparison"] = field(default="tuninglink.comparison", init=False)
    version: Literal[1] = field(default=1, init=False)
    subject: str
    old: Source
    new: Source
    items: tuple[ComparedItem, ...]
    notes: tuple[Change, ...] = ()

    @property
    @written()
    def changes(self) -> tuple[Change, ...]:
        """All changes."""
        return (*self.notes, *(change for item in self.items for change in item.changes))

    @property
    @written()
    def counts(self) -> Mapping[ChangeKind, int]:
        """The number of changes of each kind."""
        numbers = Counter(change.kind for change in self.changes)
        return {kind: numbers[kind] for kind in ChangeKind}


def paired(
    old: Sequence[_Item], new: Sequence[_Item], key: Callable[[_Item], object]
) -> Iterator[tuple[_Item | None, _Item | None]]:
    """Yield each old item with the new item of the same key, if any, and then the remaining new items.

    Names are ignored, since compiler versions may number dispatches differently. Items with the same key are
    paired in order.
    """
    numbered = _numbered(new, key)
    for number, item in _numbered(old, key).items():
        yield item, numbered.pop(number, None)
    for item in numbered.values():
        yield None, item


def _numbered(
    items: Sequence[_Item], key: Callable[[_Item], object]
) -> dict[tuple[object, int], _Item]:
    seen: Counter[object] = Counter()
    numbered = {}
    for item in items:
        name = key(item)
        numbered[name, seen[name]] = item
        seen[name] += 1
    return numbered
