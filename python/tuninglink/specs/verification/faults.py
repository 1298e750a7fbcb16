"""Faults of configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIKE: Final = 0.8
"""How much of two names must be the same for one to be the other, misspelt."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with a configuration.

    Attributes:
        message: what it is.
        remedy: what to do about it; may be empty.
        is_error: whether code generation fails; else it takes something else than is meant.
        knob: the word in the spec that is wrong; empty for the configuration as a whole.
    """

    message: str
    remedy: str = ""
    is_error: bool = False
    knob: str = ""


def misspelt(name: str, known: Sequence[str]) -> str:
    """Returns the known name that `name` is meant to be; nothing if it is known, or like none."""
    return "" if name in known else nearest(name, known, cutoff=_LIKE)
