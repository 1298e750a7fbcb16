"""Reading two reports and comparing them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tuninglink.comparing.explained_dispatches import compare_explanations
from tuninglink.comparing.tunings import compare_tunings
from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import Place, error, note

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.comparing.changes import Change

    Object = dict[str, Any]

_EXPLANATION: Final = "tuninglink.explanation"
_TUNING: Final = "tuninglink.tuning"
_VERSIONS: Final = {_EXPLANATION: 2, _TUNING: 1}
"""The version of each form that is read."""

LEAST_CHANGE: Final = 0.05
"""The smallest change of a time that counts; the intervals of two runs of the same code are about as wide."""


def compare_reports(old: Path, new: Path, least: float = LEAST_CHANGE) -> list[Change]:
    """Returns what changed from one report to a later one.

    Args:
        old: an explanation or a report of tuning, as JSON.
        new: a later one of the same kind.
        least: the smallest change of a time that counts, as a fraction.

    Raises:
        TuninglinkError: a file cannot be read, is no report, or the reports are not of the same kind.
    """
    before, after = _read(old), _read(new)
    kinds = before["format"], after["format"]
    if kinds[0] != kinds[1]:
        notes = [note(f"'{path}': {kind}") for path, kind in zip((old, new), kinds, strict=True)]
        raise TuninglinkError(error("the reports are not of the same kind", notes=notes))
    try:
        if kinds[0] == _EXPLANATION:
            return list(compare_explanations(before, after))
        return list(compare_tunings(before, after, least))
    except (KeyError, TypeError, AttributeError) as failure:
        message = f"'{old}' or '{new}' is no complete report: {type(failure).__name__}: {failure}"
        raise TuninglinkError(error(message)) from None


def _read(path: Path) -> Object:
    try:
        loads = json.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise TuninglinkError(error(f"cannot read '{path}': {failure.strerror}")) from None
    except UnicodeDecodeError:
        raise TuninglinkError(error(f"'{path}' is no text")) from None
    except json.JSONDecodeError as failure:
        place = Place(str(path), failure.lineno, failure.colno)
        raise TuninglinkError(error(f"no JSON: {failure.msg}", place)) from None
    version = _VERSIONS.get(loads.get("format", "")) if isinstance(loads, dict) else None
    if version is None or loads.get("version") != version:
        remedy = note("expected what 'tuninglink explain --format json' or 'tune --report' writes")
        message = f"'{path}' is no report, or one of another version"
        raise TuninglinkError(error(message, notes=[remedy]))
    report: Object = loads
    return report
