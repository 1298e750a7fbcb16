"""Findings as SARIF and as workflow commands: what must be escaped is, and places are where tools look for them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from tuninglink.checking import Selection, read_codes, to_github, to_sarif
from tuninglink.errors import Diagnostic, Place, Replacement, Severity, escaped
from tuninglink.mlir import note
from tuninglink.rules import Rule


def finding(message: str, file: str) -> Diagnostic:
    place = Place(file, 3, 7)
    notes = (note("elsewhere", Place("b.mlir", 1, 1)), note("in words"))
    return Diagnostic(Severity.ERROR, message, place, notes, rule=Rule.INVALID)


TEXTS = st.text("%\r\n\x1b:,;=0DA a\u2028é")


@given(TEXTS, TEXTS.filter(bool))
def test_a_workflow_command_is_one_line_and_gives_back_its_text(message: str, file: str) -> None:
    line = to_github(finding(message, file))
    assert "\n" not in line
    assert not {"\r", "\x1b"} & set(line)
    command, _, said = line.removeprefix("::").partition("::")
    word, _, written = command.partition(" ")
    properties = dict(each.split("=", 1) for each in written.split(","))
    assert word == "error"
    assert _unescaped(properties["file"]) == escaped(file, lines=True)
    assert (properties["line"], properties["col"]) == ("3", "7")
    assert _unescaped(said).startswith(escaped(f"{message} [", lines=True))


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
    nowhere = Diagnostic(Severity.WARNING, "odd", rule=Rule.STRUCTURE)
    (result,) = to_sarif([nowhere])["runs"][0]["results"]
    assert result["level"] == "warning"
    assert result["locations"] == []
    assert (
        to_github(nowhere)
        == "::warning title=The structure of the spec is unsound::odd [spec-structure]"
    )


def test_a_fix_replaces_parts_of_a_file() -> None:
    start, end = Place("a.mlir", 3, 7), Place("a.mlir", 3, 12)
    fixed = replace(finding("m", "a.mlir"), fix=(Replacement(start, end, "[1, 2]"),))
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


OPEN = Diagnostic(Severity.REMARK, "?", rule=Rule.UNDECIDED)
MINOR = Diagnostic(Severity.REMARK, "meh", rule=Rule.DISCOURAGED)
DEAD = Diagnostic(Severity.WARNING, "!", rule=Rule.UNREACHABLE)
OLD = Diagnostic(Severity.REMARK, "old", rule=Rule.OLD_SYNTAX)
LOST = Diagnostic(Severity.ERROR, "lost", rule=Rule.UNREADABLE)
FINDINGS = (OPEN, MINOR, DEAD, OLD, LOST)


def test_only_what_is_undecided_changes_under_strict() -> None:
    as_error = replace(OPEN, severity=Severity.ERROR)
    assert Selection(is_strict=True).reported(FINDINGS) == [as_error, DEAD, OLD, LOST]


def test_remarks_about_entries_are_reported_where_they_are_asked_for() -> None:
    assert Selection().reported(FINDINGS) == [DEAD, OLD, LOST]
    assert Selection(is_complete=True).reported(FINDINGS) == [*FINDINGS]
    assert Selection(selected=read_codes("discouraged-configuration")).reported(FINDINGS) == [
        MINOR,
        LOST,
    ]


def test_what_is_ignored_is_not_reported_but_a_spec_that_cannot_be_read_is() -> None:
    ignored = read_codes("unreachable-entry, unreadable-spec")
    assert Selection(ignored=ignored).reported(FINDINGS) == [OLD, LOST]
    assert Selection(selected=ignored, ignored=ignored).reported(FINDINGS) == [LOST]


def test_an_unknown_code_is_named_with_the_one_that_is_meant() -> None:
    with pytest.raises(
        ValueError, match="no rule 'unreachable-entri'; did you mean 'unreachable-entry'"
    ):
        read_codes("undecided,unreachable-entri")
