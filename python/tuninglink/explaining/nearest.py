"""Finding the entries that nearly match an operation, without judging every one.

Entries that demand the same but for sizes are a family, which is compared with an operation once. In a family,
those that share a size with the operation are looked up, and the more they share the nearer they are. Only the
nearest few of all are then read and judged in full.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.explaining.subject import ROLES
from tuninglink.matching.necessary_conditions import Condition, Kind

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from tuninglink.explaining.subject import Subject

_PER_FAMILY: Final = 8
"""How many entries of a family are looked at more closely."""

_FAMILIES: Final = 24
"""How many families are, those with the fewest differences first."""

_UNSIZED: Final = 256
"""How many entries without fixed sizes are compared with an operation, the first ones."""

_NOTHING: Final = Condition()

Slot = tuple[str, int, int]
"""What has a size: `("role", role, position)` or `("operand", operand, dimension)`."""


@dataclass(frozen=True)
class Candidate:
    """An entry that may be near an operation.

    Attributes:
        position: the position of the entry in its spec.
        differences: how many of the conditions that are known do not hold.
        agreements: how many do.
        distance: how far off the sizes are that differ: the sum of the logarithms of their ratios.
    """

    position: int
    differences: int
    agreements: int
    distance: float

    @property
    def rank(self) -> tuple[float, ...]:
        """What the nearest entry has the least of: differences; then missing agreements; then distance."""
        return (self.differences, -self.agreements, self.distance)


class NearestEntries:
    """The entries of a spec, to be looked up by operations.

    An entry of which nothing is known is neither near nor far.

    Args:
        conditions: what the matcher of each entry demands, as far as it is known.
    """

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self._families: dict[Hashable, _Family] = {}
        for position, condition in enumerate(conditions):
            if condition == _NOTHING:
                continue
            sizes = _demanded(condition)
            key = (
                *(condition.operation_names, condition.kind, condition.element_types),
                *(condition.maps and condition.maps.text, tuple(sizes), _operands(condition)),
            )
            if key not in self._families:
                self._families[key] = _Family(condition)
            self._families[key].add(position, condition, tuple(sizes.values()))
        self._found: dict[Hashable, list[Candidate]] = {}

    def nearest(self, subject: Subject) -> list[Candidate]:
        """Returns the entries that are near an operation, the nearest first.

        Entries for another kind of operation are not among them.
        """
        key = (
            *(subject.name, subject.kind, subject.maps_text),
            tuple(each.text for each in subject.operands),
        )
        if key not in self._found:
            self._found[key] = self._nearest(subject)
        return self._found[key]

    def _nearest(self, subject: Subject) -> list[Candidate]:
        compared = [
            (differences, each)
            for each in self._families.values()
            if (differences := each.differences(subject)) is not None
        ]
        compared.sort(key=lambda item: item[0])
        found = [
            candidate
            for differences, family in compared[:_FAMILIES]
            for candidate in family.nearest(subject, differences)
        ]
        return sorted(found, key=lambda each: (each.rank, each.position))


class _Family:
    """Entries that demand the same but for sizes."""

    def __init__(self, condition: Condition) -> None:
        self._like = condition
        self._slots = tuple(_demanded(condition))
        self._demands = (
            (condition.operation_names is not None)
            + (condition.kind is not None)
            + len(condition.element_types)
            + (condition.maps is not None)
            + len(condition.operands)
        )
        self._conditions: dict[int, Condition] = {}
        self._sizes: dict[int, tuple[int, ...]] = {}
        self._by_size: dict[tuple[int, int], list[int]] = {}
        self._by_volume: list[tuple[int, int]] = []
        self._is_sorted = False

    def add(self, position: int, condition: Condition, sizes: tuple[int, ...]) -> None:
        self._conditions[position] = condition
        self._sizes[position] = sizes
        for slot, size in enumerate(sizes):
            self._by_size.setdefault((slot, size), []).append(position)
        self._by_volume.append((math.prod(sizes), position))

    def differences(self, subject: Subject) -> int | None:
        """Returns how many demands but for sizes an operation does not meet; None if it is of another kind."""
        like = self._like
        if like.kind is not None and like.kind is not subject.kind:
            return None
        count = 0
        if like.operation_names is not None and subject.name not in like.operation_names:
            if like.kind is None:
                return None
            count += 1
        elements = [each.element for each in subject.operands]
        if like.kind is not None and like.element_types:
            if like.kind is Kind.ATTENTION:
                elements = [*elements[:3], elements[-1]]
            count += sum(a != b for a, b in zip(like.element_types, elements, strict=False))
        if like.maps is not None and like.maps.text != subject.maps_text:
            count += 1
        for position, wanted in like.operands:
            actual = subject.operands[position] if position < len(subject.operands) else None
            sizes = actual.sizes if actual else None
            is_like = sizes is not None and len(sizes) == len(wanted.sizes)
            count += not is_like or actual is None or actual.element != wanted.element
        return count

    def nearest(self, subject: Subject, differences: int) -> Iterator[Candidate]:
        """Yields the nearest entries for an operation, given the differences but for sizes."""
        sizes = [_size(subject, slot) for slot in self._slots]
        positions = self._sharing(sizes) if self._slots else [*self._conditions][:_UNSIZED]
        candidates = [self._candidate(subject, each, sizes, differences) for each in positions]
        yield from heapq.nsmallest(
            _PER_FAMILY, candidates, key=lambda each: (each.rank, each.position)
        )

    def _sharing(self, sizes: Sequence[int | None]) -> list[int]:
        """Returns the entries that share most sizes with an operation, and those that are as large."""
        shared: Counter[int] = Counter()
        for slot, size in enumerate(sizes):
            if size is not None:
                shared.update(self._by_size.get((slot, size), ()))
        found = [position for position, _ in shared.most_common(2 * _PER_FAMILY)]
        if len(found) < _PER_FAMILY:
            found += (each for each in self._as_large(sizes) if each not in shared)
        return found

    def _as_large(self, sizes: Sequence[int | None]) -> list[int]:
        if not self._is_sorted:
            self._by_volume.sort()
            self._is_sorted = True
        volume = math.prod(each or 1 for each in sizes)
        here = bisect_left(self._by_volume, (volume, 0))
        around = self._by_volume[max(0, here - _PER_FAMILY) : here + _PER_FAMILY]
        return [position for _, position in around]

    def _candidate(
        self, subject: Subject, position: int, sizes: Sequence[int | None], differences: int
    ) -> Candidate:
        distance = 0.0
        for actual, wanted in zip(sizes, self._sizes[position], strict=True):
            if actual != wanted:
                differences += 1
                distance += abs(math.log2(max(wanted, 1) / max(actual or 1, 1)))
        checks = self._conditions[position].checks
        for check in checks:
            size = _size(subject, ("operand", check.operand, check.dimension))
            if size is not None and not check.allows(size):
                differences += 1
        demands = self._demands + len(self._slots) + len(checks)
        return Candidate(position, differences, demands - differences, distance)


def _demanded(condition: Condition) -> dict[Slot, int]:
    """Returns the sizes that a condition demands, in a fixed order."""
    sizes: dict[Slot, int] = {}
    for role, wanted in enumerate(condition.sizes):
        for position, size in enumerate(wanted or ()):
            if size >= 0:
                sizes["role", role, position] = size
    for operand, kind in condition.operands:
        for dimension, one in enumerate(kind.sizes):
            if one is not None:
                sizes["operand", operand, dimension] = one
    return sizes


def _operands(condition: Condition) -> Hashable:
    """Returns what is demanded of the types of operands but for their sizes."""
    return tuple((at, kind.element, len(kind.sizes)) for at, kind in condition.operands)


def _size(subject: Subject, slot: Slot) -> int | None:
    """Returns the size of something, None if it is dynamic or not there."""
    where, number, position = slot
    if where == "role":
        if subject.kind is None:
            return None
        sizes = subject.roles[ROLES[subject.kind][number]]
    else:
        operands = subject.operands
        sizes = (operands[number].sizes or ()) if number < len(operands) else ()
    return sizes[position] if position < len(sizes) else None
