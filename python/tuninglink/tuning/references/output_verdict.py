"""Verdicts of references on results."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Correctness(Enum):
    """Whether a result is right; the value is what reports say."""

    RIGHT = "right"
    WRONG = "wrong"
    FAILED = "fails"
    UNDECIDED = "not decided"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class OutputVerdict:
    """What the reference says about a result.

    Attributes:
        correctness: the verdict.
        reason: the numbers, or why there is no verdict.
        samples: elements where the results differ most: binding, position, result, expected value.
    """

    correctness: Correctness
    reason: str = ""
    samples: tuple[tuple[int, tuple[int, ...], float, float], ...] = ()
