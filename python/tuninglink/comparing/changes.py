"""What can change between two reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ChangeKind(Enum):
    """Whether a change is for the worse."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    CHANGE = "change"


def kind_of(was: str, now: str, best: str) -> ChangeKind:
    """Return the kind of a change from one state to another, of which one is the best."""
    if was == best:
        return ChangeKind.REGRESSION
    return ChangeKind.IMPROVEMENT if now == best else ChangeKind.CHANGE


@dataclass(frozen=True)
class Change:
    """What differs between two reports about one dispatch.

    Attributes:
        kind: whether it is for the worse.
        what: the dispatch, in words.
        text: what it was and what it is.
    """

    kind: ChangeKind
    what: str
    text: str
