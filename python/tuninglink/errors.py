"""The exceptions of Tuninglink, raised at the boundaries of its layers, and helpers for the words of messages.

An error that the user can fix is always a `TuninglinkError`, whose diagnostics have a place and a remedy. Any other
exception is a bug in Tuninglink.
"""

from __future__ import annotations

import copyreg
import os
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from tuninglink.plain_data import HIDDEN, named
from tuninglink.rules import Rule  # noqa: TC001 - the JSON Schema resolves the types of fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Severity(Enum):
    """The severity of a diagnostic. The value is the word that is printed."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True)
class Place:
    """A position in a source file; `line` and `column` count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Replacement:
    """A part of a file, from `start` up to `end`, and the text to put there."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """A message, its place if it has one, and notes about related places.

    Attributes:
        fix: the replacements in one file that fix the problem; empty if no fix is known.
        rule: the rule that is broken; None for what is not about a spec.
    """

    severity: Severity
    message: str
    place: Place | None = None
    notes: tuple[Diagnostic, ...] = ()
    fix: tuple[Replacement, ...] = field(default=(), metadata=HIDDEN)
    rule: Rule | None = field(default=None, metadata=named("code"))

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.severity.value}: {self.message}"


class TuninglinkError(Exception):
    """An error that the user can fix.

    Attributes:
        diagnostics: the diagnostics, beginning with the error that ended the work. Tracebacks show their notes, too.
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(str(diagnostic) for diagnostic in diagnostics))
        self.diagnostics = diagnostics
        self.__notes__ = [str(note) for diagnostic in diagnostics for note in diagnostic.notes]

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling of subclasses whose constructors have other arguments."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class UsageError(TuninglinkError):
    """An error for a command line that cannot be meant: its flags are unknown, malformed, missing or in conflict."""


class SpecError(TuninglinkError):
    """An error for a spec that cannot be read, is not a spec, or cannot be linked."""


class TargetError(UsageError):
    """An error for an unknown target."""


class PipelineError(TuninglinkError):
    """An error for a malformed textual pass pipeline or option of a pass."""


class CompileError(TuninglinkError):
    """An error that the compiler reported, with any exit code."""


def reason_for_user(failure: Exception) -> str:
    """Return the reason for unexpected content of a file, without the name of a Python exception."""
    match failure:
        case KeyError(args=(key,)):
            return f"'{key}' is missing"
        case UnicodeDecodeError():
            return "it is not text in UTF-8"
        case TypeError() | AttributeError():
            return "it has another structure"
        case RecursionError():
            return "it is nested too deeply"
        case ValueError() if "integer string conversion" in str(failure):
            return "it has a number with too many digits"
    return str(failure)


def printable(path: str | os.PathLike[str]) -> str:
    """Return a path as text; U+FFFD replaces bytes that are not UTF-8, which no message and no module can hold."""
    return re.sub("[\ud800-\udfff]", "\ufffd", os.fspath(path))


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the most similar of the valid words, or an empty string if none has the least similarity of `difflib`."""
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for errors

    return next(iter(get_close_matches(word, words, n=1, cutoff=cutoff)), "")


def did_you_mean(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """Return `; did you mean '...'?` to append to a message, or nothing. For the arguments see `nearest`."""
    suggestion = nearest(word, words, cutoff)
    return f"; did you mean '{suggestion}'?" if suggestion else ""


def misspelt(name: str, valid: Sequence[str]) -> str:
    """Return the valid name that is most similar to `name`; empty if `name` is valid or resembles no valid name."""
    return "" if name in valid else nearest(name, valid, cutoff=0.8)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, whose plural ends in s unless it is given."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


# --- Text for people with names from inputs, which may contain any character ---------------------


def escaped(text: str, *, lines: bool = False) -> str:
    """Return text for people, with each character that does not print escaped as MLIR does, by the bytes of UTF-8.

    With `lines`, line breaks are kept, other than those before what a CI service would read as a command.
    """

    def escape(character: str) -> str:
        if character.isprintable():
            return character
        # A surrogate is a byte of a file name that is not UTF-8.
        data = character.encode(errors="replace")
        return "\ufffd" if data == b"?" else "".join(f"\\{byte:02X}" for byte in data)

    if command := _COMMAND.match(text):
        start = command.end()
        return f"{text[:start]}\\{ord(text[start]):02X}{escaped(text[start + 1 :], lines=lines)}"
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(escaped, _LINE_BREAK.split(text)))
    return "".join(map(escape, text))


_COMMAND: Final = re.compile(r" *(?=::|##\[)")
"""The start of a text that a CI service would read as a command if it began a line."""

_LINE_BREAK: Final = re.compile(r"\n(?!\s*(?:::|##\[))")
