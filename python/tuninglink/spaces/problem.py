"""The problem to configure: the operation, its dimensions, its element types, and the target's limits.

The module does not depend on the solver, the IR or pipelines.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tuninglink.iree.op_kinds import OpKind, Role


@dataclass(frozen=True)
class Dimension:
    """One dimension of the iteration space.

    Attributes:
        role: the role of the dimension in the operation.
        size: its extent, or None if it is dynamic.
    """

    role: Role
    size: int | None


@dataclass(frozen=True)
class Problem:
    """The problem to configure.

    Attributes:
        kind: the kind of op.
        dimensions: the iteration space, in the order of the loops.
        element_types: the element types of the operands, inputs before outputs, as MLIR prints them.
        limits: the limits of the target, such as `max_workgroup_memory_bytes` and
            `max_thread_count_per_workgroup`.
    """

    kind: OpKind
    dimensions: tuple[Dimension, ...] = ()
    element_types: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)

    def loops(self, role: Role) -> tuple[int, ...]:
        """Return the loops with a role."""
        return tuple(loop for loop, each in enumerate(self.dimensions) if each.role is role)

    def resized(self, sizes: Iterable[int]) -> Problem:
        """Return the same problem with other sizes of its loops."""
        roles = (dimension.role for dimension in self.dimensions)
        return replace(self, dimensions=tuple(map(Dimension, roles, sizes)))

    def __str__(self) -> str:
        sizes = "x".join(
            "?" if dimension.size is None else str(dimension.size) for dimension in self.dimensions
        )
        types = "x".join(self.element_types)
        return " ".join(part for part in (self.kind.value, sizes, types) if part)
