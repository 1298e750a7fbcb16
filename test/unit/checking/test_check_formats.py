"""Findings as SARIF and as workflow commands: what must be escaped is, and places are where tools look for them."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tuninglink.checking.findings import Finding, Rule, to_github, to_sarif
from tuninglink.mlir.diagnostics import Diagnostic, Place, Replacement, Severity, note


def finding(message: str, file: str) -> Finding:
    place = Place(file, 3, 7)
    notes = (note("elsewhere", Place("b.mlir", 1, 1)), note("in words"))
    return Finding(Rule.INVALID, Diagnostic(Severity.ERROR, message, place, notes))


TEXTS = st.text("%\r\n:,;=0DA a\u2028é")


@given(TEXTS, TEXTS.filter(bool))
def test_a_workflow_command_is_one_line_and_gives_back_its_text(message: str, file: str) -> None:
    line = to_github(finding(message, file))
    assert "\n" not in line
    assert "\r" not in line
    command, _, said = line.removeprefix("::").partition("::")
    word, _, written = command.partition(" ")
    properties = dict(each.split("=", 1) for each in written.split(","))
    assert word == "error"
    assert _unescaped(properties["file"]) == file
    assert (properties["line"], properties["col"]) == ("3", "7")
    assert _unescaped(said).startswith(message)


def _unescaped(text: str) -> str:
    """Undo the escapes in one pass, as the runner does."""
    meant = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}
    return re.sub("|".join(meant), lambda found: meant[found[0]], text)


def test_a_log_has_one_run_with_the_rule_and_the_places_of_each_result() -> None:
    log = to_sarif([finding("m % n", "a spec.mlir")])
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "invalid-configuration"
    assert result["message"]["text"] == "m % n\nin words"
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20spec.mlir"},
        "region": {"startLine": 3, "startColumn": 7},
    }
    (related,) = result["relatedLocations"]
    assert related["message"]["text"] == "elsewhere"


def test_what_has_no_place_has_no_location() -> None:
    nowhere = Finding(Rule.STRUCTURE, Diagnostic(Severity.WARNING, "odd"))
    (result,) = to_sarif([nowhere])["runs"][0]["results"]
    assert result["level"] == "warning"
    assert result["locations"] == []
    assert to_github(nowhere) == "::warning title=The structure of the spec is unsound::odd"


def test_a_fix_replaces_parts_of_a_file() -> None:
    start, end = Place("a.mlir", 3, 7), Place("a.mlir", 3, 12)
    plain = finding("m", "a.mlir")
    diagnostic = replace(plain.diagnostic, fix=(Replacement(start, end, "[1, 2]"),))
    fixed = replace(plain, diagnostic=diagnostic)
    (result,) = to_sarif([fixed])["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change == {
        "artifactLocation": {"uri": "a.mlir"},
        "replacements": [
            {
                "deletedRegion": {"startLine": 3, "startColumn": 7, "endLine": 3, "endColumn": 12},
                "insertedContent": {"text": "[1, 2]"},
            }
        ],
    }


def test_only_what_is_undecided_changes_under_strict() -> None:
    open_question = Finding(Rule.UNDECIDED, Diagnostic(Severity.REMARK, "?"))
    assert open_question.strictly().diagnostic.severity is Severity.ERROR
    warned = Finding(Rule.UNREACHABLE, Diagnostic(Severity.WARNING, "!"))
    assert warned.strictly() == warned
