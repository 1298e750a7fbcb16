"""Which entries are never reached, and which overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.checking.entry_answers import Answer
from tuninglink.matching.entry_conditions import EntryConditions
from tuninglink.matching.reachability import find_overlaps, find_reachability
from tuninglink.solver.answers import Verdict
from tuninglink.specs.side_effects import failing_checks

if TYPE_CHECKING:
    from tuninglink.matching.reachability import EntryOverlap
    from tuninglink.specs.spec import Spec


class Reachability:
    """What earlier entries of a spec leave for later ones.

    Args:
        spec: the spec.
    """

    def __init__(self, spec: Spec) -> None:
        conditions = EntryConditions(spec)
        self._found = {
            each.position: each for each in find_reachability(spec, conditions=conditions)
        }
        self._overlaps = {
            each.position: each for each in find_overlaps(spec, conditions=conditions)
        }
        self._may_fail = _failing_entry_point(spec)

    def answer(self, position: int) -> Answer:
        """Tells whether the entry at a position is ever the first to match."""
        found = self._found[position]
        if found.is_unreachable:
            return Answer(found.verdict, found.why_unreachable)
        if self._may_fail and found.verdict is Verdict.PROVEN:
            return Answer(Verdict.NOT_DECIDED, self._may_fail)
        return Answer(found.verdict, found.reason)

    def overlap(self, position: int) -> EntryOverlap | None:
        """Returns the earlier entries that the one at a position overlaps with, None if there are none."""
        return self._overlaps.get(position)


def _failing_entry_point(spec: Spec) -> str:
    """Returns why no entry may be reached: an entry point that may fail; empty if none does."""
    for entry_point in spec.anatomy.entry_points:
        check = next(failing_checks(spec.anatomy.table, entry_point.sequence), None)
        if check is not None:
            return f"entry point '@{entry_point.name}' may fail at '{check.name}'"
    return ""
