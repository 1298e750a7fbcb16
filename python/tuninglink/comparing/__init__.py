"""Comparison of two reports or two specs: the changes from one to a later one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tuninglink.comparing.changes import (
    LEAST_CHANGE,
    Change,
    ChangeKind,
    ComparedItem,
    Comparison,
    Estimate,
    Side,
    Source,
    paired,
)
from tuninglink.comparing.report_items import compare_explanations, compare_tunings
from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.files import cannot, load_json
from tuninglink.matching.reader import MatcherReader
from tuninglink.mlir.diagnostics import error, note, thread_context
from tuninglink.pages import render_page
from tuninglink.plain_data import plain
from tuninglink.specs.entry_settings import provenance_of, rewriting_words, settings_of
from tuninglink.specs.spec import load_spec

if TYPE_CHECKING:
    from tuninglink.matching.matcher import Matcher
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry

    Object = dict[str, Any]
    ReadEntry = tuple[Spec, Entry, Matcher]


__all__ = [
    "LEAST_CHANGE",
    "Change",
    "ChangeKind",
    "ComparedItem",
    "Comparison",
    "compare",
    "to_html",
]

_EXPLANATION: Final = "tuninglink.explanation"
_TUNING: Final = "tuninglink.tuning"
_VERSIONS: Final = {_EXPLANATION: 2, _TUNING: 1}
"""The supported version of each format."""

_SPEC: Final = "a spec"

_REPORT: Final = "report.json"
"""The name of the report in a directory that the tuner writes."""


def compare(old: Path, new: Path, least: float = LEAST_CHANGE) -> Comparison:
    """Return the changes from one report or spec to a later one.

    Args:
        old: an explanation or a tuning report, as JSON, a directory with a tuning report, or a spec.
        new: a later one of the same kind.
        least: the smallest relevant change of a time, as a fraction.

    Raises:
        TuninglinkError: a file cannot be read, is neither a report nor a spec, or the two are of different kinds.
    """
    old, new = (path / _REPORT if path.is_dir() else path for path in (old, new))
    reports = _report(old), _report(new)
    kinds = [_SPEC if report is None else report["format"] for report in reports]
    if kinds[0] != kinds[1]:
        notes = [note(f"'{path}': {kind}") for path, kind in zip((old, new), kinds, strict=True)]
        raise TuninglinkError(error("the files are not of the same kind", notes=notes))
    before, after = reports
    if before is None or after is None:
        context = thread_context()
        return compare_specs(load_spec(old, context=context), load_spec(new, context=context))
    paths = str(old), str(new)
    try:
        if kinds[0] == _EXPLANATION:
            return compare_explanations(paths, before, after)
        return compare_tunings(paths, before, after, least)
    except (LookupError, TypeError, AttributeError, ValueError) as failure:
        message = f"'{old}' or '{new}' is not a complete report: {reason_for_user(failure)}"
        raise TuninglinkError(error(message)) from None


def _report(path: Path) -> Object | None:
    """Return a report; None for a file that is not JSON, which may be a spec.

    Raises:
        TuninglinkError: the file cannot be read, or is JSON and not a report.
    """
    try:
        content = path.read_bytes()
    except OSError as failure:
        raise TuninglinkError(cannot("read", str(path), failure)) from None
    if path.suffix != ".json" and not content.lstrip().startswith((b"{", b"[")):
        return None
    loads = load_json(content, str(path))
    version = _VERSIONS.get(loads.get("format", "")) if isinstance(loads, dict) else None
    if version is None or loads.get("version") != version:
        remedy = note(
            "expected a report of 'tuninglink explain --format json' or 'tune --report', or a spec"
        )
        message = f"'{path}' is not a report of a supported version"
        raise TuninglinkError(error(message, notes=[remedy]))
    report: Object = loads
    return report


def to_html(comparison: Comparison) -> str:
    """Return a comparison as a page."""
    return render_page(__name__, "comparison.html", plain(comparison))


def compare_specs(old: Spec, new: Spec) -> Comparison:
    """Return the changes of the entries: added and removed ones, and other configurations.

    Entries are paired by the conditions of their matchers, or by name if a matcher cannot be read.

    Args:
        old: a spec.
        new: a later one, in the same context.
    """
    items = [
        _compared_entry(before, after)
        for before, after in paired(_read_entries(old), _read_entries(new), _conditions)
    ]
    old_source, new_source = (
        Source(spec.source, {"kind": spec.kind_words, "entries": str(len(spec.entries))})
        for spec in (old, new)
    )
    return Comparison("specs", old_source, new_source, tuple(items))


def _read_entries(spec: Spec) -> list[ReadEntry]:
    reader = MatcherReader(spec.anatomy.table)
    return [(spec, entry, reader.read(entry.matcher)) for entry in spec.entries]


def _conditions(read: ReadEntry) -> object:
    _, entry, matcher = read
    return matcher.predicates if matcher.stop is None else entry.matcher


def _compared_entry(before: ReadEntry | None, after: ReadEntry | None) -> ComparedItem:
    sides = [None if read is None else _side(read) for read in (before, after)]
    names = [f"@{read[1].matcher}" for read in (before, after) if read is not None]
    what = " → ".join(dict.fromkeys(names))
    old, new = sides
    text = ""
    if old is None or new is None:
        text = "added" if old is None else "removed"
    elif old.configuration != new.configuration:
        text = "configuration changed"
    changes = (Change(ChangeKind.CHANGE, what, text),) if text else ()
    return ComparedItem(what, old, new, changes)


def _side(read: ReadEntry) -> Side:
    spec, entry, _ = read
    settings = settings_of(spec, entry)
    provenance = provenance_of(spec.anatomy.table, entry.matcher)
    time = provenance.get("tuned_us")
    words = rewriting_words(spec.anatomy.table, entry.action)
    if words:
        return Side("rewrites", _time(time), configuration=(words,))
    return Side(
        "computed" if settings is None else "configures" if settings else "configures nothing",
        _time(time),
        configuration=tuple(f"{name} = {value}" for name, value in (settings or {}).items()),
    )


def _time(value: object) -> Estimate | None:
    return Estimate(float(value)) if isinstance(value, int | float) else None
