"""Findings, which are diagnostics with a rule: their places and fixes, and their formats for code review tools.

The formats are SARIF 2.1.0, an OASIS format, and workflow commands of GitHub Actions. The commands are described in
"Workflow commands for GitHub Actions" of GitHub's documentation. Their escaping follows the package `@actions/core`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tuninglink.checking.entry_answers import Answer
from tuninglink.escaping import escaped
from tuninglink.iree.lowering_configs import STAGES, SUBGROUP_SIZE, WORKGROUP_SIZE
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, Place, Replacement, Severity
from tuninglink.mlir.rendering import code_of
from tuninglink.rules import Rule
from tuninglink.spaces.knob_reference import entries_of_knob
from tuninglink.specs.verification.faults import KnobPlaces


def knob_place(answer: Answer | None, at: Place | None, places: KnobPlaces) -> Place | None:
    """Return the place of the first knob in the answer about a configuration, or of the attribute that lacks the knob.

    Args:
        answer: the answer, None without one.
        at: the place of the entry.
        places: finds knobs in the text of the spec.
    """
    if answer is None or not answer.knobs:
        return None
    entries = entries_of_knob(answer.knobs[0])
    is_translation = entries[0] in _TRANSLATION_KNOBS
    whole = names.TRANSLATION_INFO if is_translation else names.LOWERING_CONFIG
    candidates = (places.find(at, entry) for entry in (*entries, whole))
    return next((place for place in candidates if place != at), None)


_TRANSLATION_KNOBS: Final = frozenset({WORKGROUP_SIZE, SUBGROUP_SIZE, STAGES})
"""The knobs that a `translation_info` has."""


def fix(answer: Answer | None, at: Place | None, places: KnobPlaces) -> tuple[Replacement, ...]:
    """Return the replacements for the nearest valid configuration, if the spec's text contains all replaced values.

    Args:
        answer: see `knob_place`.
        at: see `knob_place`.
        places: see `knob_place`.
    """
    replaced = () if answer is None else answer.replaced
    parts = [places.revalued(at, name, value) for name, value in replaced]
    return tuple(chain.from_iterable(parts)) if all(parts) else ()


_LEVELS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.REMARK: "note",
    Severity.NOTE: "note",
}
_RULES: Final = tuple(Rule)


def to_sarif(findings: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return a SARIF log with one run, whose results are diagnostics with a rule."""
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
        "defaultConfiguration": {"level": _LEVELS[Severity(rule.severity)]},
    }


def _result(diagnostic: Diagnostic) -> dict[str, Any]:
    assert diagnostic.rule is not None
    placeless = [note.message for note in diagnostic.notes if note.place is None]
    sarif_result: dict[str, Any] = {
        "ruleId": diagnostic.rule.value,
        "ruleIndex": _RULES.index(diagnostic.rule),
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": "\n".join([diagnostic.message, *placeless])},
        "locations": [] if diagnostic.place is None else [_location(diagnostic.place)],
    }
    related = [_related(note, note.place) for note in diagnostic.notes if note.place is not None]
    if related:
        sarif_result["relatedLocations"] = related
    if diagnostic.fix:
        sarif_result["fixes"] = [_fix(diagnostic)]
    return sarif_result


def _fix(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return the replacements of a finding, all in one file."""
    is_name = diagnostic.rule in (Rule.UNREAD_KNOB, Rule.UNKNOWN_NAME)
    source = "suggested name" if is_name else "values of the nearest valid configuration"
    replacements = diagnostic.fix
    written = [
        {
            "deletedRegion": {
                "startLine": part.start.line,
                "startColumn": part.start.column,
                "endLine": part.end.line,
                "endColumn": part.end.column,
            },
            "insertedContent": {"text": part.text},
        }
        for part in replacements
    ]
    artifact = _location(replacements[0].start)["physicalLocation"]["artifactLocation"]
    return {
        "description": {"text": f"Take the {source}."},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": written}],
    }


def _related(diagnostic: Diagnostic, place: Place) -> dict[str, Any]:
    return {**_location(place), "message": {"text": diagnostic.message}}


def _location(place: Place) -> dict[str, Any]:
    path = Path(place.file)
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}
    }
    if place.line > 0:
        physical["region"] = {"startLine": place.line, "startColumn": max(place.column, 1)}
    return {"physicalLocation": physical}


_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def to_github(diagnostic: Diagnostic) -> str:
    """Return the workflow command for a diagnostic with a rule, one line without its terminator."""
    assert diagnostic.rule is not None
    properties: dict[str, str] = {}
    if diagnostic.place is not None:
        properties["file"] = diagnostic.place.file
        if diagnostic.place.line > 0:
            properties |= {
                "line": str(diagnostic.place.line),
                "col": str(max(diagnostic.place.column, 1)),
            }
    properties["title"] = diagnostic.rule.description
    written = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    text = "\n".join([f"{diagnostic.message}{code_of(diagnostic)}", *map(str, diagnostic.notes)])
    return f"::{_COMMANDS.get(diagnostic.severity, 'notice')} {written}::{_escape(text)}"


def _escape(text: str) -> str:
    return escaped(text, lines=True).replace("%", "%25").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
