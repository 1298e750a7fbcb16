"""Comparison of two reports, or of two specs: what changed from one to a later one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tuninglink.comparing.changes import (
    LEAST_CHANGE,
    Change,
    ChangeKind,
    ComparedItem,
    Comparison,
)
from tuninglink.comparing.report_items import compare_explanations, compare_tunings
from tuninglink.comparing.spec_entries import compare_specs
from tuninglink.errors import TuninglinkError
from tuninglink.files import cannot
from tuninglink.mlir.diagnostics import Place, error, note, thread_context
from tuninglink.pages import render_page
from tuninglink.plain_data import plain
from tuninglink.specs.spec import load_spec

if TYPE_CHECKING:
    Object = dict[str, Any]

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


def compare(old: Path, new: Path, least: float = LEAST_CHANGE) -> Comparison:
    """Return the changes from one report or spec to a later one.

    Args:
        old: an explanation or a tuning report, as JSON, or a spec.
        new: a later one of the same kind.
        least: the smallest relevant change of a time, as a fraction.

    Raises:
        TuninglinkError: a file cannot be read, is neither a report nor a spec, or the two are of different kinds.
    """
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
    except (KeyError, TypeError, AttributeError) as failure:
        message = (
            f"'{old}' or '{new}' is not a complete report: {type(failure).__name__}: {failure}"
        )
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
    try:
        loads = json.loads(content.decode())
    except UnicodeDecodeError:
        raise TuninglinkError(error(f"'{path}' is not text")) from None
    except json.JSONDecodeError as failure:
        place = Place(str(path), failure.lineno, failure.colno)
        raise TuninglinkError(error(f"invalid JSON: {failure.msg}", place)) from None
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
