"""The tiles of a contraction in the pipeline TileAndFuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tuninglink.iree import REDUCTION_LEVEL, SUBGROUP, WORKGROUP
from tuninglink.solver import all_of, any_of, negation, number, select
from tuninglink.spaces.gpu.contractions import ContractionTiles, DirectLoads, Promotion, tile_bits
from tuninglink.spaces.gpu.gpu_rules import (
    MOST_STAGES,
    GpuRules,
    Intrinsic,
    Number,
    clip,
    product_of,
    round_up,
)
from tuninglink.spaces.model import ArraySlot, IntegerSlot, Slot

if TYPE_CHECKING:
    from tuninglink.spaces.gpu.contractions import Operand
    from tuninglink.spaces.gpu.gpu_rules import Gpu


_MOST_DYNAMIC: Final = 1024
_MOST_PADDED: Final = 512
"""The maximum tiles of dynamic and of padded dimensions."""


@dataclass
class TileAndFuseTiles(ContractionTiles):
    """The tiles of a contraction, and the rules that do not depend on copies and promotion.

    A workgroup takes a tile of each dimension of the result, and each of its subgroups takes a number of results of the
    intrinsic. The tile of k is counted in intrinsics, too.
    """

    intrinsics: Sequence[Intrinsic] = field(kw_only=True)
    pads: bool = field(kw_only=True)
    busy: dict[int, Number] = field(default_factory=dict)

    @property
    def reductions(self) -> tuple[int, ...]:
        return (*self.contraction.outer_k, self.contraction.k)

    @property
    def is_one_step(self) -> Number:
        return all_of(
            *(self.tiles[loop] >= self.contraction.size(loop) for loop in self.reductions)
        )

    def tile_loops(self) -> None:
        """Add the knobs and the rules of every loop."""
        contraction = self.contraction
        self.choose_intrinsic(self.intrinsics)
        for loop in contraction.outer:
            rules, size = self.rules, self.contraction.sizes[loop]
            tile = self.tiles[loop] = self.table.tile(
                WORKGROUP, loop, size or _MOST_DYNAMIC, zero=size
            )
            piece = self.pieces[loop] = self.table.tile(
                SUBGROUP, loop, size or _MOST_DYNAMIC, low=0
            )
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
        for loop, side in ((contraction.m, "m"), (contraction.n, "n")):
            self._tile_side(loop, side)
        for loop in contraction.outer_k:
            self._tile_outer_reduction(loop)
        self._tile_reduction(contraction.k)
        if not self.pads:
            self._divide()

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
        tile = self.tiles[loop] = self.table.tile(REDUCTION_LEVEL, loop, size, zero=size)
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
        taken = self.table.tile(REDUCTION_LEVEL, loop, most)
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


# --- Copies and exchanges between the threads of a workgroup in TileAndFuse, and the limits that follow

_BYTE: Final = 8
_MOST_MASKED: Final = 1 << 12
_MOST_MASKED_BYTES: Final = 1 << 9
"""The maximum numbers of masked elements, and of masked 8-bit elements; 4 and 2 times as many took over a minute to
compile.
"""
TRANSFER_BITS: Final = 32
"""The minimum width of a thread's load directly into shared memory."""
_SWIZZLED: Final = 8
_SWIZZLED_BITS: Final = 16
_MOST_READS: Final = 1 << 5
"""The maximum number of masked reads in a step: 51 by 928 threads took a minute to compile."""
_MOST_COMPUTED: Final = 1 << 6
"""The maximum number of masked elements that are computed: 64 took 16 s to compile, 84 over a minute."""
_MOST_PREFETCHED: Final = 1 << 7
"""The maximum number of prefetched masked elements: 240 elements in each of two steps took a minute to compile."""
_MOST_GATHERED: Final = 1 << 8
"""The maximum number of gathered elements: 192 elements took 13 s to compile, 408 a minute."""


