"""The index of entries by form and sizes: finds the entries nearest to an op without comparing all of them.

Each form is compared with an op only once. Among the entries of a form, those that share sizes with the op are looked
up; the more sizes an entry shares, the nearer it is.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tuninglink.matching.differences import CannotTellError, differences
from tuninglink.matching.matcher import Matcher
from tuninglink.matching.op_info import OpInfo
from tuninglink.matching.predicates import (
    OPERAND,
    RESULT,
    Dimension,
    HasValue,
    IsUnconfigured,
    NameIn,
    Predicate,
)
from tuninglink.matching.pruning_keys import MatcherForm, form_of, kind_of

_PER_FAMILY: Final = 8
"""The number of entries of a family that are compared with an op in detail."""

_FAMILIES: Final = 24
"""The maximum number of examined families, those with the fewest differences first."""

_UNSIZED: Final = 256
"""The maximum number of entries without fixed sizes that are compared with an op, in order."""


@dataclass(frozen=True)
class NearEntry:
    """An entry that may be near an op.

    Attributes:
        position: the position of the entry in its spec.
        differences: the number of known predicates that do not hold.
        agreements: the number of known predicates that hold.
        distance: the distance of the sizes: the sum of the logarithms of their ratios.
    """

    position: int
    differences: int
    agreements: int
    distance: float

    @property
    def rank(self) -> tuple[float, ...]:
        """The sort key, minimal for the nearest entry: differences, then missing agreements, then distance."""
        return (self.differences, -self.agreements, self.distance)


class NearestEntries:
    """The entries of a spec, for lookups by op.

    Entries without known predicates are ignored.

    Args:
        matchers: the matcher of each entry.
    """

    def __init__(self, matchers: Sequence[Matcher]) -> None:
        self._families: dict[Hashable, _FormEntries] = {}
        for position, matcher in enumerate(matchers):
            form = form_of(matcher.predicates)
            if all(
                isinstance(predicate, HasValue | IsUnconfigured) for predicate in form.predicates
            ):
                continue
            key = form.predicates, tuple(form.sizes)
            if key not in self._families:
                self._families[key] = _FormEntries(form)
            self._families[key].add(position, form)
        self._found: dict[Hashable, list[NearEntry]] = {}

    def nearest(self, op: OpInfo) -> list[NearEntry]:
        """Return the entries near an op, the nearest first.

        Entries for other kinds of ops are omitted.
        """
        if op.key not in self._found:
            self._found[op.key] = self._nearest(op)
        return self._found[op.key]

    def _nearest(self, op: OpInfo) -> list[NearEntry]:
        compared = [
            (count, family)
            for family in self._families.values()
            if (count := family.differences(op)) is not None
        ]
        compared.sort(key=lambda item: item[0])
        candidates = [
            candidate
            for count, family in compared[:_FAMILIES]
            for candidate in family.nearest(op, count)
        ]
        return sorted(candidates, key=lambda entry: (entry.rank, entry.position))


class _FormEntries:
    """Entries of one form."""

    def __init__(self, form: MatcherForm) -> None:
        self._predicates = form.predicates
        self._dimensions = tuple(form.sizes)
        self._kind = kind_of(form.predicates)
        self._forms: dict[int, MatcherForm] = {}
        self._by_size: dict[tuple[int, int], list[int]] = {}
        self._by_volume: list[tuple[int, int]] = []
        self._is_sorted = False

    def add(self, position: int, form: MatcherForm) -> None:
        self._forms[position] = form
        for slot, size in enumerate(form.sizes.values()):
            self._by_size.setdefault((slot, size), []).append(position)
        self._by_volume.append((math.prod(form.sizes.values()), position))

    def differences(self, op: OpInfo) -> int | None:
        """Return the number of differing predicates other than sizes; None if the op has another kind."""
        if self._kind is not None and self._kind is not op.kind:
            return None
        count = 0
        for predicate in self._predicates:
            result = _count(predicate, op)
            if result and self._kind is None and isinstance(predicate, NameIn):
                return None
            count += result
        return count

    def nearest(self, op: OpInfo, count: int) -> Iterator[NearEntry]:
        """Yield the nearest entries to an op, given the number of differences other than sizes."""
        sizes = [_size(op, dimension) for dimension in self._dimensions]
        positions = self._sharing(sizes) if sizes else [*self._forms][:_UNSIZED]
        candidates = [self._candidate(op, position, sizes, count) for position in positions]
        yield from heapq.nsmallest(
            _PER_FAMILY, candidates, key=lambda entry: (entry.rank, entry.position)
        )

    def _sharing(self, sizes: Sequence[int | None]) -> list[int]:
        """Return the entries that share the most sizes with an op, and entries of similar size."""
        shared: Counter[int] = Counter()
        for slot, size in enumerate(sizes):
            if size is not None:
                shared.update(self._by_size.get((slot, size), ()))
        sharing = [position for position, _ in shared.most_common(2 * _PER_FAMILY)]
        if len(sharing) < _PER_FAMILY:
            sharing += (entry for entry in self._as_large(sizes) if entry not in shared)
        return sharing

    def _as_large(self, sizes: Sequence[int | None]) -> list[int]:
        if not self._is_sorted:
            self._by_volume.sort()
            self._is_sorted = True
        volume = math.prod(size or 1 for size in sizes)
        here = bisect_left(self._by_volume, (volume, 0))
        around = self._by_volume[max(0, here - _PER_FAMILY) : here + _PER_FAMILY]
        return [position for _, position in around]

    def _candidate(
        self, op: OpInfo, position: int, sizes: Sequence[int | None], count: int
    ) -> NearEntry:
        form = self._forms[position]
        distance = 0.0
        for actual, expected in zip(sizes, form.sizes.values(), strict=True):
            if actual != expected:
                count += 1
                distance += abs(math.log2(max(expected, 1) / max(actual or 1, 1)))
        for bound in form.bounds:
            size = _size(op, bound.dimension)
            count += size is not None and not bound.extent.admits(size)
        total = len(form.predicates) + len(form.sizes) + len(form.bounds)
        return NearEntry(position, count, total - count, distance)


def _count(predicate: Predicate, op: OpInfo) -> int:
    """Return the number of known differences."""
    try:
        return len(list(differences(predicate, op)))
    except CannotTellError:
        return 0


def _size(op: OpInfo, dimension: Dimension) -> int | None:
    """Return the size of a dimension, None if it is dynamic or does not exist."""
    group, number, position = dimension
    if group not in (OPERAND, RESULT):
        sizes = op.role_sizes.get(group, ())
        return sizes[number] if number < len(sizes) else None
    values = op.operands if group == OPERAND else op.results
    sizes = (values[number].sizes or ()) if number < len(values) else ()
    return sizes[position] if position < len(sizes) else None
