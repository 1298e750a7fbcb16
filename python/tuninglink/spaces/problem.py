"""What a configuration is wanted for: the operation, its dimensions, its element types, the target's limits.

Nothing here knows a solver, an operation of the IR or a pipeline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.iree.op_kinds import OpKind, Role


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

    def loops(self, role: Role) -> tuple[int, ...]:
        """Returns the loops in a role."""
        return tuple(loop for loop, each in enumerate(self.dimensions) if each.role is role)

    def __str__(self) -> str:
        sizes = "x".join(
            "?" if dimension.size is None else str(dimension.size) for dimension in self.dimensions
        )
        types = "x".join(self.element_types)
        return " ".join(part for part in (self.kind.value, sizes, types) if part)
