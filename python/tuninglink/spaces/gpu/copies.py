"""What the threads of a workgroup copy and exchange in TileAndFuse, and what that limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.solver.expressions import all_of, any_of, negation, select
from tuninglink.spaces.gpu.gpu_rules import MOST_STAGES, clip, product, round_up
from tuninglink.spaces.gpu.promotion import tile_bits

if TYPE_CHECKING:
    from tuninglink.spaces.gpu.contraction_tiles import ContractionTiles
    from tuninglink.spaces.gpu.device import Device
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.gpu.promotion import Promotion

_BYTE: Final = 8
_MOST_MASKED: Final = 1 << 12
_MOST_MASKED_BYTES: Final = 1 << 9
"""Elements, and those of 8 bits: four times as many, and twice as many, took over a minute to compile."""


@dataclass(frozen=True)
class Copies:
    """The copies of promoted operands, and the tile of the result where threads exchange it.

    Attributes:
        tiling: the tiles of a contraction with an intrinsic; gets the rules.
        promotion: the operands that are promoted.
        device: what is compiled for.
        pads: whether the configuration has `padding`: operands are promoted after that, but before `mma_kind` pads.
    """

    tiling: ContractionTiles
    promotion: Promotion
    device: Device
    pads: bool

    def limit_memory(self, is_odd: Number) -> None:
        """Limits shared memory; `is_odd` is the condition that the threads do not fit their tiles."""
        contraction, tiles = self.tiling.contraction, self.tiling.tiles
        clipped = {loop: clip(tile, contraction.sizes[loop]) for loop, tile in tiles.items()}
        least = self.promotion.bits(contraction, clipped)
        most = self.promotion.bits(contraction, tiles) if self.pads else least
        certain, possible = self._exchanges(is_odd)
        result = tile_bits(contraction.result, self._results())
        self.tiling.rules.memory_bounds(
            [*least, select(certain, result, 0)],
            [
                *(large - small for large, small in zip(most, least, strict=True)),
                select(all_of(possible, negation(certain)), result, 0),
            ],
            self.device,
        )

    def limit_masks(self) -> None:
        """Limits the copies that are padded after they were made: each thread reads them by rows, under masks."""
        contraction, tiles = self.tiling.contraction, self.tiling.tiles
        operands = (contraction.lhs, contraction.rhs)
        for index, operand in enumerate(() if self.pads else operands):
            pairs = [(contraction.sizes[loop], tiles[loop]) for loop in operand.loops]
            is_padded = any_of(*(size % tile != 0 for size, tile in pairs if size is not None))
            masked = product([pairs[-1][1], *(clip(tile, size) for size, tile in pairs[:-1])])
            self.tiling.rules.unrolled(
                select(all_of(self.promotion.of(index), is_padded), masked, 0),
                f"masked elements of operand {index}",
                _MOST_MASKED if operand.bits > _BYTE else _MOST_MASKED_BYTES,
            )

    def limit_stages(self, threads: Number, stages: Number) -> None:
        """Asks for copies that all threads share, where two steps are under way.

        On AMD's GPUs, the compiler crashes on some others.
        """
        if not self.device.architecture.startswith("gfx"):
            return
        contraction = self.tiling.contraction
        copies = self.promotion.bits(contraction, self.tiling.tiles)
        for operand, copy in zip((contraction.lhs, contraction.rhs), copies, strict=True):
            elements = copy / operand.bits
            self.tiling.rules.sufficient(
                any_of(stages < MOST_STAGES, elements % threads == 0),
                "the {} threads must share the {} elements that are prefetched",
                threads,
                elements,
            )

    def _results(self) -> dict[int, Number]:
        """Returns the tiles of the result; without `padding`, a dimension has no more than whole intrinsics."""
        tiles, shapes, sizes = self.tiling.tiles, self.tiling.shapes, self.tiling.contraction.sizes
        if self.pads:
            return tiles
        whole = {
            loop: None if (size := sizes[loop]) is None else round_up(size, shapes[loop])
            for loop in tiles
        }
        return {loop: clip(tile, whole[loop]) for loop, tile in tiles.items()}

    def _exchanges(self, is_odd: Number) -> tuple[Number, Number]:
        """Returns the conditions that the tile of the result certainly is, and that it may be, in shared memory.

        All threads exchange the result between the steps of the reduction if it is padded without `padding`, and
        where they start from given values; threads that do not fit their tiles (`is_odd`) may do so, and those that
        go through a reduction that its steps do not divide.
        """
        contraction, tiles = self.tiling.contraction, self.tiling.tiles
        if contraction.accumulates:
            return (False, True) if self.pads else (True, True)
        sides, k = (contraction.m, contraction.n), contraction.k
        if self.pads:
            # The result is padded before the reduction, and stays with the threads if they take it as a whole.
            shapes = self.tiling.shapes
            uneven = [tiles[loop] % shapes[loop] != 0 for loop in sides]
            both = all_of(self.promotion.of(0), self.promotion.of(1))
            return False, any_of(negation(both), is_odd, *uneven)
        has_steps = tiles[k] < contraction.size(k)
        results = self._results()
        is_padded = any_of(*(results[loop] > contraction.size(loop) for loop in sides))
        certain = all_of(is_padded, has_steps)
        is_uneven = all_of(contraction.size(k) % tiles[k] != 0, has_steps)
        return certain, any_of(is_odd, is_uneven, certain)
