"""What is answered about an entry, and about a spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.matching.entry_conditions import EntryConditions
from tuninglink.matching.reachability import find_overlaps, find_reachability
from tuninglink.solver.answers import Verdict
from tuninglink.specs.side_effects import failing_checks

if TYPE_CHECKING:
    from tuninglink.matching.reachability import EntryOverlap
    from tuninglink.specs.spec import Spec


@dataclass(frozen=True)
class Answer:
    """The answer to a question whose good answer is proven.

    Attributes:
        verdict: proven, refuted or not decided.
        reason: if it is not proven, why.
        details: what else there is to say, each a sentence.
        warning: what the compiler's own constraints reject, or why the code may crash, if it is not refuted; empty for
            nothing.
        knobs: the knobs that the answer is about, the one to change first; empty for none.
        miscompilation: why the code computes wrong results although it compiles; empty if no reason is known.
    """

    verdict: Verdict
    reason: str = ""
    details: tuple[str, ...] = ()
    warning: str = ""
    knobs: tuple[str, ...] = ()
    miscompilation: str = ""


@dataclass(frozen=True)
class Details:
    """The nearest valid configuration, which takes longer to find than the answer.

    Attributes:
        notes: the details of the answer, each a sentence.
        knobs: see `Answer`.
    """

    notes: tuple[str, ...] = ()
    knobs: tuple[str, ...] = ()


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
            overlap.position: overlap for overlap in find_overlaps(spec, conditions=conditions)
        }
        self._may_fail = _failing_entry_point(spec)

    def answer(self, position: int) -> Answer:
        """Tells whether the entry at a position is ever the first to match."""
        result = self._found[position]
        if result.is_unreachable:
            return Answer(result.verdict, result.why_unreachable)
        if self._may_fail and result.verdict is Verdict.PROVEN:
            return Answer(Verdict.NOT_DECIDED, self._may_fail)
        return Answer(result.verdict, result.reason)

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
