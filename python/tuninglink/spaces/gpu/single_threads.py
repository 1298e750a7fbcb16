"""Contractions without intrinsics in the pipeline TileAndFuse: each thread computes a tile by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import z3

from tuninglink.spaces.gpu.forms import Form
from tuninglink.spaces.gpu.places import Array, Exactly, Ignored, Knob, Place
from tuninglink.spaces.gpu.promotion import Promotion, tile_bits
from tuninglink.spaces.gpu.rules import Rules, product
from tuninglink.spaces.gpu.space import GpuSpace

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.device import Device
    from tuninglink.spaces.gpu.rules import Number
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
    rules = Rules()
    sizes, k = contraction.sizes, contraction.k
    tiles: dict[int, Number] = {}
    counts: list[Number] = []
    pieces: list[Number] = []
    for loop in (*contraction.batch, contraction.m, contraction.n):
        most = sizes[loop] if loop in contraction.batch else _most_tile(sizes[loop])
        tiles[loop] = rules.knob(f"wg_{loop}", 1, most)
        piece = rules.knob(f"thread_{loop}", 0, most)
        pieces.append(z3.If(piece == 0, tiles[loop], piece))
        counts.append(z3.If(piece == 0, 1, (tiles[loop] + piece - 1) / piece))
        rules.adopted(
            piece <= tiles[loop],
            f"thread_{loop} must not be more than wg_{loop} ({{}} <= {{}})",
            piece,
            tiles[loop],
        )
    tiles[k] = rules.knob(f"red_{k}", 1, sizes[k])
    threads, subgroup_size = rules.workgroup(device)
    rules.stages()
    rules.unrolled(product([*pieces, tiles[k]]), "products")
    rules.subgroup_size(subgroup_size, device)
    wanted = product(counts)
    rules.adopted(
        wanted <= device.threads,
        f"tiles must not ask for more than {device.threads} threads ({{}} <= {device.threads})",
        wanted,
    )
    rules.adopted(
        threads == wanted,
        "a workgroup must have the threads that its tiles ask for ({} == {})",
        threads,
        wanted,
    )
    promotion = Promotion(rules, pipeline.context)
    exchanged = z3.If(threads == wanted, 0, tile_bits(contraction.result, tiles))
    rules.memory([*promotion.bits(contraction, tiles), exchanged], device)
    loops = range(len(sizes))
    places: dict[str, Place] = {
        "promote_operands": promotion.place,
        "promotion_types": promotion.kinds,
        "reduction": Array(
            tuple(Knob(f"red_{k}", sizes[k]) if loop == k else Exactly(0) for loop in loops)
        ),
        "thread": Array(
            tuple(Exactly(0) if loop == k else Knob(f"thread_{loop}") for loop in loops)
        ),
        "workgroup": Array(
            tuple(Ignored() if loop == k else Knob(f"wg_{loop}", sizes[loop]) for loop in loops)
        ),
    }
    form = Form(pipeline, places, frozenset({"thread"}), is_flat=False)
    return GpuSpace(rules.build(problem, str(pipeline)), form)


def _most_tile(size: int) -> int:
    return min(_MOST_TILE, max(_LEAST_BOUND, 1 << (size - 1).bit_length()))
