"""Finding the entries that can match in a dispatch, without trying every one.

An entry is found by the loops that its matcher demands, so a look-up costs as much as a dispatch has operations
and entries that fit, however many others there are.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from tuninglink.matching.necessary_conditions import Condition, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.matching.dispatch_signature import Preserved, Sizes

_MAX_LOOPS: Final = 10
"""Up to how many loops all subsets of them are looked up; an operation with more is taken to be any."""


class _Family:
    """The entries whose matchers take the same kinds of operations: by all of their loops, or by some."""

    def __init__(self) -> None:
        self._complete: dict[Sizes, list[int]] = {}
        self._partial: dict[Sizes, list[int]] = {}

    def add(self, position: int, condition: Condition) -> None:
        extents = condition.extents
        table = self._complete if extents.is_complete else self._partial
        table.setdefault(extents.sizes, []).append(position)

    def all(self) -> Iterator[int]:
        """Yields every entry."""
        for table in (self._complete, self._partial):
            for positions in table.values():
                yield from positions

    def fitting(self, loops: Sizes) -> Iterator[int]:
        """Yields the entries that an operation with these loops can match."""
        yield from self._complete.get(loops, ())
        for some in subsets(loops):
            yield from self._partial.get(some, ())

    def fitting_part_of(self, loops: Sizes) -> Iterator[int]:
        """Yields the entries that an operation with some of these loops can match."""
        for some in subsets(loops):
            yield from self._complete.get(some, ())
            yield from self._partial.get(some, ())


def subsets(loops: Sizes) -> set[Sizes]:
    """Returns the loops that are some of `loops`, in their order."""
    return {some for count in range(len(loops) + 1) for some in combinations(loops, count)}


class EntryIndex:
    """The entries of a list, by what their matchers demand.

    Args:
        conditions: the condition of each entry, in order.
    """

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self._conditions = conditions
        self._always: list[int] = []
        self._structured = _Family()
        self._attentions = _Family()
        self._found: dict[Preserved, tuple[int, ...]] = {}
        for position, condition in enumerate(conditions):
            if condition.kind is None:
                self._always.append(position)
            elif condition.kind is Kind.ATTENTION:
                self._attentions.add(position, condition)
            else:
                self._structured.add(position, condition)

    def candidates(self, preserved: Preserved) -> tuple[int, ...]:
        """Returns the positions of the entries that may match in a dispatch, in ascending order.

        Equal dispatches get the same tuple.
        """
        found = self._found.get(preserved)
        if found is None:
            kept = set(self._always)
            kept.update(self._candidate_structured(preserved))
            kept.update(self._candidate_attentions(preserved))
            found = self._found[preserved] = tuple(sorted(kept))
        return found

    def _candidate_structured(self, preserved: Preserved) -> Iterator[int]:
        loops, attentions = preserved.loops, preserved.attentions
        if attentions is None or any(map(_is_large, attentions)):
            # What an attention is taken apart into has no known types either.
            yield from self._structured.all()
            return
        for each in attentions:
            yield from self._structured.fitting_part_of(each)
        if loops is None or any(map(_is_large, loops)):
            yield from self._with_types(self._structured.all(), preserved)
            return
        for each in loops:
            fitting = self._with_types(self._structured.fitting(each), preserved)
            yield from self._passing(fitting, each)

    def _candidate_attentions(self, preserved: Preserved) -> Iterator[int]:
        attentions = preserved.attentions
        if attentions is None or any(map(_is_large, attentions)):
            yield from self._with_types(self._attentions.all(), preserved)
            return
        for each in attentions:
            fitting = self._with_types(self._attentions.fitting(each), preserved)
            yield from self._passing(fitting, each)

    def _with_types(self, positions: Iterable[int], preserved: Preserved) -> Iterator[int]:
        """Keeps the entries whose element types are all there."""
        there = preserved.element_types
        for position in positions:
            if there is None or self._conditions[position].needed_types <= there:
                yield position

    def _passing(self, positions: Iterable[int], loops: Sizes) -> Iterator[int]:
        """Keeps the entries each of whose checks some loop passes."""
        for position in positions:
            checks = self._conditions[position].loop_checks
            if all(any(map(check.allows, loops)) for check in checks):
                yield position


def _is_large(loops: Sizes) -> bool:
    return len(loops) > _MAX_LOOPS
