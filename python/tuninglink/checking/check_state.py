"""What is known while a spec is being checked."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from tuninglink.checking.check_report import SpecReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.checking.check_report import EntryReport


class CheckState:
    """The entries of a spec that were checked by themselves so far; any thread may ask, and add."""

    def __init__(self) -> None:
        self._source = ""
        self._kind = ""
        self._count = 0
        self._entries: dict[int, EntryReport] = {}

    @property
    def entries(self) -> Sequence[EntryReport]:
        """What is known of entries, in order; what depends on other entries is not decided yet."""
        return sorted(self._entries.values(), key=attrgetter("position"))

    def begin(self, source: str, kind: str, count: int) -> None:
        """Begins with a spec.

        Args:
            source: where it comes from.
            kind: which kind of spec it is, in words.
            count: the number of its entries.
        """
        self._source, self._kind, self._count, self._entries = source, kind, count, {}

    def add(self, report: EntryReport) -> None:
        """Notes what is known of an entry, instead of what was known before."""
        self._entries[report.position] = report

    def end(self) -> None:
        """Ends with the spec: its report is complete."""
        self.begin("", "", 0)

    def partial(self) -> SpecReport | None:
        """Returns a report of the spec as far as it is checked, None between specs."""
        if not self._kind:
            return None
        return SpecReport(self._source, self._kind, entries=tuple(self.entries))

    def __str__(self) -> str:
        if not self._kind:
            return "checking"
        return f"checking {self._source}: {len(self._entries):,} of {self._count:,} entries"
