"""The plan of an indexed spec: a tree of checks that narrow down the entries to compare with an operation.

A group is a check and a list. An operation that passes the check is compared with the list, and with no entry after the
group. The list of a group therefore contains, in order, *every* entry that can match an operation that passes the
check. Only entries whose matchers imply the check may be omitted from the list that contains the group. Thus the first
matching entry is the same with and without groups, even if entries overlap.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tuninglink.matching.conditions import Condition, exclude_each_other
from tuninglink.matching.predicates import LOOP

Axis = tuple[int, int]
"""A dimension of an operand: the number of the operand, and the dimension."""

_LEAST_MEMBERS: Final = 4
"""The minimum number of entries in a group. A smaller group costs more than it saves."""

_MOST_STRUCTURES: Final = 64
"""The maximum number of groups of the first level: every other entry is compared with each of them."""

_MOST_RANGES: Final = 128
"""The maximum number of ranges of sizes that one list is split into."""


@dataclass(frozen=True, eq=False)
class IndexEntry:
    """The properties of an entry that the tree depends on.

    Attributes:
        position: its position in the order of precedence.
        condition: the condition of its matcher; None if unknown, so that it may match anything.
        structure: the check on names, types and maps that its matcher implies, if any.
        sizes: the dimensions of operands for which its matcher requires one size.
    """

    position: int
    condition: Condition | None = None
    structure: Structure | None = None
    sizes: Mapping[Axis, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Structure:
    """A check of an operation's structure: its name, or its kind with element types and indexing maps.

    Attributes:
        condition: the condition that a passing operation satisfies.
    """

    condition: Condition


@dataclass(frozen=True)
class Range:
    """A check that a dimension of an operand has a size from `least` to `most`, inclusive."""

    axis: Axis
    least: int
    most: int


@dataclass(frozen=True, eq=False)
class IndexGroup:
    """A group that replaces several entries in a list.

    Attributes:
        check: the check that an operation must pass to be compared with the list.
        items: the list.
    """

    check: Structure | Range
    items: tuple[Item, ...]


Item = IndexEntry | IndexGroup


def fixed_axes(condition: Condition) -> dict[Axis, int]:
    """Return the dimensions of operands for which a condition requires one static size."""
    by_loop = {
        loop: (number, dimension)
        for (kind, number, dimension), loop in condition.loops.items()
        if kind == "operand"
    }
    axes: dict[Axis, int] = {}
    for fact in condition.sizes:
        size = fact.extent.size
        if size is not None:
            kind, number, dimension = fact.dimension
            axis = (number, dimension) if kind == "operand" else None
            if kind == LOOP:
                axis = by_loop.get(fact.dimension)
            if axis is not None:
                axes[axis] = size
    return axes


def plan_index(entries: Sequence[IndexEntry], longest: int) -> tuple[Item, ...]:
    """Return the list that replaces `entries`, with groups where they are profitable.

    Args:
        entries: in order of precedence.
        longest: the maximum length of a list that is not split.
    """
    if len(entries) <= longest:
        return tuple(entries)
    lists = {
        structure: _compatible(entries, structure) for structure in _frequent_structures(entries)
    }
    lists = {
        structure: fitting for structure, fitting in lists.items() if _pays(structure, fitting)
    }
    members = [entry for entry in entries if entry.structure in lists]
    front = _front(entries, members)
    groups = [
        IndexGroup(structure, _split(_behind(fitting, front), longest))
        for structure, fitting in lists.items()
    ]
    return _assemble(entries, members, groups)


def _frequent_structures(entries: Sequence[IndexEntry]) -> list[Structure]:
    """Return the structures shared by enough entries, in the order of the entries."""
    counts = Counter(entry.structure for entry in entries if entry.structure is not None)
    chosen = counts.most_common(_MOST_STRUCTURES)
    frequent = {structure for structure, count in chosen if count >= _LEAST_MEMBERS}
    return [structure for structure in counts if structure in frequent]


def _compatible(entries: Sequence[IndexEntry], structure: Structure) -> list[IndexEntry]:
    """Return the entries that can match an operation with a structure, in order."""
    excluded: dict[Structure, bool] = {structure: False}

    def can_match(entry: IndexEntry) -> bool:
        own = entry.structure
        if own is structure or entry.condition is None:
            return True
        if own is not None:
            if own not in excluded:
                excluded[own] = exclude_each_other(own.condition, structure.condition)
            if excluded[own]:
                return False
        return not exclude_each_other(entry.condition, structure.condition)

    return list(filter(can_match, entries))


def _pays(structure: Structure, fitting: Sequence[IndexEntry]) -> bool:
    """Return whether a group saves more than the cost of the entries in it that are not its members."""
    members = sum(entry.structure is structure for entry in fitting)
    return len(fitting) <= 2 * members


def _split(entries: Sequence[IndexEntry], longest: int) -> tuple[Item, ...]:
    """Split a list by ranges of one dimension's size, and parts that are still too long by another dimension."""
    if len(entries) <= longest:
        return tuple(entries)
    axis, members, others = _best_axis(entries)
    count = min(math.ceil(len(members) / longest), _MOST_RANGES)
    if others:
        count = min(count, len(members) // len(others))
    if count <= 1:
        return tuple(entries)
    target = max(math.ceil(len(members) / count), _LEAST_MEMBERS)
    ranges = [
        (check, some)
        for check, some in _ranges(members, axis, target)
        if _LEAST_MEMBERS <= len(some) < len(members)
    ]
    grouped = [entry for _, some in ranges for entry in some]
    front = _front(entries, grouped)
    groups = [
        IndexGroup(check, _split(_behind(_in_order([*some, *others]), front), longest))
        for check, some in ranges
    ]
    return _assemble(entries, grouped, groups)


def _best_axis(
    entries: Sequence[IndexEntry],
) -> tuple[Axis, list[IndexEntry], list[IndexEntry]]:
    """Return the dimension whose size distinguishes most entries, the entries that require a size, and the others."""
    counts: defaultdict[Axis, Counter[int]] = defaultdict(Counter)
    for entry in entries:
        for axis, size in entry.sizes.items():
            counts[axis][size] += 1

    def left(axis: Axis) -> float:
        """Return the average number of remaining entries once the size is known."""
        of_size = counts[axis].values()
        covered = sum(of_size)
        return len(entries) - covered + sum(count**2 for count in of_size) / covered

    best = min(sorted(counts), key=left, default=(0, 0))
    members = [entry for entry in entries if best in entry.sizes]
    return best, members, [entry for entry in entries if best not in entry.sizes]


def _ranges(
    entries: Sequence[IndexEntry], axis: Axis, target: int
) -> list[tuple[Range, list[IndexEntry]]]:
    """Return the entries by disjoint ranges of sizes, about `target` in each."""
    by_size: defaultdict[int, list[IndexEntry]] = defaultdict(list)
    for entry in entries:
        by_size[entry.sizes[axis]].append(entry)
    ranges: list[list[int]] = []
    count = 0
    for size in sorted(by_size):
        if not ranges or count + len(by_size[size]) > target:
            ranges.append([])
            count = 0
        ranges[-1].append(size)
        count += len(by_size[size])
    return [
        (Range(axis, sizes[0], sizes[-1]), [entry for size in sizes for entry in by_size[size]])
        for sizes in ranges
    ]


def _front(entries: Sequence[IndexEntry], members: Iterable[IndexEntry]) -> int:
    """Return the position of the first member; earlier entries can stay before all groups."""
    return min((member.position for member in members), default=entries[-1].position + 1)


def _behind(entries: Iterable[IndexEntry], front: int) -> list[IndexEntry]:
    return [entry for entry in entries if entry.position >= front]


def _in_order(entries: Iterable[IndexEntry]) -> list[IndexEntry]:
    return sorted(entries, key=lambda entry: entry.position)


def _assemble(
    entries: Sequence[IndexEntry], members: Sequence[IndexEntry], groups: Iterable[IndexGroup]
) -> tuple[Item, ...]:
    """Return a list in which a group replaces its members at the position of the first one."""
    front = _front(entries, members)
    gone = set(members)
    before = [entry for entry in entries if entry.position < front]
    behind = [entry for entry in _behind(entries, front) if entry not in gone]
    return (*before, *groups, *behind)
