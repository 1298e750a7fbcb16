"""The limits of the compiler's own constraints on contractions of two matrices, which keep its search small.

Configurations beyond them compile, as shown by batched contractions, for which the compiler has no constraints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.solver.expressions import any_of
from tuninglink.spaces.gpu.gpu_rules import product, round_up

if TYPE_CHECKING:
    from tuninglink.spaces.gpu.contraction_tiles import ContractionTiles
    from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number
    from tuninglink.spaces.gpu.promotion import Promotion

_MOST_TILE: Final = 512
_MOST_SUBGROUPS: Final = 10
_STAGES: Final = 2


def tile_and_fuse_limits(tiling: ContractionTiles, stages: Number, promotion: Promotion) -> None:
    """Add the limits for TileAndFuse.

    Args:
        tiling: the tiles.
        stages: the number of prefetched stages.
        promotion: the promoted operands.
    """
    contraction, rules = tiling.contraction, tiling.rules
    for loop in (contraction.m, contraction.n):
        padded = round_up(contraction.size(loop), tiling.shapes[loop])
        rules.not_chosen(
            padded % tiling.tiles[loop] == 0,
            f"dimension {loop}, in whole intrinsics, must be divisible by wg_{loop} ({{}} % {{}} == 0)",
            padded,
            tiling.tiles[loop],
        )
    _limit_tiles(tiling)
    _limit_subgroups(rules, product(tiling.counts.values()))
    _limit_rest(rules, stages, promotion)


def vector_distribute_limits(
    tiling: ContractionTiles, threads: Number, stages: Number, promotion: Promotion
) -> None:
    """Add the limits for VectorDistribute.

    Args:
        tiling: the tiles.
        threads: the number of threads in a workgroup.
        stages: the number of prefetched stages.
        promotion: the promoted operands.
    """
    rules, tiles, shapes, counts = tiling.rules, tiling.tiles, tiling.shapes, tiling.counts
    m, n, k = tiling.contraction.matrix_loops
    _limit_tiles(tiling)
    _limit_subgroups(rules, counts[m] * counts[n])
    for name, loop in (("left", m), ("right", n)):
        rules.not_chosen(
            tiles[loop] * tiles[k] % threads == 0,
            f"the {name} tile's {{}} elements must be divisible by the {{}} threads",
            tiles[loop] * tiles[k],
            threads,
        )
    rules.not_chosen(
        any_of(threads <= tiles[m], threads <= tiles[n]),
        f"the {{}} threads must not be more than wg_{m} ({{}}) and wg_{n} ({{}})",
        threads,
        tiles[m],
        tiles[n],
    )
    rules.not_chosen(
        tiles[k] % shapes[m] == 0,
        f"red_{k} must be a multiple of the intrinsic's m ({{}} % {{}} == 0)",
        tiles[k],
        shapes[m],
    )
    _limit_rest(rules, stages, promotion)


def _limit_tiles(tiling: ContractionTiles) -> None:
    for loop in tiling.contraction.matrix_loops:
        tiling.rules.not_chosen(
            tiling.tiles[loop] <= _MOST_TILE,
            f"the tile of dimension {loop} must be at most {_MOST_TILE}, not {{}}",
            tiling.tiles[loop],
        )


def _limit_subgroups(rules: GpuRules, count: Number) -> None:
    rules.not_chosen(
        count <= _MOST_SUBGROUPS,
        f"a workgroup must have at most {_MOST_SUBGROUPS} subgroups, not {{}}",
        count,
    )


def _limit_rest(rules: GpuRules, stages: Number, promotion: Promotion) -> None:
    rules.not_chosen(stages == _STAGES, f"prefetch_num_stages must be {_STAGES}, not {{}}", stages)
    rules.not_chosen(promotion.any(), "operands must be promoted")
