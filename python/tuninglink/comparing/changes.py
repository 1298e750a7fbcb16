"""Changes between two reports, and the pairing of their dispatches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Object = dict[str, Any]


class ChangeKind(Enum):
    """Whether a change is for better or worse."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    CHANGE = "change"


def kind_of(was: str, now: str, best: str) -> ChangeKind:
    """Return the kind of a change between two states, given the best state."""
    if was == best:
        return ChangeKind.REGRESSION
    return ChangeKind.IMPROVEMENT if now == best else ChangeKind.CHANGE


@dataclass(frozen=True)
class Change:
    """A difference between two reports about one dispatch.

    Attributes:
        kind: whether it is for better or worse.
        what: the dispatch, in words.
        text: the old and the new state.
    """

    kind: ChangeKind
    what: str
    text: str


def paired(
    old: Sequence[Object], new: Sequence[Object], key: Callable[[Object], str]
) -> Iterator[tuple[str, Object | None, Object | None]]:
    """Yield dispatches with the same key, in the order of the old report, and then the new ones.

    Names are ignored, as another version of the compiler may number dispatches differently. Dispatches with the same
    key are paired in order.
    """
    numbered = _numbered(new, key)
    for number, dispatch in _numbered(old, key).items():
        yield number[0], dispatch, numbered.pop(number, None)
    for number, dispatch in numbered.items():
        yield number[0], None, dispatch


def _numbered(
    dispatches: Sequence[Object], key: Callable[[Object], str]
) -> dict[tuple[str, int], Object]:
    seen: Counter[str] = Counter()
    numbered = {}
    for dispatch in dispatches:
        name = key(dispatch)
        numbered[name, seen[name]] = dispatch
        seen[name] += 1
    return numbered
