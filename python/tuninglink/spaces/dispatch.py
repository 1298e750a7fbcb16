"""The dispatch of a root op: its problem, its target, and the limits of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler.dialects import iree_gpu

from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.spaces.problem import Dimension, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iree.compiler import ir as mlir


def problem_of(root: mlir.Operation, limits: Mapping[str, int]) -> Problem:
    """Returns the problem that a root op computes.

    Args:
        root: the root op.
        limits: the limits of the target.
    """
    op = StructuredOp(root)
    dimensions = tuple(map(Dimension, op.roles, op.sizes))
    return Problem(op.kind, dimensions, op.element_types, limits)


def target_around(function: mlir.Operation) -> mlir.Attribute | None:
    """Returns the `#hal.executable.target` that is written on or around a function, the nearest one."""
    operation: mlir.Operation | None = function
    while operation is not None:
        is_variant = operation.name == names.EXECUTABLE_VARIANT
        target = operation.attributes.get("target" if is_variant else names.EXECUTABLE_TARGET)
        if target is not None:
            return target
        operation = operation.parent.operation if operation.parent is not None else None
    return None


def gpu_limits(target: mlir.Attribute) -> dict[str, int]:
    """Returns what a GPU can do, under the names that the compiler uses.

    Args:
        target: a `#hal.executable.target` that describes a GPU; the bindings end the process on others.
    """
    info = iree_gpu.TargetInfo.get_gpu_target_info(target)
    return {
        "max_thread_count_per_workgroup": info.max_thread_count_per_workgroup,
        "max_workgroup_memory_bytes": info.max_workgroup_memory_bytes,
        "simds_per_workgroup": info.simds_per_workgroup,
    }
