"""Which entries are never reached, and which overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.checking.answers import Answer
from tuninglink.matching.entry_conditions import EntryConditions
from tuninglink.matching.reachability import find_overlaps, find_reachability

if TYPE_CHECKING:
    from tuninglink.matching.reachability import EntryOverlap
    from tuninglink.specs.model import Spec


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

    def answer(self, position: int) -> Answer:
        """Tells whether the entry at a position is ever the first to match."""
        found = self._found[position]
        return Answer(
            found.verdict, found.why_unreachable if found.is_unreachable else found.reason
        )

    def overlap(self, position: int) -> EntryOverlap | None:
        """Returns the earlier entries that the one at a position overlaps with, None if there are none."""
        return self._overlaps.get(position)