@dataclass(frozen=True)
class Copies:
    """The copies of promoted operands, and the tile of the result if threads exchange it."""

    tiling: ContractionTiles
    promotion: Promotion
    device: Gpu
    pads: bool

    def limit_memory(self, is_odd: Number, buffers: Number) -> None:
        """Limit shared memory."""
        contraction, tiles = self.tiling.contraction, self.tiling.tiles
        clipped = {loop: clip(tile, contraction.sizes[loop]) for loop, tile in tiles.items()}
        least = self.promotion.bits(contraction, clipped)
        most = self.promotion.bits(contraction, tiles) if self.pads else least
        certain, possible = self._exchanges(is_odd)
        result = tile_bits(contraction.result, self._results())
        self.tiling.rules.memory_bounds(
            [*least, select(certain, result, 0)],
            [
                *(large * buffers - small for large, small in zip(most, least, strict=True)),
                *(
                    select(self.promotion.of(index), 0, tile_bits(operand, tiles))
                    for index, operand in self._computed()
                ),
                select(all_of(possible, negation(certain)), result, 0),
            ],
            self.device,
        )

    def _computed(self) -> list[tuple[int, Operand]]:
        return [(index, each) for index, each in enumerate(self._operands) if each.inputs]

    def limit_masks(self) -> None:
        """Limit masked reads of each thread where tiles do not divide an operand.

        A copy that is padded after its creation is read row by row, element by element. With `padding`, an operand that
        is not promoted is read in each step of the intrinsic.
        """
        tiling, tiles = self.tiling, self.tiling.tiles
        k = tiling.contraction.k
        for index, operand in enumerate(self._operands):
            pairs = [(tiling.contraction.sizes[loop], tiles[loop]) for loop in operand.loops]
            is_padded = self._is_masked(operand)
            is_copied = self.promotion.of(index)
            if self.pads:
                is_masked, what = all_of(is_padded, negation(is_copied)), "masked reads"
                count, most = tiles[k] / tiling.shapes[k], _MOST_READS
            else:
                is_masked, what = all_of(is_padded, is_copied), "masked elements"
                count = product_of([pairs[-1][1], *(clip(tile, size) for size, tile in pairs[:-1])])
                most = _MOST_MASKED if operand.bits > _BYTE else _MOST_MASKED_BYTES
            tiling.rules.unrolled(select(is_masked, count, 0), f"{what} of operand {index}", most)
            if self.pads and operand.inputs:
                what = f"masked elements of operand {index}, which is computed,"
                count = self._elements(operand)
                tiling.rules.unrolled(select(is_masked, count, 0), what, _MOST_COMPUTED)

    def limit_gathers(self, threads: Number) -> None:
        """Limit the masked elements of an image that each thread gathers one by one because the channels come first."""
        image = self.tiling.contraction.image
        if not image or not self.pads:
            return
        operand = self._operands[image]
        count = product_of(self.tiling.tiles[loop] for loop in operand.loops) / threads
        gathered = select(self._is_masked(operand), count, 0)
        self.tiling.rules.unrolled(gathered, "masked elements of the image", _MOST_GATHERED)

    def _is_masked(self, operand: Operand) -> Number:
        pairs = [(self.tiling.contraction.sizes[loop], loop) for loop in operand.loops]
        uneven = (size % self.tiling.tiles[loop] != 0 for size, loop in pairs if size is not None)
        return any_of(*uneven)

    def _elements(self, operand: Operand) -> Number:
        """Return the number of elements of an operand that each thread of a subgroup takes in a step."""
        tiling = self.tiling
        taken = {**tiling.tiles, **{loop: tiling.pieces[loop] for loop in tiling.contraction.outer}}
        for loop in (tiling.contraction.m, tiling.contraction.n):
            taken[loop] = tiling.pieces[loop] * tiling.shapes[loop]
        sizes = (
            select(taken[loop] == 0, tiling.tiles[loop], taken[loop]) for loop in operand.loops
        )
        return product_of(sizes) / self.device.subgroup_size

    def limit_stages(self, threads: Number, stages: Number) -> None:
        """Require few copies, shared by all threads, where two steps are in flight.

        On AMD GPUs, the compiler crashes on some other configurations, and takes minutes for many copies.
        """
        if not self.device.architecture.startswith("gfx"):
            return
        rules, one_is = self.tiling.rules, stages < MOST_STAGES
        copies = self.promotion.bits(self.tiling.contraction, self.tiling.tiles)
        counts = [copy / each.bits for each, copy in zip(self._operands, copies, strict=True)]
        for elements in counts:
            rules.sufficient(
                any_of(one_is, elements % threads == 0),
                "the {} threads must share the {} elements that are prefetched",
                threads,
                elements,
            )
        if self.pads:
            # The compiler crashes where masked weights are dequantized two steps ahead.
            for index, operand in self._computed():
                rules.sufficient(
                    any_of(one_is, negation(self._is_masked(operand))),
                    f"operand {index}, which is computed, must not be padded two steps ahead",
                )
        prefetched = select(one_is, 0, sum(counts) / threads)
        rules.unrolled(prefetched, "prefetched elements", _MOST_PREFETCHED)

    def limit_loads(self, loads: DirectLoads, buffers: Number, threads: Number) -> None:
        """Add the rules for loads directly into shared memory, in addition to those for copies by `threads`.

        They transfer at least 32 bits for each thread of a subgroup. Swizzled elements must be read in groups of eight
        along the reduction. Each thread of a subgroup holds as many elements of an operand of the intrinsic.
        """
        rules, tiling, contraction = self.tiling.rules, self.tiling, self.tiling.contraction
        # The result of a convolution, or of several products, may be exchanged next to them.
        outer = [tiling.tiles[loop] for loop in contraction.outer]
        is_exchanged = any_of(contraction.image is not None, product_of([number(1), *outer]) > 1)
        copies = loads.bits(contraction, tiling.tiles)
        result = select(is_exchanged, tile_bits(contraction.result, tiling.tiles), 0)
        rules.memory_bounds([], [*(copy * buffers for copy in copies), result], self.device)
        # Each operand: whole transfers, and swizzled rows that fit the intrinsic and the subgroups.
        for index, operand in enumerate(self._operands):
            bits = tile_bits(operand, tiling.tiles)
            rules.sufficient(
                bits % (TRANSFER_BITS * self.device.subgroup_size) == 0,
                f"operand {index} must have a tile of whole transfers ({{}} bits)",
                bits,
            )
            shape = product_of(tiling.shapes[loop] for loop in operand.loops)
            can_swizzle = operand.bits == _SWIZZLED_BITS and operand.loops[-1] == contraction.k
            rules.sufficient(
                any_of(
                    negation(loads.is_swizzled(index)),
                    all_of(can_swizzle, shape == _SWIZZLED * self.device.subgroup_size),
                ),
                f"operand {index} must be read by {_SWIZZLED} elements along the reduction",
            )
            shares = self._is_shared_evenly(operand, threads / self.device.subgroup_size)
            rules.sufficient(
                any_of(negation(loads.is_swizzled(index)), shares),
                f"the {{}} threads must load rows of the swizzled operand {index} evenly",
                threads,
            )
        # Without masks, tiles divide the loops that are not padded.
        for loop in contraction.outer if self.pads else tiling.tiles:
            tile = tiling.tiles[loop]
            if (size := contraction.sizes[loop]) is not None:
                rules.sufficient(
                    size % tile == 0,
                    f"dimension {loop} must be divisible for direct loads ({{}} % {{}} == 0)",
                    size,
                    tile,
                )

    def _is_shared_evenly(self, operand: Operand, subgroups: Number) -> Number:
        """Return the condition that the subgroups load parts of equal size.

        They are distributed over all dimensions but the innermost one, from the outermost (`computeSubgroupTileSizes`).
        """
        conditions: list[Number] = [number(1)]
        for loop in operand.loops[:-1]:
            tile = self.tiling.tiles[loop]
            sharing = select(subgroups < tile, subgroups, tile)
            conditions.append(tile % _divide_up(tile, sharing) == 0)
            subgroups = _divide_up(subgroups, sharing)
        return all_of(*conditions)

    @property
    def _operands(self) -> tuple[Operand, Operand]:
        return self.tiling.contraction.lhs, self.tiling.contraction.rhs

    def _results(self) -> dict[int, Number]:
        """Return the tiles of the result. Without `padding`, a dimension has at most its number of whole intrinsics."""
        tiles, shapes, sizes = self.tiling.tiles, self.tiling.shapes, self.tiling.contraction.sizes
        if self.pads:
            return tiles
        whole = {
            loop: None if (size := sizes[loop]) is None else round_up(size, shapes[loop])
            for loop in tiles
        }
        return {loop: clip(tile, whole[loop]) for loop, tile in tiles.items()}

    def _exchanges(self, is_odd: Number) -> tuple[Number, Number]:
        """Return the conditions under which the tile of the result certainly is, or may be, in shared memory.

        All threads certainly exchange the result between the steps of the reduction if it is padded without `padding`,
        or if sums start from given values. They may exchange it if their number does not match the tiles (`is_odd`),
        if the steps do not divide the reduction, or if they compute an operand that is not promoted.
        """
        contraction, tiles = self.tiling.contraction, self.tiling.tiles
        is_computed = any_of(
            *(negation(self.promotion.of(index)) for index, _ in self._computed()), number(0)
        )
        if contraction.accumulates:
            return (False, True) if self.pads else (True, True)
        sides, k = (contraction.m, contraction.n), contraction.k
        if self.pads:
            # The result is padded before the reduction, and stays in registers if the threads take all of it.
            shapes = self.tiling.shapes
            uneven = [tiles[loop] % shapes[loop] != 0 for loop in sides]
            both = all_of(self.promotion.of(0), self.promotion.of(1))
            is_loaded = isinstance(self.promotion, DirectLoads)
            return False, any_of(negation(both), is_odd, is_loaded, *uneven)
        reductions = (*contraction.outer_k, k)
        has_steps = any_of(*(tiles[loop] < contraction.size(loop) for loop in reductions))
        results = self._results()
        is_padded = any_of(*(results[loop] > contraction.size(loop) for loop in sides))
        certain = all_of(is_padded, has_steps)
        is_uneven = all_of(contraction.size(k) % tiles[k] != 0, has_steps)
        return certain, any_of(is_odd, is_uneven, certain, is_computed)


def _divide_up(dividend: Number, divisor: Number) -> Number:
    return (dividend + divisor - 1) / divisor
