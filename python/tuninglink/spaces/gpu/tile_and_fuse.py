"""Contractions with intrinsics in the pipeline TileAndFuse."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import z3
from iree.compiler import ir as mlir

from tuninglink.spaces.gpu.compiler_limits import tile_and_fuse_limits
from tuninglink.spaces.gpu.contraction_tiles import ContractionTiles
from tuninglink.spaces.gpu.gpu_rules import MOST_INTRINSICS, GpuRules, product, round_up
from tuninglink.spaces.gpu.knob_table import (
    REDUCTION,
    SUBGROUP,
    WORKGROUP,
    KnobTable,
    gpu_template,
)
from tuninglink.spaces.gpu.promotion import Promotion, tile_bits
from tuninglink.spaces.gpu.space import GpuSpace
from tuninglink.spaces.templates import ConstantSlot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.device import Device, Intrinsic
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.templates import Slot

_CONVERTS: Final = "convert_acc_gemm"
"""The entry that makes a sum that starts from given values one that starts from zero, and adds them afterwards."""


def tile_and_fuse_spaces(
    contraction: Contraction,
    problem: Problem,
    device: Device,
    intrinsics: Sequence[Intrinsic],
    pipeline: mlir.Attribute,
) -> list[GpuSpace]:
    """Returns the spaces of configurations with an intrinsic.

    For a contraction that accumulates these are one whose configurations convert it, and, on AMD's GPUs, one
    whose configurations do not; on NVIDIA's, those fail to bufferize.
    """
    if not contraction.accumulates:
        slots: dict[str, Slot] = {}
        return [_space(contraction, problem, device, intrinsics, pipeline, further=slots)]
    with pipeline.context:
        slots = {_CONVERTS: ConstantSlot(mlir.UnitAttr.get())}
    converted = replace(contraction, accumulates=False)
    spaces = [_space(converted, problem, device, intrinsics, pipeline, further=slots)]
    if device.architecture.startswith("gfx"):
        spaces.append(_space(contraction, problem, device, intrinsics, pipeline, further={}))
    return spaces


def _space(
    contraction: Contraction,
    problem: Problem,
    device: Device,
    intrinsics: Sequence[Intrinsic],
    pipeline: mlir.Attribute,
    *,
    further: Mapping[str, Slot],
) -> GpuSpace:
    """Returns the configurations with an intrinsic, and with `further` entries.

    A workgroup takes a tile of each dimension of the result, each of its subgroups a number of results of the
    intrinsic; the tile of k is counted in intrinsics, too.
    """
    rules = GpuRules()
    table = KnobTable(rules, len(contraction.sizes), pipeline.context)
    tiling = ContractionTiles(contraction, rules, table)
    kind = tiling.choose_intrinsic(intrinsics)
    for loop in contraction.batch:
        _tile_batch(tiling, loop)
    for loop, side in ((contraction.m, "m"), (contraction.n, "n")):
        _tile_side(tiling, loop, side, intrinsics)
    _tile_reduction(tiling, contraction.k, intrinsics)
    steps = tiling.tiles[contraction.k] / tiling.shapes[contraction.k]
    taken = (z3.If(each == 0, 1, each) for each in tiling.pieces.values())
    rules.unrolled(product([steps, *taken]), "intrinsics", MOST_INTRINSICS)
    threads, subgroup_size, stages = rules.workgroup(device)
    wanted = product(tiling.counts.values()) * subgroup_size
    rules.threads(threads, wanted, "that its tiles ask for")
    promotion = Promotion(rules, pipeline.context)
    rules.memory(
        [
            *promotion.bits(contraction, _clipped(tiling)),
            z3.If(
                _is_exchanged(tiling, threads, wanted),
                tile_bits(contraction.result, tiling.tiles),
                0,
            ),
        ],
        device,
    )
    if contraction.is_plain:
        tile_and_fuse_limits(tiling, stages, promotion)
    slots = {"mma_kind": kind, **promotion.slots, **table.slots(), **further}
    ignored = frozenset() if further or contraction.accumulates else frozenset({_CONVERTS})
    template = gpu_template(pipeline, slots, ignored=ignored)
    return GpuSpace(rules.build(problem, str(pipeline)), template)


def _clipped(tiling: ContractionTiles) -> dict[int, Number]:
    """Returns the tiles without what sticks out: operands are promoted before they are padded."""
    sizes = tiling.contraction.sizes
    return {
        loop: z3.If(tile < sizes[loop], tile, sizes[loop]) for loop, tile in tiling.tiles.items()
    }


def _is_exchanged(tiling: ContractionTiles, threads: Number, wanted: Number) -> Number:
    """Returns the condition that the tile of the result is in shared memory.

    Threads that do not fit their tiles exchange what they add up; so do all threads between the steps of the
    reduction if the result is padded, and where they start from given values.
    """
    if tiling.contraction.accumulates:
        return True
    sizes, k = tiling.contraction.sizes, tiling.contraction.k
    sides = (tiling.contraction.m, tiling.contraction.n)
    is_padded = z3.Or([tiling.tiles[loop] > sizes[loop] for loop in sides])
    return z3.Or(threads != wanted, z3.And(is_padded, tiling.tiles[k] < sizes[k]))


def _tile_batch(tiling: ContractionTiles, loop: int) -> None:
    rules, size = tiling.rules, tiling.contraction.sizes[loop]
    tile = tiling.tiles[loop] = tiling.table.tile(WORKGROUP, loop, size, zero=size)
    piece = tiling.pieces[loop] = tiling.table.tile(SUBGROUP, loop, size, low=0)
    rules.necessary(
        size % tile == 0,
        f"dimension {loop} must be divisible by wg_{loop} ({size} % {{}} == 0)",
        tile,
    )
    # Zero is as good as all of the tile.
    tiling.counts[loop] = z3.If(piece == 0, 1, tile / piece)
    rules.necessary(
        z3.Or(piece == 0, tile % piece == 0),
        f"wg_{loop} must be divisible by sg_{loop} ({{}} % {{}} == 0)",
        tile,
        piece,
    )


def _tile_side(
    tiling: ContractionTiles, loop: int, side: str, intrinsics: Sequence[Intrinsic]
) -> None:
    rules, size, shape = tiling.rules, tiling.contraction.sizes[loop], tiling.shapes[loop]
    extents = [getattr(each, side) for each in intrinsics]
    most = max(-(-size // each) * each for each in extents)
    tile = tiling.tiles[loop] = tiling.table.tile(WORKGROUP, loop, most, zero=size)
    piece = tiling.pieces[loop] = tiling.table.tile(SUBGROUP, loop, -(-most // min(extents)))
    # A tile that sticks out is padded if it is the only one.
    rules.necessary(
        z3.Or(size % tile == 0, tile >= size),
        f"dimension {loop} must be divisible by wg_{loop}, or fit into it ({size} % {{}} == 0)",
        tile,
    )
    rules.compilers(
        tile % shape == 0,
        f"wg_{loop} must be a multiple of the intrinsic's {side} ({{}} % {{}} == 0)",
        tile,
        shape,
    )
    whole = (tile + shape - 1) / shape
    tiling.counts[loop] = z3.If(piece < whole, whole / piece, 1)
    rules.necessary(
        z3.Or(whole % piece == 0, piece >= whole),
        f"the {{}} intrinsics that wg_{loop} takes must be divisible by sg_{loop} ({{}})",
        whole,
        piece,
    )
    rules.compilers(
        piece <= whole,
        f"sg_{loop} must not be more than the intrinsics that wg_{loop} takes ({{}} <= {{}})",
        piece,
        whole,
    )


def _tile_reduction(tiling: ContractionTiles, loop: int, intrinsics: Sequence[Intrinsic]) -> None:
    rules, size, shape = tiling.rules, tiling.contraction.sizes[loop], tiling.shapes[loop]
    most = max(-(-size // each.k) for each in intrinsics)
    tile = tiling.tiles[loop] = tiling.table.tile(REDUCTION, loop, most) * shape
    padded = round_up(size, shape)
    rules.necessary(
        z3.Or(padded % tile == 0, tile >= padded),
        f"dimension {loop}, in whole intrinsics, must be divisible by red_{loop} intrinsics ({{}} % {{}} == 0)",
        padded,
        tile,
    )
    rules.compilers(
        tile <= padded,
        f"red_{loop} intrinsics must not be more than dimension {loop} has ({{}} <= {{}})",
        tile,
        padded,
    )
