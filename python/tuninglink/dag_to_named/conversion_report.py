"""The result of a conversion, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Place


@dataclass(frozen=True)
class ConvertedEntry:
    """The result for one entry.

    Attributes:
        matcher: its matcher's symbol.
        action: its action's symbol.
        place: where its matcher is defined, None without location.
        matcher_ops: the ops that replace its DAG matchers, such as `transform.iree.match.contraction`; empty if
            the entry is unchanged.
        programs: on how many programs the old and the new matcher gave the same answers.
        reason: why the entry is unchanged; empty if it is not.
    """

    matcher: str
    action: str
    place: Place | None
    matcher_ops: tuple[str, ...] = ()
    programs: int = 0
    reason: str = ""

    def __str__(self) -> str:
        names = f"@{self.matcher} -> @{self.action}"
        if not self.matcher_ops:
            return f"{names}: as it was: {self.reason}"
        replaced_by = " and ".join(f"'{op}'" for op in self.matcher_ops)
        return f"{names}: {replaced_by}; the same answers on {self.programs} programs"


@dataclass(frozen=True)
class ConvertedSpec:
    """A spec whose DAG matchers are converted where the interpreter showed no difference.

    Attributes:
        text: the spec, as the compiler prints it.
        entries: the result for each entry, in order of precedence.
    """

    text: str
    entries: tuple[ConvertedEntry, ...]

    def __str__(self) -> str:
        """The results for people, one line each."""
        count = sum(bool(entry.matcher_ops) for entry in self.entries)
        lines = [f"{count} of {len(self.entries)} entries modernized"]
        lines += [f"  {entry}" for entry in self.entries]
        return "\n".join(lines) + "\n"
