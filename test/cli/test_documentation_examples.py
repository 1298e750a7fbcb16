"""The examples in the README and the documentation run, in a folder with nothing but what the repository has.

A fence `shell` or `python` is run. Behind the language may stand why it is not: `gpu`, `slow`, or `sketch` for what
needs files of the reader. Then it is parsed, and its commands and flags must exist; so must the files that it reads,
unless it is a sketch. No other fence has commands.
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
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from places import ROOT, TOOLS

from tuninglink.cli.usage import COMMON_FLAGS, SUMMARIES, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
FENCE = re.compile(r"^```(\w*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REASONS = {"gpu", "slow", "sketch"}
COMMAND = re.compile(r"tuninglink(-opt)? ")
OUTPUTS = {
    "-o",
    "--output",
    ">",
    "--database",
    "--report",
    "--explain",
    "--dump-specs-to",
    "--record",
}
SUFFIXES = {".mlir", ".mlirbc", ".onnx", ".json", ".html", ".db", ".npy", ".vmfb", ".flags"}
"""Flags before files that commands write, and the suffixes of files."""

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
            for words in _commands(each.text):
                _check_command(each.place, words)


def test_shell_examples_read_files_of_the_repository() -> None:
    for page, scripts in SCRIPTS.items():
        made = {word for example in scripts for word in _written(example.text)}
        for example in scripts:
            if example.reason != "sketch":
                missing = [word for word in _read(example.text) if not _exists(word, made)]
                assert not missing, f"{example.place}: {missing}, which no command of {page} writes"


def test_what_tune_wrote_is_compiled_with_its_flags() -> None:
    compiled = [
        (example.place, words)
        for example in in_language("shell")
        for words in _commands(example.text)
        if words[:2] == ["tuninglink", "compile"] and "tuned.mlir" in words
    ]
    assert len(compiled) > 3
    assert not [place for place, words in compiled if "@tuned.flags" not in words]


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each line; a string may have several lines."""
    lines = text.replace("\\\n", " ").replace("\n", "\n; ")
    for is_end, words in groupby(shlex.split(lines, comments=True), ";".__eq__):
        if not is_end:
            yield list(words)


def _written(text: str) -> Iterator[str]:
    """Yield the files that commands write."""
    for words in _commands(text):
        for word, following in zip(words, [*words[1:], ""], strict=True):
            name, _, value = word.partition("=")
            if name in OUTPUTS:
                yield value or following
                yield re.sub(r"\.mlir$", ".flags", value or following)


def _read(text: str) -> Iterator[str]:
    """Yield the files that commands name."""
    for word in chain.from_iterable(_commands(text)):
        path = word.rpartition("=")[2].removeprefix("@")
        if Path(path).suffix in SUFFIXES and "://" not in path:
            yield path


def _exists(path: str, made: set[str]) -> bool:
    return bool(list(ROOT.glob(path))) or path in made or str(Path(path).parent) in made


def test_commands_are_in_fences_that_are_tested() -> None:
    for example in examples():
        if example.language not in {"shell", "text"}:
            commands = [line for line in example.text.splitlines() if COMMAND.match(line)]
            assert not commands, f"{example.place}: {commands}"


def _check_command(place: str, words: list[str]) -> None:
    if words[:1] != ["tuninglink"] or words[1].startswith("-"):
        return
    known = _flags(words[1:])
    for word in words[2:]:
        flag = word.partition("=")[0]
        if flag.startswith("--") and not flag.startswith("--iree-"):
            assert flag in known, f"{place}: {words[1]} has no {flag}"


def _flags(words: list[str]) -> set[str]:
    """Return the flags of a command."""
    name = next(name for name in SUMMARIES if words[: len(name.split())] == name.split())
    return {f"--{flag}" for flag in (*usage_of(name).flags, *COMMON_FLAGS)}
