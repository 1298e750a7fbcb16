"""The errors of texts that describe no problem."""

from __future__ import annotations

from collections.abc import Iterable

from tuninglink.spelling import did_you_mean


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
