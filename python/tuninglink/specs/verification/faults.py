"""Faults of configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tuninglink.spelling import nearest

_LIKE: Final = 0.8
"""How much of two names must be the same for one to be the other, misspelt."""


@dataclass(frozen=True)
class Fault:
    """A fault of a configuration.

    Attributes:
        message: its description.
        remedy: the advice on how to fix it; may be empty.
        is_error: whether code generation fails; otherwise it silently uses another configuration.
        knob: the faulty word in the spec; empty for the configuration as a whole.
    """

    message: str
    remedy: str = ""
    is_error: bool = False
    knob: str = ""


def misspelt(name: str, known: Sequence[str]) -> str:
    """Return the valid name that is most similar to `name`; empty if `name` is valid, or similar to none."""
    return "" if name in known else nearest(name, known, cutoff=_LIKE)
