"""Which entries are never reached, and which overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.checking.answers import Answer
from tuninglink.matching.entry_conditions import EntryConditions
from tuninglink.matching.reachability import find_dead, find_overlaps
from tuninglink.solver.answers import Verdict

if TYPE_CHECKING:
    from tuninglink.matching.reachability import Deadness, Overlap
    from tuninglink.solver.answers import Limits
    from tuninglink.specs.model import Spec


class Reachability:
    """What earlier entries of a spec leave for later ones.

    Args:
        spec: the spec.
        limits: how long the solver may take.
    """

    def __init__(self, spec: Spec, limits: Limits) -> None:
        conditions = EntryConditions(spec)
        self._dead = {
            each.position: each for each in find_dead(spec, limits, conditions=conditions)
        }
        self._overlaps = {
            each.position: each for each in find_overlaps(spec, conditions=conditions)
        }

    def answer(self, position: int) -> Answer:
        """Tells whether the entry at a position is ever the first to match."""
        return _answer(self._dead[position])

    def overlap(self, position: int) -> Overlap | None:
        """Returns the earlier entries that the one at a position overlaps with, None if there are none."""
        return self._overlaps.get(position)


def _answer(found: Deadness) -> Answer:
    if found.verdict is Verdict.REFUTED:
        return Answer(Verdict.PROVEN)
    if found.verdict is Verdict.NOT_DECIDED:
        return Answer(Verdict.NOT_DECIDED, found.reason)
    if not found.covered_by:
        return Answer(Verdict.REFUTED, "it matches nothing")
    earlier = ", ".join(f"'{each.matcher}'" for each in found.covered_by)
    return Answer(Verdict.REFUTED, f"{earlier} comes first and matches whatever it matches")
