"""The changes that rules make to a spec, and the parts that they refuse to upgrade."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tuninglink.upgrading.edits import Edits
from tuninglink.upgrading.upgrade_report import RuleChange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tuninglink.upgrading.outline import SpecOutline


@dataclass
class Rewrites:
    """The changes of some rules to a spec.

    Attributes:
        outline: the spec.
        edits: the edits of its text.
        changes: the reported changes.
        refused: for the index of a named sequence, the reason why it cannot be upgraded, and the offset.
        failures: the offsets of upgraded configurations that are known not to compile, with the reasons.
        is_old: whether a rule changed or refused something.
    """

    outline: SpecOutline
    edits: Edits = field(default_factory=Edits)
    changes: list[RuleChange] = field(default_factory=list)
    refused: dict[int, tuple[str, int]] = field(default_factory=dict)
    failures: list[tuple[int, str]] = field(default_factory=list)
    is_old: bool = False

    def record(self, rule: str, offset: int, notes: Iterable[tuple[str, bool]]) -> None:
        """Record the changes of a rule at `offset`."""
        sequence = self.outline.sequence_at(offset)
        name = sequence.name if sequence is not None else None
        for message, is_decision in notes:
            place = self.outline.source.place(offset)
            self.changes.append(RuleChange(rule, message, place, is_decision, name))
            self.is_old = True

    def refuse(self, offset: int, reason: str) -> None:
        """Record that the part at `offset` cannot be upgraded, and neither can its sequence."""
        sequence = self.outline.sequence_at(offset)
        if sequence is not None:
            self.refused.setdefault(self.outline.index_of(sequence), (reason, offset))
        self.is_old = True

    def add(self, other: Rewrites) -> None:
        """Add the changes of other rules."""
        self.edits.edits += other.edits.edits
        self.changes += other.changes
        self.refused = {**other.refused, **self.refused}
        self.failures += other.failures
        self.is_old = self.is_old or other.is_old
