"""Groups of conditions that differ only in sizes, and how groups relate.

Groups are compared only if they agree in all values that both require. They are looked up by these values, so that
conditions on other ops, types or maps have no cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tuninglink.matching.conditions import Condition, exclude_but_for_sizes, implies_but_for_sizes

MAX_WORK: Final = 500_000
"""The most comparisons between the conditions of groups that may overlap."""


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
    """Put conditions into groups.

    Args:
        conditions: each with its position, in order.
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
    for index, each in enumerate(values):
        patterns[frozenset(each)].append(index)
    work = 0
    for pattern, members in patterns.items():
        for other_pattern, others in patterns.items():
            common = tuple(pattern & other_pattern)
            result: dict[tuple[Hashable, ...], list[int]] = defaultdict(list)
            for index in others:
                result[tuple(values[index][each] for each in common)].append(index)
            for index in members:
                work += 1
                for other in result.get(tuple(values[index][each] for each in common), ()):
                    work += _work(groups[index], groups[other])
                    if work > MAX_WORK:
                        _isolate(groups)
                        return False
                    _compare(groups[index], groups[other])
    return True


def _work(group: ConditionGroup, other: ConditionGroup) -> int:
    """Return the cost of relating two groups: the members of the other one, or of both if dimensions are renamed."""
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
