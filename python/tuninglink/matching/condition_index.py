"""The index of conditions in order of precedence: by groups of conditions that differ only in sizes, then by sizes.

Groups are compared only if they agree in all values that both require. Groups are looked up by these values, so that
conditions on other ops, types or maps have no cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tuninglink.matching.conditions import (
    Condition,
    Opaque,
    exclude_but_for_sizes,
    implies_but_for_sizes,
    is_universal,
)
from tuninglink.matching.extents import Box, box, is_empty
from tuninglink.matching.predicates import LOOP, Dimension
from tuninglink.matching.size_index import SizeIndex

MAX_WORK: Final = 500_000
"""The maximum number of comparisons between the conditions of groups that may overlap."""


class Relation(Enum):
    """The relation between the ops of two groups, apart from sizes."""

    WITHIN = "all of them are"
    AROUND = "all of the others are among them"
    UNSURE = "some may be the same"


@dataclass(eq=False)
class ConditionGroup:
    """Conditions that differ only in sizes.

    Attributes:
        condition: one of them.
        members: the positions of all of them, in order.
        related: the groups that may overlap with this one, including itself, with their relations.
    """

    condition: Condition
    members: list[int] = field(default_factory=list)
    related: list[tuple[ConditionGroup, Relation]] = field(default_factory=list)


@dataclass(frozen=True)
class ConditionGroups:
    """All conditions, in groups.

    Attributes:
        of: the group of each position that has a condition.
        are_related: whether all groups were compared. If there are too many pairs, each group is only related to
            itself.
    """

    of: Mapping[int, ConditionGroup]
    are_related: bool


def make_groups(conditions: Iterable[tuple[int, Condition]]) -> ConditionGroups:
    """Divide conditions into groups.

    Args:
        conditions: the conditions with their positions, in order.
    """
    groups: dict[Hashable, ConditionGroup] = {}
    of: dict[int, ConditionGroup] = {}
    for position, condition in conditions:
        group = groups.setdefault(_key(condition), ConditionGroup(condition))
        group.members.append(position)
        of[position] = group
    return ConditionGroups(of, _relate(list(groups.values())))


def _key(condition: Condition) -> Hashable:
    return (
        condition.names,
        condition.kinds,
        condition.has_free_operands,
        condition.is_unconfigured,
        condition.operands,
        condition.tensors,
        frozenset(condition.least_ranks.items()),
        frozenset(_values(condition).items()),
        condition.dag,
    )


def _values(condition: Condition) -> dict[Hashable, Hashable]:
    """Return the exact values that a condition requires; conditions with different values exclude each other."""
    values: dict[Hashable, Hashable] = {
        (part, key): value
        for part, asked in (
            ("type", condition.types),
            ("scalar", condition.scalars),
            ("rank", condition.ranks),
            ("count", condition.counts),
        )
        for key, value in asked.items()
    }
    if condition.names is not None and len(condition.names) == 1:
        values["name"] = next(iter(condition.names))
    parts = {"maps": condition.maps, "root": condition.root, "regions": condition.regions}
    values |= {part: value for part, value in parts.items() if value is not None}
    return values


def _relate(groups: Sequence[ConditionGroup]) -> bool:
    """Set the relations of the groups; return false if there are too many pairs."""
    values = [_values(group.condition) for group in groups]
    patterns: dict[frozenset[Hashable], list[int]] = defaultdict(list)
    for index, requirements in enumerate(values):
        patterns[frozenset(requirements)].append(index)
    work = 0
    for pattern, members in patterns.items():
        for other_pattern, others in patterns.items():
            common = tuple(pattern & other_pattern)
            result: dict[tuple[Hashable, ...], list[int]] = defaultdict(list)
            for index in others:
                result[tuple(values[index][key] for key in common)].append(index)
            for index in members:
                work += 1
                for other in result.get(tuple(values[index][key] for key in common), ()):
                    work += _work(groups[index], groups[other])
                    if work > MAX_WORK:
                        _isolate(groups)
                        return False
                    _compare(groups[index], groups[other])
    return True


def _work(group: ConditionGroup, other: ConditionGroup) -> int:
    """Return the cost of relating two groups: the members of the second one, or of both if dimensions are renamed."""
    is_renamed = bool(group.condition.loops) != bool(other.condition.loops)
    return len(group.members) + (len(other.members) if is_renamed else 0)


def _isolate(groups: Sequence[ConditionGroup]) -> None:
    for group in groups:
        group.related = [(group, Relation.WITHIN)]


def _compare(group: ConditionGroup, other: ConditionGroup) -> None:
    if implies_but_for_sizes(group.condition, other.condition):
        group.related.append((other, Relation.WITHIN))
    elif implies_but_for_sizes(other.condition, group.condition):
        group.related.append((other, Relation.AROUND))
    elif not exclude_but_for_sizes(group.condition, other.condition):
        group.related.append((other, Relation.UNSURE))


TOO_MANY: Final = "the conditions are of too many forms to be compared with each other"
"""The reason for missing answers if groups are not related."""

DEPENDENT: Final = "the sizes depend on each other in ways that are not known"
"""The reason for missing answers about dimensions that are not independent."""


class ConditionIndex:
    """Finds conditions that subsume others or overlap with them.

    Args:
        conditions: in order of precedence.
        labels: the labels of the conditions, if any.

    Attributes:
        conditions: the conditions.
        labels: the labels, by position.
        are_related: whether the groups were compared; otherwise each group is only related to itself.
        first_opaque: the position of the first opaque matcher, None if there is none.
        first_universal: the position of the first condition that always holds, None if there is none.
    """

    def __init__(
        self, conditions: Sequence[Condition | Opaque], labels: Sequence[Hashable] | None = None
    ) -> None:
        self.conditions = conditions
        self.labels = dict(enumerate(labels or ()))
        # Find the conditions that decide about all later ones.
        opaque = (
            position
            for position, condition in enumerate(conditions)
            if isinstance(condition, Opaque)
        )
        self.first_opaque = next(opaque, None)
        universal = (
            position for position, condition in enumerate(conditions) if is_universal(condition)
        )
        self.first_universal = next(universal, None)
        self._first_of_key: dict[Hashable, int] = {}
        for position, condition in enumerate(conditions):
            if isinstance(condition, Opaque) and condition.key is not None:
                self._first_of_key.setdefault(condition.key, position)
        # Separate empty conditions from those with sizes.
        understood = [
            (position, condition)
            for position, condition in enumerate(conditions)
            if isinstance(condition, Condition)
        ]
        self._boxes = {position: box(condition.sizes) for position, condition in understood}
        self._empty = {
            position
            for position, condition in understood
            if condition.names == frozenset() or is_empty(self._boxes[position])
        }
        # Group the conditions by their discrete parts; indexes of sizes are made on demand.
        groups = make_groups(
            (position, condition)
            for position, condition in understood
            if position not in self._empty
        )
        self.are_related = groups.are_related
        self._group_of = groups.of
        self._indexes: dict[tuple[ConditionGroup, Hashable], SizeIndex] = {}
        self._dimensions: dict[ConditionGroup, frozenset[Dimension]] = {}

    def first_alike(self, opaque: Opaque) -> int | None:
        """Return the position of the first matcher that is equivalent to an opaque one."""
        return self._first_of_key.get(opaque.key)

    def is_empty(self, position: int) -> bool:
        """Return whether the condition at a position is not opaque and never holds."""
        return position in self._empty

    def group(self, position: int) -> ConditionGroup | None:
        """Return the group of the condition at a position; None if it is opaque or never holds."""
        return self._group_of.get(position)

    def box(self, position: int, seen_from: ConditionGroup) -> Box:
        """Return the box of a condition, with the loop names of another group where its own group has none."""
        condition = self.conditions[position]
        assert isinstance(condition, Condition)
        loops = seen_from.condition.loops
        if condition.loops or not loops:
            return self._boxes[position]
        return box(condition.sizes_by(loops))

    def sizes(self, group: ConditionGroup, seen_from: ConditionGroup) -> SizeIndex:
        """Return the index of a group, with the loop names of another group where it has none."""
        other = seen_from.condition
        is_renamed = bool(other.loops) and not group.condition.loops
        key = group, (other.maps, other.kinds, other.names) if is_renamed else None
        if key not in self._indexes:
            boxes = [(member, self.box(member, seen_from)) for member in group.members]
            self._indexes[key] = SizeIndex(boxes, self.labels)
        return self._indexes[key]

    def containing(self, group: ConditionGroup, narrow: Box, before: int) -> int | None:
        """Return the first condition that holds for all operations of a group within a box.

        Args:
            group: the group of the operations.
            narrow: their sizes.
            before: the exclusive upper bound of the condition's position.
        """
        first = before
        for other in around(group):
            result = self.sizes(other, group).containing(narrow, first)
            first = first if result is None else result
        return None if first == before else first

    def used(self, group: ConditionGroup) -> frozenset[Dimension]:
        """Return the dimensions constrained by any condition on the ops of a group."""
        if group not in self._dimensions:
            indexes = [self.sizes(wider, group) for wider in around(group)]
            self._dimensions[group] = frozenset(
                dimension for index in indexes for dimension in index.dimensions
            )
        return self._dimensions[group]


def around(group: ConditionGroup) -> list[ConditionGroup]:
    """Return the groups that hold for all ops of a group, apart from sizes."""
    return [other for other, relation in group.related if relation is Relation.WITHIN]


def are_independent(dimensions: Iterable[Dimension]) -> bool:
    """Return whether dimensions can have any combination of sizes.

    Loops are independent of each other, as are the dimensions of roles; sizes of operands are not.
    """
    kinds = {dimension[0] for dimension in dimensions}
    return "operand" not in kinds and (LOOP not in kinds or len(kinds) == 1)
