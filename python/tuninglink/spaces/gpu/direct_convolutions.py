"""Convolutions in the pipeline VectorDistribute: intrinsics run over a row of the image and over the channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import Role
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import any_of, number
from tuninglink.spaces.gpu.contraction_tiles import intrinsic_slot
from tuninglink.spaces.gpu.contractions import (
    intrinsics_for,
    operand_over,
    read_operand,
    static_sizes,
)
from tuninglink.spaces.gpu.convolutions import has_innermost_channels, read_igemm
from tuninglink.spaces.gpu.gpu_rules import GpuRules
from tuninglink.spaces.gpu.knob_table import (
    REDUCTION,
    SUBGROUP_BASIS,
    WORKGROUP,
    KnobTable,
    gpu_template,
)
from tuninglink.spaces.gpu.promotion import promotion_slots
from tuninglink.spaces.gpu.space import Form, GpuSpace
from tuninglink.spaces.gpu.thread_layouts import require_derivable
from tuninglink.spaces.gpu.vector_distribute import WITH_INTRINSIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.contractions import Operand
    from tuninglink.spaces.gpu.device import Device, Intrinsic
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.workload import Workload

_UNKNOWN: Final = (
    "what else code generation needs of a convolution in VectorDistribute is not known"
)


def direct_convolution_spaces(
    workload: Workload, device: Device, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Returns the configurations that take one element of the filter at a time, and promote both operands.

    What is known of them refutes some and proves none. Of 141 that were compiled for sm_80, 85 failed: those whose tiles
    threads cannot share evenly.

    Raises:
        UndecidedError: the convolution is of another form or has strides, or the target has no intrinsic for it.
    """
    intrinsics = intrinsics_for(read_igemm(workload), device)
    op, problem = StructuredOp(workload.root), workload.problem
    if not has_innermost_channels(workload):
        raise UndecidedError(f"the channels of {problem} are not innermost")
    if set(op.strides) != {1}:
        raise UndecidedError(f"{problem} has strides")
    *rows, channel = (
        loop for loop, role in enumerate(op.roles) if role not in (Role.FILTER, Role.INPUT_CHANNEL)
    )
    inputs = len(op.roles) - 1
    image, filters = op.operation.operands[:2]
    # Where one element of the filter is taken, the tile of the image is that of the output.
    operands = (operand_over(image, (*rows, inputs)), read_operand(filters, op.maps[1]))
    convolution = _Convolution(
        static_sizes(workload), op.roles, (rows[-1], channel, inputs), operands
    )

    def make() -> Form:
        return _form(problem, convolution, intrinsics, device, pipeline)

    return [GpuSpace(WITH_INTRINSIC, make)]


@dataclass(frozen=True)
class _Convolution:
    """A convolution without strides.

    Attributes:
        sizes: the sizes of its loops.
        roles: their roles.
        matrix_loops: the loops that intrinsics run over: m, n and k.
        operands: the image and the filters.
    """

    sizes: tuple[int, ...]
    roles: Sequence[Role]
    matrix_loops: tuple[int, int, int]
    operands: tuple[Operand, Operand]


def _form(
    problem: Problem,
    convolution: _Convolution,
    intrinsics: Sequence[Intrinsic],
    device: Device,
    pipeline: mlir.Attribute,
) -> Form:
    rules = GpuRules()
    table = KnobTable(rules, len(convolution.sizes), pipeline.context)
    kind = intrinsic_slot(intrinsics)
    chosen = rules.choice(kind.name, kind.options)
    tiles: dict[int, Number] = {}
    for loop, (size, role) in enumerate(zip(convolution.sizes, convolution.roles, strict=True)):
        if role is Role.FILTER:
            table.tile(REDUCTION, loop, 1)
            tiles[loop] = number(1)
        else:
            entry = REDUCTION if role is Role.INPUT_CHANNEL else WORKGROUP
            tiles[loop] = table.tile(entry, loop, size, zero=size)
    m, n, _ = convolution.matrix_loops
    most = max(1, device.threads // device.subgroup_size)
    names = {m: "sg_m_cnt", n: "sg_n_cnt"}
    counts = {loop: rules.knob(name, 1, most) for loop, name in names.items()}
    threads, _, _ = rules.workgroup(device)
    steps = {
        loop: rules.look_up(chosen, [getattr(each, side) for each in intrinsics])
        * counts.get(loop, 1)
        for loop, side in zip(convolution.matrix_loops, "mnk", strict=True)
    }
    # Tiles that are rounded up are masked: others are read than configured.
    uneven = any_of(
        *(convolution.sizes[loop] % tile != 0 for loop, tile in tiles.items()),
        *(tiles[loop] % step != 0 for loop, step in steps.items()),
    )
    for index, operand in enumerate(convolution.operands):
        require_derivable(rules, operand, tiles, threads, f"operand {index}", unless=uneven)
    rules.propose_nothing("the compiler's own constraints propose")
    slots = {
        "mma_kind": kind,
        SUBGROUP_BASIS: table.basis(names),
        **promotion_slots((0, 1), pipeline.context),
        **table.slots(),
    }
    constraints = rules.build(problem, str(pipeline), _UNKNOWN)
    return Form(constraints, gpu_template(pipeline, slots))
