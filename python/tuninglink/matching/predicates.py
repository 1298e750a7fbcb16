"""Predicates: the conditions of a matcher on an op, as plain data.

A matcher is a conjunction of predicates. Predicates do not refer to a context or an op, so they can be compared across
contexts and used as keys.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tuninglink.iree.op_kinds import OpKind
    from tuninglink.iree.structured_op import ValueType

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

STEPS: Final = ("strides", "dilations")
"""The roles of convolutions that are not loops."""


@dataclass(frozen=True)
class Maps:
    """Indexing maps as data.

    Attributes:
        text: the maps, as MLIR prints them.
        operands: each map by itself.
        loop_count: the number of loops.
        loops: for each dimension of each operand, the loop that indexes it; None for another expression.
        roles: the loops in each role of the op's kind, such as `contraction m`.
    """

    text: str
    operands: tuple[str, ...] = field(compare=False)
    loop_count: int = field(compare=False)
    loops: tuple[tuple[int | None, ...], ...] = field(compare=False)
    roles: tuple[tuple[str, tuple[int, ...]], ...] = field(compare=False)


@dataclass(frozen=True)
class ValueRef:
    """An operand or a result of the op.

    Attributes:
        group: `operand` or `result`.
        number: its position.
    """

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
    """An operand of an op of a kind has an element type.

    Attributes:
        kind: the kind.
        operand: the index of the operand; negative indices count from the last one.
        role: the matcher op's name for the operand, such as `lhs`.
        element: the element type, as MLIR prints it.
    """

    kind: OpKind
    operand: int
    role: str
    element: str


@dataclass(frozen=True)
class HasMaps:
    """The op has these indexing maps.

    Attributes:
        maps: the maps.
        inputs: the matcher op's names for the first operands.
        outputs: the matcher op's names for the last operands.
    """

    maps: Maps
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class IsUnmasked:
    """The op is an attention without a mask that the matcher ops for attention reject."""


@dataclass(frozen=True)
class HasRoleSizes:
    """The loops in a role have exactly these sizes; None for any size.

    Attributes:
        kind: the kind of op of the matcher op.
        role: the role, such as `m`.
        sizes: a size for each loop.
    """

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

    def both(self, other: Extent) -> Extent:
        """Return the conjunction of two constraints."""
        size = self.size if other.size is None else other.size
        low = max(self.low, other.low)
        if size is not None and self.size not in (None, size):
            low = size + 1  # Two different sizes: make the bounds exclude the one that is kept.
        factor = math.lcm(self.factor, other.factor)
        return Extent(size, low, min(self.high, other.high), factor)

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
    """The regions of the op contain a computation.

    Attributes:
        key: equal for equivalent regions.
        computation: the names of the ops in them.
    """

    key: Hashable
    computation: str = field(compare=False)


@dataclass(frozen=True)
class IsDag:
    """The op and the producers of its operands are those of a DAG.

    Attributes:
        key: equal for equivalent DAGs, without sizes of the op's own operands.
        root_key: the key of the op alone.
        kind: the kind of the op.
        has_free_operands: whether the DAG is a single op with distinct, arbitrary operands.
    """

    key: Hashable
    root_key: Hashable
    kind: OpKind
    has_free_operands: bool


Predicate = (
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


def role_name(kind: OpKind, role: str) -> str:
    """Return the name of a role in dimensions, with the kind, such as `contraction m`."""
    return f"{kind.value} {role}"


def representative(dimension: Dimension) -> Dimension:
    """Return the representative of all dimensions that have the same size as `dimension` if they are static."""
    group, number, _ = dimension
    return (group, number, 0) if group == LOOP else dimension
