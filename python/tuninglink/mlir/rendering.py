"""Rendering of diagnostics as MLIR's tools print them: place, message, source line, caret, notes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tuninglink.errors import printable
from tuninglink.escaping import escaped
from tuninglink.mlir.diagnostics import Diagnostic, Place, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

TAB_STOP = 8
"""The width of a tab in a printed source line."""

LONGEST_LINE = 403
"""The limit above which a source line, such as a large constant, is truncated. A terminal has a lower one."""

_BOLD, _GREEN, _RESET = "\033[1m", "\033[0;1;32m", "\033[0m"
_COLORS = {
    Severity.ERROR: "\033[0;1;31m",
    Severity.WARNING: "\033[0;1;35m",
    Severity.REMARK: "\033[0;1;34m",
    Severity.NOTE: "\033[0;1;30m",
}


_inputs: set[str] = set()


def show_lines_of(path: str) -> None:
    """Let diagnostics quote lines of a file, as an input. A location in an input may name any file."""
    _inputs.add(printable(path))


class Sources:
    """The lines of source files, for printing under diagnostics.

    An input is read once, when a diagnostic first names it.

    Args:
        texts: the contents of sources that are not files, or that may have changed since they were read, by their name
            in diagnostics.
    """

    def __init__(self, texts: Mapping[str, bytes] | None = None) -> None:
        self._texts = dict(texts or {})
        self._lines: dict[str, list[bytes]] = {}

    def add(self, name: str, text: bytes) -> None:
        """Set the content of `name`."""
        self._texts[name] = text
        self._lines.pop(name, None)

    def line(self, place: Place) -> bytes | None:
        """Return the line at `place` without its line break, or None if it cannot be shown."""
        if place.line < 1 or place.column < 1:
            return None
        lines = self._lines.get(place.file)
        if lines is None:
            lines = self._lines[place.file] = self._split(place.file)
        return lines[place.line - 1] if place.line <= len(lines) else None

    def _split(self, name: str) -> list[bytes]:
        text = self._texts.get(name)
        if text is None:
            text = read_source(name) if name in _inputs else b""
        # Bytecode has no lines to show.
        return [] if b"\0" in text or text.startswith(b"ML\xefR") else text.split(b"\n")


def read_source(name: str) -> bytes:
    """Return the content of a regular file; empty for a device or a pipe, which must not be read."""
    path = Path(name)
    try:
        if "\ufffd" in name and not path.exists():
            path = next(
                (file for file in path.parent.iterdir() if printable(file.name) == path.name), path
            )
        return path.read_bytes() if path.is_file() else b""
    except (OSError, ValueError):
        return b""


def render(
    diagnostic: Diagnostic,
    sources: Sources | None = None,
    *,
    color: bool = False,
    nowhere: str = "",
    width: int = LONGEST_LINE,
) -> str:
    """Return a diagnostic and its notes as text that ends with a newline.

    U+FFFD replaces bytes of file names that are not UTF-8. A note at the same place as the preceding diagnostic has no source line, as in MLIR.

    Args:
        diagnostic: the diagnostic.
        sources: the sources of lines; by default the files.
        color: whether to use colors.
        nowhere: the prefix of a diagnostic without a place.
        width: the limit of source lines.
    """
    sources = sources or Sources()
    text = _render_one(diagnostic, sources, color=color, nowhere=nowhere, width=width)
    previous = diagnostic.place
    for note in diagnostic.notes:
        note_sources = sources if note.place != previous else None
        text += _render_one(note, note_sources, color=color, nowhere=nowhere, width=width)
        previous = note.place
    return printable(text)


def print_diagnostic(
    diagnostic: Diagnostic,
    sources: Sources | None = None,
    stream: TextIO | None = None,
    *,
    nowhere: str = "",
    width: int = LONGEST_LINE,
) -> None:
    """Render a diagnostic to standard error or another stream, in color on a terminal."""
    stream = stream or sys.stderr
    color = wants_color(stream)
    text = render(diagnostic, sources, color=color, nowhere=nowhere, width=width)
    # The compiler writes to the same stream: keep the order.
    stream.write(text)
    stream.flush()


def wants_color(stream: TextIO) -> bool:
    """Return whether to use colors on `stream`: on a terminal, unless NO_COLOR is set."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def _render_one(
    diagnostic: Diagnostic, sources: Sources | None, *, color: bool, nowhere: str, width: int
) -> str:
    severity, place = diagnostic.severity, diagnostic.place
    where = escaped(str(place)) if place else nowhere
    head = f"{where}: " if where else ""
    message = f"{escaped(diagnostic.message, lines=True)}{code_of(diagnostic)}"
    if color:
        head = f"{_BOLD}{head}{_COLORS[severity]}{severity.value}: {_RESET}"
        text = f"{head}{_BOLD}{message}{_RESET}\n"
    else:
        text = f"{head}{severity.value}: {message}\n"
    line = sources.line(place) if sources and place else None
    if place is None or not line:
        return text
    shown, indent = _source_line(line, place.column, width)
    caret = f"{_GREEN}^{_RESET}" if color else "^"
    return f"{text}{escaped(shown)}\n{' ' * indent}{caret}\n"


def code_of(diagnostic: Diagnostic) -> str:
    """Return the code of the rule that is broken, in brackets, to append to the message; empty without a rule."""
    return f" [{diagnostic.rule.value}]" if diagnostic.rule else ""


_CUT = "..."


def _source_line(line: bytes, column: int, width: int) -> tuple[str, int]:
    """Return a line as it is printed, and the number of characters before the caret.

    Columns count bytes from 1; the caret is placed by characters.
    """
    before = line[: column - 1].decode(errors="replace").expandtabs(TAB_STOP)
    shown = line.rstrip(b"\r").decode(errors="replace").expandtabs(TAB_STOP)
    # The caret may be past the end of its line.
    indent = len(before) + max(0, column - 1 - len(line))
    if indent >= width - len(_CUT):
        start = indent - width // 2
        shown, indent = _CUT + shown[start:], len(_CUT) + indent - start
    if len(shown) > width:
        shown = shown[: width - len(_CUT)] + _CUT
    if not shown.isprintable():
        shown = "".join(character if character.isprintable() else "\ufffd" for character in shown)
    return shown, indent
