"""The tiles of a contraction in the pipeline TileAndFuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tuninglink.iree.lowering_configs import REDUCTION, SUBGROUP, WORKGROUP
from tuninglink.solver.expressions import all_of, any_of, number, select
from tuninglink.spaces.gpu import Intrinsic
from tuninglink.spaces.gpu.contraction_tiles import ContractionTiles
from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number, clip, round_up
from tuninglink.spaces.slots import ArraySlot, IntegerSlot, Slot

_MOST_DYNAMIC: Final = 1024
_MOST_PADDED: Final = 512
"""The maximum tiles of dynamic and of padded dimensions."""


@dataclass
class TileAndFuseTiles(ContractionTiles):
    """The tiles of a contraction, and the rules that do not depend on copies and promotion.

    A workgroup takes a tile of each dimension of the result, and each of its subgroups takes a number of results of the
    intrinsic. The tile of k is counted in intrinsics, too.

    Attributes:
        intrinsics: the intrinsics to choose from.
        pads: whether loops are padded to their tiles, so that tiles need not divide the sizes.
        busy: like `counts`, without idle subgroups along m and n: those beyond the last intrinsic of a dimension that
            its tile exceeds.
    """

    intrinsics: Sequence[Intrinsic] = field(kw_only=True)
    pads: bool = field(kw_only=True)
    busy: dict[int, Number] = field(default_factory=dict)

    @property
    def reductions(self) -> tuple[int, ...]:
        """The reduction loops; that of the intrinsic comes last."""
        return (*self.contraction.outer_k, self.contraction.k)

    @property
    def is_one_step(self) -> Number:
        """The condition that the reduction takes a single step."""
        return all_of(
            *(self.tiles[loop] >= self.contraction.size(loop) for loop in self.reductions)
        )

    def tile_loops(self) -> None:
        """Add the knobs and the rules of every loop."""
        contraction = self.contraction
        self.choose_intrinsic(self.intrinsics)
        for loop in contraction.outer:
            self._tile_outer(loop)
        for loop, side in ((contraction.m, "m"), (contraction.n, "n")):
            self._tile_side(loop, side)
        for loop in contraction.outer_k:
            self._tile_outer_reduction(loop)
        self._tile_reduction(contraction.k)
        if not self.pads:
            self._divide()

    def _tile_outer(self, loop: int) -> None:
        rules, size = self.rules, self.contraction.sizes[loop]
        tile = self.tiles[loop] = self.table.tile(WORKGROUP, loop, size or _MOST_DYNAMIC, zero=size)
        piece = self.pieces[loop] = self.table.tile(SUBGROUP, loop, size or _MOST_DYNAMIC, low=0)
        if size is None:
            rules.sufficient(
                tile == 1,
                f"workgroup[{loop}] must be 1, as dimension {loop} is dynamic, not {{}}",
                tile,
            )
        # Zero is equivalent to the whole tile.
        self.counts[loop] = select(all_of(piece > 0, piece < tile), tile / piece, 1)
        self.busy[loop] = self.counts[loop]
        # The size of the dimension after `padding` is unknown.
        require = rules.sufficient if self.pads else rules.necessary
        require(
            any_of(piece == 0, piece >= clip(tile, size), tile % piece == 0),
            f"workgroup[{loop}] must be divisible by subgroup[{loop}] ({{}} % {{}} == 0)",
            tile,
            piece,
        )
        rules.compilers(
            piece <= tile,
            f"subgroup[{loop}] must not be more than workgroup[{loop}] ({{}} <= {{}})",
            piece,
            tile,
        )

    def _tile_side(self, loop: int, side: str) -> None:
        rules, size = self.rules, self.contraction.sizes[loop]
        shape = self.shapes[loop]
        extents = [getattr(intrinsic, side) for intrinsic in self.intrinsics]
        most = max(-(-(size or 1) // extent) * extent for extent in extents)
        if self.pads:
            most = max(most, _MOST_PADDED)
        # Knobs: the tiles of a workgroup and of a subgroup.
        tile = self.tiles[loop] = self.table.tile(WORKGROUP, loop, most, zero=size)
        piece = self.pieces[loop] = self.table.tile(SUBGROUP, loop, -(-most // min(extents)))
        rules.compilers(
            tile % shape == 0,
            f"workgroup[{loop}] must be a multiple of the intrinsic's {side} ({{}} % {{}} == 0)",
            tile,
            shape,
        )
        # A tile that exceeds the dimension is clipped; the size of the dimension after `padding` is unknown.
        there = (clip(tile, size) + shape - 1) / shape
        whole = (tile + shape - 1) / shape
        self.counts[loop] = select(piece < whole, whole / piece, 1)
        self.busy[loop] = select(piece < there, there / piece, 1)
        text = f"the {{}} intrinsics that workgroup[{loop}] takes must be divisible by subgroup[{loop}] ({{}})"
        if not self.pads:
            rules.necessary(any_of(there % piece == 0, piece >= there), text, there, piece)
        rules.sufficient(any_of(whole % piece == 0, piece >= whole), text, whole, piece)
        rules.compilers(
            piece <= whole,
            f"subgroup[{loop}] must not be more than the intrinsics that workgroup[{loop}] takes ({{}} <= {{}})",
            piece,
            whole,
        )

    def _tile_outer_reduction(self, loop: int) -> None:
        size = self.contraction.size(loop)
        tile = self.tiles[loop] = self.table.tile(REDUCTION, loop, size, zero=size)
        if loop in self.contraction.filter_loops:
            self.tiles[loop] = number(1)  # the code is the same for all tiles
            return
        self.rules.sufficient(
            size % tile == 0,
            f"dimension {loop} must be divisible by reduction[{loop}] ({{}} % {{}} == 0)",
            size,
            tile,
        )

    def _tile_reduction(self, loop: int) -> None:
        rules, size = self.rules, self.contraction.size(loop)
        shape = self.shapes[loop]
        most = max(-(-size // intrinsic.k) for intrinsic in self.intrinsics)
        padded = round_up(size, shape)
        taken = self.table.tile(REDUCTION, loop, most)
        # An untiled loop takes one step.
        tile = self.tiles[loop] = select(taken == 0, padded, taken * shape)
        if not self.pads:
            rules.necessary(
                any_of(padded % tile == 0, tile >= padded),
                f"dimension {loop}, in whole intrinsics, must be divisible by reduction[{loop}] intrinsics "
                "({} % {} == 0)",
                padded,
                tile,
            )
        rules.compilers(
            tile <= padded,
            f"reduction[{loop}] intrinsics must not be more than dimension {loop} has ({{}} <= {{}})",
            tile,
            padded,
        )

    def _divide(self) -> None:
        """Require tiles to divide the result, which is necessary if the reduction takes several steps."""
        is_one_step = self.is_one_step
        sides = (self.contraction.m, self.contraction.n)
        for loop in (*self.contraction.outer, *sides):
            tile, size = self.tiles[loop], self.contraction.sizes[loop]
            if size is None:
                continue
            # A single tile that exceeds the dimension is equivalent to it; tiles of rows or columns are padded.
            is_even, is_only = size % tile == 0, tile >= size
            text = f"dimension {loop} must be divisible by workgroup[{loop}], or fit into it ({{}} % {{}} == 0)"
            self.rules.necessary(any_of(is_even, is_only, is_one_step), text, size, tile)
            self.rules.sufficient(
                any_of(is_even, is_only) if loop in sides else is_even, text, size, tile
            )


_MOST_PADDING: Final = 1 << 12


def padding_slot(tiling: ContractionTiles) -> ArraySlot:
    """Return the slot of `padding`; see `padding_slots`."""
    slots = padding_slots(tiling, range(len(tiling.contraction.sizes)))
    return ArraySlot(tuple(slots.values()))


def padding_slots(tiling: ContractionTiles, loops: Iterable[int]) -> dict[int, Slot]:
    """Return the slots of `padding`: each loop is padded to its tile, or to a divisor of whole intrinsics.

    The innermost reduction loop may be padded to several tiles.
    """
    rules, tiles = tiling.rules, tiling.tiles

    def slot(loop: int) -> IntegerSlot:
        pad, tile = rules.knob(f"padding[{loop}]", 0, _MOST_PADDING), tiles[loop]
        rules.necessary(pad >= 1, f"padding[{loop}] must be at least 1, not {{}}", pad)
        is_divisor = all_of(tile % pad == 0, pad % tiling.shapes[loop] == 0)
        is_multiple = pad % tile == 0 if loop == tiling.contraction.k else False
        rules.sufficient(
            any_of(pad == tile, is_divisor, is_multiple),
            f"dimension {loop} must be padded to its tile ({{}} == {{}})",
            pad,
            tile,
        )
        rules.not_chosen(pad == tile, f"padding[{loop}] must be the tile ({{}} == {{}})", pad, tile)
        return IntegerSlot(f"padding[{loop}]")

    return {loop: slot(loop) for loop in loops}


def convolution_padding_slot(tiling: ContractionTiles, count: int) -> ArraySlot:
    """Return the slot of `padding_conv`, over the `count` loops of the convolution.

    A loop may be padded to its tile or not at all. The loops over a filter are not padded.
    """
    zero = number(0)
    allowed = [[zero] for _ in range(count)]
    for loop in range(len(tiling.contraction.sizes) - 1):
        allowed[loop].append(tiling.tiles[loop])
    allowed[-1].append(tiling.tiles[tiling.contraction.k])
    return ArraySlot(
        tuple(
            _pad(tiling.rules, f"padding_conv[{loop}]", each, loop)
            for loop, each in enumerate(allowed)
        )
    )


def _pad(rules: GpuRules, name: str, allowed: Sequence[Number], loop: int) -> IntegerSlot:
    pad = rules.knob(name, 0, _MOST_PADDING)
    rules.sufficient(
        any_of(*(pad == each for each in allowed)),
        f"dimension {loop} must be padded to its tile ({{}} == {{}})",
        pad,
        allowed[-1],
    )
    return IntegerSlot(name)
