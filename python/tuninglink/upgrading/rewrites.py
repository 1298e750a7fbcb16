"""What rules change in a spec, and what they refuse to upgrade."""

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
    """What some rules do to a spec.

    Attributes:
        outline: the spec.
        edits: the changes to its text.
        changes: what to report of them.
        refused: by the index of a named sequence, why it cannot be upgraded, and where.
        failures: where configurations stand that are upgraded and known not to compile, and why.
        is_old: whether anything was changed or refused.
    """

    outline: SpecOutline
    edits: Edits = field(default_factory=Edits)
    changes: list[RuleChange] = field(default_factory=list)
    refused: dict[int, tuple[str, int]] = field(default_factory=dict)
    failures: list[tuple[int, str]] = field(default_factory=list)
    is_old: bool = False

    def record(self, rule: str, offset: int, notes: Iterable[tuple[str, bool]]) -> None:
        """Records what a rule did at `offset`."""
        sequence = self.outline.sequence_at(offset)
        name = sequence.name if sequence is not None else None
        for message, is_decision in notes:
            place = self.outline.source.place(offset)
            self.changes.append(RuleChange(rule, message, place, is_decision, name))
            self.is_old = True

    def refuse(self, offset: int, reason: str) -> None:
        """Records that what stands at `offset` cannot be upgraded, nor the sequence that it is in."""
        sequence = self.outline.sequence_at(offset)
        if sequence is not None:
            self.refused.setdefault(self.outline.index_of(sequence), (reason, offset))
        self.is_old = True

    def add(self, others: Rewrites) -> None:
        """Adds what other rules do."""
        self.edits.edits += others.edits.edits
        self.changes += others.changes
        self.refused = {**others.refused, **self.refused}
        self.failures += others.failures
        self.is_old = self.is_old or others.is_old
