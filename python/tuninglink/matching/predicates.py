"""Predicates: the conditions of a matcher on an op, as plain data.

A matcher is a conjunction of predicates. Predicates do not refer to a context or an op, so they can be compared across
contexts and used as keys.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tuninglink.iree import OpKind

if TYPE_CHECKING:
    from tuninglink.iree import ValueType


Dimension = tuple[str, int, int]
"""A dimension of an op.

- `("operand", number, dimension)` and `("result", number, dimension)`;
- `(role, position, 0)`, the size of a loop in a role, such as `contraction m`;
- `("loop", number, n)`, the n-th dimension that runs over a loop (`loops` numbers them), which replaces the other names
  where the indexing maps are known.
"""

OPERAND: Final = "operand"
RESULT: Final = "result"
LOOP: Final = "loop"

STRUCTURED_OPERANDS: Final = 3
"""The number of operands of contractions, and of convolutions that are understood: two inputs and an output."""

UNMASKED_INPUTS: Final = 4
"""The number of inputs of an attention without a mask: query, key, value and scale."""

STEPS: Final[tuple[str, str]] = ("strides", "dilations")
"""The roles of convolutions that are not loops."""


@dataclass(frozen=True)
class Maps:
    """Indexing maps as data."""

    text: str
    operands: tuple[str, ...] = field(compare=False)
    loop_count: int = field(compare=False)
    loops: tuple[tuple[int | None, ...], ...] = field(compare=False)
    roles: tuple[tuple[str, tuple[int, ...]], ...] = field(compare=False)


@dataclass(frozen=True)
class ValueRef:
    """An operand or a result of the op."""

    group: str
    number: int

    def __str__(self) -> str:
        return f"{self.group} {self.number}"


@dataclass(frozen=True)
class NameIn:
    """The op has one of these names."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class IsUnconfigured:
    """The op has no configuration."""


@dataclass(frozen=True)
class IsKind:
    """The op is a contraction or a convolution."""

    kind: OpKind


@dataclass(frozen=True)
class HasElementType:
    """An operand of an op of a kind has an element type."""

    kind: OpKind
    operand: int
    role: str
    element: str


@dataclass(frozen=True)
class HasMaps:
    """The op has these indexing maps."""

    maps: Maps
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class IsUnmasked:
    """The op is an attention without a mask that the matcher ops for attention reject."""


@dataclass(frozen=True)
class HasRoleSizes:
    """The loops in a role have exactly these sizes; None for any size."""

    kind: OpKind
    role: str
    sizes: tuple[int | None, ...]


@dataclass(frozen=True)
class HasValue:
    """The op has this operand or result."""

    value: ValueRef


@dataclass(frozen=True)
class IsCastCompatible:
    """An operand or result can be cast to a type."""

    value: ValueRef
    type: ValueType


