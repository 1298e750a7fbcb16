"""What the compiler's own constraints ask of contractions of two matrices, beyond what code generation needs.

Its verifier refuses what breaks these, so that we do, too. Where there is a batch dimension, it says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import z3

from tuninglink.spaces.gpu.rules import product, round_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.promotion import Promotion
    from tuninglink.spaces.gpu.rules import Number, Rules

_MOST_TILE: Final = 512
_MOST_SUBGROUPS: Final = 10
_MOST_PIECES: Final = 32
_STAGES: Final = 2


def tile_and_fuse_limits(
    rules: Rules,
    contraction: Contraction,
    *,
    tiles: Mapping[int, Number],
    shapes: Mapping[int, Number],
    counts: Mapping[int, Number],
    stages: Number,
    promotion: Promotion,
) -> None:
    """Adds the limits for TileAndFuse.

    Args:
        rules: get them.
        contraction: what is computed.
        tiles: the tile of each loop.
        shapes: the intrinsic's extent along each loop.
        counts: how many subgroups there are along each loop.
        stages: how many stages are prefetched.
        promotion: what is copied to shared memory.
    """
    for loop in (contraction.m, contraction.n):
        padded = round_up(contraction.sizes[loop], shapes[loop])
        rules.adopted(
            padded % tiles[loop] == 0,
            f"dimension {loop}, in whole intrinsics, must be divisible by wg_{loop} ({{}} % {{}} == 0)",
            padded,
            tiles[loop],
        )
    _limit_tiles(rules, contraction, tiles)
    _limit_subgroups(rules, product(counts.values()))
    _limit_rest(rules, stages, promotion)


def vector_distribute_limits(
    rules: Rules,
    contraction: Contraction,
    *,
    tiles: Mapping[int, Number],
    shapes: Mapping[int, Number],
    counts: Mapping[int, Number],
    threads: Number,
    stages: Number,
    promotion: Promotion,
) -> None:
    """Adds the limits for VectorDistribute; see `tile_and_fuse_limits`.

    Args:
        rules: get them.
        contraction: what is computed.
        tiles: the tile of each loop.
        shapes: the intrinsic's extent along each loop.
        counts: how many subgroups there are along m and n.
        threads: how many threads a workgroup has.
        stages: how many stages are prefetched.
        promotion: what is copied to shared memory.
    """
    m, n, k = contraction.m, contraction.n, contraction.k
    _limit_tiles(rules, contraction, tiles)
    for loop in (m, n, k):
        pieces = tiles[loop] / (shapes[loop] * counts[loop] if loop != k else shapes[k])
        rules.adopted(
            pieces <= _MOST_PIECES,
            f"a subgroup must take at most {_MOST_PIECES} intrinsics along dimension {loop}, not {{}}",
            pieces,
        )
    _limit_subgroups(rules, counts[m] * counts[n])
    for name, loop in (("left", m), ("right", n)):
        rules.adopted(
            tiles[loop] * tiles[k] % threads == 0,
            f"the {name} tile's {{}} elements must be divisible by the {{}} threads",
            tiles[loop] * tiles[k],
            threads,
        )
    rules.adopted(
        z3.Or(threads <= tiles[m], threads <= tiles[n]),
        f"the {{}} threads must not be more than wg_{m} ({{}}) and wg_{n} ({{}})",
        threads,
        tiles[m],
        tiles[n],
    )
    rules.adopted(
        tiles[k] % shapes[m] == 0,
        f"red_{k} must be a multiple of the intrinsic's m ({{}} % {{}} == 0)",
        tiles[k],
        shapes[m],
    )
    _limit_rest(rules, stages, promotion)


def _limit_tiles(rules: Rules, contraction: Contraction, tiles: Mapping[int, Number]) -> None:
    for loop in (contraction.m, contraction.n, contraction.k):
        rules.adopted(
            tiles[loop] <= _MOST_TILE,
            f"the tile of dimension {loop} must be at most {_MOST_TILE}, not {{}}",
            tiles[loop],
        )


def _limit_subgroups(rules: Rules, count: Number) -> None:
    rules.adopted(
        count <= _MOST_SUBGROUPS,
        f"a workgroup must have at most {_MOST_SUBGROUPS} subgroups, not {{}}",
        count,
    )


def _limit_rest(rules: Rules, stages: Number, promotion: Promotion) -> None:
    rules.adopted(stages == _STAGES, f"prefetch_num_stages must be {_STAGES}, not {{}}", stages)
    rules.adopted(promotion.some(), "operands must be promoted")
