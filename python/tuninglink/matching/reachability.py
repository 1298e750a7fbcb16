"""Entries that are never reached, and entries that match some of the same operations."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.matching.conditions import Condition, Opaque
from tuninglink.matching.entry_conditions import EntryConditions
from tuninglink.matching.overlap import Meetings
from tuninglink.matching.subsumption import Coverage, CoverAnswer
from tuninglink.matching.witnesses import shape_of
from tuninglink.solver.answers import DEFAULT_LIMITS, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.matching.entry_conditions import EntryList
    from tuninglink.matching.overlap import Winner as MetWinner
    from tuninglink.matching.witnesses import Shape
    from tuninglink.solver.answers import Limits
    from tuninglink.specs.model import Spec
    from tuninglink.specs.structure import Entry

SHOWN: Final = 3
"""How many earlier entries are named that an entry overlaps with."""

_CHANGES: Final = "a matcher in between may change the payload"
_DEAD: Final = Opaque("it is dead")


@dataclass(frozen=True)
class Deadness:
    """Whether an entry is dead: never the first of its `foreach_match` to match, whatever the payload.

    Attributes:
        position: where the entry stands among all of the spec.
        entry: the entry.
        verdict: proven: it is dead; refuted: it is not; not decided: it cannot be told.
        covering: if proven, the position of an earlier entry that matches whatever it matches; none if it
            matches nothing at all.
        covered_by: the entries at these positions.
        witness: if refuted, an operation that it is the first to match.
        reason: if not decided, why not; if the witness has dynamic dimensions, why no static one is given.
    """

    position: int
    entry: Entry
    verdict: Verdict
    covering: tuple[int, ...] = ()
    covered_by: tuple[Entry, ...] = ()
    witness: Shape | None = None
    reason: str = ""

    @property
    def is_dead(self) -> bool:
        """Whether it is proven to be dead."""
        return self.verdict is Verdict.PROVEN

    def __str__(self) -> str:
        name = f"'@{self.entry.matcher} -> @{self.entry.action}'"
        if self.verdict is Verdict.REFUTED:
            return f"{name} is reached by {self.witness}" + (
                f" ({self.reason})" * bool(self.reason)
            )
        if self.verdict is Verdict.NOT_DECIDED:
            return f"whether {name} is reached is not decided: {self.reason}"
        if not self.covered_by:
            return f"{name} matches nothing"
        earlier = ", ".join(f"'@{each.matcher}'" for each in self.covered_by)
        return f"{name} is never reached: {earlier} comes first and matches whatever it matches"


@dataclass(frozen=True)
class Winner:
    """An earlier entry that overlaps with a later one.

    Attributes:
        position: where it stands among all of the spec.
        entry: the entry.
        witness: an operation that both match; the earlier entry configures it.
    """

    position: int
    entry: Entry
    witness: Shape


@dataclass(frozen=True)
class Overlap:
    """An entry, and the earlier ones with other configurations that match some of the same operations.

    Attributes:
        position: where the entry stands among all of the spec.
        entry: the entry.
        winners: the first few of the earlier entries, in order; each is proven to overlap.
        at_most: how many earlier entries may overlap with it, those that are not shown included.
    """

    position: int
    entry: Entry
    winners: tuple[Winner, ...]
    at_most: int

    def __str__(self) -> str:
        first = self.winners[0]
        others = self.at_most - 1
        more = f", and up to {others} more earlier entries" if others else ""
        return (
            f"'@{self.entry.matcher} -> @{self.entry.action}' overlaps with '@{first.entry.matcher} -> "
            f"@{first.entry.action}'{more}, which decides about {first.witness} as it comes first"
        )


def find_dead(
    spec: Spec, limits: Limits = DEFAULT_LIMITS, *, conditions: EntryConditions | None = None
) -> list[Deadness]:
    """Tells of each entry whether it is dead, in the order of the entries.

    Args:
        spec: any spec.
        limits: how long the solver may take, for each list of entries.
        conditions: those of the spec, if they were read before.
    """
    read = conditions or EntryConditions(spec)
    found = []
    for entries in read.lists:
        coverage = Coverage(entries.conditions, limits)
        changing = read.changing(entries)
        for position in range(len(entries.conditions)):
            answer = _unless_changed(coverage.cover(position), position, changing)
            found.append(_deadness(read, entries, position, answer))
    return found


def find_proven_dead(spec: Spec, *, conditions: EntryConditions | None = None) -> list[Deadness]:
    """Finds the entries that are proven to be dead, in order, which takes no solver.

    Args:
        spec: any spec.
        conditions: those of the spec, if they were read before.
    """
    read = conditions or EntryConditions(spec)
    found = []
    for entries in read.lists:
        coverage = Coverage(entries.conditions)
        changing = read.changing(entries)
        for position in range(len(entries.conditions)):
            covering = coverage.covering(position)
            if covering is not None:
                proven = CoverAnswer(Verdict.PROVEN, covering)
                answer = _unless_changed(proven, position, changing)
                found.append(_deadness(read, entries, position, answer))
    return [each for each in found if each.is_dead]


def _unless_changed(answer: CoverAnswer, position: int, changing: Sequence[int]) -> CoverAnswer:
    """Returns the answer, unless a matcher between the covering one and this one may change what this one sees.

    Args:
        answer: what is told from the conditions.
        position: of what may be dead.
        changing: the positions of the matchers that may change the payload, in order.
    """
    if answer.verdict is not Verdict.PROVEN or not answer.covering:
        return answer
    if bisect_right(changing, answer.covering[0]) == bisect_left(changing, position):
        return answer
    return CoverAnswer(Verdict.NOT_DECIDED, reason=_CHANGES)


def _deadness(
    read: EntryConditions, entries: EntryList, position: int, answer: CoverAnswer
) -> Deadness:
    condition = entries.conditions[position]
    covering = tuple(entries.start + each for each in answer.covering)
    witness = None
    if answer.witness is not None and isinstance(condition, Condition):
        witness = shape_of(condition, answer.witness)
    return Deadness(
        entries.start + position,
        read.entry(entries.start + position),
        answer.verdict,
        covering,
        tuple(map(read.entry, covering)),
        witness,
        answer.reason,
    )


def find_overlaps(
    spec: Spec, *, shown: int = SHOWN, conditions: EntryConditions | None = None
) -> list[Overlap]:
    """Finds the entries that overlap with earlier ones with other configurations.

    There is one finding for each later entry, so that there are not more findings than entries. Entries that are
    covered or not understood are left out, as are overlaps of matchers of different forms, which cannot be proven.

    Args:
        spec: any spec.
        shown: how many earlier entries are named for each.
        conditions: those of the spec, if they were read before.
    """
    read = conditions or EntryConditions(spec)
    return [each for entries in read.lists for each in _overlaps(read, entries, shown)]


def _overlaps(read: EntryConditions, entries: EntryList, shown: int) -> Iterator[Overlap]:
    all_of_them = Coverage(entries.conditions)
    alive: list[Condition | Opaque] = [
        each if all_of_them.covering(position) is None else _DEAD
        for position, each in enumerate(entries.conditions)
    ]
    end = entries.start + len(alive)
    meetings = Meetings(alive, read.configurations[entries.start : end])
    for position in range(len(alive)):
        met = meetings.met(position, shown)
        if met.winners:
            number = entries.start + position
            winners = tuple(_winner(read, entries, each) for each in met.winners)
            yield Overlap(number, read.entry(number), winners, met.at_most)


def _winner(read: EntryConditions, entries: EntryList, found: MetWinner) -> Winner:
    form = entries.conditions[found.form]
    assert isinstance(form, Condition), "what is not understood meets nothing"
    number = entries.start + found.position
    return Winner(number, read.entry(number), shape_of(form, found.witness))
