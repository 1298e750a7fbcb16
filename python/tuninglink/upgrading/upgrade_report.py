"""What an upgrade did, and what it could not do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuninglink.mlir.diagnostics import Diagnostic, Place


@dataclass(frozen=True)
class RuleChange:
    """One thing that a rule changed.

    Attributes:
        rule: the name of the rule.
        message: what was changed, and why.
        place: where in the original.
        is_decision: whether something had to be decided: a default that changed, a field without successor.
        sequence: the named sequence that it stands in, None outside of any.
    """

    rule: str
    message: str
    place: Place
    is_decision: bool
    sequence: str | None


@dataclass(frozen=True)
class KeptOut:
    """A part of the spec that could not be upgraded, and stands in the result as a comment.

    Attributes:
        what: the named sequence or alias, with `@` or `#`.
        reason: why, in words that a reader can check.
        place: where in the original.
    """

    what: str
    reason: str
    place: Place


@dataclass(frozen=True)
class UpgradedEntry:
    """What became of one entry.

    Attributes:
        matcher: its matcher's symbol.
        action: its action's symbol.
        place: where the pair stands in the original.
        changes: what was changed in its sequences, those that they include among them.
        kept_out: why it is not in the result, None if it is.
    """

    matcher: str
    action: str
    place: Place
    changes: tuple[RuleChange, ...]
    kept_out: KeptOut | None

    @property
    def state(self) -> str:
        """`kept out`, `upgraded` or `unchanged`."""
        if self.kept_out:
            return "kept out"
        return "upgraded" if self.changes else "unchanged"


@dataclass(frozen=True)
class Upgraded:
    """A spec in today's syntax.

    Attributes:
        text: the spec; what no rule changed is as it was, character for character.
        changes: everything that was changed, in order.
        kept_out: what could not be upgraded.
        entries: what became of each entry, in order of precedence.
        hints: warnings of upgraded configurations that are known not to compile, and remarks on what is in
            today's syntax and still may not do what its author thinks.
        origin: returns the place in the old text from which the thing at an offset of the new text comes.
    """

    text: str
    changes: tuple[RuleChange, ...]
    kept_out: tuple[KeptOut, ...]
    entries: tuple[UpgradedEntry, ...]
    origin: Callable[[int], Place] = field(compare=False, repr=False)
    hints: tuple[Diagnostic, ...] = ()

    @property
    def decisions(self) -> tuple[RuleChange, ...]:
        """The changes that are decisions."""
        return tuple(change for change in self.changes if change.is_decision)


def render_report(upgraded: Upgraded) -> str:
    """Returns what became of each entry, for people: what was changed and why, and what could not be."""
    states = Counter(each.state for each in upgraded.entries)
    counts = ", ".join(
        f"{states[state]} {state}" for state in ("upgraded", "unchanged", "kept out")
    )
    lines = [f"{len(upgraded.entries)} entries: {counts}"]
    told: set[str | None] = set()
    for entry in upgraded.entries:
        lines += ["", f"@{entry.matcher} -> @{entry.action} ({entry.place}): {entry.state}"]
        if entry.kept_out:
            lines.append(f"  {entry.kept_out.what}: {entry.kept_out.reason}")
        lines += map(_line, entry.changes)
        told |= {change.sequence for change in entry.changes}
    elsewhere = [each for each in upgraded.changes if each.sequence not in told]
    if elsewhere:
        lines += ["", "outside of the entries"]
        lines += map(_line, elsewhere)
    if upgraded.kept_out:
        lines += ["", "kept out, as comments"]
        lines += [f"  {each.what} ({each.place}): {each.reason}" for each in upgraded.kept_out]
    if upgraded.hints:
        lines += ["", "notes", *(f"  {hint}" for hint in upgraded.hints)]
    return "\n".join(lines) + "\n"


def _line(change: RuleChange) -> str:
    decided = "decided: " if change.is_decision else ""
    where = f"{change.place.line}:{change.place.column}"
    return f"  {where} {change.rule}: {decided}{change.message}"