@dataclass(frozen=True, slots=True)
class Extent:
    """The constraint on one dimension.

    Attributes:
        size: its static size; None if it may be dynamic.
        low: a known lower bound.
        high: a known upper bound.
        factor: a known divisor.
    """

    size: int | None = None
    low: float = -math.inf
    high: float = math.inf
    factor: int = 1

    def admits(self, size: int) -> bool:
        """Return whether a static dimension of a size satisfies the constraint."""
        is_size = self.size is None or self.size == size
        return is_size and self.low <= size <= self.high and size % self.factor == 0

    def implies(self, other: Extent) -> bool:
        """Return whether every dimension, static or dynamic, with this constraint also satisfies another one."""
        if self.size is not None:
            return other.admits(self.size)
        is_within = other.low <= self.low and self.high <= other.high
        return other.size is None and is_within and self.factor % other.factor == 0

    def static_size(self) -> int | None:
        """Return the smallest admitted size of at least 1, otherwise 0 if admitted, otherwise None."""
        size = self.size
        if size is None:
            size = -(-int(max(self.low, 1)) // self.factor) * self.factor
            if size > self.high:
                size = int(self.high) // self.factor * self.factor
        return size if size >= 0 and self.admits(size) else None

    def __str__(self) -> str:
        """Return the constraint in words, such as `at least 8 and a multiple of 16`."""
        words = [] if self.size is None else [str(self.size)]
        words += [f"at least {self.low}"] if self.low > -math.inf else []
        words += [f"at most {self.high}"] if self.high < math.inf else []
        words += [f"a multiple of {self.factor}"] if self.factor > 1 else []
        return " and ".join(words) or "any"


@dataclass(frozen=True)
class HasExtent:
    """A dimension satisfies a constraint."""

    dimension: Dimension
    extent: Extent


@dataclass(frozen=True)
class HasOperandCount:
    """The op has exactly this number of operands."""

    count: int


@dataclass(frozen=True)
class HasAttributes:
    """The op has exactly these attributes besides indexing maps, as MLIR prints them."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class HasRegions:
    """The regions of the op contain a computation."""

    key: Hashable
    computation: str = field(compare=False)


@dataclass(frozen=True)
class IsDag:
    """The op and the producers of its operands are those of a DAG."""

    key: Hashable
    root_key: Hashable
    kind: OpKind
    has_free_operands: bool


Predicate: TypeAlias = (
    NameIn
    | IsUnconfigured
    | IsKind
    | HasElementType
    | HasMaps
    | IsUnmasked
    | HasRoleSizes
    | HasValue
    | IsCastCompatible
    | HasExtent
    | HasOperandCount
    | HasAttributes
    | HasRegions
    | IsDag
)


def representative(dimension: Dimension) -> Dimension:
    """Return the representative of all dimensions that have the same size as `dimension` if they are static."""
    group, number, _ = dimension
    return (group, number, 0) if group == LOOP else dimension


# --- The conditions under which matchers match, and witnesses: operations in words that satisfy them


@dataclass(eq=False)
class Condition:
    """The condition under which a matcher matches an op; None or empty means no constraint. It changes only while folded.

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
    tensors: AbstractSet[int] = frozenset()
    ranks: Mapping[int, int] = field(default_factory=dict)
    least_ranks: Mapping[int, int] = field(default_factory=dict)
    operands: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    regions: Hashable | None = None
    root: Hashable | None = None
    dag: Hashable | None = None
    has_free_operands: bool = True
    is_unconfigured: bool = False
    sizes: AbstractSet[HasExtent] = frozenset()
    loops: Mapping[Dimension, Dimension] = field(default_factory=dict)

    @cached_property
    def fixed_sizes(self) -> Mapping[Dimension, int]:
        """The dimensions with exactly one permitted size, as `representative` names them."""
        return {
            representative(size.dimension): size.extent.size
            for size in self.sizes
            if size.extent.size is not None
        }


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


def exclude_each_other(first: Condition, second: Condition) -> bool:
    """Return whether two conditions trivially exclude each other."""
    # This only compares names, types and fixed sizes.
    return exclude_but_for_sizes(first, second) or _differ(first.fixed_sizes, second.fixed_sizes)


def exclude_but_for_sizes(first: Condition, second: Condition) -> bool:
    """Return whether the discrete parts of two conditions trivially exclude each other."""
    if first.names is not None and second.names is not None and not first.names & second.names:
        return True
    for one, other in ((first, second), (second, first)):
        if (
            one.kinds
            and other.names is not None
            and not any(name.startswith("linalg.") for name in other.names)
        ):
            return True
        # The root op of a graph is completely known, so every mismatch excludes.
        if other.root is not None and not one.kinds <= other.kinds:
            return True
    return (
        any(
            one is not None and other is not None and one != other
            for one, other in (
                (first.maps, second.maps),
                (first.root, second.root),
                (first.regions, second.regions),
            )
        )
        or _differ(first.types, second.types)
        or _differ(first.scalars, second.scalars)
        or not first.tensors.isdisjoint(second.scalars)
        or not second.tensors.isdisjoint(first.scalars)
        or _differ(first.ranks, second.ranks)
        or _differ(first.counts, second.counts)
    )


def implies_but_for_sizes(narrow: Condition, wide: Condition) -> bool:
    """Return whether the discrete part of `narrow` implies that of `wide`."""
    # A negative answer may mean that the implication is unknown.
    if wide.names is not None and (narrow.names is None or not narrow.names <= wide.names):
        return False
    if wide.is_unconfigured and not narrow.is_unconfigured:
        return False
    same_operation = wide.has_free_operands and wide.root in (None, narrow.root)
    if wide.dag not in (None, narrow.dag) and not same_operation:
        return False
    return (
        wide.kinds <= narrow.kinds
        and wide.maps in (None, narrow.maps)
        and wide.regions in (None, narrow.regions)
        and wide.types.items() <= narrow.types.items()
        and wide.scalars.items() <= narrow.scalars.items()
        and wide.tensors <= narrow.tensors
        and wide.operands <= narrow.operands
        and all(
            rank <= max(narrow.ranks.get(number, 0), narrow.least_ranks.get(number, 0))
            for number, rank in wide.least_ranks.items()
        )
        and wide.ranks.items() <= narrow.ranks.items()
        and wide.counts.items() <= narrow.counts.items()
    )


def _differ(first: Mapping[Any, Hashable], second: Mapping[Any, Hashable]) -> bool:
    return any(first[key] != second[key] for key in first.keys() & second.keys())


@dataclass(frozen=True)
class Witness:
    """The properties of an operation that matchers test."""

    kind: str
    sizes: Mapping[str, int | None]

    def __str__(self) -> str:
        sizes = ", ".join(
            f"{name} = {'?' if size is None else size}" for name, size in self.sizes.items()
        )
        return f"{self.kind} with {sizes}" if sizes else self.kind


def witness_of(condition: Condition, witness: Mapping[Dimension, int | None]) -> Witness:
    """Return a witness in words."""
    # The kind of the op, with its element types.
    if condition.kinds:
        kind = "a " + " and ".join(sorted(kind.value for kind in condition.kinds))
    elif condition.names:
        kind = " or ".join(f"'{name}'" for name in sorted(condition.names))
    else:
        kind = "any operation"
    types = " x ".join(condition.types[number] for number in sorted(condition.types))

    # The sizes, by the roles of loops where they are known.
    def role_in_words(role: str, position: int, count: int) -> str:
        name = role.partition(" ")[2]
        return f"{name}{position}" if count > 1 else name

    counts = condition.counts
    roles = {
        loop: role_in_words(role, position, counts.get(role, 1))
        for (role, position, _), loop in condition.loops.items()
        if role in counts
    }
    sizes: dict[str, int | None] = {}
    for dimension, size in sorted(witness.items(), key=lambda item: item[0]):
        group, number, position = dimension
        if group == LOOP:
            name = roles.get(representative(dimension), f"d{number}")
        elif group == OPERAND:
            name = f"dimension {position} of operand {number}"
        else:
            name = role_in_words(group, number, 1 if number == 0 else 2)
        if representative(dimension) == dimension:
            sizes[name] = size
        elif sizes.get(name, size) != size or name not in sizes:
            sizes[f"{name} of another operand"] = size
    return Witness(f"{kind} of {types}" if types else kind, sizes)


# --- Constraints on the dimensions of an op, the loops that index the dimensions, and arithmetic on the constraints

ANYTHING: Final[Extent] = Extent()
"""The constraint that every dimension satisfies."""

Box = dict[Dimension, Extent]
"""Constraints per dimension."""


def conjunction(constraints: Iterable[tuple[Dimension, Extent]]) -> Box:
    """Return the conjunction of the constraints on each dimension."""
    result: Box = {}
    for dimension, extent in constraints:
        other = result.get(dimension)
        if other is None:
            result[dimension] = extent
            continue
        size = other.size if extent.size is None else extent.size
        low = max(other.low, extent.low)
        if size is not None and other.size not in (None, size):
            low = size + 1  # Two different sizes: make the bounds exclude the one that is kept.
        factor = math.lcm(other.factor, extent.factor)
        result[dimension] = Extent(size, low, min(other.high, extent.high), factor)
    return result


def box(sizes: Iterable[HasExtent]) -> Box:
    """Return predicates on dimensions as constraints per dimension."""
    return conjunction((size.dimension, size.extent) for size in sizes)


def static_box(*boxes: Box) -> Box:
    """Return the conjunction of boxes for static dimensions, where all dimensions of a loop have the same size."""
    return conjunction(
        (representative(dimension), extent) for part in boxes for dimension, extent in part.items()
    )


def is_empty(constraints: Box) -> bool:
    """Return whether no static or dynamic dimensions satisfy constraints."""
    if any(constraint.static_size() is None for constraint in constraints.values()):
        return True
    fixed = {
        (representative(at), extent.size)
        for at, extent in constraints.items()
        if extent.size is not None
    }
    return len(fixed) > len({dimension for dimension, _ in fixed})


def static_sizes(constraints: Box) -> dict[Dimension, int] | None:
    """Return static sizes of at least 1 that satisfy constraints, None if there are none."""
    sizes = {dimension: extent.static_size() for dimension, extent in constraints.items()}
    static = {dimension: size for dimension, size in sizes.items() if size}
    return static if len(static) == len(sizes) else None


@lru_cache(maxsize=1024)
def loop_dimensions(
    loops: tuple[tuple[int | None, ...], ...], roles: tuple[tuple[str, tuple[int, ...]], ...]
) -> Mapping[Dimension, Dimension]:
    """Return the loop of each dimension that has one, by all of its names, as they follow from indexing maps."""
    # The compiler takes the size of a loop from one dimension, that of the first operand with the loop (for attention
    # the value comes before the key). It is named `("loop", number, 0)`. Other dimensions of the loop have the same
    # size if they are static; if they are dynamic, the size may be unknown. They are named `("loop", number, 1)` and so
    # on.
    order = list(range(len(loops)))
    if any(role.startswith(OpKind.ATTENTION.value) for role, _ in roles):
        order[1:3] = [2, 1]
    dimensions: dict[Dimension, Dimension] = {}
    seen: Counter[int] = Counter()
    for operand in order:
        for dimension, loop in enumerate(loops[operand]):
            if loop is not None:
                dimensions[OPERAND, operand, dimension] = (LOOP, loop, seen[loop])
                seen[loop] += 1
    for role, result in roles:
        dimensions |= {(role, position, 0): (LOOP, loop, 0) for position, loop in enumerate(result)}
    return dimensions
