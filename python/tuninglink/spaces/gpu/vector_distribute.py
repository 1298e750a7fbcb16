"""Contractions with intrinsics in the pipeline VectorDistribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from tuninglink.spaces.gpu.forms import Form
from tuninglink.spaces.gpu.places import Array, Choice, Exactly, Knob, Place
from tuninglink.spaces.gpu.plain import vector_distribute_limits
from tuninglink.spaces.gpu.promotion import Promotion
from tuninglink.spaces.gpu.rules import Rules, product
from tuninglink.spaces.gpu.space import GpuSpace
from tuninglink.spaces.gpu.thread_layouts import is_derivable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.device import Device, Intrinsic
    from tuninglink.spaces.gpu.rules import Number
    from tuninglink.spaces.problem import Problem


def vector_distribute_space(
    contraction: Contraction,
    problem: Problem,
    device: Device,
    intrinsics: Sequence[Intrinsic],
    pipeline: mlir.Attribute,
) -> GpuSpace:
    """Returns the configurations with an intrinsic.

    A workgroup takes a tile of each dimension; its subgroups form a grid over the tile.
    """
    rules = Rules()
    sizes, k = contraction.sizes, contraction.k
    mma = rules.choice("mma_idx", [each.attribute for each in intrinsics])
    tiles: dict[int, Number] = {}
    counts: dict[int, Number] = {}
    shapes: dict[int, Number] = {}
    for loop in contraction.batch:
        tiles[loop] = rules.knob(f"wg_{loop}", 1, sizes[loop])
        counts[loop] = rules.knob(_count_name(contraction, loop), 1, sizes[loop])
        shapes[loop] = rules.number(1)
    for loop, side in ((contraction.m, "m"), (contraction.n, "n"), (k, "k")):
        extents = [getattr(each, side) for each in intrinsics]
        shapes[loop] = rules.look_up(mma, extents)
        tiles[loop] = rules.knob(f"red_{loop}" if loop == k else f"wg_{loop}", 1, sizes[loop])
        if loop != k:
            most = max(1, device.threads // device.subgroup_size)
            counts[loop] = rules.knob(_count_name(contraction, loop), 1, most)
    for loop, tile in tiles.items():
        name = f"red_{loop}" if loop == k else f"wg_{loop}"
        rules.adopted(
            sizes[loop] % tile == 0,
            f"dimension {loop} must be divisible by {name} ({sizes[loop]} % {{}} == 0)",
            tile,
        )
        step = shapes[loop] * counts.get(loop, 1)
        rules.adopted(
            tile % step == 0,
            f"{name} must be divisible by what its subgroups take at a time ({{}} % {{}} == 0)",
            tile,
            step,
        )
    threads, subgroup_size = rules.workgroup(device)
    stages = rules.stages()
    rules.subgroup_size(subgroup_size, device)
    wanted = product(counts.values()) * subgroup_size
    rules.adopted(
        threads == wanted,
        "a workgroup must have the threads of its subgroups ({} == {})",
        threads,
        wanted,
    )
    promotion = Promotion(rules, pipeline.context)
    rules.memory(promotion.bits(contraction, tiles), device)
    for index, operand in enumerate((contraction.lhs, contraction.rhs)):
        tile = [tiles[loop] for loop in operand.loops]
        rules.hard(
            z3.Or(
                z3.Not(promotion.of(index)),
                is_derivable(tile, threads, operand.bits),
            ),
            f"the {{}} threads must be able to share reading the tile {'x'.join(['{}'] * len(tile))} "
            f"of operand {index} evenly",
            threads,
            *tile,
        )
    if contraction.is_plain:
        vector_distribute_limits(
            rules,
            contraction,
            tiles=tiles,
            shapes=shapes,
            counts=counts,
            threads=threads,
            stages=stages,
            promotion=promotion,
        )
    form = Form(
        pipeline,
        _places(contraction, intrinsics, promotion),
        frozenset({"mma_kind", "subgroup_basis"}),
    )
    return GpuSpace(rules.build(problem, str(pipeline)), form)


def _count_name(contraction: Contraction, loop: int) -> str:
    side = {contraction.m: "m", contraction.n: "n"}.get(loop, loop)
    return f"sg_{side}_cnt"


def _places(
    contraction: Contraction,
    intrinsics: Sequence[Intrinsic],
    promotion: Promotion,
) -> dict[str, Place]:
    sizes, k = contraction.sizes, contraction.k
    loops = range(len(sizes))
    basis = [Exactly(1) if loop == k else Knob(_count_name(contraction, loop)) for loop in loops]
    return {
        "mma_kind": Choice("mma_idx", tuple(each.attribute for each in intrinsics)),
        "promote_operands": promotion.place,
        "promotion_types": promotion.kinds,
        "reduction": Array(
            tuple(Knob(f"red_{k}", sizes[k]) if loop == k else Exactly(0) for loop in loops)
        ),
        "subgroup_basis": Array((Array(tuple(basis)), Array(tuple(map(Exactly, loops))))),
        "workgroup": Array(
            tuple(Exactly(0) if loop == k else Knob(f"wg_{loop}", sizes[loop]) for loop in loops)
        ),
    }
