"""The results of an upgrade, and the parts that could not be upgraded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Diagnostic, Place


@dataclass(frozen=True)
class RuleChange:
    """A change by a rule.

    Attributes:
        rule: the name of the rule.
        message: the change, and its reason.
        place: the place in the original.
        is_decision: whether the change has alternatives, such as a changed default or a removed field.
        sequence: the enclosing named sequence, or None.
    """

    rule: str
    message: str
    place: Place
    is_decision: bool
    sequence: str | None


@dataclass(frozen=True)
class KeptOut:
    """A part of the spec that could not be upgraded. It is a comment in the result.

    Attributes:
        what: the named sequence or alias, with `@` or `#`.
        reason: the reason, in words that a reader can check.
        place: the place in the original.
    """

    what: str
    reason: str
    place: Place


@dataclass(frozen=True)
class UpgradedEntry:
    """The result for one entry.

    Attributes:
        matcher: the symbol of its matcher.
        action: the symbol of its action.
        place: the place of the pair in the original.
        changes: the changes in its sequences, including those that they include.
        kept_out: the reason why it is not in the result, or None.
    """

    matcher: str
    action: str
    place: Place
    changes: tuple[RuleChange, ...]
    kept_out: KeptOut | None

    @property
    def state(self) -> str:
        """The state: `kept out`, `upgraded` or `unchanged`."""
        if self.kept_out:
            return "kept out"
        return "upgraded" if self.changes else "unchanged"


@dataclass(frozen=True)
class Upgraded:
    """A spec in today's syntax.

    Attributes:
        text: the spec. Parts that rules did not change are identical to the original.
        changes: all changes, in order.
        kept_out: the parts that could not be upgraded.
        entries: the result for each entry, in order of precedence.
        hints: warnings about upgraded configurations that are known not to compile, and remarks on parts in today's
            syntax with a possibly unexpected effect.
        origin: returns the place in the old text for an offset of the new text.
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
    """Return a report in words: the result for each entry, with the changes and their reasons."""
    states = Counter(entry.state for entry in upgraded.entries)
    counts = ", ".join(
        f"{states[state]} {state}" for state in ("upgraded", "unchanged", "kept out")
    )
    lines = [f"{len(upgraded.entries)} entries: {counts}"]
    reported: set[str | None] = set()
    for entry in upgraded.entries:
        lines += ["", f"@{entry.matcher} -> @{entry.action} ({entry.place}): {entry.state}"]
        if entry.kept_out:
            lines.append(f"  {entry.kept_out.what}: {entry.kept_out.reason}")
        lines += map(_line, entry.changes)
        reported |= {change.sequence for change in entry.changes}
    elsewhere = [change for change in upgraded.changes if change.sequence not in reported]
    if elsewhere:
        lines += ["", "outside of the entries"]
        lines += map(_line, elsewhere)
    if upgraded.kept_out:
        lines += ["", "kept out, as comments"]
        lines += [f"  {part.what} ({part.place}): {part.reason}" for part in upgraded.kept_out]
    if upgraded.hints:
        lines += ["", "notes", *(f"  {hint}" for hint in upgraded.hints)]
    return "\n".join(lines) + "\n"


def _line(change: RuleChange) -> str:
    decided = "decided: " if change.is_decision else ""
    where = f"{change.place.line}:{change.place.column}"
    return f"  {where} {change.rule}: {decided}{change.message}"
