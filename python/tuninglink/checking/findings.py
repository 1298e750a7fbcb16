"""Findings: diagnostics with their rule, and their formats for code review tools.

The formats are SARIF 2.1.0, an OASIS format, and workflow commands of GitHub Actions. The commands are described in
"Workflow commands for GitHub Actions" of GitHub's documentation. Their escaping follows the package `@actions/core`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tuninglink.checking.entry_answers import Answer
from tuninglink.iree.lowering_configs import STAGES, SUBGROUP_SIZE, WORKGROUP_SIZE
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, Place, Replacement, Severity
from tuninglink.spaces.knob_reference import entries_of_knob
from tuninglink.specs.verification.faults import KnobPlaces


class Rule(Enum):
    """A kind of finding; the value is its identifier in reports, which does not change."""

    STRUCTURE = "spec-structure"
    MATCHES_NOTHING = "matches-nothing"
    INVALID = "invalid-configuration"
    DISCOURAGED = "discouraged-configuration"
    DOES_NOT_COMPILE = "does-not-compile"
    STACK_OVERFLOW = "stack-overflow"
    WRONG_RESULT = "wrong-result"
    SLOW = "slow-to-compile"
    NO_EFFECT = "no-effect"
    UNREACHABLE = "unreachable-entry"
    UNDECIDED = "undecided"

    @property
    def description(self) -> str:
        """The heading for violations of the rule."""
        return _DESCRIPTIONS[self]

    @property
    def severity(self) -> Severity:
        """The default severity of its findings."""
        return _SEVERITIES.get(self, Severity.ERROR)


_DESCRIPTIONS = {
    Rule.STRUCTURE: "The structure of the spec is unsound",
    Rule.MATCHES_NOTHING: "The entry matches nothing",
    Rule.INVALID: "The configuration is invalid",
    Rule.DISCOURAGED: "The compiler's own constraints reject the configuration",
    Rule.DOES_NOT_COMPILE: "The configured program does not compile",
    Rule.STACK_OVERFLOW: "The configured program overflows the stack of the runtime's workers",
    Rule.WRONG_RESULT: "The compiler generates wrong code for the configuration",
    Rule.SLOW: "The configuration may take minutes to compile",
    Rule.NO_EFFECT: "Code generation does not read what the entry sets",
    Rule.UNREACHABLE: "The entry is never reached",
    Rule.UNDECIDED: "A question about the entry was not decided",
}
_SEVERITIES = {
    Rule.DISCOURAGED: Severity.WARNING,
    Rule.STACK_OVERFLOW: Severity.WARNING,
    Rule.WRONG_RESULT: Severity.WARNING,
    Rule.SLOW: Severity.WARNING,
    Rule.NO_EFFECT: Severity.WARNING,
    Rule.UNREACHABLE: Severity.WARNING,
    Rule.UNDECIDED: Severity.REMARK,
}


@dataclass(frozen=True)
class Finding:
    """A fault of a spec or an entry, or an undecided question about it.

    Attributes:
        rule: the kind of the finding.
        diagnostic: its message.
    """

    rule: Rule
    diagnostic: Diagnostic

    def strictly(self) -> Finding:
        """Return the finding under `--strict`, where undecided questions are errors."""
        if self.rule is not Rule.UNDECIDED:
            return self
        return replace(self, diagnostic=replace(self.diagnostic, severity=Severity.ERROR))


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
    if diagnostic.fix:
        sarif_result["fixes"] = [_fix(finding)]
    return sarif_result


def _fix(finding: Finding) -> dict[str, Any]:
    """Return the replacements of a finding, all in one file."""
    is_name = finding.rule is Rule.STRUCTURE
    source = "suggested name" if is_name else "values of the nearest valid configuration"
    replacements = finding.diagnostic.fix
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


def to_github(finding: Finding) -> str:
    """Return the workflow command for a finding, one line without its terminator."""
    diagnostic = finding.diagnostic
    properties: dict[str, str] = {}
    if diagnostic.place is not None:
        properties["file"] = diagnostic.place.file
        if diagnostic.place.line > 0:
            properties |= {
                "line": str(diagnostic.place.line),
                "col": str(max(diagnostic.place.column, 1)),
            }
    properties["title"] = finding.rule.description
    written = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    text = "\n".join([diagnostic.message, *map(str, diagnostic.notes)])
    return f"::{_COMMANDS.get(diagnostic.severity, 'notice')} {written}::{_escape(text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
