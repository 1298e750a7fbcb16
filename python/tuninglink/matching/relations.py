"""Relations between conditions: overlap, and subsumption of later conditions by earlier ones.

Two conditions overlap if they can hold for the same op. Subsumption does not need a solver. All dimensions without a
fixed size may be dynamic at once, with nothing known beyond the matcher's requirements, and a condition that holds
then holds for every size. Several conditions together therefore subsume another one only if one of them does by
itself, which arithmetic decides.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from tuninglink.matching.condition_index import (
    DEPENDENT,
    TOO_MANY,
    ConditionGroup,
    ConditionIndex,
    Relation,
    are_independent,
)
from tuninglink.matching.conditions import Condition, Opaque
from tuninglink.matching.extents import (
    ANYTHING,
    Box,
    conjunction,
    is_empty,
    point,
    static_box,
    static_sizes,
)
from tuninglink.matching.predicates import Dimension, Extent
from tuninglink.solver.answers import Verdict

_TRIES: Final = 8
"""The maximum number of conditions that are checked for proven overlaps with another one."""


@dataclass(frozen=True)
class OverlapAnswer:
    """The answer to whether two conditions can hold for the same operation.

    Attributes:
        verdict: proven: both can hold, with `witness`; refuted: they exclude each other; not decided: unknown.
        witness: static sizes for which both hold.
        reason: if not decided, why not.
    """

    verdict: Verdict
    witness: Mapping[Dimension, int] | None = None
    reason: str = ""


@dataclass(frozen=True)
class WinningCondition:
    """An earlier condition with another label, provably the first to hold for an operation.

    Attributes:
        position: the position of the condition.
        form: the position of the condition that describes the operation except for its sizes.
        witness: the static sizes of the operation.
    """

    position: int
    form: int
    witness: Mapping[Dimension, int]


@dataclass(frozen=True)
class EarlierOverlaps:
    """The earlier conditions that overlap with a condition.

    Attributes:
        winners: some conditions that provably overlap, in order.
        at_most: an upper bound on the number of overlapping conditions with other labels.
    """

    winners: tuple[WinningCondition, ...]
    at_most: int


class Overlaps:
    """Decides which of a list of conditions overlap; the first that holds takes precedence.

    Args:
        conditions: in order of precedence.
        labels: conditions with the same label do not overlap.
    """

    def __init__(
        self, conditions: Sequence[Condition | Opaque], labels: Sequence[Hashable] | None = None
    ) -> None:
        self._index = ConditionIndex(conditions, labels)

    def overlap(self, first: int, second: int) -> OverlapAnswer:
        """Return whether the conditions at two positions can hold for the same operation."""
        index = self._index
        for condition in (index.conditions[first], index.conditions[second]):
            if isinstance(condition, Opaque):
                return OverlapAnswer(Verdict.NOT_DECIDED, reason=condition.reason)
        group, other = index.group(first), index.group(second)
        if group is None or other is None:
            return OverlapAnswer(Verdict.REFUTED)
        if group is not other and not index.are_related:
            return OverlapAnswer(Verdict.NOT_DECIDED, reason=TOO_MANY)
        relation = next((how for related, how in group.related if related is other), None)
        if relation is None:
            return OverlapAnswer(Verdict.REFUTED)
        return _overlap(index.box(first, other), index.box(second, group), relation)

    def earlier(self, position: int, count: int) -> EarlierOverlaps:
        """Find earlier conditions with other labels that take precedence over the one at `position` for some operation.

        Args:
            position: the position of the condition.
            count: the maximum number of winners.
        """
        index = self._index
        group = index.group(position)
        if group is None or not index.are_related:
            return EarlierOverlaps((), 0)
        winners: dict[int, WinningCondition] = {}
        at_most = 0
        for other, relation in group.related:
            if relation is Relation.UNSURE:
                continue
            asked = static_box(index.box(position, other))
            label = index.labels.get(position)
            meeting = index.sizes(other, group).meeting(asked, position, label)
            at_most += len(meeting)
            shown = 0
            for earlier in islice(meeting, _TRIES):
                narrower = position if relation is Relation.WITHIN else earlier
                winner = self._winner(position, earlier, narrower)
                if winner and winner.position not in winners:
                    winners[winner.position] = winner
                    shown += 1
                if shown == count:
                    break
        first = sorted(winners.values(), key=lambda winner: winner.position)[:count]
        return EarlierOverlaps(tuple(first), at_most)

    def _winner(self, later: int, earlier: int, form: int) -> WinningCondition | None:
        """Return the condition that is the first to hold for an operation in the overlap of two conditions."""
        index = self._index
        answer = self.overlap(later, earlier)
        group = index.group(form)
        if answer.witness is None or group is None:
            return None
        used = index.used(group).union(answer.witness)
        witness = {dimension: Extent(size=size) for dimension, size in answer.witness.items()}
        sizes = static_sizes(static_box(dict.fromkeys(sorted(used), ANYTHING), witness))
        assert sizes is not None, "open dimensions can have any size"
        operation = point(sizes, used)
        static = static_box(operation)
        winner = index.containing(group, operation, earlier + 1)
        if winner is None or index.labels.get(winner) == index.labels.get(later):
            return None
        others = [other for other, relation in group.related if relation is not Relation.WITHIN]
        if any(len(index.sizes(other, group).meeting(static, winner)) for other in others):
            return None  # The operation may have one of the other forms, too.
        return WinningCondition(winner, form, sizes)


def _overlap(first: Box, second: Box, relation: Relation) -> OverlapAnswer:
    sizes = static_sizes(static_box(first, second))
    if sizes is None and is_empty(conjunction([*first.items(), *second.items()])):
        return OverlapAnswer(Verdict.REFUTED)
    if sizes is None:
        return OverlapAnswer(
            Verdict.NOT_DECIDED, reason="only dynamic or empty dimensions might do"
        )
    if not are_independent(sizes):
        return OverlapAnswer(Verdict.NOT_DECIDED, reason=DEPENDENT)
    # One condition must imply the other; otherwise an operation with both properties need not exist.
    if relation is Relation.UNSURE:
        return OverlapAnswer(Verdict.NOT_DECIDED, reason="the conditions are of different forms")
    return OverlapAnswer(Verdict.PROVEN, sizes)


@dataclass(frozen=True)
class SubsumptionAnswer:
    """The answer to whether earlier conditions subsume a later one, so that it is never the first to hold.

    Attributes:
        verdict: proven: the earlier ones subsume it; refuted: they do not subsume it; not decided: unknown.
        subsuming: if proven, the position of a single condition that subsumes it; none if the later one never holds.
        witness: if refuted, sizes for which the condition holds and none of the earlier ones does. None is a dynamic
            dimension, with nothing known beyond the condition's requirements.
        reason: if not decided, why not.
    """

    verdict: Verdict
    subsuming: tuple[int, ...] = ()
    witness: Mapping[Dimension, int | None] | None = None
    reason: str = ""


class Subsumption:
    """Decides which of a list of conditions are subsumed by earlier ones.

    Args:
        conditions: in order of precedence.
    """

    def __init__(self, conditions: Sequence[Condition | Opaque]) -> None:
        self._index = ConditionIndex(conditions)
        self._proofs: dict[int, SubsumptionAnswer | None] = {}

    def proof(self, position: int) -> SubsumptionAnswer | None:
        """Return the proof that earlier conditions subsume the one at `position`, None if there is none."""
        if position not in self._proofs:
            subsuming = self._subsuming(position)
            proof = None if subsuming is None else SubsumptionAnswer(Verdict.PROVEN, subsuming)
            self._proofs[position] = proof
        return self._proofs[position]

    def _subsuming(self, position: int) -> tuple[int, ...] | None:
        index = self._index
        universal = index.first_universal
        if universal is not None and universal < position:
            return (universal,)
        condition = index.conditions[position]
        if isinstance(condition, Opaque):
            alike = index.first_alike(condition)
            return None if alike in (None, position) else (alike,)
        if index.is_empty(position):
            return ()
        group = index.group(position)
        assert group is not None, "a condition that may hold is in a group"
        containing = index.containing(group, index.box(position, group), position)
        return None if containing is None else (containing,)

    def answer(self, position: int) -> SubsumptionAnswer:
        """Return whether earlier conditions subsume the one at `position`."""
        proof = self.proof(position)
        if proof is not None:
            return proof
        condition = self._index.conditions[position]
        if isinstance(condition, Opaque):
            return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=condition.reason)
        group = self._index.group(position)
        if group is None or not self._index.are_related:
            return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=TOO_MANY)
        reason = self._doubt(group, position)
        if reason:
            return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=reason)
        return self._refute(condition, group, position)

    def _doubt(self, group: ConditionGroup, position: int) -> str:
        """Return why a refutation is impossible; empty if a refutation is possible."""
        index = self._index
        if index.first_opaque is not None and index.first_opaque < position:
            return "an earlier matcher is not understood, and may match as well"
        for other, relation in group.related:
            if relation is not Relation.WITHIN:
                asked = static_box(index.box(position, other))
                if len(index.sizes(other, group).meeting(asked, position)):
                    return "an earlier condition is of another form, and may hold as well"
        return ""

    def _refute(
        self, condition: Condition, group: ConditionGroup, position: int
    ) -> SubsumptionAnswer:
        """Return the refutation: sizes for which the condition at a position holds and no earlier one does."""
        narrow = self._index.box(position, group)
        used = self._index.used(group).union(narrow)
        is_shown = condition.root is not None and all(
            interval.size is not None for interval in narrow.values()
        )
        if not is_shown and not are_independent(used):
            return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=DEPENDENT)
        witness = {dimension: narrow.get(dimension, ANYTHING).size for dimension in sorted(used)}
        return SubsumptionAnswer(Verdict.REFUTED, witness=witness)
