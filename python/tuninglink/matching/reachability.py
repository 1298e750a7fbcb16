"""Unreachable entries, and overlapping entries, which match some of the same ops."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tuninglink.matching.conditions import Condition, Opaque, Witness, witness_of
from tuninglink.matching.entry_conditions import EntryConditions, EntryList
from tuninglink.matching.relations import Overlaps, Subsumption, SubsumptionAnswer, WinningCondition
from tuninglink.plain_data import FLAT, HIDDEN, TEXT
from tuninglink.solver.answers import Verdict
from tuninglink.specs.spec import Spec
from tuninglink.specs.structure import Entry

SHOWN: Final = 3
"""The maximum number of overlapping earlier entries that are named."""

_CHANGES: Final = "a matcher in between may change the payload"
_SUBSUMED: Final = Opaque("it is subsumed")


@dataclass(frozen=True)
class EntryReachability:
    """The answer to whether an entry can be the first of its `foreach_match` to match.

    Attributes:
        position: the position of the entry among all entries of the spec.
        entry: the entry.
        verdict: proven: the entry can; refuted: the entry cannot for any payload; not decided: unknown.
        subsuming: if refuted, the position of an earlier entry that matches all ops that it matches; none if the entry
            matches nothing.
        subsumed_by: the entries at these positions.
        witness: if proven, an op for which it is the first match.
        reason: if not decided, why not.
    """

    position: int
    entry: Entry
    verdict: Verdict
    subsuming: tuple[int, ...] = ()
    subsumed_by: tuple[Entry, ...] = ()
    witness: Witness | None = None
    reason: str = ""

    @property
    def is_unreachable(self) -> bool:
        """Whether it is proven that the entry is never reached."""
        return self.verdict is Verdict.REFUTED

    @property
    def why_unreachable(self) -> str:
        """The reason why the entry is never reached, if so."""
        if not self.subsumed_by:
            return "it matches nothing"
        earlier = ", ".join(f"'@{entry.matcher}'" for entry in self.subsumed_by)
        return f"{earlier} comes first and matches all ops that it matches"

    def __str__(self) -> str:
        name = f"'@{self.entry.matcher} -> @{self.entry.action}'"
        if self.verdict is Verdict.PROVEN:
            return f"{name} is reached by {self.witness}"
        if self.verdict is Verdict.NOT_DECIDED:
            return f"whether {name} is reached is not decided: {self.reason}"
        if not self.subsumed_by:
            return f"{name} matches nothing"
        return f"{name} is never reached: {self.why_unreachable}"


@dataclass(frozen=True)
class WinningEntry:
    """An earlier entry that overlaps with a later one.

    Attributes:
        position: its position among all entries of the spec.
        entry: the entry.
        witness: an op that both match and the earlier entry configures.
    """

    position: int
    entry: Entry = field(metadata=FLAT)
    witness: Witness = field(metadata=TEXT)


@dataclass(frozen=True)
class EntryOverlap:
    """An entry, and earlier ones with other configurations that match some of the same ops.

    Attributes:
        position: the position of the entry among all entries of the spec.
        entry: the entry.
        winners: the first few earlier entries that provably overlap, in order.
        at_most: the maximum number of earlier entries that may overlap with it, including those not shown.
    """

    position: int = field(metadata=HIDDEN)
    entry: Entry = field(metadata=HIDDEN)
    winners: tuple[WinningEntry, ...]
    at_most: int

    def __str__(self) -> str:
        first = self.winners[0]
        others = self.at_most - 1
        more = f", and up to {others} more earlier entries" if others else ""
        return (
            f"'@{self.entry.matcher} -> @{self.entry.action}' overlaps with '@{first.entry.matcher} -> "
            f"@{first.entry.action}'{more}, which decides about {first.witness} as it comes first"
        )


def find_reachability(
    spec: Spec, *, conditions: EntryConditions | None = None
) -> list[EntryReachability]:
    """Return the reachability of each entry, in order.

    Args:
        spec: any spec.
        conditions: the conditions of the spec, if they were already read.
    """
    return list(_find(conditions or EntryConditions(spec), Subsumption.answer))


def find_unreachable(
    spec: Spec, *, conditions: EntryConditions | None = None
) -> list[EntryReachability]:
    """Find the entries that are never reached, in order.

    Args:
        spec: any spec.
        conditions: the conditions of the spec, if they were already read.
    """
    result = _find(conditions or EntryConditions(spec), Subsumption.proof)
    return [entry for entry in result if entry.is_unreachable]


def _find(
    read: EntryConditions, answer: Callable[[Subsumption, int], SubsumptionAnswer | None]
) -> Iterator[EntryReachability]:
    for entries in read.lists:
        changing = read.changing(entries)
        for position in range(len(entries.conditions)):
            unless_changed = answer(entries.subsumption, position)
            if unless_changed is not None:
                unless_changed = _unless_changed(unless_changed, position, changing)
                yield _reachability(read, entries, position, unless_changed)


def _unless_changed(
    answer: SubsumptionAnswer, position: int, changing: Sequence[int]
) -> SubsumptionAnswer:
    """Return the answer, unless the subsuming matcher or a later one may change the payload before this one runs.

    Args:
        answer: the answer according to the conditions.
        position: the position of the possibly subsumed entry.
        changing: the positions of the matchers that may change the payload, in order.
    """
    if answer.verdict is not Verdict.PROVEN or not answer.subsuming:
        return answer
    if bisect_left(changing, answer.subsuming[0]) == bisect_left(changing, position):
        return answer
    return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=_CHANGES)


_OPPOSITE: Final = {
    Verdict.PROVEN: Verdict.REFUTED,
    Verdict.REFUTED: Verdict.PROVEN,
    Verdict.NOT_DECIDED: Verdict.NOT_DECIDED,
}


def _reachability(
    read: EntryConditions, entries: EntryList, position: int, answer: SubsumptionAnswer
) -> EntryReachability:
    condition = entries.conditions[position]
    subsuming = tuple(entries.start + position_ for position_ in answer.subsuming)
    witness = None
    if answer.witness is not None and isinstance(condition, Condition):
        witness = witness_of(condition, answer.witness)
    return EntryReachability(
        entries.start + position,
        read.entry(entries.start + position),
        _OPPOSITE[answer.verdict],
        subsuming,
        tuple(map(read.entry, subsuming)),
        witness,
        answer.reason,
    )


def find_overlaps(
    spec: Spec, *, shown: int = SHOWN, conditions: EntryConditions | None = None
) -> list[EntryOverlap]:
    """Find the entries that overlap with earlier ones with other configurations.

    There is one finding for each later entry, so there are at most as many findings as entries. Subsumed and opaque
    entries are omitted, as are overlaps of matchers of different forms, which cannot be proven.

    Args:
        spec: any spec.
        shown: the maximum number of earlier entries in each finding.
        conditions: the conditions of the spec, if they were already read.
    """
    read = conditions or EntryConditions(spec)
    return [overlap for entries in read.lists for overlap in _overlaps(read, entries, shown)]


def _overlaps(read: EntryConditions, entries: EntryList, shown: int) -> Iterator[EntryOverlap]:
    reached: list[Condition | Opaque] = [
        condition if entries.subsumption.proof(position) is None else _SUBSUMED
        for position, condition in enumerate(entries.conditions)
    ]
    end = entries.start + len(reached)
    overlaps = Overlaps(reached, read.configurations[entries.start : end])
    for position in range(len(reached)):
        earlier = overlaps.earlier(position, shown)
        if earlier.winners:
            number = entries.start + position
            winners = tuple(_winner(read, entries, winner) for winner in earlier.winners)
            yield EntryOverlap(number, read.entry(number), winners, earlier.at_most)


def _winner(read: EntryConditions, entries: EntryList, winner: WinningCondition) -> WinningEntry:
    form = entries.conditions[winner.form]
    assert isinstance(form, Condition), "only conditions can overlap"
    number = entries.start + winner.position
    return WinningEntry(number, read.entry(number), witness_of(form, winner.witness))
