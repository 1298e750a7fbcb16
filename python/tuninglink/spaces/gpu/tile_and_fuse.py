"""Contractions with intrinsics in the pipeline TileAndFuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import z3

from tuninglink.spaces.gpu.forms import Form
from tuninglink.spaces.gpu.places import Array, Choice, Exactly, Knob, Place
from tuninglink.spaces.gpu.plain import tile_and_fuse_limits
from tuninglink.spaces.gpu.promotion import Promotion, tile_bits
from tuninglink.spaces.gpu.rules import MOST_INTRINSICS, Rules, product, round_up
from tuninglink.spaces.gpu.space import GpuSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.device import Device, Intrinsic
    from tuninglink.spaces.gpu.rules import Number
    from tuninglink.spaces.problem import Problem

_EXTRAS: Final = frozenset({"convert_acc_gemm"})


def tile_and_fuse_space(
    contraction: Contraction,
    problem: Problem,
    device: Device,
    intrinsics: Sequence[Intrinsic],
    pipeline: mlir.Attribute,
) -> GpuSpace:
    """Returns the configurations with an intrinsic.

    A workgroup takes a tile of each dimension of the result, each of its subgroups a number of results of the
    intrinsic; the tile of k is counted in intrinsics, too.
    """
    rules = Rules()
    sizes, k = contraction.sizes, contraction.k
    mma = rules.choice("mma_idx", [each.attribute for each in intrinsics])
    tiles: dict[int, Number] = {}
    counts: dict[int, Number] = {}
    pieces: dict[int, Number] = {}
    for loop in contraction.batch:
        tiles[loop] = rules.knob(f"wg_{loop}", 1, sizes[loop])
        rules.hard(
            sizes[loop] % tiles[loop] == 0,
            f"dimension {loop} must be divisible by wg_{loop} ({sizes[loop]} % {{}} == 0)",
            tiles[loop],
        )
        pieces[loop] = rules.knob(f"sg_{loop}", 0, sizes[loop])
        # Zero is as good as all of the tile.
        counts[loop] = z3.If(pieces[loop] == 0, 1, tiles[loop] / pieces[loop])
        rules.hard(
            z3.Or(pieces[loop] == 0, tiles[loop] % pieces[loop] == 0),
            f"wg_{loop} must be divisible by sg_{loop} ({{}} % {{}} == 0)",
            tiles[loop],
            pieces[loop],
        )
    shapes: dict[int, Number] = {}
    for loop, side in ((contraction.m, "m"), (contraction.n, "n")):
        extents = [getattr(each, side) for each in intrinsics]
        shapes[loop] = rules.look_up(mma, extents)
        most = max(-(-sizes[loop] // each) * each for each in extents)
        tiles[loop] = rules.knob(f"wg_{loop}", 1, most)
        # Tiles that stick out are padded if there is only one.
        rules.hard(
            z3.Or(sizes[loop] % tiles[loop] == 0, tiles[loop] >= sizes[loop]),
            f"dimension {loop} must be divisible by wg_{loop}, or fit into it ({sizes[loop]} % {{}} == 0)",
            tiles[loop],
        )
        rules.adopted(
            tiles[loop] % shapes[loop] == 0,
            f"wg_{loop} must be a multiple of the intrinsic's {side} ({{}} % {{}} == 0)",
            tiles[loop],
            shapes[loop],
        )
        pieces[loop] = rules.knob(f"sg_{loop}", 1, -(-most // min(extents)))
        whole = (tiles[loop] + shapes[loop] - 1) / shapes[loop]
        counts[loop] = z3.If(pieces[loop] < whole, whole / pieces[loop], 1)
        rules.hard(
            z3.Or(whole % pieces[loop] == 0, pieces[loop] >= whole),
            f"the {{}} intrinsics that wg_{loop} takes must be divisible by sg_{loop} ({{}})",
            whole,
            pieces[loop],
        )
        rules.adopted(
            pieces[loop] <= whole,
            f"sg_{loop} must not be more than the intrinsics that wg_{loop} takes ({{}} <= {{}})",
            pieces[loop],
            whole,
        )
    extents = [each.k for each in intrinsics]
    shapes[k] = rules.look_up(mma, extents)
    tiles[k] = rules.knob(f"red_{k}", 1, max(-(-sizes[k] // each) for each in extents)) * shapes[k]
    padded = round_up(sizes[k], shapes[k])
    rules.hard(
        z3.Or(padded % tiles[k] == 0, tiles[k] >= padded),
        f"dimension {k}, in whole intrinsics, must be divisible by red_{k} intrinsics ({{}} % {{}} == 0)",
        padded,
        tiles[k],
    )
    rules.adopted(
        tiles[k] <= padded,
        f"red_{k} intrinsics must not be more than dimension {k} has ({{}} <= {{}})",
        tiles[k],
        padded,
    )
    count = product(
        [tiles[k] / shapes[k], *(z3.If(each == 0, 1, each) for each in pieces.values())]
    )
    rules.unrolled(count, "intrinsics", MOST_INTRINSICS)
    threads, subgroup_size = rules.workgroup(device)
    stages = rules.stages()
    rules.subgroup_size(subgroup_size, device)
    wanted = product(counts.values()) * subgroup_size
    rules.adopted(
        threads == wanted,
        "a workgroup must have the threads that its tiles ask for ({} == {})",
        threads,
        wanted,
    )
    promotion = Promotion(rules, pipeline.context)
    # Threads that do not fit their tiles exchange what they add up.
    exchanged = z3.If(threads == wanted, 0, tile_bits(contraction.result, tiles))
    rules.memory([*promotion.bits(contraction, tiles), exchanged], device)
    if contraction.is_plain:
        tile_and_fuse_limits(
            rules,
            contraction,
            tiles=tiles,
            shapes=shapes,
            counts=counts,
            stages=stages,
            promotion=promotion,
        )
    loops = range(len(sizes))
    places: dict[str, Place] = {
        "mma_kind": Choice("mma_idx", tuple(each.attribute for each in intrinsics)),
        "promote_operands": promotion.place,
        "promotion_types": promotion.kinds,
        "reduction": Array(
            tuple(Knob(f"red_{loop}") if loop == k else Exactly(0) for loop in loops)
        ),
        "subgroup": Array(tuple(Exactly(0) if loop == k else Knob(f"sg_{loop}") for loop in loops)),
        "workgroup": Array(
            tuple(Exactly(0) if loop == k else Knob(f"wg_{loop}", sizes[loop]) for loop in loops)
        ),
    }
    form = Form(pipeline, places, frozenset({"mma_kind"}), extras=_EXTRAS)
    return GpuSpace(rules.build(problem, str(pipeline)), form)
