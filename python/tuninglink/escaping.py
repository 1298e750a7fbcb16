"""Text for people with names from inputs, which may contain any character."""

from __future__ import annotations

import re
from typing import Final


def escaped(text: str, *, lines: bool = False) -> str:
    """Return text for people, with each character that does not print escaped as MLIR does, by the bytes of UTF-8.

    Args:
        text: the text, which may have names from an input.
        lines: whether line breaks are kept, other than those before what a CI service would read as a command.
    """
    if command := _COMMAND.match(text):
        start = command.end()
        return f"{text[:start]}\\{ord(text[start]):02X}{escaped(text[start + 1 :], lines=lines)}"
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(escaped, _LINE_BREAK.split(text)))
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    # A surrogate is a byte of a file name that is not UTF-8.
    data = character.encode(errors="replace")
    return "\ufffd" if data == b"?" else "".join(f"\\{byte:02X}" for byte in data)


_COMMAND: Final = re.compile(r" *(?=::|##\[)")
"""The start of a text that a CI service would read as a command if it began a line."""

_LINE_BREAK: Final = re.compile(r"\n(?!\s*(?:::|##\[))")
