"""The tables of `tuninglink check`."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Final

from tuninglink.cli.terminal import render_table
from tuninglink.files import STANDARD_STREAM
from tuninglink.solver.answers import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.checking.check_report import EntryReport, SpecReport
    from tuninglink.checking.entry_answers import Answer
    from tuninglink.matching.reachability import EntryOverlap
    from tuninglink.specs.structure import Entry

_COLUMNS: Final = (
    *("line", "matches", "valid", "compiles", "reachable", "overlaps"),
    *("entry", "made for it"),
)
_CELLS: Final = {Verdict.PROVEN: "yes", Verdict.REFUTED: "NO", Verdict.NOT_DECIDED: "?"}
_WORDS: Final = {
    Verdict.PROVEN: "valid",
    Verdict.REFUTED: "invalid",
    Verdict.NOT_DECIDED: "not decided",
}
_NOT_ASKED: Final = "-"
_MOST_OVERLAPS: Final = 20
"""The limit on overlaps listed below a table."""


def tables(reports: Sequence[SpecReport], output: str) -> str:
    """Return the tables of all specs, rendered for their output."""
    stream = sys.stdout if output == STANDARD_STREAM else io.StringIO()
    return "\n".join(
        render_table(_COLUMNS, list(map(_row, report.entries)), _title(report), stream)
        + "".join(
            f"{line}\n" for line in (*_undecided(report), *_in_model(report), *_overlaps(report))
        )
        for report in reports
        if report.kind
    )


def _title(report: SpecReport) -> str:
    return f"{report.source} ({report.kind}, {_entries(len(report.entries))})"


def _row(report: EntryReport) -> Sequence[str]:
    return (
        _line(report.entry),
        *map(_cell, report.answers.values()),
        _count(report.overlap),
        report.entry.matcher,
        report.payload,
    )


def _cell(answer: Answer | None) -> str:
    return _NOT_ASKED if answer is None else _CELLS[answer.verdict]


def _count(overlap: EntryOverlap | None) -> str:
    """Return the number of earlier entries that an entry overlaps."""
    if overlap is None:
        return ""
    is_exact = overlap.at_most == len(overlap.winners)
    return f"{overlap.at_most:,}" if is_exact else f"<={overlap.at_most:,}"


def _undecided(report: SpecReport) -> Iterator[str]:
    """Yield the footnotes that explain question marks."""
    for undecided in report.undecided():
        question = undecided.question.replace("_", " ")
        first = undecided.entries[0].entry
        more = f" and {len(undecided.entries) - 1:,} more" if len(undecided.entries) > 1 else ""
        yield f"not decided: {question}: line {_line(first)}{more}: {undecided.reason}"


def _in_model(report: SpecReport) -> Iterator[str]:
    """Yield the footnotes on the dispatches that entries configure in the model."""
    for entry in report.entries:
        name = f"in the model: line {_line(entry.entry)}: '{entry.entry.matcher}'"
        if entry.in_model == ():
            yield f"{name} configures nothing"
        for match in entry.in_model or ():
            words = _WORDS[match.answer.verdict]
            reason = f": {match.answer.reason}" if match.answer.reason else ""
            yield f"{name} configures {match.problem} in {match.dispatch}: {words}{reason}"


def _overlaps(report: SpecReport) -> Iterator[str]:
    """Yield the footnotes on entries that overlap earlier entries."""
    result = [
        (entry_report.entry, entry_report.overlap)
        for entry_report in report.entries
        if entry_report.overlap is not None
    ]
    for entry, overlap in result[:_MOST_OVERLAPS]:
        first = overlap.winners[0]
        more = f", and up to {overlap.at_most - 1:,} more do" if overlap.at_most > 1 else ""
        yield (
            f"overlap: line {_line(entry)}: '{entry.matcher}' matches {first.witness}, which "
            f"'{first.entry.matcher}' (line {_line(first.entry)}) takes first{more}"
        )
    if len(result) > _MOST_OVERLAPS:
        yield f"overlap: {len(result) - _MOST_OVERLAPS:,} more; --format=json lists them all"


def _line(entry: Entry) -> str:
    return str(entry.place.line) if entry.place else "?"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"
