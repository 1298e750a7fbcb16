"""Configurations for which the compiler is known to generate code with wrong results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.iree.targets import read_executable_target

if TYPE_CHECKING:
    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.workload import Workload

_TRANSPOSED_RESULT: Final = (
    "the innermost dimension of the result is an m dimension: with NV_MMA_SYNC intrinsics, IREE 3.13 puts elements of "
    "the accumulator at the places of others"
)


def miscompilation(workload: Workload, configuration: Configuration) -> str:
    """Return why the code of a configuration computes wrong results; empty if no reason is known.

    Measured on an NVIDIA H200 with code for sm_80, IREE 3.13.0: 40 of 40 configurations of an NCHW 1x1 convolution with
    such an intrinsic, in both pipelines and with any promoted operands, give the same wrong elements, and 16 of 16
    without an intrinsic are right (`docs/wrong-defaults.md`).
    """
    intrinsic = configuration.entries.get("mma_kind")
    if intrinsic is None or "NV_MMA_SYNC" not in str(intrinsic):
        return ""
    return _TRANSPOSED_RESULT if _ends_with_m(workload) else ""


def intrinsics_are_miscompiled(workload: Workload) -> bool:
    """Return whether every configuration with a matrix intrinsic computes wrong results; see `miscompilation`."""
    target = read_executable_target(workload.target) if workload.target is not None else None
    return target is not None and target.backend == "cuda" and _ends_with_m(workload)


def _ends_with_m(workload: Workload) -> bool:
    """Return whether the innermost dimension of the result of a contraction is an m dimension."""
    if workload.problem.kind is not OpKind.CONTRACTION:
        return False
    loops = StructuredOp(workload.root).operand_loops
    innermost = loops[-1][-1] if loops and loops[-1] else None
    return innermost is not None and workload.problem.dimensions[innermost].role is Role.M
