"""The entries `padding` and `padding_conv`: what sticks out of the tiles of a contraction is padded to whole tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.solver.expressions import any_of, number
from tuninglink.spaces.slots import ArraySlot, IntegerSlot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.spaces.gpu.contraction_tiles import ContractionTiles
    from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number

_MOST: Final = 1 << 12


def padding_slot(tiling: ContractionTiles) -> ArraySlot:
    """Returns the slot of `padding`: each loop is padded to its tile."""
    rules, tiles = tiling.rules, tiling.tiles
    loops = range(len(tiling.contraction.sizes))
    return ArraySlot(tuple(_pad(rules, f"pad_{loop}", [tiles[loop]], loop) for loop in loops))


def convolution_padding_slot(tiling: ContractionTiles, count: int) -> ArraySlot:
    """Returns the slot of `padding_conv`, over the `count` loops of the convolution.

    A loop may be padded to its tile, or not at all; the loops over a filter are not.
    """
    zero = number(0)
    allowed = [[zero] for _ in range(count)]
    for loop in range(len(tiling.contraction.sizes) - 1):
        allowed[loop].append(tiling.tiles[loop])
    allowed[-1].append(tiling.tiles[tiling.contraction.k])
    return ArraySlot(
        tuple(
            _pad(tiling.rules, f"pad_conv_{loop}", each, loop) for loop, each in enumerate(allowed)
        )
    )


def _pad(rules: GpuRules, name: str, allowed: Sequence[Number], loop: int) -> IntegerSlot:
    pad = rules.knob(name, 0, _MOST)
    rules.sufficient(
        any_of(*(pad == each for each in allowed)),
        f"dimension {loop} must be padded to its tile ({{}} == {{}})",
        pad,
        allowed[-1],
    )
    return IntegerSlot(name)
