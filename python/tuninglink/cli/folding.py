"""The width of terminals, and lines that fit it."""

from __future__ import annotations

import io
import os
import re
from typing import Final, TextIO

USUAL_WIDTH: Final = 80
"""The width of a terminal that does not know its own, and of help texts in pipes."""

_LEAST_WIDTH: Final = 20
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")
_ERASURE: Final = "\r\033[K"
_MOVES: Final = re.compile(r"[\r\b]|\x1b(?!\[[0-9;]*m)")
"""Characters of lines that are drawn by a program that knows the width, such as a spinner."""


def columns(stream: TextIO) -> int:
    """Return the width of the terminal behind a stream: that of COLUMNS, else the terminal's own."""
    if (given := os.environ.get("COLUMNS", "")).isdecimal() and int(given):
        return max(int(given), _LEAST_WIDTH)
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        width = 0
    return max(width, _LEAST_WIDTH) if width else USUAL_WIDTH


def folded(text: str, stream: TextIO) -> str:
    """Return text with the lines that a terminal would break anywhere broken between words; unchanged elsewhere."""
    if not stream.isatty():
        return text
    width = columns(stream)
    erasure = _ERASURE if text.startswith(_ERASURE) else ""
    lines = re.split(r"(?<=\n)", text.removeprefix(erasure))
    return erasure + "".join(
        line if _is_short(line, width) else _fold(line, width) for line in lines
    )


class FoldedText(io.TextIOWrapper):
    """The text stream of a terminal, whose lines are broken between words."""

    def write(self, text: str, /) -> int:
        """Write text, of which each line is complete."""
        super().write(folded(text, self))
        return len(text)


def _is_short(line: str, width: int) -> bool:
    return _size(line) <= width or _MOVES.search(line.rstrip("\r\n")) is not None


def _fold(line: str, width: int) -> str:
    """Break a line between words, or within those that no line has room for; the rest is indented by two more columns."""
    content = line.rstrip("\r\n")
    indent = min(len(content) - len(content.lstrip(" ")), width // 2) + 2
    lines, room = [""], width
    for word in re.findall(r" *[^ ]+", content):
        if _size(word) > room and lines[-1]:
            lines.append(" " * indent)
            room = width - indent
            word = word.lstrip(" ")  # noqa: PLW2901 - the break replaces the space
        tokens = [word] if _size(word) <= room else re.findall(rf"{_STYLE.pattern}|.", word)
        for token in tokens:
            if _size(token) > room:
                lines.append(" " * indent)
                room = width - indent
            lines[-1] += token
            room -= _size(token)
    return "\n".join(lines) + line[len(content) :]


def _size(text: str) -> int:
    """Return how many columns a text takes."""
    plain = _STYLE.sub("", text)
    if plain.isascii():
        return len(plain)
    from rich.cells import cell_len  # noqa: PLC0415 - most text needs no table of characters

    return cell_len(plain)
