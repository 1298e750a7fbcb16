"""Pairing of the dispatches of two reports."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Object = dict[str, Any]


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
