"""The text of problems: its sizes and its errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tuninglink.errors import did_you_mean


class ProblemError(ValueError):
    """A text describes no problem.

    Attributes:
        column: the position of the invalid word, from 1.
    """

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.column = column

    @classmethod
    def unknown(cls, noun: str, word: str, choices: Iterable[str], column: int = 1) -> ProblemError:
        """Return the error of a word that is not one of the choices."""
        listed = list(choices)
        hint = did_you_mean(word, listed)
        return cls(f"unknown {noun} '{word}': expected one of {', '.join(listed)}{hint}", column)


class UnsupportedError(ProblemError):
    """A line of another tool describes a problem that cannot be tuned."""


LARGEST_SIZE: Final = (1 << 31) - 1
"""The largest size of a dimension. The bindings raise a `TypeError` for sizes above 64 bits."""


def read_size(text: str, least: int = 1) -> int | None:
    """Return the size that a text gives; None unless it is a number from `least` to `LARGEST_SIZE`."""
    if not text.isdecimal() or len(text) > len(str(LARGEST_SIZE)):
        return None
    size = int(text)
    return size if least <= size <= LARGEST_SIZE else None


def joined_sizes(*sizes: int) -> str:
    """Return the word for sizes."""
    return "x".join(map(str, sizes))


def shortest(value: tuple[int, ...]) -> tuple[int, ...]:
    """Return one number for equal ones."""
    return value[:1] if len(set(value)) == 1 else value
