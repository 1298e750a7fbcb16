"""Verification of diagnostics against comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tuninglink.errors import Diagnostic, Place, Severity
from tuninglink.mlir import note
from tuninglink.opt import Expectations

if TYPE_CHECKING:
    from pathlib import Path

ERROR, WARNING, REMARK = Severity.ERROR, Severity.WARNING, Severity.REMARK


def _at(line: int | None, message: str, severity: Severity = ERROR) -> Diagnostic:
    return Diagnostic(severity, message, Place("f", line, 1) if line else None)


def _check(text: str, *emitted: Diagnostic, only_expected: bool = False) -> list[str]:
    reported: list[Diagnostic] = []
    expectations = Expectations("f", text.encode(), reported.append, only_expected=only_expected)
    for diagnostic in emitted:
        expectations.check(diagnostic)
    assert expectations.verify() == (not reported)
    return [str(diagnostic) for diagnostic in reported]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("x // expected-error {{bad}}", 1, "this is bad indeed"),
        ("// expected-error@+1 {{bad}}\nx", 2, "bad"),
        ("// expected-error@+2 {{bad}}\n\nx", 3, "bad"),
        ("x\n// expected-error@-1{{bad}}", 1, "bad"),
        ("// expected-error@below {{bad}}\nx", 2, "bad"),
        ("// expected-error@below {{bad}}\n// expected-note@below{{x}}\nx", 3, "bad"),
        ("x\n// expected-note@above {{x}}\n// expected-error@above {{bad}}", 1, "bad"),
        ("// expected-error@unknown {{bad}}", None, "bad"),
        ("x // expected-error {{a {b} }}", 1, "a {b} "),
        ("x // expected-error {{bad}}   ", 1, "bad"),
        ("x // expected-error {{a.*b}}", 1, "a.*b"),
        ("x // expected-error-re {{'{{[a-z]+}}' has {{[[:digit:]]+}} (two) {{a|b}}}}", 1, "'op' has 12 (two) b"),
    ],
)  # fmt: skip
def test_meets(text: str, line: int | None, message: str) -> None:
    reported = _check(text, _at(line, message))
    assert [message for message in reported if "expected note" not in message] == []


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("x // expected-error {{bad}}", 2, "bad"),
        ("x // expected-error {{bad}}", None, "bad"),
        ("// expected-error@unknown {{bad}}", 1, "bad"),
        ("x // expected-error {{bad}}", 1, "good"),
        ("x // expected-error {{a.*b}}", 1, "axb"),
        ("x // expected-error-re {{a{{[0-9]}}}}", 1, "ab"),
    ],
)
def test_does_not_meet(text: str, line: int | None, message: str) -> None:
    reported = _check(text, _at(line, message))
    assert any(f"unexpected error: {message}" in error for error in reported)
    assert any("was not produced" in error for error in reported)


def test_a_comment_matches_several_diagnostics() -> None:
    assert _check("x // expected-error {{bad}}", _at(1, "bad"), _at(1, "bad again")) == []


def test_notes_are_expected_like_others() -> None:
    emitted = Diagnostic(ERROR, "bad", Place("f", 1, 1), (note("why", Place("f", 2, 1)),))
    text = "x // expected-error {{bad}}\ny"
    assert _check(f"{text} // expected-note {{{{why}}}}", emitted) == []
    assert _check(text, emitted) == ["f:2:1: error: unexpected note: why"]


def test_reports_a_difference_in_severity_only() -> None:
    reported = _check("x // expected-warning {{bad}}", _at(1, "bad"))
    assert reported == [
        "f:1:6: error: 'error' diagnostic emitted when expecting a 'warning'",
        'f:1:6: error: expected warning "bad" was not produced',
    ]


def test_can_ignore_unexpected_diagnostics() -> None:
    text = "x // expected-remark {{fine}}"
    assert _check(text, _at(1, "fine", REMARK), _at(1, "bad"), only_expected=True) == []
    assert _check(text, _at(1, "bad"), only_expected=True) == [
        'f:1:6: error: expected remark "fine" was not produced'
    ]


def test_rejects_invalid_regular_expressions() -> None:
    assert _check("x // expected-error-re {{a{{b}}") == [
        "f:1:6: error: found start of regex with no end '}}'"
    ]
    (reported,) = _check("x // expected-error-re {{a{{(}}}}")
    assert reported.startswith("f:1:6: error: invalid regex: ")


def test_looks_into_the_file_of_a_diagnostic(tmp_path: Path) -> None:
    other = tmp_path / "other.mlir"
    other.write_text("// expected-warning@+1 {{there}}\n\n// expected-error {{missing}}\n")
    emitted = Diagnostic(WARNING, "it is there", Place(str(other), 2, 1))
    assert _check("", emitted) == [f'{other}:3:4: error: expected error "missing" was not produced']
