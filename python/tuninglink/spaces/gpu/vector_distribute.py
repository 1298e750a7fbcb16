"""Contractions with intrinsics in the pipeline VectorDistribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.solver.expressions import all_of, any_of, negation, number
from tuninglink.spaces.gpu.compiler_limits import vector_distribute_limits
from tuninglink.spaces.gpu.contraction_tiles import ContractionTiles
from tuninglink.spaces.gpu.contractions import intrinsics_for, read_contraction, static_sizes
from tuninglink.spaces.gpu.gpu_rules import GpuRules, clip, product
from tuninglink.spaces.gpu.knob_table import (
    REDUCTION,
    SUBGROUP_BASIS,
    WORKGROUP,
    KnobTable,
    gpu_template,
    knob_name,
)
from tuninglink.spaces.gpu.promotion import Promotion
from tuninglink.spaces.gpu.space import Form, GpuSpace, Outline
from tuninglink.spaces.gpu.thread_layouts import is_derivable, require_derivable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.contractions import Contraction, Operand
    from tuninglink.spaces.gpu.device import Device, Intrinsic
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.workload import Workload

_BYTE: Final = 8
_MOST_PIECES: Final = 32
_MOST_INTRINSICS: Final = 1 << 10
"""Three times as many took over a minute to compile."""

WITH_INTRINSIC: Final = Outline(frozenset({"mma_kind", SUBGROUP_BASIS, REDUCTION, WORKGROUP}))
"""The outline of configurations in which an intrinsic multiplies, of contractions and of convolutions."""


def vector_distribute_spaces(
    workload: Workload, device: Device, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Returns the configurations with an intrinsic.

    A workgroup takes a tile of each dimension; its subgroups form a grid over the tile.

    Raises:
        UndecidedError: the contraction is of another form, or the target has no intrinsic for it.
    """
    contraction = read_contraction(workload)
    static_sizes(workload)
    intrinsics = intrinsics_for(contraction, device)
    problem = workload.problem

    def make() -> Form:
        return _form(problem, contraction, intrinsics, device, pipeline)

    return [GpuSpace(WITH_INTRINSIC, make)]


def _form(
    problem: Problem,
    contraction: Contraction,
    intrinsics: Sequence[Intrinsic],
    device: Device,
    pipeline: mlir.Attribute,
) -> Form:
    """Writes down the rules of the form, and its template."""
    rules = GpuRules()
    table = KnobTable(rules, len(contraction.sizes), pipeline.context)
    tiling = ContractionTiles(contraction, rules, table)
    kind = tiling.choose_intrinsic(intrinsics)
    counts = _counts(contraction)
    most = max(1, device.threads // device.subgroup_size)
    reductions = (*contraction.outer_k, contraction.k)
    for loop in (*contraction.outer, *contraction.outer_k, *contraction.matrix_loops):
        entry, size = (REDUCTION if loop in reductions else WORKGROUP), contraction.size(loop)
        tile = tiling.tiles[loop] = table.tile(entry, loop, size, zero=size)
        if loop in counts:
            highest = size if loop in contraction.outer else most
            tiling.counts[loop] = rules.knob(counts[loop], 1, highest)
        name = knob_name(entry, loop)
        rules.compilers(
            size % tile == 0,
            f"dimension {loop} must be divisible by {name} ({size} % {{}} == 0)",
            tile,
        )
        step = tiling.shapes[loop] * tiling.counts.get(loop, 1)
        rules.compilers(
            tile % step == 0,
            f"{name} must be divisible by what its subgroups take at a time ({{}} % {{}} == 0)",
            tile,
            step,
        )
    taken = {
        loop: tiling.tiles[loop] / (tiling.shapes[loop] * tiling.counts.get(loop, 1))
        for loop in tiling.tiles
    }
    for loop in contraction.matrix_loops:
        rules.unrolled(taken[loop], f"intrinsics along dimension {loop}", _MOST_PIECES)
    rules.unrolled(product(taken.values()), "intrinsics", _MOST_INTRINSICS)
    threads, subgroup_size, stages = rules.workgroup(device)
    rules.threads(threads, product(tiling.counts.values()) * subgroup_size, "of its subgroups")
    promotion = Promotion(rules, pipeline.context)
    clipped = {loop: clip(tile, contraction.sizes[loop]) for loop, tile in tiling.tiles.items()}
    operands = (contraction.lhs, contraction.rhs)
    # Of a computed operand, what it is computed from may be copied in its place.
    least = [
        bits if not each.inputs else number(0)
        for each, bits in zip(operands, promotion.bits(contraction, clipped), strict=True)
    ]
    copies = promotion.bits(contraction, tiling.tiles)
    further = [large - small for large, small in zip(copies, least, strict=True)]
    rules.memory_bounds(least, further, device)
    for index, operand in enumerate(operands):
        uneven = [_is_uneven(tiling, loop) for loop in operand.loops]
        exempt = any_of(negation(promotion.of(index)), *uneven)
        require_derivable(rules, operand, tiling.tiles, threads, f"operand {index}", unless=exempt)
        _cover_inputs(rules, operand, tiling.tiles, threads, promotion.of(index))
    if contraction.is_plain:
        vector_distribute_limits(tiling, threads, stages, promotion)
    slots = {
        "mma_kind": kind,
        SUBGROUP_BASIS: table.basis(counts),
        **promotion.slots,
        **table.slots(),
    }
    return Form(rules.build(problem, str(pipeline)), gpu_template(pipeline, slots))


def _cover_inputs(
    rules: GpuRules,
    operand: Operand,
    tiles: Mapping[int, Number],
    threads: Number,
    is_promoted: Number,
) -> None:
    """Asks for tiles that the threads can share of all that a promoted operand is computed from.

    Elements of less than a byte cannot be copied.
    """
    for each in operand.inputs:
        shape = [tiles[loop] for loop in each.loops]
        can_share = is_derivable(shape, threads, each.bits) if shape else True
        rules.sufficient(
            any_of(negation(is_promoted), all_of(each.bits >= _BYTE, can_share)),
            f"the {{}} threads must be able to share reading the elements of type {each.element_type} that a promoted "
            "operand is computed from",
            threads,
        )


def _is_uneven(tiling: ContractionTiles, loop: int) -> Number:
    """Returns the condition that a tile is rounded up and masked, so that another one is read than configured."""
    size, tile = tiling.contraction.size(loop), tiling.tiles[loop]
    step = tiling.shapes[loop] * tiling.counts.get(loop, 1)
    return any_of(size % tile != 0, tile % step != 0)


def _counts(contraction: Contraction) -> dict[int, str]:
    """Returns the knobs for the number of subgroups along loops."""
    names = {loop: f"sg_{loop}_cnt" for loop in contraction.outer}
    return {**names, contraction.m: "sg_m_cnt", contraction.n: "sg_n_cnt"}
