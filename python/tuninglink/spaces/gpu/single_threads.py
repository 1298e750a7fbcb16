"""Contractions without intrinsics in the pipeline TileAndFuse: each thread computes a tile by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import z3

from tuninglink.spaces.gpu.contraction_tiles import ContractionTiles
from tuninglink.spaces.gpu.gpu_rules import GpuRules, product
from tuninglink.spaces.gpu.knob_table import (
    REDUCTION,
    THREAD,
    WORKGROUP,
    KnobTable,
    gpu_template,
)
from tuninglink.spaces.gpu.promotion import Promotion, tile_bits
from tuninglink.spaces.gpu.space import GpuSpace

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.device import Device
    from tuninglink.spaces.problem import Problem

_LEAST_BOUND: Final = 128
_MOST_TILE: Final = 1024
"""Tiles may stick out of what is computed, as the compiler's own do, but not by any amount."""


def single_threads_space(
    contraction: Contraction, problem: Problem, device: Device, pipeline: mlir.Attribute
) -> GpuSpace:
    """Returns the configurations without an intrinsic.

    Tiles need not divide anything: what sticks out is left out where the code runs.
    """
    rules = GpuRules()
    table = KnobTable(rules, len(contraction.sizes), pipeline.context)
    tiling = ContractionTiles(contraction, rules, table)
    for loop in (*contraction.batch, contraction.m, contraction.n):
        _tile_parallel(tiling, loop)
    k = contraction.k
    tiling.tiles[k] = table.tile(REDUCTION, k, contraction.sizes[k], zero=contraction.sizes[k])
    table.ignore(WORKGROUP, k)
    threads, _, _ = rules.workgroup(device)
    rules.unrolled(product([*tiling.pieces.values(), tiling.tiles[k]]), "products")
    wanted = product(tiling.counts.values())
    rules.compilers(
        wanted <= device.threads,
        f"tiles must not ask for more than {device.threads} threads ({{}} <= {device.threads})",
        wanted,
    )
    rules.threads(threads, wanted, "that its tiles ask for")
    promotion = Promotion(rules, pipeline.context)
    exchanged = z3.If(threads == wanted, 0, tile_bits(contraction.result, tiling.tiles))
    rules.memory([*promotion.bits(contraction, tiling.tiles), exchanged], device)
    slots = {**table.slots(), **promotion.slots}
    template = gpu_template(pipeline, slots, is_flat=False)
    return GpuSpace(rules.build(problem, str(pipeline)), template)


def _tile_parallel(tiling: ContractionTiles, loop: int) -> None:
    size = tiling.contraction.sizes[loop]
    most = size if loop in tiling.contraction.batch else _most_tile(size)
    tile = tiling.tiles[loop] = tiling.table.tile(WORKGROUP, loop, most, zero=size)
    piece = tiling.table.tile(THREAD, loop, most, low=0)
    tiling.pieces[loop] = z3.If(piece == 0, tile, piece)
    tiling.counts[loop] = z3.If(piece == 0, 1, (tile + piece - 1) / piece)
    tiling.rules.compilers(
        piece <= tile,
        f"thread_{loop} must not be more than wg_{loop} ({{}} <= {{}})",
        piece,
        tile,
    )


def _most_tile(size: int) -> int:
    return min(_MOST_TILE, max(_LEAST_BOUND, 1 << (size - 1).bit_length()))
