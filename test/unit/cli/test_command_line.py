"""Options are declared once: help, completion and reading follow from the declaration."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import tuninglink.cli
from tuninglink.cli.app import run
from tuninglink.cli.completion import known_specs, known_targets, with_completed_flags
from tuninglink.cli.usage import Usage, flag_lines
from tuninglink.llvm_flags import CommandLine, Flag

OWN = ("compile", "explain", "init", "verify")
LONGEST_COMMAND = 45


def usage(name: str) -> Usage:
    found = import_module(f"tuninglink.cli.{name}").USAGE
    assert isinstance(found, Usage)
    return found


@pytest.mark.parametrize("name", OWN)
def test_the_help_has_every_flag_with_a_meaning(name: str) -> None:
    text = usage(name).text()
    for flag, declared in usage(name).flags.items():
        dashes = "--" if len(flag) > 1 else "-"
        if declared.help:
            assert f"  {dashes}{flag}" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_a_long_meaning_is_wrapped_behind_the_flags() -> None:
    text = flag_lines({"x": Flag("x", metavar="N", help="word " * 40), "hidden": Flag("y")})
    first, *rest = text.splitlines()
    assert first.startswith("  -x N                 word")
    assert rest
    assert all(line.startswith(" " * 23 + "word") for line in rest)


@pytest.mark.parametrize("name", OWN)
def test_a_shell_completes_every_flag(name: str) -> None:
    completed = with_completed_flags(name, lambda: None)
    parameters = inspect.signature(completed).parameters.values()
    options = {
        each
        for parameter in parameters
        for each in parameter.annotation.__metadata__[0].param_decls
    }
    options |= {parameter.annotation.__metadata__[0].default for parameter in parameters}
    for flag in (*usage(name).flags, "quiet"):
        assert f"--{flag}" in options or f"-{flag}" in options


def test_a_shell_completes_values() -> None:
    assert "library:auto" in known_specs("lib")
    assert known_specs("gfx942=library:au") == ["gfx942=library:auto"]
    assert known_specs("./mine") == []
    assert known_targets("GFX94") == ["gfx942"]


@pytest.mark.parametrize(
    "words", [["-h"], ["link", "--help"], ["check", "-h"], ["database", "show", "-h"]]
)
def test_the_help_shows_no_types_of_switches(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 0
    shown = capsys.readouterr().out
    assert "--help" in shown
    assert "bool" not in shown


def test_commands_are_short() -> None:
    for path in Path(tuninglink.cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= LONGEST_COMMAND, f"{path.name}: {node.name} has {length} lines"


def test_values_of_own_flags_are_not_response_files(tmp_path: Path) -> None:
    array, more = tmp_path / "x.npy", tmp_path / "more"
    array.write_bytes(b"\x93NUMPY")
    more.write_text(f"--input @{array} -x")
    known = {"input": Flag("inputs", repeats=True)}
    line = CommandLine(known, ["--input", f"@{array}", f"@{more}", f"--input=@{array}"])
    assert line.values == {"inputs": (f"@{array}",) * 3}
    assert [flag.argument for flag in line.unknown] == ["-x"]
