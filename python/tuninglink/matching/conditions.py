"""The conditions under which matchers match, and witnesses: operations in words that satisfy them.

A condition is a conjunction. Its discrete part (names, maps, types, structure) is compared directly; sizes are compared
by arithmetic. A dimension of the payload may be dynamic. It then equals no size. Whether it is a multiple of a number
or within bounds depends on the facts that the compiler can prove, which are assumed to be arbitrary but consistent.

Conditions are exact, or the matcher is opaque: proving that a matcher matches requires its full condition. `exact`
derives conditions from predicates.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tuninglink.matching.predicates import LOOP, Dimension, HasExtent, Maps, representative

if TYPE_CHECKING:
    from tuninglink.iree.op_kinds import OpKind


@dataclass(frozen=True, eq=False)
class Condition:
    """The condition under which a matcher matches an op; None or empty means no constraint.

    Attributes:
        names: the accepted names.
        kinds: the required kinds: contraction, convolution.
        maps: the indexing maps.
        types: the element types, by operand.
        scalars: the types of operands that are not tensors, by operand.
        tensors: the operands that are tensors.
        ranks: the ranks, by operand.
        least_ranks: lower bounds of the ranks, by operand.
        operands: the minimum number of operands.
        counts: the number of dimensions in each role.
        regions: a key of the regions.
        root: a key of the op with attributes and regions, without operands and sizes.
        dag: a key of the op and the matched producers of its operands.
        has_free_operands: whether `dag` is a single op with arbitrary operands.
        is_unconfigured: whether the op must not have a configuration.
        sizes: the constraints on dimensions.
        loops: if the maps are known, the loop of each dimension that has one, by all of its names.
    """

    names: frozenset[str] | None = None
    kinds: frozenset[OpKind] = frozenset()
    maps: Maps | None = None
    types: Mapping[int, str] = field(default_factory=dict)
    scalars: Mapping[int, str] = field(default_factory=dict)
    tensors: frozenset[int] = frozenset()
    ranks: Mapping[int, int] = field(default_factory=dict)
    least_ranks: Mapping[int, int] = field(default_factory=dict)
    operands: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    regions: Hashable | None = None
    root: Hashable | None = None
    dag: Hashable | None = None
    has_free_operands: bool = True
    is_unconfigured: bool = False
    sizes: frozenset[HasExtent] = frozenset()
    loops: Mapping[Dimension, Dimension] = field(default_factory=dict)

    @cached_property
    def fixed_sizes(self) -> Mapping[Dimension, int]:
        """The dimensions with exactly one permitted size, as `representative` names them."""
        return {
            representative(size.dimension): size.extent.size
            for size in self.sizes
            if size.extent.size is not None
        }

    def sizes_by(self, loops: Mapping[Dimension, Dimension]) -> frozenset[HasExtent]:
        """Return `sizes` with dimensions named by the given loops."""
        if self.loops or not loops:
            return self.sizes
        return frozenset(
            replace(size, dimension=loops.get(size.dimension, size.dimension))
            for size in self.sizes
        )


@dataclass(frozen=True)
class Opaque:
    """A matcher whose condition is unknown.

    Attributes:
        reason: why the matcher is not understood.
        key: equal for equivalent matchers; None if unknown.
        is_contradiction: whether the matcher provably matches nothing.
    """

    reason: str
    key: Hashable | None = None
    is_contradiction: bool = False


def is_universal(condition: Condition | Opaque) -> bool:
    """Return whether a condition holds for every operation."""
    return (
        isinstance(condition, Condition)
        and not condition.sizes
        and not condition.operands
        and implies_but_for_sizes(Condition(), condition)
    )


def exclude_each_other(first: Condition, second: Condition) -> bool:
    """Return whether two conditions trivially exclude each other.

    This only compares names, types and fixed sizes.
    """
    return exclude_but_for_sizes(first, second) or _differ(first.fixed_sizes, second.fixed_sizes)


def exclude_but_for_sizes(first: Condition, second: Condition) -> bool:
    """Return whether the discrete parts of two conditions trivially exclude each other."""
    if first.names is not None and second.names is not None and not first.names & second.names:
        return True
    for one, other in ((first, second), (second, first)):
        if one.kinds and other.names is not None and not any(map(_is_linalg, other.names)):
            return True
        # The root op of a graph is completely known, so every mismatch excludes.
        if other.root is not None and not one.kinds <= other.kinds:
            return True
    pairs = (
        (first.maps, second.maps),
        (first.root, second.root),
        (first.regions, second.regions),
    )
    return (
        any(a is not None and b is not None and a != b for a, b in pairs)
        or _differ(first.types, second.types)
        or _differ(first.scalars, second.scalars)
        or not first.tensors.isdisjoint(second.scalars)
        or not second.tensors.isdisjoint(first.scalars)
        or _differ(first.ranks, second.ranks)
        or _differ(first.counts, second.counts)
    )


def implies_but_for_sizes(narrow: Condition, wide: Condition) -> bool:
    """Return whether the discrete part of `narrow` implies that of `wide`.

    A negative answer may mean that the implication is unknown.
    """
    if wide.names is not None and (narrow.names is None or not narrow.names <= wide.names):
        return False
    if wide.is_unconfigured and not narrow.is_unconfigured:
        return False
    same_operation = wide.has_free_operands and _is_asked_for(wide.root, narrow.root)
    if wide.dag is not None and not same_operation and not _is_asked_for(wide.dag, narrow.dag):
        return False
    return (
        wide.kinds <= narrow.kinds
        and _is_asked_for(wide.maps, narrow.maps)
        and _is_asked_for(wide.regions, narrow.regions)
        and _are_asked_for(wide.types, narrow.types)
        and _are_asked_for(wide.scalars, narrow.scalars)
        and wide.tensors <= narrow.tensors
        and wide.operands <= narrow.operands
        and all(
            rank <= max(narrow.ranks.get(number, 0), narrow.least_ranks.get(number, 0))
            for number, rank in wide.least_ranks.items()
        )
        and _are_asked_for(wide.ranks, narrow.ranks)
        and _are_asked_for(wide.counts, narrow.counts)
    )


def _differ(first: Mapping[Any, Hashable], second: Mapping[Any, Hashable]) -> bool:
    return any(first[key] != second[key] for key in first.keys() & second.keys())


def _is_asked_for(required: Hashable | None, by: Hashable | None) -> bool:
    return required is None or (by is not None and required == by)


def _are_asked_for(required: Mapping[Any, Hashable], by: Mapping[Any, Hashable]) -> bool:
    return all(_is_asked_for(value, by.get(key)) for key, value in required.items())


def _is_linalg(name: str) -> bool:
    return name.startswith("linalg.")


@dataclass(frozen=True)
class Witness:
    """The properties of an operation that matchers test.

    Attributes:
        kind: the kind of operation in words.
        sizes: the sizes of its loops, by role if known; None is a dynamic loop, with nothing known beyond the matcher's
            requirements. Omitted loops may have any size.
    """

    kind: str
    sizes: Mapping[str, int | None]

    def __str__(self) -> str:
        sizes = ", ".join(
            f"{name} = {'?' if size is None else size}" for name, size in self.sizes.items()
        )
        return f"{self.kind} with {sizes}" if sizes else self.kind


def witness_of(condition: Condition, witness: Mapping[Dimension, int | None]) -> Witness:
    """Return a witness in words.

    Args:
        condition: the condition of the operation, apart from sizes.
        witness: the sizes of dimensions, by their names in `condition`.
    """
    roles = _roles(condition)
    sizes: dict[str, int | None] = {}
    for dimension, size in sorted(witness.items(), key=lambda item: item[0]):
        name = _name(dimension, roles)
        if representative(dimension) == dimension:
            sizes[name] = size
        elif sizes.get(name, size) != size or name not in sizes:
            sizes[f"{name} of another operand"] = size
    return Witness(_kind(condition), sizes)


def _kind(condition: Condition) -> str:
    if condition.kinds:
        kind = " and ".join(sorted(kind.value for kind in condition.kinds))
    elif condition.names:
        kind = " or ".join(f"'{name}'" for name in sorted(condition.names))
    else:
        kind = "any operation"
    kind = f"a {kind}" if condition.kinds else kind
    types = " x ".join(condition.types[number] for number in sorted(condition.types))
    return f"{kind} of {types}" if types else kind


def _roles(condition: Condition) -> dict[Dimension, str]:
    """Return the names of the roles of loops."""
    counts = condition.counts
    return {
        loop: _role(role, position, counts.get(role, 1))
        for (role, position, _), loop in condition.loops.items()
        if role in counts
    }


def _name(dimension: Dimension, roles: Mapping[Dimension, str]) -> str:
    kind, number, position = dimension
    if kind == LOOP:
        return roles.get(representative(dimension), f"d{number}")
    if kind == "operand":
        return f"dimension {position} of operand {number}"
    return _role(kind, number, 1 if number == 0 else 2)


def _role(role: str, position: int, count: int) -> str:
    name = role.partition(" ")[2]
    return f"{name}{position}" if count > 1 else name
