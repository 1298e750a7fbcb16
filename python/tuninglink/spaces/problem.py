"""What a configuration is wanted for: the operation, its dimensions, its element types, the target's limits.

Nothing here knows a solver, an operation of the IR or a pipeline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class OpKind(Enum):
    """What a root op computes, as far as the constraints on its configuration depend on it."""

    CONTRACTION = "contraction"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"
    REDUCTION = "reduction"
    ELEMENTWISE = "elementwise"
    OTHER = "other"


class Role(Enum):
    """What a dimension is to the operation."""

    BATCH = "batch"
    M = "m"
    N = "n"
    K = "k"
    K1 = "k1"
    K2 = "k2"
    OUTPUT_IMAGE = "output image"
    OUTPUT_CHANNEL = "output channel"
    FILTER = "filter"
    INPUT_CHANNEL = "input channel"
    DEPTH = "depth"
    PARALLEL = "parallel"
    REDUCTION = "reduction"


@dataclass(frozen=True)
class Dimension:
    """One dimension of the iteration space.

    Attributes:
        role: what the dimension is to the operation.
        size: its extent, or None if it is dynamic.
    """

    role: Role
    size: int | None


@dataclass(frozen=True)
class Problem:
    """What a configuration is wanted for.

    Attributes:
        kind: what is computed.
        dimensions: the iteration space, in the order of the loops.
        element_types: the element types of the operands, inputs before outputs, as MLIR writes them.
        limits: what the target can do: `max_workgroup_memory_bytes`, `max_thread_count_per_workgroup` and
            the like.
    """

    kind: OpKind
    dimensions: tuple[Dimension, ...] = ()
    element_types: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        sizes = "x".join("?" if each.size is None else str(each.size) for each in self.dimensions)
        types = "x".join(self.element_types)
        return " ".join(part for part in (self.kind.value, sizes, types) if part)
