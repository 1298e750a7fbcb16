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
        matcher: the symbol of its matcher.
        action: the symbol of its action.
        place: the definition of its matcher, or None without a location.
        matcher_ops: the ops that replace its DAG matchers, such as `transform.iree.match.contraction`; empty if
            the entry is unchanged.
        programs: the number of programs on which the old and the new matcher agree.
        reason: the reason why the entry is unchanged; empty if it is converted.
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
    """A spec with its DAG matchers converted where the interpreter shows no difference.

    Attributes:
        text: the spec, as the compiler prints it.
        entries: the result for each entry, in order of precedence.
    """

    text: str
    entries: tuple[ConvertedEntry, ...]

    def __str__(self) -> str:
        """The results in words, one line each."""
        count = sum(bool(entry.matcher_ops) for entry in self.entries)
        lines = [f"{count} of {len(self.entries)} entries modernized"]
        lines += [f"  {entry}" for entry in self.entries]
        return "\n".join(lines) + "\n"
