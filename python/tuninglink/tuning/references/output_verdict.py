"""Verdicts of references on results."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Correctness(Enum):
    """The correctness of a result; the values appear in reports."""

    RIGHT = "right"
    WRONG = "wrong"
    FAILED = "fails"
    UNDECIDED = "not decided"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class OutputVerdict:
    """The verdict of the reference on a result.

    Attributes:
        correctness: the verdict.
        reason: the figures, or the reason for a missing verdict.
        samples: the elements with the largest differences: binding, position, result, expected value.
    """

    correctness: Correctness
    reason: str = ""
    samples: tuple[tuple[int, tuple[int, ...], float, float], ...] = ()
