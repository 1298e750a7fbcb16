"""The tables of `tuninglink check`."""

from __future__ import annotations

import io
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TextIO

from tuninglink.cli.folding import folded
from tuninglink.cli.terminal import render_table
from tuninglink.files import STANDARD_STREAM
from tuninglink.mlir.diagnostics import Diagnostic, Severity, note
from tuninglink.rules import Rule
from tuninglink.solver.answers import Verdict
from tuninglink.specs.preprocessing import PREPROCESSING_SPEC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
_FEW: Final = 20
"""The limit on entries that are listed without --all."""

_MOST_LINES: Final = 5
"""The limit on the lines of further findings of a rule."""

_MOST_OVERLAPS: Final = 20
"""The limit on overlaps listed below a table."""


def shown_findings(reports: Iterable[SpecReport]) -> Iterator[Diagnostic]:
    """Yield the findings to show: one example for each rule and severity in a spec, with the number of the others."""
    for report in reports:
        findings = report.diagnostics()
        if report.selection.is_complete:
            yield from findings
            continue
        groups: dict[tuple[Rule | None, Severity], list[Diagnostic]] = defaultdict(list)
        for finding in findings:
            groups[finding.rule, finding.severity].append(finding)
        for (rule, _), (first, *others) in groups.items():
            if not others or rule in (None, Rule.UNREADABLE):
                yield from (first, *others)
                continue
            lines = [*dict.fromkeys(str(other.place.line) for other in others if other.place)]
            at = (
                f", at lines {', '.join(lines[:_MOST_LINES])}{', ...' * (len(lines) > _MOST_LINES)}"
            )
            more = note(f"{len(others):,} more{at if lines else ''}; --all shows them")
            yield replace(first, notes=(*first.notes, more))


def tables(reports: Sequence[SpecReport], output: str) -> str:
    """Return the tables of all specs, or the counts for large ones, rendered for their output."""
    stream = sys.stdout if output == STANDARD_STREAM else io.StringIO()
    return "\n".join(
        _table(report, stream)
        if len(report.entries) <= _FEW or report.selection.is_complete
        else folded(_counts(report), stream)
        for report in reports
        if report.kind
    )


def _table(report: SpecReport, stream: TextIO) -> str:
    """Return the table of a spec, one row for each entry, and the notes below it."""
    if report.kind == PREPROCESSING_SPEC:
        return folded(f"{report.source} ({report.kind})\n", stream)
    rows = list(map(_row, report.entries))
    notes = (*_undecided(report), *_in_model(report), *_overlaps(report), *_hidden(report))
    table = render_table(_COLUMNS, rows, _title(report), stream)
    return table + folded("".join(f"{line}\n" for line in notes), stream)


def _counts(report: SpecReport) -> str:
    """Return the numbers of answers to each question, for a spec with many entries."""
    lines = [_title(report)]
    for position, question in enumerate(_COLUMNS[1:5]):
        answers = [list(entry.answers.values())[position] for entry in report.entries]
        counts = Counter(_cell(answer) for answer in answers)
        if set(counts) != {_NOT_ASKED}:
            listed = (f"{counts[cell]:,} {cell}" for cell in (*_CELLS.values(), _NOT_ASKED))
            lines.append(f"{question}: {', '.join(text for text in listed if text[0] != '0')}")
    overlapping = sum(entry.overlap is not None for entry in report.entries)
    lines += [f"overlaps: {_entries(overlapping)}"] if overlapping else []
    lines += [*_hidden(report), "--all shows every entry, and why it is not decided"]
    return "".join(f"{line}\n" for line in lines)


def _hidden(report: SpecReport) -> Iterator[str]:
    """Yield the footnote on findings that are not reported by default."""
    if report.selection.selected:
        return
    unlisted = {Rule.UNDECIDED, *report.selection.ignored}
    reported = set(report.diagnostics())
    findings = (finding for finding in report.findings() if finding not in reported)
    hidden = Counter(
        finding.rule.value for finding in findings if finding.rule and finding.rule not in unlisted
    )
    if hidden:
        counts = ", ".join(f"{count:,} {code}" for code, count in hidden.items())
        yield f"remarks: {counts}; --all shows them"


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
