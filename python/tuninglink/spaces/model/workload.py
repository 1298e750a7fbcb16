"""Workloads: a root op with its problem and its target."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_gpu

from tuninglink.iree import OpKind, Role, StructuredOp, read_executable_target
from tuninglink.mlir import names


@dataclass(frozen=True)
class Dimension:
    """One dimension of the iteration space: its role in the operation, and its extent, None if it is dynamic."""

    role: Role
    size: int | None


@dataclass(frozen=True)
class Problem:
    """The problem to configure.

    Attributes:
        dimensions: the iteration space, in the order of the loops.
        element_types: the element types of the operands, inputs before outputs, as MLIR prints them.
        limits: the limits of the target, such as `max_workgroup_memory_bytes`.
    """

    kind: OpKind
    dimensions: tuple[Dimension, ...] = ()
    element_types: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)

    def loops(self, role: Role) -> tuple[int, ...]:
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


@dataclass(frozen=True)
class Workload:
    """A root op, and the properties that its configuration depends on.

    Attributes:
        target: the `#hal.executable.target` of the function that contains it.
        module: the module around the function, if the workload must keep it alive; operations do not.
        family: a key shared only by workloads for the same target that differ only in static sizes and in their
            configurations; None if unknown. Equal families have equal texts in all processes.
    """

    root: mlir.Operation
    function: mlir.Operation
    target: mlir.Attribute | None
    problem: Problem
    module: mlir.Operation | None = None
    family: Hashable | None = None

    @property
    def static_sizes(self) -> tuple[int, ...] | None:
        """The sizes of the loops, None if one is dynamic."""
        sizes = [dimension.size for dimension in self.problem.dimensions]
        static = tuple(size for size in sizes if size is not None)
        return static if len(static) == len(sizes) else None


def read_workload(
    root: mlir.Operation, function: mlir.Operation, module: mlir.Operation | None = None
) -> Workload:
    """Return the workload of a root op, for the target attribute on or around its function."""
    target = target_around(function)
    op = StructuredOp(root)
    dimensions = tuple(map(Dimension, op.roles, op.sizes))
    # The limits of a GPU, by the compiler's names; there are none for other targets.
    text = "" if target is None else str(target)
    if text not in _known_limits:
        executable = None if target is None else read_executable_target(target)
        limits = {}
        # The bindings abort the process on targets that do not describe a GPU.
        if target is not None and executable is not None and executable.gpu:
            info = iree_gpu.TargetInfo.get_gpu_target_info(target)
            limits = {
                "max_thread_count_per_workgroup": info.max_thread_count_per_workgroup,
                "max_workgroup_memory_bytes": info.max_workgroup_memory_bytes,
                "simds_per_workgroup": info.simds_per_workgroup,
            }
        _known_limits[text] = limits  # in one step: other threads read it
    problem = Problem(op.kind, dimensions, op.element_types, _known_limits[text])
    return Workload(root, function, target, problem, module)


def target_around(function: mlir.Operation) -> mlir.Attribute | None:
    """Return the innermost `#hal.executable.target` on or around a function."""
    operation: mlir.Operation | None = function
    while operation is not None:
        is_variant = operation.name == names.EXECUTABLE_VARIANT
        target = operation.attributes.get("target" if is_variant else names.EXECUTABLE_TARGET)
        if target is not None:
            return target
        operation = operation.parent.operation if operation.parent is not None else None
    return None


_known_limits: Final[dict[str, Mapping[str, int]]] = {}
"""The cached limits of targets, by the text of the target: there are few targets, but many root ops."""
