"""What somebody meant who wrote a name that there is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the one of `words` that is most like `word`, or nothing if none is like it.

    Args:
        word: what was written.
        words: what there is.
        cutoff: how alike they must be, from 0 to 1, as `difflib` measures it.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only needed when something is wrong

    return next(iter(get_close_matches(word, words, n=1, cutoff=cutoff)), "")


def did_you_mean(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """Return `; did you mean '...'?` to be put behind a message, or nothing; the arguments are those of `nearest`."""
    meant = nearest(word, words, cutoff)
    return f"; did you mean '{meant}'?" if meant else ""
