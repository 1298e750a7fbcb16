"""The index of conditions in order of precedence: by groups of conditions that differ only in sizes, then by sizes.

Groups are compared only if they agree in all values that both require. Groups are looked up by these values, so that
conditions on other ops, types or maps have no cost.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from heapq import merge
from itertools import product
from types import MappingProxyType
from typing import Any, Final

from tuninglink.matching import predicates as pred
from tuninglink.matching.predicates import box, implies_but_for_sizes

MAX_WORK: Final = 500_000
"""The maximum number of comparisons between the conditions of groups that may overlap."""


class Relation(Enum):
    """The relation between the ops of two groups, apart from sizes."""

    WITHIN = "all of them are"
    AROUND = "all of the others are among them"
    UNSURE = "some may be the same"


@dataclass(eq=False)
class ConditionGroup:
    """Conditions that differ only in sizes."""

    condition: pred.Condition
    members: list[int] = field(default_factory=list)
    related: list[tuple[ConditionGroup, Relation]] = field(default_factory=list)


def make_groups(
    conditions: Iterable[tuple[int, pred.Condition]],
) -> tuple[dict[int, ConditionGroup], bool]:
    """Divide conditions into groups; also return whether the groups are related, which too many are not."""
    groups: dict[Hashable, ConditionGroup] = {}
    group_of: dict[int, ConditionGroup] = {}
    exact_values: dict[ConditionGroup, dict[Hashable, Hashable]] = {}
    for position, condition in conditions:
        # The exact values that a condition requires: conditions with different values exclude each other.
        by_key: dict[str, Mapping[Any, Hashable]] = {
            "type": condition.types,
            "scalar": condition.scalars,
            "rank": condition.ranks,
            "count": condition.counts,
        }
        values: dict[Hashable, Hashable] = {
            (part, key): value
            for part, required in by_key.items()
            for key, value in required.items()
        }
        if condition.names is not None and len(condition.names) == 1:
            values["name"] = next(iter(condition.names))
        parts = {"maps": condition.maps, "root": condition.root, "regions": condition.regions}
        values |= {part: value for part, value in parts.items() if value is not None}
        key = (
            condition.names,
            condition.kinds,
            condition.has_free_operands,
            condition.is_unconfigured,
            condition.operands,
            frozenset(condition.tensors),
            frozenset(condition.least_ranks.items()),
            frozenset(values.items()),
            condition.dag,
        )
        group = group_of[position] = groups.setdefault(key, ConditionGroup(condition))
        group.members.append(position)
        exact_values[group] = values
    # Compare only groups that agree in the values that both require.
    by_pattern: dict[frozenset[Hashable], list[ConditionGroup]] = defaultdict(list)
    for group, values in exact_values.items():
        by_pattern[frozenset(values)].append(group)
    work = 0
    for (pattern, members), (other_pattern, others) in product(by_pattern.items(), repeat=2):
        common = tuple(pattern & other_pattern)
        by_values: dict[tuple[Hashable, ...], list[ConditionGroup]] = defaultdict(list)
        for other in others:
            by_values[tuple(map(exact_values[other].get, common))].append(other)
        for group in members:
            work += 1
            for other in by_values.get(tuple(map(exact_values[group].get, common)), ()):
                is_renamed = bool(group.condition.loops) != bool(other.condition.loops)
                work += len(group.members) + (len(other.members) if is_renamed else 0)
                if work > MAX_WORK:
                    for isolated in groups.values():
                        isolated.related = [(isolated, Relation.WITHIN)]
                    return group_of, False
                if implies_but_for_sizes(group.condition, other.condition):
                    group.related.append((other, Relation.WITHIN))
                elif implies_but_for_sizes(other.condition, group.condition):
                    group.related.append((other, Relation.AROUND))
                elif not pred.exclude_but_for_sizes(group.condition, other.condition):
                    group.related.append((other, Relation.UNSURE))
    return group_of, True


TOO_MANY: Final = "the conditions are of too many forms to be compared with each other"
"""The reason for missing answers if groups are not related."""

DEPENDENT: Final = "the sizes depend on each other in ways that are not known"
"""The reason for missing answers about dimensions that are not independent."""


class ConditionIndex:
    """Finds conditions that subsume others or overlap with them."""

    def __init__(
        self,
        conditions: Sequence[pred.Condition | pred.Opaque],
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        self.conditions = conditions
        self.labels = dict(enumerate(labels or ()))
        # Find the conditions that decide about all later ones.
        self.first_opaque: int | None = None
        self.first_universal: int | None = None
        self.first_of_key: dict[Hashable, int] = {}
        self.empty: set[int] = set()
        self._boxes: dict[int, pred.Box] = {}
        for position, condition in enumerate(conditions):
            if isinstance(condition, pred.Opaque):
                if self.first_opaque is None:
                    self.first_opaque = position
                if condition.key is not None:
                    self.first_of_key.setdefault(condition.key, position)
                continue
            if (
                self.first_universal is None
                and not condition.sizes
                and not condition.operands
                and pred.implies_but_for_sizes(pred.Condition(), condition)
            ):
                self.first_universal = position
            self._boxes[position] = box(condition.sizes)
            if condition.names == frozenset() or pred.is_empty(self._boxes[position]):
                self.empty.add(position)
        # Group the conditions by their discrete parts; indexes of sizes are made on demand.
        self.group_of, self.are_related = make_groups(
            (position, condition)
            for position, condition in enumerate(conditions)
            if isinstance(condition, pred.Condition) and position not in self.empty
        )
        self._indexes: dict[tuple[ConditionGroup, Hashable], SizeIndex] = {}
        self._dimensions: dict[ConditionGroup, frozenset[pred.Dimension]] = {}

    def box(self, position: int, seen_from: ConditionGroup) -> pred.Box:
        """Return the box of a condition, with the loop names of another group where its own group has none."""
        condition = self.conditions[position]
        assert isinstance(condition, pred.Condition)
        loops = seen_from.condition.loops
        if condition.loops or not loops:
            return self._boxes[position]
        return pred.conjunction(
            (loops.get(size.dimension, size.dimension), size.extent) for size in condition.sizes
        )

    def sizes(self, group: ConditionGroup, seen_from: ConditionGroup) -> SizeIndex:
        """Return the index of a group, with the loop names of another group where it has none."""
        other = seen_from.condition
        is_renamed = bool(other.loops) and not group.condition.loops
        key = group, (other.maps, other.kinds, other.names) if is_renamed else None
        if key not in self._indexes:
            boxes = [(member, self.box(member, seen_from)) for member in group.members]
            self._indexes[key] = SizeIndex(boxes, self.labels)
        return self._indexes[key]

    def containing(self, group: ConditionGroup, narrow: pred.Box, before: int) -> int | None:
        """Return the first condition that holds for all operations of a group within a box."""
        first = before
        for wider, relation in group.related:
            if relation is Relation.WITHIN:
                result = self.sizes(wider, group).containing(narrow, first)
                first = first if result is None else result
        return None if first == before else first

    def used(self, group: ConditionGroup) -> frozenset[pred.Dimension]:
        """Return the dimensions constrained by any condition on the ops of a group."""
        if group not in self._dimensions:
            self._dimensions[group] = frozenset(
                dimension
                for wider, relation in group.related
                if relation is Relation.WITHIN
                for dimension in self.sizes(wider, group).dimensions
            )
        return self._dimensions[group]


def are_independent(dimensions: Iterable[pred.Dimension]) -> bool:
    """Return whether dimensions can have any combination of sizes."""
    # Loops are independent of each other, as are the dimensions of roles; sizes of operands are not.
    kinds = {dimension[0] for dimension in dimensions}
    return "operand" not in kinds and (pred.LOOP not in kinds or len(kinds) == 1)


# --- The index of boxes by sizes: finds the boxes that contain or intersect another box without trying all of them

_FEW: Final = 8
"""The maximum number of boxes that are tried one by one."""

_CONTAINING_AXES: Final = 8
"""The number of fixed sizes used to look up boxes that contain another one. All combinations of them are tried."""

_MEETING_AXES: Final = 4
"""The number of fixed sizes used to look up boxes that meet another one. It is lower, since either box may lack any of
them.
"""

_STRIDE: Final = 64
"""The number of bounds between two stored sets, each of which contains all boxes up to a bound."""


class SizeIndex:
    """Boxes, by their constraints."""

    def __init__(
        self, boxes: Sequence[tuple[int, pred.Box]], labels: Mapping[int, Hashable] | None = None
    ) -> None:
        self._labels = labels or {}
        self.dimensions = frozenset(dimension for _, box in boxes for dimension in box)
        self._exact: dict[tuple[pred.Dimension, ...], dict[tuple[int, ...], _Bucket]] = {}
        for pattern, members in _by_pattern(boxes, _CONTAINING_AXES).items():
            self._exact[pattern] = _by_sizes(members, pattern)
        static = [(number, pred.static_box(box)) for number, box in boxes]
        self._patterns = _by_pattern(static, _MEETING_AXES)
        self._common: dict[
            tuple[tuple[pred.Dimension, ...], ...], dict[tuple[int, ...], _Bucket]
        ] = {}

    def containing(self, narrow: pred.Box, before: int) -> int | None:
        """Return the first number below `before` of a box that contains `narrow`, None if there is none."""
        first = None
        for pattern, buckets in self._exact.items():
            if not all(
                dimension in narrow and narrow[dimension].size is not None for dimension in pattern
            ):
                continue
            bucket = buckets.get(_sizes(narrow, pattern))
            result = (
                bucket.containing(narrow, before if first is None else first) if bucket else None
            )
            first = first if result is None else result
        return first

    def meeting(self, asked: pred.Box, before: int, label: Hashable = None) -> Found:
        """Find the boxes with numbers below `before` that may have static sizes in common with another box."""
        # This ignores whether the common bounds contain a multiple of both factors.
        own = {dimension for dimension in asked if asked[dimension].size is not None}
        parts = []
        for pattern in self._patterns:
            common = tuple(dimension for dimension in pattern if dimension in own)
            buckets = self._common.get((pattern, common))
            if buckets is None:
                boxes = self._patterns[pattern]
                buckets = self._common[pattern, common] = _by_sizes(boxes, common, self._labels)
            bucket = buckets.get(_sizes(asked, common))
            if bucket:
                parts.append((bucket.numbers, bucket.meeting(asked, before, label)))
        return Found(parts)


@dataclass(frozen=True)
class Found:
    """Matching numbers: lists of numbers, each with the set of its matching positions."""

    parts: Sequence[tuple[Sequence[int], int]]

    def __len__(self) -> int:
        return sum(result.bit_count() for _, result in self.parts)

    def __iter__(self) -> Iterator[int]:
        def ascending(numbers: Sequence[int], bits: int) -> Iterator[int]:
            while bits:
                lowest = bits & -bits
                yield numbers[lowest.bit_length() - 1]
                bits ^= lowest

        return merge(*(ascending(numbers, result) for numbers, result in self.parts))


def _by_pattern(
    boxes: Sequence[tuple[int, pred.Box]], most: int
) -> dict[tuple[pred.Dimension, ...], list[tuple[int, pred.Box]]]:
    """Group boxes by the dimensions of their fixed sizes, limited to the `most` frequent combinations."""
    counts = Counter(
        dimension for _, box in boxes for dimension in box if box[dimension].size is not None
    )
    axes = sorted(sorted(counts), key=lambda dimension: -counts[dimension])[:most]
    patterns: dict[tuple[pred.Dimension, ...], list[tuple[int, pred.Box]]] = defaultdict(list)
    for number, sizes in boxes:
        fixed = (axis for axis in axes if axis in sizes and sizes[axis].size is not None)
        patterns[tuple(fixed)].append((number, sizes))
    return dict(patterns)


def _by_sizes(
    boxes: Iterable[tuple[int, pred.Box]],
    dimensions: tuple[pred.Dimension, ...],
    labels: Mapping[int, Hashable] = MappingProxyType({}),
) -> dict[tuple[int, ...], _Bucket]:
    """Group boxes by their sizes in some dimensions, where they have fixed sizes."""
    groups: dict[tuple[int, ...], list[tuple[int, pred.Box]]] = defaultdict(list)
    for number, sizes in boxes:
        groups[_sizes(sizes, dimensions)].append((number, sizes))
    return {key: _Bucket(some, dimensions, labels) for key, some in groups.items()}


def _sizes(asked: pred.Box, dimensions: Iterable[pred.Dimension]) -> tuple[int, ...]:
    return tuple(asked[dimension].size or 0 for dimension in dimensions)


class _Bucket:
    """Boxes that have the same sizes in some dimensions."""

    def __init__(
        self,
        boxes: list[tuple[int, pred.Box]],
        fixed: Sequence[pred.Dimension],
        labels: Mapping[int, Hashable],
    ) -> None:
        self._boxes = boxes
        self._fixed = fixed
        self.numbers = [number for number, _ in boxes]
        positions: dict[Hashable, list[int]] = defaultdict(list)
        for position, number in enumerate(self.numbers if labels else ()):
            positions[labels.get(number)].append(position)
        self._labelled = {label: _set_of(some) for label, some in positions.items()}

    def containing(self, narrow: pred.Box, before: int) -> int | None:
        """Return the first number below `before` of a box that contains `narrow`."""
        if len(self._boxes) <= _FEW:
            for number, box in self._boxes:
                if number >= before:
                    return None
                if all(narrow.get(at, pred.ANYTHING).implies(extent) for at, extent in box.items()):
                    return number
            return None
        result = (1 << bisect_left(self.numbers, before)) - 1
        for dimension, bounds in self._bounds.items():
            if not result:
                return None
            result &= bounds.implied_by(narrow.get(dimension, pred.ANYTHING))
        return self.numbers[(result & -result).bit_length() - 1] if result else None

    def meeting(self, asked: pred.Box, before: int, label: Hashable) -> int:
        """Return the set of boxes below `before` whose bounds intersect those of `asked`."""
        result = (1 << bisect_left(self.numbers, before)) - 1
        if label is not None:
            result &= ~self._labelled.get(label, 0)
        for dimension, bounds in self._bounds.items():
            extent = asked.get(dimension)
            if extent is not None:
                result &= bounds.overlapping(extent)
        return result

    @cached_property
    def _bounds(self) -> Mapping[pred.Dimension, _Bounds]:
        dimensions = {dimension for _, box in self._boxes for dimension in box}
        return {
            dimension: _Bounds([box.get(dimension, pred.ANYTHING) for _, box in self._boxes])
            for dimension in sorted(dimensions - set(self._fixed))
        }


class _Bounds:
    """The constraints of some boxes on one dimension; sets of boxes are the bits of integers."""

    def __init__(self, extents: Sequence[pred.Extent]) -> None:
        self._lows = _Thresholds(
            [extent.low if extent.size is None else extent.size for extent in extents]
        )
        self._highs = _Thresholds(
            [-(extent.high if extent.size is None else extent.size) for extent in extents]
        )
        self._all = (1 << len(extents)) - 1
        self._sized = _set_of(at for at, extent in enumerate(extents) if extent.size is not None)
        by_factor: dict[int, list[int]] = defaultdict(list)
        for position, extent in enumerate(extents):
            by_factor[extent.factor].append(position)
        self._by_factor = {factor: _set_of(some) for factor, some in by_factor.items()}
        self._dividing: dict[int, int] = {}

    def implied_by(self, narrow: pred.Extent) -> int:
        """Return the set of boxes that `narrow` implies."""
        if narrow.size is not None:
            return self.overlapping(narrow)
        result = self._all ^ self._sized
        result &= self._lows.up_to(narrow.low) & self._highs.up_to(-narrow.high)
        return result & self._factors(narrow.factor)

    def overlapping(self, other: pred.Extent) -> int:
        low, high = (other.low, other.high) if other.size is None else (other.size, other.size)
        result = self._lows.up_to(high) & self._highs.up_to(-low)
        return result if other.size is None else result & self._factors(other.size)

    def _factors(self, number: int) -> int:
        """Return the set of boxes with a factor that divides `number`."""
        if number not in self._dividing:
            result = 0
            for factor, some in self._by_factor.items():
                result |= some if number % factor == 0 else 0
            self._dividing[number] = result
        return self._dividing[number]


class _Thresholds:
    """Sets of the positions whose values do not exceed a threshold."""

    def __init__(self, values: Sequence[float]) -> None:
        ordered = sorted((value, position) for position, value in enumerate(values))
        self._values = [value for value, _ in ordered]
        self._positions = [position for _, position in ordered]
        self._marks = [0]
        for start in range(0, len(ordered), _STRIDE):
            some = _set_of(self._positions[start : start + _STRIDE])
            self._marks.append(self._marks[-1] | some)
        self._ends: dict[float, int] = {}  # of the most frequent thresholds
        self._ends = {end: self.up_to(end) for end in (-math.inf, math.inf)}

    def up_to(self, value: float) -> int:
        end = self._ends.get(value)
        if end is not None:
            return end
        count = bisect_right(self._values, value)
        marks, rest = divmod(count, _STRIDE)
        result = self._marks[marks]
        return result | _set_of(self._positions[count - rest : count]) if rest else result


def _set_of(positions: Iterable[int]) -> int:
    """Return the integer whose bits are at `positions`."""
    some = list(positions)
    if not some:
        return 0
    data = bytearray(max(some) // 8 + 1)
    for position in some:
        data[position // 8] |= 1 << position % 8
    return int.from_bytes(data, "little")
