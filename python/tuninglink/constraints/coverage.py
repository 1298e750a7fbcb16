"""Proofs about conditions: whether earlier ones leave anything for a later one, and whether two can meet.

What is proven takes no solver. A dimension without a fixed size may be dynamic, with no more known of it than the
matcher asks for; all of them may be so at once, and whatever matches then matches for every size. So several
conditions together cover another one only if one of them does by itself, which arithmetic tells. Among static sizes
several can leave nothing: whether they do is what the solver is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from tuninglink.constraints import left_over
from tuninglink.constraints.answers import DEFAULT_LIMITS, Verdict
from tuninglink.constraints.conditions import LOOP, Condition, Opaque
from tuninglink.constraints.extents import (
    ANYTHING,
    Extent,
    box,
    is_empty,
    point,
    static_box,
    static_sizes,
)
from tuninglink.constraints.groups import Relation, make_groups
from tuninglink.constraints.left_over import LeftOver, LeftOvers
from tuninglink.constraints.size_index import SizeIndex

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from tuninglink.constraints.answers import Limits
    from tuninglink.constraints.conditions import Dimension
    from tuninglink.constraints.extents import Box
    from tuninglink.constraints.groups import Group

_GUESSES: Final = (0, 1, 2, 6, 1000, 10006)
"""Which static sizes are tried before the solver is asked, as `Extent.static_size` counts."""

_TRIES: Final = 64
"""How many conditions are looked at for one that surely meets another one."""

_TOO_MANY: Final = "the conditions are of too many forms to be compared with each other"
_DEPENDENT: Final = "the sizes depend on each other in ways that are not known"


@dataclass(frozen=True)
class CoverAnswer:
    """Whether conditions cover another one: whatever it holds for, one of them holds for, too.

    Attributes:
        verdict: proven: they do; refuted: they do not; not decided: it cannot be told.
        covering: if proven, the position of a condition that covers it alone, as one does if any do; none if it
            never holds.
        witness: if refuted, sizes for which the condition holds and none of the others does. None stands for
            dimensions that are dynamic, with no more known of them than the condition asks for.
        reason: if not decided, why not; if the witness is dynamic, why no static one is given.
    """

    verdict: Verdict
    covering: tuple[int, ...] = ()
    witness: Mapping[Dimension, int | None] | None = None
    reason: str = ""


@dataclass(frozen=True)
class MeetAnswer:
    """Whether two conditions can hold for the same operation.

    Attributes:
        verdict: proven: they can, with `witness`; refuted: they cannot; not decided: it cannot be told.
        witness: static sizes for which both hold.
        reason: if not decided, why not.
    """

    verdict: Verdict
    witness: Mapping[Dimension, int] | None = None
    reason: str = ""


@dataclass(frozen=True)
class Winner:
    """An earlier condition with another label, which is the first to hold for an operation.

    Attributes:
        position: that of the condition.
        form: that of the condition which says, sizes aside, what the operation is.
        witness: the static sizes of the operation.
    """

    position: int
    form: int
    witness: Mapping[Dimension, int]


@dataclass(frozen=True)
class Meeting:
    """The earlier conditions that a condition meets.

    Attributes:
        winners: some that it surely does, in order.
        at_most: how many conditions with other labels there may be that it meets.
    """

    winners: tuple[Winner, ...]
    at_most: int


def covered(
    condition: Condition, earlier: Sequence[Condition | Opaque], limits: Limits = DEFAULT_LIMITS
) -> CoverAnswer:
    """Tells whether `earlier` conditions together cover `condition`.

    Args:
        condition: what may be dead.
        earlier: what comes before it.
        limits: how long the solver may take.
    """
    return Coverage([*earlier, condition], limits=limits).cover(len(earlier))


def can_meet(first: Condition, second: Condition) -> MeetAnswer:
    """Tells whether two conditions can hold for the same operation."""
    return Coverage([first, second]).meet(0, 1)


class Coverage:
    """Answers questions about a list of conditions, the first of which that holds is the one that counts.

    Conditions are put into groups that differ in nothing but sizes, and these are indexed; a question costs about
    the same however many conditions there are.

    Args:
        conditions: in order of precedence.
        labels: of conditions with the same label it is not asked whether they meet; of no label if None.
        limits: how long the solver may take, for all questions together.

    Attributes:
        solver_calls: how often the solver was asked; there is a limit to that, too.
    """

    def __init__(
        self,
        conditions: Sequence[Condition | Opaque],
        labels: Sequence[Hashable] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._conditions = conditions
        self._labels = dict(enumerate(labels or ()))
        self._deadline = limits.start()
        self.solver_calls = 0
        self._first_opaque = next(
            (position for position, each in enumerate(conditions) if isinstance(each, Opaque)), None
        )
        self._boxes = {
            position: box(each.sizes)
            for position, each in enumerate(conditions)
            if isinstance(each, Condition)
        }
        self._groups = make_groups(
            (position, each)
            for position, each in enumerate(conditions)
            if isinstance(each, Condition) and not self.is_empty(position)
        )
        self._indexes: dict[tuple[Group, Hashable], SizeIndex] = {}
        self._dimensions: dict[Group, frozenset[Dimension]] = {}
        self._solvers: dict[Group, LeftOvers] = {}

    def is_empty(self, position: int) -> bool:
        """Tells whether the condition at `position` never holds."""
        condition = self._conditions[position]
        return isinstance(condition, Condition) and (
            condition.names == frozenset() or is_empty(self._boxes[position])
        )

    def covering(self, position: int) -> tuple[int, ...] | None:
        """Returns the position of what covers the condition at `position`, as `CoverAnswer` does; None if nothing.

        This takes no solver.
        """
        if self.is_empty(position):
            return ()
        if position not in self._groups.of or not self._groups.are_related:
            return None
        found = self._containing(self._groups.of[position], self._boxes[position], position)
        return None if found is None else (found,)

    def cover(self, position: int) -> CoverAnswer:
        """Tells whether those before it cover the condition at `position`."""
        condition = self._conditions[position]
        if isinstance(condition, Opaque):
            return CoverAnswer(Verdict.NOT_DECIDED, reason=condition.reason)
        covering = self.covering(position)
        if covering is not None:
            return CoverAnswer(Verdict.PROVEN, covering)
        if not self._groups.are_related:
            return CoverAnswer(Verdict.NOT_DECIDED, reason=_TOO_MANY)
        group = self._groups.of[position]
        reason = self._doubt(group, position)
        if reason:
            return CoverAnswer(Verdict.NOT_DECIDED, reason=reason)
        return self._refute(group, position)

    def meet(self, first: int, second: int) -> MeetAnswer:
        """Tells whether the conditions at two positions can hold for the same operation."""
        for each in (self._conditions[first], self._conditions[second]):
            if isinstance(each, Opaque):
                return MeetAnswer(Verdict.NOT_DECIDED, reason=each.reason)
        if self.is_empty(first) or self.is_empty(second):
            return MeetAnswer(Verdict.REFUTED)
        if not self._groups.are_related:
            return MeetAnswer(Verdict.NOT_DECIDED, reason=_TOO_MANY)
        group, other = self._groups.of[first], self._groups.of[second]
        relation = next((how for each, how in group.related if each is other), None)
        if relation is None:
            return MeetAnswer(Verdict.REFUTED)
        return _meet(self._box(first, other), self._box(second, group), relation)

    def meetings(self, position: int, count: int) -> Meeting:
        """Finds earlier conditions with other labels that come before the one at `position` for some operation.

        Args:
            position: which condition.
            count: how many to show at most.
        """
        if position not in self._groups.of or not self._groups.are_related:
            return Meeting((), 0)
        group = self._groups.of[position]
        winners: dict[int, Winner] = {}
        at_most = 0
        for other, relation in group.related:
            if relation is Relation.UNSURE:
                continue
            asked = static_box(self._box(position, other))
            found = self._index(other, group).meeting(asked, position, self._labels.get(position))
            at_most += len(found)
            form = position if relation is Relation.WITHIN else None
            shown = 0
            for each in islice(found, _TRIES):
                winner = self._winner(position, each, each if form is None else form)
                if winner and winner.position not in winners:
                    winners[winner.position] = winner
                    shown += 1
                if shown == count:
                    break
        first = sorted(winners.values(), key=lambda each: each.position)[:count]
        return Meeting(tuple(first), at_most)

    def _winner(self, later: int, earlier: int, form: int) -> Winner | None:
        """Returns what is the first to hold for some operation for which two conditions do."""
        answer = self.meet(later, earlier)
        if answer.witness is None:
            return None
        group = self._groups.of[form]
        used = self._used(group).union(answer.witness)
        known = {each: Extent(size=size) for each, size in answer.witness.items()}
        sizes = static_sizes(static_box(dict.fromkeys(sorted(used), ANYTHING), known))
        assert sizes is not None, "what is not fixed can have any size"
        winner = self._containing(group, point(sizes, used), earlier + 1)
        if winner is None or self._labels.get(winner) == self._labels.get(later):
            return None
        return Winner(winner, form, sizes)

    # --- Covering ------------------------------------------------------------------------------------------

    def _containing(self, group: Group, narrow: Box, before: int) -> int | None:
        """Returns the first condition before a position that holds wherever `narrow` does, for this group."""
        first = before
        for other in _around(group):
            found = self._index(other, group).containing(narrow, first)
            first = first if found is None else found
        return None if first == before else first

    def _doubt(self, group: Group, position: int) -> str:
        """Returns why it cannot be told that something is left, if that is so."""
        if self._first_opaque is not None and self._first_opaque < position:
            return "an earlier matcher is not understood, and may match as well"
        for other, relation in group.related:
            if relation is not Relation.WITHIN:
                asked = static_box(self._box(position, other))
                if len(self._index(other, group).meeting(asked, position)):
                    return "an earlier condition is of another form, and may hold as well"
        return ""

    def _refute(self, group: Group, position: int) -> CoverAnswer:
        """Gives sizes for which the condition at a position holds and none before it does."""
        narrow = self._boxes[position]
        used = self._used(group).union(narrow)
        if not _are_independent(used):
            return _refute_as_written(self._conditions[position], narrow, used)
        asked = static_box(dict.fromkeys(sorted(used), ANYTHING), narrow)
        for guess in _GUESSES:
            sizes = static_sizes(asked, guess)
            if sizes is None:
                break
            if self._containing(group, point(sizes, used), position) is None:
                return _refuted(sizes)
        left = self._left_over(group, position)
        if left.sizes is not None:
            return _refuted(left.sizes)
        reason = left.reason or "every static size is covered"
        return _refuted({each: narrow.get(each, ANYTHING).size for each in sorted(used)}, reason)

    def _left_over(self, group: Group, position: int) -> LeftOver:
        """Asks the solver for static sizes."""
        asked = static_box(self._boxes[position])
        others: list[Box] = []
        for other in _around(group):
            found = self._index(other, group).meeting(asked, position)
            if len(others) + len(found) > left_over.MAX_BOXES:
                reason = f"more than {left_over.MAX_BOXES} earlier conditions may hold as well"
                return LeftOver(Verdict.NOT_DECIDED, reason=reason)
            others += [static_box(self._box(each, group)) for each in found]
        if self.solver_calls == left_over.MAX_CALLS or self._deadline.remaining() == 0:
            return LeftOver(Verdict.NOT_DECIDED, reason="the limit of questions is reached")
        self.solver_calls += 1
        if group not in self._solvers:
            self._solvers[group] = LeftOvers(self._deadline)
        return self._solvers[group].find(asked, others)

    def _used(self, group: Group) -> frozenset[Dimension]:
        """Returns the dimensions of which anything is asked of the operations that a group is about."""
        if group not in self._dimensions:
            indexes = [self._index(each, group) for each in _around(group)]
            self._dimensions[group] = frozenset().union(*(each.dimensions for each in indexes))
        return self._dimensions[group]

    # --- Helpers -------------------------------------------------------------------------------------------

    def _box(self, position: int, seen_from: Group) -> Box:
        """Returns the box of a condition, with the names of loops of another group where it has none."""
        condition = self._conditions[position]
        assert isinstance(condition, Condition)
        loops = seen_from.condition.loops
        if condition.loops or not loops:
            return self._boxes[position]
        return box(condition.sizes_by(loops))

    def _index(self, group: Group, seen_from: Group) -> SizeIndex:
        """Returns the index of a group, with the names of loops of another one where it has none."""
        other = seen_from.condition
        is_renamed = bool(other.loops) and not group.condition.loops
        key = group, (other.maps, other.kinds, other.names) if is_renamed else None
        if key not in self._indexes:
            boxes = [(each, self._box(each, seen_from)) for each in group.members]
            self._indexes[key] = SizeIndex(boxes, self._labels)
        return self._indexes[key]


def _around(group: Group) -> list[Group]:
    """Returns the groups that hold, sizes aside, for whatever a group is about."""
    return [other for other, relation in group.related if relation is Relation.WITHIN]


def _meet(first: Box, second: Box, relation: Relation) -> MeetAnswer:
    sizes = static_sizes(static_box(first, second))
    if sizes is None and is_empty(_both(first, second)):
        return MeetAnswer(Verdict.REFUTED)
    if sizes is None:
        return MeetAnswer(Verdict.NOT_DECIDED, reason="only dynamic or empty dimensions might do")
    if not _are_independent(sizes):
        return MeetAnswer(Verdict.NOT_DECIDED, reason=_DEPENDENT)
    # One must ask for all that the other does: else an operation that both describe need not exist.
    if relation is Relation.UNSURE:
        return MeetAnswer(Verdict.NOT_DECIDED, reason="the conditions are of different forms")
    return MeetAnswer(Verdict.PROVEN, sizes)


def _refute_as_written(
    condition: Condition | Opaque, narrow: Box, used: Iterable[Dimension]
) -> CoverAnswer:
    """Gives the operation that a matcher holds as it is, if there is one and nothing else is asked of sizes.

    It shows that nothing covers the condition: its dimensions are those that are fixed, and others are dynamic.
    """
    assert isinstance(condition, Condition)
    if condition.root is None or any(each.size is None for each in narrow.values()):
        return CoverAnswer(Verdict.NOT_DECIDED, reason=_DEPENDENT)
    return _refuted({each: narrow.get(each, ANYTHING).size for each in sorted(used)})


def _refuted(witness: Mapping[Dimension, int | None], reason: str = "") -> CoverAnswer:
    return CoverAnswer(Verdict.REFUTED, witness=witness, reason=reason)


def _both(*boxes: Box) -> Box:
    """Returns what is asked of each dimension by all boxes."""
    result: Box = {}
    for each in boxes:
        for dimension, asked in each.items():
            result[dimension] = result.get(dimension, ANYTHING).both(asked)
    return result


def _are_independent(dimensions: Iterable[Dimension]) -> bool:
    """Tells whether dimensions can have any sizes together.

    Loops are free of each other, as are the dimensions of roles; sizes of operands are not.
    """
    kinds = {dimension[0] for dimension in dimensions}
    return "operand" not in kinds and (LOOP not in kinds or len(kinds) == 1)
