"""Diagnostics as text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from tuninglink.cli.terminal import render_table
from tuninglink.errors import Diagnostic, Place, Severity
from tuninglink.mlir import (
    Sources,
    error,
    join_path,
    note,
    print_diagnostic,
    render,
    show_lines_of,
    split_path,
)

if TYPE_CHECKING:
    from pathlib import Path

TEXT = b"first line\n\tsecond \xc3\xa9 line\r\n\nbad \xff\x07 byte\nlast"


@pytest.fixture
def sources() -> Sources:
    return Sources({"a.mlir": TEXT})


def test_shows_place_line_caret_and_notes(sources: Sources) -> None:
    there = Place("a.mlir", 1, 7)
    diagnostic = error(
        "wrong", there, [note("here, too", there), note("and there", Place("a.mlir", 5, 1))]
    )
    assert render(diagnostic, sources) == (
        "a.mlir:1:7: error: wrong\n"
        "first line\n"
        "      ^\n"
        "a.mlir:1:7: note: here, too\n"
        "a.mlir:5:1: note: and there\n"
        "last\n"
        "^\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (Place("a.mlir", 2, 2), "        second é line\n        ^\n"),
        (Place("a.mlir", 2, 12), "        second é line\n                 ^\n"),
        (Place("a.mlir", 4, 8), "bad \ufffd\ufffd byte\n       ^\n"),
        (Place("a.mlir", 5, 7), "last\n      ^\n"),
        (Place("a.mlir", 3, 1), ""),
        (Place("a.mlir", 6, 1), ""),
        (Place("a.mlir", 0, 0), ""),
        (Place("no such file", 1, 1), ""),
    ],
)
def test_puts_the_caret_where_the_eye_looks(sources: Sources, place: Place, shown: str) -> None:
    assert render(error("wrong", place), sources) == f"{place}: error: wrong\n{shown}"


def test_shows_a_diagnostic_without_a_place() -> None:
    assert render(error("wrong")) == "error: wrong\n"
    assert render(error("wrong"), nowhere="tool") == "tool: error: wrong\n"


def test_reads_lines_from_files(tmp_path: Path) -> None:
    path = tmp_path / "input.mlir"
    path.write_text("some text\n")
    place = Place(str(path), 1, 6)
    # A location may name any file, of which no line is shown unless it is an input.
    assert render(error("wrong", place)) == f"{path}:1:6: error: wrong\n"
    show_lines_of(str(path))
    assert render(error("wrong", place)).endswith("some text\n     ^\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb\x07\r\x7f\x9b", "a\\1B[31mb\\07\\0D\\7F\\C2\\9B"),
        ("one\ntwo", "one\ntwo"),
        ("one\n::stop-commands::x", "one\\0A::stop-commands::x"),
        ("one\n \t::error::x", "one\\0A \\09::error::x"),
        ("one\n##[group]x\n", "one\\0A##[group]x\n"),
        ("\u202eabc\u2028é\udcff", "\\E2\\80\\AEabc\\E2\\80\\A8é\ufffd"),
    ],
)
def test_characters_that_do_not_print_are_escaped(text: str, shown: str) -> None:
    assert render(Diagnostic(Severity.ERROR, text)) == f"error: {shown}\n"
    assert "\n" not in error(text).message
    place = Place("a\n\x1b", 1, 1)
    assert render(error("wrong", place)) == "a\\0A\\1B:1:1: error: wrong\n"
    table = render_table((text,), [(text,)], text, io.StringIO())
    assert not set("\x1b\x07\r\x7f\x9b\u202e") & set(table)


@pytest.mark.parametrize("start", ["::error::x", "##[group]x", "  ::stop-commands::x"])
def test_no_line_is_a_command_of_a_ci_service(start: str) -> None:
    sources = Sources({start: start.encode()})
    table = render_table((start,), [(start,)], start, io.StringIO())
    text = render(error(start, Place(start, 1, 1)), sources) + table
    assert "error" in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith(("::", "##["))]


def test_symbols_of_any_characters_are_one_line() -> None:
    names = [
        "a",
        "a b",
        "é",
        "a\n::error::",
        'q"uo\\te',
        "\x1b[0m\x9b\u202e",
        "b\\0A",
        "x:y\\",
        "::a",
    ]
    assert split_path(join_path(names)) == names
    assert join_path(["a\n"]) == '"a\\0A"'
    assert join_path(names).isprintable()


def test_has_no_lines_of_bytecode_and_devices() -> None:
    sources = Sources({"x": b"ML\xefR\n\n"})
    assert sources.line(Place("x", 1, 1)) is None
    assert not sources.line(Place("/dev/zero", 1, 1))


def test_cuts_very_long_lines_around_the_place() -> None:
    sources = Sources({"x": b"a" * 100_000 + b"!" + b"b" * 100_000})
    lines = render(error("wrong", Place("x", 1, 100_001)), sources).splitlines()
    assert len(lines[1]) < 10_000
    assert lines[1][lines[2].index("^")] == "!"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("no_color", "stream", "colored"),
    [("", Terminal(), True), ("1", Terminal(), False), ("", io.StringIO(), False)],
)
def test_uses_colors_on_terminals_only(
    no_color: str, stream: io.StringIO, *, colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    print_diagnostic(Diagnostic(Severity.WARNING, "careful"), stream=stream)
    assert ("\033[" in stream.getvalue()) == colored
    assert "careful" in stream.getvalue()
