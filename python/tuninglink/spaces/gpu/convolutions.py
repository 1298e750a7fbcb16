"""Convolutions as the contractions into which the compiler converts them (implicit GEMM)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree.op_kinds import Role
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.gpu.contractions import (
    Contraction,
    loops_of,
    read_operand,
    starts_from_fill,
    static_sizes,
)

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload

_KNOWN = {Role.BATCH, Role.OUTPUT_IMAGE, Role.OUTPUT_CHANNEL, Role.FILTER, Role.INPUT_CHANNEL}
_REDUCING = (Role.FILTER, Role.INPUT_CHANNEL)


def read_igemm(workload: Workload) -> Contraction:
    """Return the contraction into which the compiler converts a convolution, from the compiler's description.

    Raises:
        UndecidedError: the compiler does not convert it, it is grouped, or its sizes are unknown.
    """
    op, problem = StructuredOp(workload.root), workload.problem
    static_sizes(workload)
    if len(op.maps) != len(op.operation.operands) or not set(op.roles) <= _KNOWN:
        raise UndecidedError(f"{problem} is of another form than batch, image and channels")
    details = iree_codegen.get_igemm_generic_conv_details(workload.root)
    if details is None:
        raise UndecidedError(f"the compiler makes no contraction of {problem}")
    image, filters, out = op.operation.operands
    operands = (filters, image, out) if details.is_output_channel_first else (image, filters, out)
    maps = [
        mlir.AffineMapAttr(each).value for each in mlir.ArrayAttr(details.igemm_contraction_maps)
    ]
    lhs, rhs, result = map(read_operand, operands, maps)
    parallel, left, right = (set(each.loops) for each in (result, lhs, rhs))
    rows, columns = sorted(left & parallel - right), sorted(right & parallel - left)
    reductions = sorted(left & right - parallel)
    if not rows or not columns or len(reductions) != 1 or left & right & parallel:
        raise UndecidedError(f"the contraction that {problem} becomes is of another form")
    (*outer_m, m), (*outer_n, n) = rows, columns
    return Contraction(
        tuple(details.igemm_loop_bounds),
        tuple(sorted((*outer_m, *outer_n))),
        (),
        m,
        n,
        reductions[0],
        lhs,
        rhs,
        result,
        accumulates=not starts_from_fill(op),
        is_plain=False,
        image=int(details.is_output_channel_first),
    )


def has_innermost_channels(workload: Workload) -> bool:
    """Return whether the channels are the innermost dimension of image and result, with one loop over each."""
    op = StructuredOp(workload.root)
    roles = list(op.roles)
    *parallel, channel = (loop for loop, role in enumerate(roles) if role not in _REDUCING)
    *filters, inputs = (loop for loop, role in enumerate(roles) if role in _REDUCING)
    weights, result = (loops_of(map_) for map_ in op.maps[1:3])
    return (
        [*parallel, channel, *filters, inputs] == list(range(len(roles)))
        and (roles[channel], roles[inputs]) == (Role.OUTPUT_CHANNEL, Role.INPUT_CHANNEL)
        and roles.count(Role.OUTPUT_CHANNEL) == roles.count(Role.INPUT_CHANNEL) == 1
        and result == [*parallel, channel]
        and weights in ([*filters, inputs, channel], [channel, *filters, inputs])
        and str(op.maps[0].results[-1]) == f"d{inputs}"
    )
