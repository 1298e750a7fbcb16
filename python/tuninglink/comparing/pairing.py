"""Finding the same dispatch in two reports."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Object = dict[str, Any]


def paired(
    old: Sequence[Object], new: Sequence[Object], key: Callable[[Object], str]
) -> Iterator[tuple[str, Object | None, Object | None]]:
    """Yields dispatches with the same key, in the order of the old report, then those that are new.

    Names do not count: another version of the compiler numbers dispatches otherwise. Of several with one key, the
    first is paired with the first.
    """
    numbered = _numbered(new, key)
    for number, each in _numbered(old, key).items():
        yield number[0], each, numbered.pop(number, None)
    for number, each in numbered.items():
        yield number[0], None, each


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
