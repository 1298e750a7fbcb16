"""The exceptions of Tuninglink, raised at the boundaries of its layers, and helpers for the words of messages.

An error that the user can fix is always a `TuninglinkError`, whose diagnostics have a place and a remedy. Any other
exception is a bug in Tuninglink.
"""

from __future__ import annotations

import copyreg
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.mlir.diagnostics import Diagnostic


class TuninglinkError(Exception):
    """An error that the user can fix.

    Attributes:
        diagnostics: the diagnostics, beginning with the error that ended the work.
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(str(diagnostic) for diagnostic in diagnostics))
        self.diagnostics = diagnostics

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
    return os.fspath(path).encode(errors="surrogateescape").decode(errors="replace")


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the word most similar to `word`, or an empty string if there is none.

    Args:
        word: the misspelt word.
        words: the valid words.
        cutoff: the least similarity, from 0 to 1, as `difflib` measures it.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for errors

    return next(iter(get_close_matches(word, words, n=1, cutoff=cutoff)), "")


def did_you_mean(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """Return `; did you mean '...'?` to append to a message, or nothing. For the arguments see `nearest`."""
    suggestion = nearest(word, words, cutoff)
    return f"; did you mean '{suggestion}'?" if suggestion else ""


_LIKE: Final = 0.8
"""The least similarity of a misspelt name to the intended one."""


def misspelt(name: str, valid: Sequence[str]) -> str:
    """Return the valid name that is most similar to `name`; empty if `name` is valid or resembles no valid name."""
    return "" if name in valid else nearest(name, valid, cutoff=_LIKE)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, whose plural ends in s unless it is given."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"
