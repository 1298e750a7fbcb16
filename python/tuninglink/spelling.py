"""Spelling suggestions for unknown names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LIKE: Final = 0.8
"""The least similarity of a misspelt name to the intended one."""


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


def misspelt(name: str, valid: Sequence[str]) -> str:
    """Return the valid name that is most similar to `name`; empty if `name` is valid, or similar to none."""
    return "" if name in valid else nearest(name, valid, cutoff=_LIKE)
