"""What modernizing did with each entry."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Place


@dataclass(frozen=True)
class ModernizedEntry:
    """What became of one entry.

    Attributes:
        matcher: its matcher's symbol.
        action: its action's symbol.
        place: where its matcher is defined, None without location.
        forms: the operations that took the place of dag matchers, such as `transform.iree.match.contraction`;
            empty if it is as it was.
        programs: on how many programs the old and the new matcher gave the same answers.
        reason: why it is as it was; empty if it is not.
    """

    matcher: str
    action: str
    place: Place | None
    forms: tuple[str, ...] = ()
    programs: int = 0
    reason: str = ""

    def __str__(self) -> str:
        names = f"@{self.matcher} -> @{self.action}"
        if not self.forms:
            return f"{names}: as it was: {self.reason}"
        form = " and ".join(f"'{each}'" for each in self.forms)
        return f"{names}: {form}; the same answers on {self.programs} programs"


@dataclass(frozen=True)
class Modernized:
    """A spec whose dag matchers are rewritten where that is proven to change nothing.

    Attributes:
        text: the spec, as the compiler prints it.
        entries: what became of each entry, in order of precedence.
    """

    text: str
    entries: tuple[ModernizedEntry, ...]


def render(modernized: Modernized) -> str:
    """Returns what became of each entry, for people."""
    counts = Counter(bool(each.forms) for each in modernized.entries)
    lines = [f"{counts[True]} of {len(modernized.entries)} entries modernized"]
    lines += [f"  {each}" for each in modernized.entries]
    return "\n".join(lines) + "\n"
