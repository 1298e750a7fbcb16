"""Verdicts of references on results."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from tuninglink.plain_data import named


class Correctness(Enum):
    """The correctness of a result; the values appear in reports."""

    RIGHT = "right"
    WRONG = "wrong"
    FAILED = "fails"
    UNDECIDED = "not decided"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class OutputSample:
    """An element of a result.

    Attributes:
        binding: the binding of the output.
        position: the position of the element.
        actual: its value.
        expected: the right value.
    """

    binding: int
    position: tuple[int, ...]
    actual: float
    expected: float


@dataclass(frozen=True)
class OutputVerdict:
    """The verdict of the reference on a result.

    Attributes:
        correctness: the verdict.
        reason: the figures, or the reason for a missing verdict.
        samples: the elements with the largest differences.
    """

    correctness: Correctness = field(metadata=named("result"))
    reason: str = field(default="", metadata=named("finding"))
    samples: tuple[OutputSample, ...] = ()
