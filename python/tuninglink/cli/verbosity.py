"""The verbosity of commands."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable


class Verbosity(IntEnum):
    """The verbosity on standard error."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


_WORDS: Final = {
    **dict.fromkeys(("-q", "--quiet"), Verbosity.QUIET),
    **dict.fromkeys(("-v", "--verbose"), Verbosity.VERBOSE),
}
_chosen = [Verbosity.NORMAL]


def take_verbosity(arguments: Iterable[str]) -> list[str]:
    """Set the verbosity of this process from its arguments, and return the other arguments.

    The last flag wins. Arguments after `--` are not parsed.
    """
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*rest, word, *words]
        if word in _WORDS:
            _chosen[0] = _WORDS[word]
        else:
            rest.append(word)
    return rest


def verbosity() -> Verbosity:
    """Return the verbosity of this process."""
    return _chosen[0]


def set_verbosity(chosen: Verbosity) -> None:
    """Set the verbosity of this process."""
    _chosen[0] = chosen


def is_quiet() -> bool:
    """Whether only errors and warnings are shown."""
    return _chosen[0] is Verbosity.QUIET


def is_verbose() -> bool:
    """Whether the steps of a command are shown with their times."""
    return _chosen[0] is Verbosity.VERBOSE
