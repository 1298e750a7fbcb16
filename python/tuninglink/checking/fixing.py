"""Specs with the replacements of findings applied: right names, and values of the nearest valid configuration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from tuninglink.errors import TuninglinkError
from tuninglink.files import cannot
from tuninglink.mlir.diagnostics import Diagnostic, Replacement
from tuninglink.upgrading.spec_text import SpecText


@dataclass(frozen=True)
class FixedFile:
    """A file with replacements applied.

    Attributes:
        path: the file.
        before: its text.
        after: the text with the replacements.
        count: the number of findings whose replacements are in it.
    """

    path: str
    before: str
    after: str
    count: int

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        lines = unified_diff(before, after, self.path, self.path)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def fixed_files(findings: Iterable[Diagnostic]) -> list[FixedFile]:
    """Return the files that findings have replacements for, fixed. Of two that overlap, the first is applied.

    Raises:
        TuninglinkError: a file cannot be read.
    """
    fixes: dict[str, list[tuple[Replacement, ...]]] = defaultdict(list)
    for finding in findings:
        if finding.fix:
            fixes[finding.fix[0].start.file].append(finding.fix)
    return [_fixed(path, of_file) for path, of_file in fixes.items()]


def _fixed(path: str, fixes: Iterable[tuple[Replacement, ...]]) -> FixedFile:
    try:
        before = Path(path).read_bytes().decode()
    except OSError as failure:
        raise TuninglinkError(cannot("read", path, failure)) from None
    source = SpecText(before, path)
    spans: dict[tuple[int, int], str] = {}
    count = 0
    for fix in fixes:
        parts = {(source.offset(part.start), source.offset(part.end)): part.text for part in fix}
        overlaps = any(
            start < other_end and other_start < end and (start, end, text) != (*other, spans[other])
            for (start, end), text in parts.items()
            for other in spans
            for other_start, other_end in [other]
        )
        if not overlaps:
            spans |= parts
            count += 1
    after = before
    for (start, end), text in sorted(spans.items(), reverse=True):
        after = after[:start] + text + after[end:]
    return FixedFile(path, before, after, count)
