"""Convolutions as the contractions that the compiler makes of them (implicit GEMM)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tuninglink.iree.op_kinds import Role
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.gpu.contractions import (
    Contraction,
    operand_over,
    read_operand,
    starts_from_fill,
    static_sizes,
)

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload

_REDUCING = (Role.FILTER, Role.INPUT_CHANNEL)


def read_igemm(workload: Workload) -> Contraction:
    """Returns the contraction that the compiler makes of a convolution.

    Its loops are those over the result, and one over all that is added up.

    Raises:
        UndecidedError: it is grouped, its channels are not innermost, or its sizes are not known.
    """
    op, problem = StructuredOp(workload.root), workload.problem
    sizes, roles = static_sizes(workload), op.roles
    reductions = [loop for loop, role in enumerate(roles) if role in _REDUCING]
    parallel = [loop for loop in range(len(roles)) if loop not in reductions]
    image, filters, result = op.maps[:3]
    ordered = [*parallel, *reductions] == list(range(len(roles)))
    known = {Role.BATCH, Role.OUTPUT_IMAGE, Role.OUTPUT_CHANNEL, *_REDUCING}
    if len(op.maps) != len(op.operation.operands) or not set(roles) <= known or not ordered:
        raise UndecidedError(f"{problem} is of another form than batch, image and channels")
    channel, inputs = parallel[-1], reductions[-1]
    weights = read_operand(op.operation.operands[1], filters).loops
    if (
        (roles[channel], roles[inputs]) != (Role.OUTPUT_CHANNEL, Role.INPUT_CHANNEL)
        or list(roles).count(Role.OUTPUT_CHANNEL) != 1
        or list(roles).count(Role.INPUT_CHANNEL) != 1
        or Role.OUTPUT_IMAGE not in roles
        or read_operand(op.operation.operands[2], result).loops != tuple(parallel)
        or weights not in ((*reductions, channel), (channel, *reductions))
        or str(image.results[-1]) != f"d{inputs}"
    ):
        raise UndecidedError(f"the channels of {problem} are not innermost")
    k = len(parallel)
    loops = (
        (*parallel[:-1], k),
        (k, channel) if weights[-1] == channel else (channel, k),
        tuple(parallel),
    )
    lhs, rhs, out = map(operand_over, op.operation.operands, loops)
    return Contraction(
        (*sizes[:k], prod(sizes[k:])),
        tuple(parallel[:-2]),
        (),
        parallel[-2],
        channel,
        k,
        lhs,
        rhs,
        out,
        accumulates=not starts_from_fill(op),
        is_plain=False,
    )
