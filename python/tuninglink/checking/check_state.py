"""The progress of a check."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from tuninglink.checking.check_report import SpecReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.checking.check_report import EntryReport


class CheckState:
    """The entries of a spec that were checked individually so far; thread-safe."""

    def __init__(self) -> None:
        self._source = ""
        self._kind = ""
        self._count = 0
        self._entries: dict[int, EntryReport] = {}

    @property
    def entries(self) -> Sequence[EntryReport]:
        """The findings about entries, in order; answers that depend on other entries are still open."""
        return sorted(self._entries.values(), key=attrgetter("position"))

    def begin(self, source: str, kind: str, count: int) -> None:
        """Start the check of a spec.

        Args:
            source: its origin.
            kind: the word for its kind.
            count: the number of its entries.
        """
        self._source, self._kind, self._count, self._entries = source, kind, count, {}

    def add(self, report: EntryReport) -> None:
        """Replace the findings about an entry."""
        self._entries[report.position] = report

    def end(self) -> None:
        """End the check of the spec: its report is complete."""
        self.begin("", "", 0)

    def partial(self) -> SpecReport | None:
        """Return a partial report of the spec, None between specs."""
        if not self._kind:
            return None
        return SpecReport(self._source, self._kind, entries=tuple(self.entries))

    def __str__(self) -> str:
        if not self._kind:
            return "checking"
        return f"checking {self._source}: {len(self._entries):,} of {self._count:,} entries"
