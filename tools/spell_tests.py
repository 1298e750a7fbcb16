"""Copies the tree, with the programs of the tests in the spelling of an older compiler.

Usage: spell_tests.py RELEASE OUT

The tests are written for the newest release. Syntax that an older compiler only spells differently is respelled, in the text of
programs and of what tests expect; tests of what it cannot do are marked with the release that they need.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
_NOT_COPIED: Final = shutil.ignore_patterns(
    ".git", ".venv*", "build", "dist", "__pycache__", ".*_cache", ".hypothesis", "site"
)
_FOLDERS: Final = ("test", "examples")
_SUFFIXES: Final = (".py", ".mlir", ".test")

# In Python's f-strings the braces are doubled.
_PROPERTIES: Final = re.compile(r"(?:attention|iree_linalg_ext\.\{\w+\}) (<)\{")
_ATTRIBUTES: Final = re.compile(r">\s+\{+(?=[\w.]+(?: ?=|\}\}))")
_KIND: Final = re.compile(r"linalg\.elementwise <")


def respelled(text: str, release: tuple[int, int]) -> str:
    """Return text in the spelling of a release."""
    if release >= (3, 13):
        return text
    text = _KIND.sub("linalg.elementwise kind=#linalg.elementwise_kind<", text)
    return _without_properties(text)


def _without_properties(text: str) -> str:
    """Make the properties of attention ops attributes: `<{a}> {b}` becomes `{a, b}`."""
    parts, start = [], 0
    for match in _PROPERTIES.finditer(text):
        end = _end_of_braces(text, match.end(1))
        parts += [text[start : match.start(1)], text[match.end(1) : end]]
        start = end + 1
        if attributes := _ATTRIBUTES.match(text, end):
            opening = len(text[match.end(1) :]) - len(text[match.end(1) :].lstrip("{"))
            parts[-1] = parts[-1][:-opening] + ", "
            start = attributes.end()
    return "".join((*parts, text[start:]))


def _end_of_braces(text: str, start: int) -> int:
    """Return the position after the braces that open at `start`."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
    raise ValueError(f"unbalanced braces at {start}")


def copy(release: tuple[int, int], out: Path) -> None:
    """Replace `out` by a copy of the tree."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT, out, ignore=_NOT_COPIED, symlinks=True)
    for folder in _FOLDERS:
        for path in (out / folder).rglob("*"):
            if path.suffix in _SUFFIXES and path.is_file():
                text = path.read_text()
                older = respelled(text, release)
                if older != text:
                    path.write_text(older)


def main() -> int:
    """Copy the tree; return the exit code."""
    if len(sys.argv) != 3:  # noqa: PLR2004 - the program, the release and the place
        print(__doc__, file=sys.stderr)
        return 2
    major, minor = sys.argv[1].split(".")
    copy((int(major), int(minor)), Path(sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
