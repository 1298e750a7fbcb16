"""Reading and comparison of two reports."""

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
"""The supported version of each format."""

LEAST_CHANGE: Final = 0.05
"""The smallest relevant change of a time, which is about the width of the interval of two runs of the same code."""


def compare_reports(old: Path, new: Path, least: float = LEAST_CHANGE) -> list[Change]:
    """Return the changes from one report to a later one.

    Args:
        old: an explanation or a tuning report, as JSON.
        new: a later one of the same kind.
        least: the smallest relevant change of a time, as a fraction.

    Raises:
        TuninglinkError: a file cannot be read, is not a report, or the reports are of different kinds.
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
        message = (
            f"'{old}' or '{new}' is not a complete report: {type(failure).__name__}: {failure}"
        )
        raise TuninglinkError(error(message)) from None


def _read(path: Path) -> Object:
    try:
        loads = json.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise TuninglinkError(error(f"cannot read '{path}': {failure.strerror}")) from None
    except UnicodeDecodeError:
        raise TuninglinkError(error(f"'{path}' is not text")) from None
    except json.JSONDecodeError as failure:
        place = Place(str(path), failure.lineno, failure.colno)
        raise TuninglinkError(error(f"invalid JSON: {failure.msg}", place)) from None
    version = _VERSIONS.get(loads.get("format", "")) if isinstance(loads, dict) else None
    if version is None or loads.get("version") != version:
        remedy = note("expected a report of 'tuninglink explain --format json' or 'tune --report'")
        message = f"'{path}' is not a report of a supported version"
        raise TuninglinkError(error(message, notes=[remedy]))
    report: Object = loads
    return report
