"""How the compiler distributes the reading of a tile over the threads of a workgroup, and when it cannot.

With `#iree_gpu.derived_thread_config`, each thread reads a piece of a tile, if possible as wide as one load. The pieces
are assigned to the threads from the innermost dimension outward. In the pipeline VectorDistribute, the number of pieces
along a dimension must divide the number of remaining threads, or vice versa. Otherwise the compiler reports
`failed to derive layout for promoted read-like op`. Tests compare these rules with the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tuninglink.solver.expressions import all_of, any_of, negation, select

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.gpu.contractions import Operand
    from tuninglink.spaces.gpu.gpu_rules import GpuRules

    Number = Any

LOAD_BITS: Final = 128
"""How wide a load of one thread is at most."""


def require_derivable(
    rules: GpuRules,
    operand: Operand,
    tiles: Mapping[int, Number],
    threads: Number,
    name: str,
    *,
    unless: Number = False,
) -> None:
    """Add the rule that the threads of a workgroup can share reading the tile of an operand.

    Args:
        rules: receive the rule.
        operand: the operand.
        tiles: the tile of each loop.
        threads: the number of threads.
        name: the name of the operand in messages.
        unless: the condition under which the rule does not apply.
    """
    tile = [tiles[loop] for loop in operand.loops]
    rules.necessary(
        any_of(unless, is_derivable(tile, threads, operand.bits)),
        f"the {{}} threads must be able to share reading the tile {'x'.join(['{}'] * len(tile))} "
        f"of {name} evenly",
        threads,
        *tile,
    )


def is_derivable(tile: Sequence[Number], threads: Number, bits: int) -> Number:
    """Return the condition that the threads of a workgroup can share reading a tile.

    Args:
        tile: its positive sizes, the innermost last.
        threads: the positive number of threads.
        bits: the width of an element.
    """
    pieces = _pieces(tile, threads, max(1, LOAD_BITS // bits))
    left = threads
    conditions = []
    for size, piece in reversed([*zip(tile, pieces, strict=True)]):
        count = size / piece
        conditions += [size % piece == 0, any_of(left % count == 0, count % left == 0)]
        left = select(count <= left, left / count, 1)
    return all_of(*conditions)


def _pieces(tile: Sequence[Number], threads: Number, widest: int) -> list[Number]:
    """Return the sizes of the piece that a thread reads at a time."""
    *outer, inner = tile
    elements = inner
    for each in outer:
        elements = elements * each
    is_even = elements % threads == 0
    share = elements / threads
    width = select(all_of(is_even, share < widest), share, widest)
    # The width of a load must divide the innermost dimension, or vice versa.
    fits = any_of(negation(is_even), inner % width == 0, width % inner == 0)
    clipped = select(inner < width, inner, width)
    pieces = [select(fits, clipped, 1)]
    # The rest of the width extends to the next dimensions as long as it covers them completely.
    rest = select(all_of(is_even, fits, inner < width), width / inner, 1)
    for each in reversed(outer):
        covers = rest % each == 0
        pieces.append(select(covers, each, 1))
        rest = select(covers, rest / each, 1)
    return pieces[::-1]
