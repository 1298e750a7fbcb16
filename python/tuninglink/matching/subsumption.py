"""Subsumption: whether earlier conditions cover a later one.

This does not need a solver. All dimensions without a fixed size may be dynamic at once, with nothing known beyond the
matcher's requirements, and a condition that holds then holds for every size. Several conditions together therefore
subsume another one only if one of them does by itself, which arithmetic decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuninglink.matching.condition_index import (
    DEPENDENT,
    TOO_MANY,
    ConditionIndex,
    are_independent,
)
from tuninglink.matching.conditions import Condition, Opaque
from tuninglink.matching.extents import ANYTHING, static_box
from tuninglink.matching.groups import ConditionGroup, Relation
from tuninglink.matching.predicates import Dimension
from tuninglink.solver.answers import Verdict


@dataclass(frozen=True)
class SubsumptionAnswer:
    """Whether earlier conditions subsume a later one: for every op for which it holds, one of them holds.

    Attributes:
        verdict: proven: they do; refuted: they do not; not decided: unknown.
        subsuming: if proven, the position of a single condition that subsumes it; none if the later one never holds.
        witness: if refuted, sizes for which the condition holds and none of the others does. None is a dynamic
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

    def proof(self, position: int) -> SubsumptionAnswer | None:
        """Return the proof that earlier conditions subsume the one at `position`, None if there is none."""
        subsuming = self._subsuming(position)
        return None if subsuming is None else SubsumptionAnswer(Verdict.PROVEN, subsuming)

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
        """Return why a refutation is impossible; empty if it is possible."""
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
            each.size is not None for each in narrow.values()
        )
        if not is_shown and not are_independent(used):
            return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=DEPENDENT)
        witness = {each: narrow.get(each, ANYTHING).size for each in sorted(used)}
        return SubsumptionAnswer(Verdict.REFUTED, witness=witness)
