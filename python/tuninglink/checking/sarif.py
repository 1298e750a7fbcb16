"""Findings in SARIF 2.1.0, the OASIS format for the results of static analysis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from tuninglink.checking.findings import Rule
from tuninglink.mlir.diagnostics import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tuninglink.checking.findings import Finding
    from tuninglink.mlir.diagnostics import Diagnostic, Place

_LEVELS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.REMARK: "note",
    Severity.NOTE: "note",
}
_RULES: Final = tuple(Rule)


def to_sarif(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return a SARIF log with one run, whose results are findings."""
    from importlib import metadata  # noqa: PLC0415 - no other format needs the version

    version = metadata.version("tuninglink")
    driver = {"name": "tuninglink", "version": version, "rules": list(map(_rule, _RULES))}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": list(map(_result, findings))}],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.value,
        "shortDescription": {"text": rule.description},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding) -> dict[str, Any]:
    diagnostic = finding.diagnostic
    placeless = [note.message for note in diagnostic.notes if note.place is None]
    sarif_result: dict[str, Any] = {
        "ruleId": finding.rule.value,
        "ruleIndex": _RULES.index(finding.rule),
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": "\n".join([diagnostic.message, *placeless])},
        "locations": [] if diagnostic.place is None else [_location(diagnostic.place)],
    }
    related = [_related(note, note.place) for note in diagnostic.notes if note.place is not None]
    if related:
        sarif_result["relatedLocations"] = related
    return sarif_result


def _related(said: Diagnostic, place: Place) -> dict[str, Any]:
    return {**_location(place), "message": {"text": said.message}}


def _location(place: Place) -> dict[str, Any]:
    path = Path(place.file)
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}
    }
    if place.line > 0:
        physical["region"] = {"startLine": place.line, "startColumn": max(place.column, 1)}
    return {"physicalLocation": physical}
