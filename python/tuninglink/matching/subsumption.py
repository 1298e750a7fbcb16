"""Proofs about conditions: whether earlier ones leave anything for a later one.

What is proven takes no solver. A dimension without a fixed size may be dynamic, with no more known of it than the
matcher asks for; all of them may be so at once, and whatever matches then matches for every size. So several
conditions together cover another one only if one of them does by itself, which arithmetic tells. Among static sizes
several can leave nothing: whether they do is what the solver is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.matching.condition_index import (
    DEPENDENT,
    TOO_MANY,
    ConditionIndex,
    are_independent,
    around,
)
from tuninglink.matching.conditions import Condition, Opaque
from tuninglink.matching.extents import ANYTHING, point, static_box, static_sizes
from tuninglink.matching.groups import Relation
from tuninglink.solver.answers import DEFAULT_LIMITS, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tuninglink.matching.conditions import Dimension
    from tuninglink.matching.extents import Box
    from tuninglink.matching.groups import Group
    from tuninglink.matching.left_over import LeftOver, LeftOvers
    from tuninglink.solver.answers import Limits

MAX_CALLS: Final = 256
"""How often the solver is asked for one list of conditions."""

MAX_BOXES: Final = 64
"""How many conditions at once the solver is asked about."""

_GUESSES: Final = (0, 1, 2, 6, 1000, 10006)
"""Which static sizes are tried before the solver is asked, as `Extent.static_size` counts."""


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


def covered(
    condition: Condition, earlier: Sequence[Condition | Opaque], limits: Limits = DEFAULT_LIMITS
) -> CoverAnswer:
    """Tells whether `earlier` conditions together cover `condition`.

    Args:
        condition: what may be dead.
        earlier: what comes before it.
        limits: how long the solver may take.
    """
    return Coverage([*earlier, condition], limits).cover(len(earlier))


class Coverage:
    """Tells which of a list of conditions are covered by those before them.

    Args:
        conditions: in order of precedence.
        limits: how long the solver may take, for all questions together.

    Attributes:
        solver_calls: how often the solver was asked; there is a limit to that, too.
    """

    def __init__(
        self, conditions: Sequence[Condition | Opaque], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._index = ConditionIndex(conditions)
        self._deadline = limits.start()
        self._solvers: dict[Group, LeftOvers] = {}
        self.solver_calls = 0

    def covering(self, position: int) -> tuple[int, ...] | None:
        """Returns the position of what covers the condition at `position`, as `CoverAnswer` does; None if nothing.

        This takes no solver.
        """
        index = self._index
        group = index.group(position)
        if index.is_empty(position):
            return ()
        if group is None:
            return None
        found = index.containing(group, index.box(position, group), position)
        return None if found is None else (found,)

    def cover(self, position: int) -> CoverAnswer:
        """Tells whether those before it cover the condition at `position`."""
        condition = self._index.conditions[position]
        if isinstance(condition, Opaque):
            return CoverAnswer(Verdict.NOT_DECIDED, reason=condition.reason)
        covering = self.covering(position)
        if covering is not None:
            return CoverAnswer(Verdict.PROVEN, covering)
        group = self._index.group(position)
        if group is None or not self._index.are_related:
            return CoverAnswer(Verdict.NOT_DECIDED, reason=TOO_MANY)
        reason = self._doubt(group, position)
        if reason:
            return CoverAnswer(Verdict.NOT_DECIDED, reason=reason)
        return self._refute(condition, group, position)

    def _doubt(self, group: Group, position: int) -> str:
        """Returns why it cannot be told that something is left, if that is so."""
        index = self._index
        if index.first_opaque is not None and index.first_opaque < position:
            return "an earlier matcher is not understood, and may match as well"
        for other, relation in group.related:
            if relation is not Relation.WITHIN:
                asked = static_box(index.box(position, other))
                if len(index.sizes(other, group).meeting(asked, position)):
                    return "an earlier condition is of another form, and may hold as well"
        return ""

    def _refute(self, condition: Condition, group: Group, position: int) -> CoverAnswer:
        """Gives sizes for which the condition at a position holds and none before it does."""
        index = self._index
        narrow = index.box(position, group)
        used = index.used(group).union(narrow)
        if not are_independent(used):
            return _refute_as_written(condition, narrow, used)
        asked = static_box(dict.fromkeys(sorted(used), ANYTHING), narrow)
        for guess in _GUESSES:
            sizes = static_sizes(asked, guess)
            if sizes is None:
                break
            if index.containing(group, point(sizes, used), position) is None:
                return _refuted(sizes)
        left = self._left_over(group, position)
        if left.sizes is not None:
            return _refuted(left.sizes)
        reason = left.reason or "every static size is covered"
        return _refuted_if_dynamic(narrow, used, reason)

    def _left_over(self, group: Group, position: int) -> LeftOver:
        """Asks the solver for static sizes."""
        from tuninglink.matching.left_over import LeftOver, LeftOvers  # noqa: PLC0415 - most need no solver

        index = self._index
        asked = static_box(index.box(position, group))
        others: list[Box] = []
        for other in around(group):
            found = index.sizes(other, group).meeting(asked, position)
            if len(others) + len(found) > MAX_BOXES:
                reason = f"more than {MAX_BOXES} earlier conditions may hold as well"
                return LeftOver(Verdict.NOT_DECIDED, reason=reason)
            others += [static_box(index.box(each, group)) for each in found]
        if self.solver_calls == MAX_CALLS or self._deadline.remaining() == 0:
            return LeftOver(Verdict.NOT_DECIDED, reason="the limit of questions is reached")
        self.solver_calls += 1
        if group not in self._solvers:
            self._solvers[group] = LeftOvers(self._deadline)
        return self._solvers[group].find(asked, others)


def _refute_as_written(condition: Condition, narrow: Box, used: Iterable[Dimension]) -> CoverAnswer:
    """Gives the operation that a matcher holds as it is, if there is one and nothing else is asked of sizes.

    It shows that nothing covers the condition: its dimensions are those that are fixed, and others are dynamic.
    """
    if condition.root is None or any(each.size is None for each in narrow.values()):
        return CoverAnswer(Verdict.NOT_DECIDED, reason=DEPENDENT)
    return _refuted_if_dynamic(narrow, used, "")


def _refuted_if_dynamic(narrow: Box, used: Iterable[Dimension], reason: str) -> CoverAnswer:
    return _refuted({each: narrow.get(each, ANYTHING).size for each in sorted(used)}, reason)


def _refuted(witness: Mapping[Dimension, int | None], reason: str = "") -> CoverAnswer:
    return CoverAnswer(Verdict.REFUTED, witness=witness, reason=reason)
