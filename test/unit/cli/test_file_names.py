"""File names that are not UTF-8, on the command lines of all commands that read or write files."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from elementwise_specs import PROGRAM
from forked_commands import Ending, forked_commands
from places import ROOT, TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

SPEC = os.fsdecode(b"sp\xe9c.mlir")
MODEL = os.fsdecode(b"mod\xe9l.mlir")
BROKEN = os.fsdecode(b"br\xf4ken.mlir")
OUTPUT = os.fsdecode(b"\xe9t\xe9")
VMVX = "--iree-hal-target-backends=vmvx"

COMMANDS = [
    ["check", SPEC, "-o", OUTPUT],
    ["check", SPEC, "--format", "sarif", "-o", OUTPUT],
    ["link", SPEC, "-o", OUTPUT],
    ["compile", MODEL, VMVX, "--spec", SPEC, "-o", OUTPUT],
    ["compile", MODEL, VMVX, f"--explain={OUTPUT}", "-o", "-"],
    ["compile", MODEL, VMVX, f"--dump-compilation-phases-to={OUTPUT}.d", "-o", OUTPUT],
    ["explain", MODEL, VMVX, "--spec", SPEC, "--format", "json", "-o", OUTPUT],
    ["explain", MODEL, VMVX, "--spec", SPEC, "--format", "html", "-o", OUTPUT],
    ["init", MODEL, VMVX, "--dispatch", "add", "-o", OUTPUT],
    ["upgrade", SPEC, "--report", "-o", OUTPUT],
    ["upgrade", SPEC, "--check"],
    ["dump", MODEL, VMVX, "--spec", SPEC, "-o", f"{OUTPUT}.d"],
    ["diff", SPEC, SPEC, "-o", OUTPUT],
]


@pytest.fixture(scope="module")
def run(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Sequence[str]], Ending]]:
    """Return a function that runs commands in a folder with a spec and a program."""
    folder = tmp_path_factory.mktemp("names")
    (folder / SPEC).write_bytes((ROOT / "examples" / "spec_gfx942.mlir").read_bytes())
    (folder / MODEL).write_text(PROGRAM)
    (folder / BROKEN).write_text("module { nonsense }\n")
    with contextlib.chdir(folder), forked_commands() as run:
        yield run


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: " ".join(words[:1] + words[3:5]))
def test_a_name_need_not_be_utf_8(
    arguments: list[str], run: Callable[[Sequence[str]], Ending]
) -> None:
    ending = run(arguments)
    assert ending.code == 0, ending.errors


@pytest.mark.parametrize(
    "command", [["check"], ["link"], ["upgrade"], ["compile", VMVX, "-o", "x"]]
)
def test_an_error_quotes_the_line(
    command: list[str], run: Callable[[Sequence[str]], Ending]
) -> None:
    ending = run([*command, BROKEN])
    assert "br\ufffdken.mlir:1:10: error: custom op 'nonsense' is unknown" in ending.errors
    assert "module { nonsense }\n         ^" in ending.errors


def test_outputs_hold_a_printable_name(
    run: Callable[[Sequence[str]], Ending], tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    ending = run(["explain", MODEL, VMVX, "--format", "json", "-o", str(report)])
    assert ending.code == 0, ending.errors
    assert json.loads(report.read_bytes())["program"] == "mod\ufffdl.mlir"


def test_standard_output_shows_a_printable_name(tmp_path: Path) -> None:
    (tmp_path / SPEC).write_bytes((ROOT / "examples" / "spec_gfx942.mlir").read_bytes())
    done = subprocess.run(
        [TOOLS / "tuninglink", "check", SPEC], capture_output=True, cwd=tmp_path, check=True
    )
    assert "sp\ufffdc.mlir (matcher list, 1 entry)" in done.stdout.decode()


def test_standard_output_may_have_another_encoding() -> None:
    variables = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [TOOLS / "tuninglink", "targets"], capture_output=True, env=variables, check=True
    )
    assert b"gfx942" in done.stdout
