"""The examples in the README and the documentation run, in a folder with nothing but what the repository has.

A fence `shell` or `python` is run. Behind the language may stand why it is not: `gpu`, `slow`, or `sketch` for what
needs files of the reader. Then it is parsed, and its commands and flags must exist.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pytest
from places import ROOT, TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
FENCE = re.compile(r"^```(\w*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REASONS = {"gpu", "slow", "sketch"}

RUN_ALL = """
import json, sys, traceback
failed = False
for place, text in json.load(sys.stdin):
    try:
        exec(compile(text, place, "exec"), {"__name__": "example"})
    except Exception:
        failed = True
        print(place, traceback.format_exc(), file=sys.stderr)
sys.exit(failed)
"""


@dataclass(frozen=True)
class Example:
    """A fenced block: its place, language, why it is not run, and its text."""

    place: str
    language: str
    reason: str
    text: str


@cache
def examples() -> tuple[Example, ...]:
    return tuple(_read_all())


def _read_all() -> Iterator[Example]:
    for page in PAGES:
        content = page.read_text()
        for found in FENCE.finditer(content):
            line = content[: found.start()].count("\n") + 1
            place = f"{page.relative_to(ROOT)}:{line}"
            yield Example(place, found[1], found[2], found[3])


def in_language(language: str) -> list[Example]:
    return [each for each in examples() if each.language == language]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("examples", "test"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_fences_say_known_reasons() -> None:
    assert {each.reason for each in examples()} - {""} == REASONS
    assert not [each.place for each in examples() if each.language in {"sh", "bash", "console"}]


def test_python_examples_run(folder: Path) -> None:
    chosen = [[each.place, each.text] for each in in_language("python") if not each.reason]
    assert len(chosen) > 5
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        input=json.dumps(chosen),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_python_examples_that_do_not_run_parse() -> None:
    for each in in_language("python"):
        ast.parse(each.text, each.place)


SCRIPTS = {
    page: [each for each in in_language("shell") if each.place.startswith(f"{page}:")]
    for page in sorted({each.place.partition(":")[0] for each in in_language("shell")})
}


@pytest.mark.parametrize("page", SCRIPTS)
def test_shell_examples_run(page: str, folder: Path) -> None:
    script = "\n".join(each.text for each in SCRIPTS[page] if not each.reason)
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env={"PATH": f"{TOOLS}:/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stderr}"


def test_shell_examples_that_do_not_run_have_commands_and_flags_that_exist() -> None:
    for each in in_language("shell"):
        if each.reason:
            for line in each.text.replace("\\\n", " ").splitlines():
                _check_command(each.place, shlex.split(line, comments=True))


def _check_command(place: str, words: list[str]) -> None:
    if words[:1] != ["tuninglink"] or words[1].startswith("-"):
        return
    known = _help(words[1])
    for word in words[2:]:
        flag = word.partition("=")[0]
        if flag.startswith("--") and not flag.startswith("--iree-"):
            assert flag in known, f"{place}: {words[1]} has no {flag}"


@cache
def _help(command: str) -> str:
    arguments = [TOOLS / "tuninglink", command, "--help"]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
