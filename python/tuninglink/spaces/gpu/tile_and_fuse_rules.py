"""The rules of a contraction in the pipeline TileAndFuse: its tiles, and the copies and exchanges of its threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from tuninglink.iree import REDUCTION_LEVEL, SUBGROUP, WORKGROUP
from tuninglink.solver import Grade, all_of, any_of, negation, number, select
from tuninglink.spaces.gpu.contractions import (
    ContractionRules,
    DirectLoads,
    Operand,
    Promotion,
    tile_bits,
)
from tuninglink.spaces.gpu.gpu_rules import (
    MOST_INTRINSICS,
    MOST_STAGES,
    Number,
    clip,
    product_of,
    round_up,
)
from tuninglink.spaces.model import IntegerSlot, Slot

_MOST_DYNAMIC: Final = 1024
_MOST_PADDED: Final = 512
"""The maximum tiles of dynamic and of padded dimensions."""
_MOST_PADDING: Final = 1 << 12

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


class TileAndFuseRules(ContractionRules):
    """The rules of a contraction with intrinsics in TileAndFuse, from which its forms choose.

    A workgroup takes a tile of each dimension of the result, and each of its subgroups takes a number of results of the
    intrinsic. The tile of k is counted in intrinsics, too.
    """

    def __init__(self, *arguments: Any, pads: bool) -> None:
        super().__init__(*arguments)
        self.pads = pads
        self.busy: dict[int, Number] = {}
        self.reductions = (*self.contraction.outer_k, self.contraction.k)

    # --- Tiles

    def tile_loops(self) -> None:
        """Add the knobs of every loop, and the rules that do not depend on copies and promotion."""
        contraction = self.contraction
        self.add_intrinsic()
        for loop in contraction.outer:
            self._tile_outer(loop)
        for loop, side in ((contraction.m, "m"), (contraction.n, "n")):
            self._tile_side(loop, side)
        for loop in contraction.outer_k:
            size = contraction.size(loop)
            tile = self.tiles[loop] = self.tile(REDUCTION_LEVEL, loop, size, zero=size)
            if loop in contraction.filter_loops:
                self.tiles[loop] = number(1)  # the code is the same for all tiles
            else:
                self.divide(Grade.SUFFICIENT, size, tile, f"dimension {loop}", f"reduction[{loop}]")
        self._tile_reduction(contraction.k)
        if self.pads:
            return
        # Tiles divide the result, which is necessary if the reduction takes several steps.
        is_one_step = self.is_one_step()
        sides = (contraction.m, contraction.n)
        for loop in (*contraction.outer, *sides):
            tile, whole = self.tiles[loop], contraction.sizes[loop]
            if whole is not None:
                # A single tile that exceeds the dimension is equivalent to it; tiles of rows or columns are padded.
                is_even, is_only = whole % tile == 0, tile >= whole
                text = f"dimension {loop} must be divisible by workgroup[{loop}], or fit into it ({{}} % {{}} == 0)"
                self.necessary(any_of(is_even, is_only, is_one_step), text, whole, tile)
                fits = any_of(is_even, is_only) if loop in sides else is_even
                self.sufficient(fits, text, whole, tile)

    def is_one_step(self) -> Number:
        whole = (self.tiles[loop] >= self.contraction.size(loop) for loop in self.reductions)
        return all_of(*whole)

    def _tile_outer(self, loop: int) -> None:
        size = self.contraction.sizes[loop]
        most = size or _MOST_DYNAMIC
        tile = self.tiles[loop] = self.tile(WORKGROUP, loop, most, zero=size)
        piece = self.pieces[loop] = self.tile(SUBGROUP, loop, most, low=0)
        if size is None:
            text = f"workgroup[{loop}] must be 1, as dimension {loop} is dynamic, not {{}}"
            self.sufficient(tile == 1, text, tile)
        # Zero is equivalent to the whole tile.
        self.counts[loop] = select(all_of(piece > 0, piece < tile), tile / piece, 1)
        self.busy[loop] = self.counts[loop]
        # The size of the dimension after `padding` is unknown.
        require = self.sufficient if self.pads else self.necessary
        text = f"workgroup[{loop}] must be divisible by subgroup[{loop}] ({{}} % {{}} == 0)"
        is_even = any_of(piece == 0, piece >= clip(tile, size), tile % piece == 0)
        require(is_even, text, tile, piece)
        text = f"subgroup[{loop}] must not be more than workgroup[{loop}] ({{}} <= {{}})"
        self.compilers(piece <= tile, text, piece, tile)

    def _tile_side(self, loop: int, side: str) -> None:
        size, shape = self.contraction.sizes[loop], self.shapes[loop]
        extents = [getattr(intrinsic, side) for intrinsic in self.intrinsics]
        most = max(-(-(size or 1) // extent) * extent for extent in extents)
        if self.pads:
            most = max(most, _MOST_PADDED)
        # Knobs: the tiles of a workgroup and of a subgroup.
        tile = self.tiles[loop] = self.tile(WORKGROUP, loop, most, zero=size)
        piece = self.pieces[loop] = self.tile(SUBGROUP, loop, -(-most // min(extents)))
        text = f"workgroup[{loop}] must be a multiple of the intrinsic's {side} ({{}} % {{}} == 0)"
        self.compilers(tile % shape == 0, text, tile, shape)
        # A tile that exceeds the dimension is clipped; the size of the dimension after `padding` is unknown.
        there = (clip(tile, size) + shape - 1) / shape
        whole = (tile + shape - 1) / shape
        self.counts[loop] = select(piece < whole, whole / piece, 1)
        self.busy[loop] = select(piece < there, there / piece, 1)
        text = f"the {{}} intrinsics that workgroup[{loop}] takes must be divisible by subgroup[{loop}] ({{}})"
        if not self.pads:
            self.necessary(any_of(there % piece == 0, piece >= there), text, there, piece)
        self.sufficient(any_of(whole % piece == 0, piece >= whole), text, whole, piece)
        text = f"subgroup[{loop}] must not be more than the intrinsics that workgroup[{loop}] takes ({{}} <= {{}})"
        self.compilers(piece <= whole, text, piece, whole)

    def _tile_reduction(self, loop: int) -> None:
        size, shape = self.contraction.size(loop), self.shapes[loop]
        most = max(-(-size // intrinsic.k) for intrinsic in self.intrinsics)
        padded = round_up(size, shape)
        taken = self.tile(REDUCTION_LEVEL, loop, most)
        # An untiled loop takes one step.
        tile = self.tiles[loop] = select(taken == 0, padded, taken * shape)
        what = f"reduction[{loop}] intrinsics"
        if not self.pads:
            text = f"dimension {loop}, in whole intrinsics, must be divisible by {what} ({{}} % {{}} == 0)"
            self.necessary(any_of(padded % tile == 0, tile >= padded), text, padded, tile)
        text = f"{what} must not be more than dimension {loop} has ({{}} <= {{}})"
        self.compilers(tile <= padded, text, tile, padded)

    def limit_intrinsics(self) -> None:
        """Limit the number of intrinsics in a step."""
        depth = product_of(self.tiles[loop] for loop in self.reductions)
        steps = depth / self.shapes[self.contraction.k]
        # A subgroup without a tile of an outer dimension takes the whole workgroup tile.
        pieces = self.pieces.items()
        taken = (select(piece == 0, self.tiles[loop], piece) for loop, piece in pieces)
        self.unrolled(product_of([steps, *taken]), "intrinsics", MOST_INTRINSICS)

    def add_threads(self) -> Number:
        """Add the knobs of a workgroup, and return the number of threads that its tiles need."""
        self.add_workgroup()
        needed = product_of(self.counts.values()) * self.subgroup_size
        self.match_threads(needed, "that its tiles need")
        return needed

    def pad_loops(self, loops: Iterable[int]) -> dict[int, Slot]:
        """Return the slots of `padding`: each loop is padded to its tile, or to a divisor of whole intrinsics.

        The innermost reduction loop may be padded to several tiles.
        """
        slots: dict[int, Slot] = {}
        for loop in loops:
            name, tile = f"padding[{loop}]", self.tiles[loop]
            pad = self.knob(name, 0, _MOST_PADDING)
            self.necessary(pad >= 1, f"{name} must be at least 1, not {{}}", pad)
            is_divisor = all_of(tile % pad == 0, pad % self.shapes[loop] == 0)
            is_multiple = pad % tile == 0 if loop == self.contraction.k else False
            text = f"dimension {loop} must be padded to its tile ({{}} == {{}})"
            self.sufficient(any_of(pad == tile, is_divisor, is_multiple), text, pad, tile)
            self.not_chosen(pad == tile, f"{name} must be the tile ({{}} == {{}})", pad, tile)
            slots[loop] = IntegerSlot(name)
        return slots

    def pad_convolution(self) -> Sequence[Slot]:
        """Return the slots of `padding_conv`, over the loops of the convolution.

        A loop may be padded to its tile or not at all. The loops over a filter are not padded.
        """
        allowed = [[number(0)] for _ in self.problem.dimensions]
        for loop in range(len(self.contraction.sizes) - 1):
            allowed[loop].append(self.tiles[loop])
        allowed[-1].append(self.tiles[self.contraction.k])
        slots = []
        for loop, sizes in enumerate(allowed):
            pad = self.knob(f"padding_conv[{loop}]", 0, _MOST_PADDING)
            text = f"dimension {loop} must be padded to its tile ({{}} == {{}})"
            self.sufficient(any_of(*(pad == size for size in sizes)), text, pad, sizes[-1])
            slots.append(IntegerSlot(f"padding_conv[{loop}]"))
        return slots

    def refuse_needless_padding(self) -> None:
        """Exclude padding from proposals if an intrinsic divides the dimensions that it runs over."""
        if not self.pads or self.contraction.is_open:
            return
        sizes = [self.contraction.size(loop) for loop in self.contraction.matrix_loops]
        is_even = any(
            all(
                size % step == 0 for size, step in zip(sizes, (each.m, each.n, each.k), strict=True)
            )
            for each in self.intrinsics
        )
        if is_even:
            self.propose_nothing("tiles divide the dimensions without padding")

    # --- Copies of promoted operands, and exchanges between the threads of a workgroup

    def limit_copies(self, promotion: Promotion, is_odd: Number, buffers: Number) -> None:
        """Limit shared memory: the copies, and the tile of the result if threads exchange it.

        Whether the number of threads does not match the tiles is `is_odd`.
        """
        contraction, tiles = self.contraction, self.tiles
        least = promotion.bits(contraction, self.clipped(contraction.sizes))
        most = promotion.bits(contraction, tiles) if self.pads else least
        certain, possible = self._exchanges(promotion, is_odd)
        result = tile_bits(contraction.result, self._results())
        self.limit_memory(
            [*least, select(certain, result, 0)],
            [
                *(large * buffers - small for large, small in zip(most, least, strict=True)),
                *(
                    select(promotion.of(index), 0, tile_bits(operand, tiles))
                    for index, operand in self._computed()
                ),
                select(all_of(possible, negation(certain)), result, 0),
            ],
        )

    def _computed(self) -> list[tuple[int, Operand]]:
        operands = enumerate(self.contraction.operands)
        return [(index, operand) for index, operand in operands if operand.inputs]

    def limit_masks(self, promotion: Promotion) -> None:
        """Limit masked reads of each thread where tiles do not divide an operand.

        A copy that is padded after its creation is read row by row, element by element. With `padding`, an operand that
        is not promoted is read in each step of the intrinsic.
        """
        k, tiles, sizes = self.contraction.k, self.tiles, self.contraction.sizes
        for index, operand in enumerate(self.contraction.operands):
            is_padded = self._is_masked(operand)
            is_copied = promotion.of(index)
            if self.pads:
                is_masked, what = all_of(is_padded, negation(is_copied)), "masked reads"
                count, most = tiles[k] / self.shapes[k], _MOST_READS
            else:
                is_masked, what = all_of(is_padded, is_copied), "masked elements"
                *outer, inner = operand.loops
                clipped = (clip(tiles[loop], sizes[loop]) for loop in outer)
                count = product_of([tiles[inner], *clipped])
                most = _MOST_MASKED if operand.bits > _BYTE else _MOST_MASKED_BYTES
            self.unrolled(select(is_masked, count, 0), f"{what} of operand {index}", most)
            if self.pads and operand.inputs:
                what = f"masked elements of operand {index}, which is computed,"
                count = self._elements(operand)
                self.unrolled(select(is_masked, count, 0), what, _MOST_COMPUTED)

    def limit_gathers(self) -> None:
        """Limit the masked elements of an image that each thread gathers one by one because the channels come first."""
        image = self.contraction.image
        if image and self.pads:
            operand = self.contraction.operands[image]
            count = product_of(self.tiles[loop] for loop in operand.loops) / self.threads
            gathered = select(self._is_masked(operand), count, 0)
            self.unrolled(gathered, "masked elements of the image", _MOST_GATHERED)

    def _is_masked(self, operand: Operand) -> Number:
        pairs = [(self.contraction.sizes[loop], loop) for loop in operand.loops]
        uneven = (size % self.tiles[loop] != 0 for size, loop in pairs if size is not None)
        return any_of(*uneven)

    def _elements(self, operand: Operand) -> Number:
        """Return the number of elements of an operand that each thread of a subgroup takes in a step."""
        tiles, pieces, contraction = self.tiles, self.pieces, self.contraction
        taken = {**tiles, **{loop: pieces[loop] for loop in contraction.outer}}
        for loop in (contraction.m, contraction.n):
            taken[loop] = pieces[loop] * self.shapes[loop]
        sizes = (select(taken[loop] == 0, tiles[loop], taken[loop]) for loop in operand.loops)
        return product_of(sizes) / self.device.subgroup_size

    def limit_stages(self, promotion: Promotion) -> None:
        """Require few copies, shared by all threads, where two steps are in flight.

        On AMD GPUs, the compiler crashes on some other configurations, and takes minutes for many copies.
        """
        if not self.device.is_amd:
            return
        one_is, operands = self.stages < MOST_STAGES, self.contraction.operands
        copies = promotion.bits(self.contraction, self.tiles)
        counts = [copy / each.bits for each, copy in zip(operands, copies, strict=True)]
        for elements in counts:
            self.sufficient(
                any_of(one_is, elements % self.threads == 0),
                "the {} threads must share the {} elements that are prefetched",
                *(self.threads, elements),
            )
        # The compiler crashes where masked weights are dequantized two steps ahead.
        for index, operand in self._computed() if self.pads else ():
            is_whole = negation(self._is_masked(operand))
            text = f"operand {index}, which is computed, must not be padded two steps ahead"
            self.sufficient(any_of(one_is, is_whole), text)
        prefetched = select(one_is, 0, sum(counts) / self.threads)
        self.unrolled(prefetched, "prefetched elements", _MOST_PREFETCHED)

    def limit_loads(self, loads: DirectLoads, buffers: Number) -> None:
        """Add the rules for loads directly into shared memory, in addition to those for copies by threads.

        They transfer at least 32 bits for each thread of a subgroup. Swizzled elements must be read in groups of eight
        along the reduction. Each thread of a subgroup holds as many elements of an operand of the intrinsic.
        """
        contraction, tiles, subgroup_size = self.contraction, self.tiles, self.device.subgroup_size
        # The result of a convolution, or of several products, may be exchanged next to them.
        outer = [tiles[loop] for loop in contraction.outer]
        is_exchanged = any_of(contraction.image is not None, product_of([number(1), *outer]) > 1)
        copies = loads.bits(contraction, tiles)
        result = select(is_exchanged, tile_bits(contraction.result, tiles), 0)
        self.limit_memory([], [*(copy * buffers for copy in copies), result])
        # Each operand: whole transfers, and swizzled rows that fit the intrinsic and the subgroups.
        for index, operand in enumerate(contraction.operands):
            self.require_whole_transfers(index, tile_bits(operand, tiles))
            in_order = negation(loads.is_swizzled(index))
            shape = product_of(self.shapes[loop] for loop in operand.loops)
            can_swizzle = operand.bits == _SWIZZLED_BITS and operand.loops[-1] == contraction.k
            self.sufficient(
                any_of(in_order, all_of(can_swizzle, shape == _SWIZZLED * subgroup_size)),
                f"operand {index} must be read by {_SWIZZLED} elements along the reduction",
            )
            # Subgroups are distributed over all dimensions but the innermost one, from the outermost
            # (`computeSubgroupTileSizes`), and load parts of equal size.
            shares, subgroups = [number(1)], self.threads / subgroup_size
            for loop in operand.loops[:-1]:
                sharing = select(subgroups < tiles[loop], subgroups, tiles[loop])
                shares.append(tiles[loop] % _divide_up(tiles[loop], sharing) == 0)
                subgroups = _divide_up(subgroups, sharing)
            text = f"the {{}} threads must load rows of the swizzled operand {index} evenly"
            self.sufficient(any_of(in_order, all_of(*shares)), text, self.threads)
        # Without masks, tiles divide the loops that are not padded.
        for loop in contraction.outer if self.pads else tiles:
            if (size := contraction.sizes[loop]) is not None:
                text = f"dimension {loop} must be divisible for direct loads ({{}} % {{}} == 0)"
                self.sufficient(size % tiles[loop] == 0, text, size, tiles[loop])

    def require_whole_transfers(
        self,
        index: int,
        bits: Number,
        loads: Number = True,  # noqa: FBT002 - an expression
    ) -> None:
        """Require the tile of an operand to be loaded in whole transfers, if `loads`."""
        is_whole = bits % (TRANSFER_BITS * self.device.subgroup_size) == 0
        condition = is_whole if loads is True else any_of(negation(loads), is_whole)
        text = f"operand {index} must have a tile of whole transfers ({{}} bits)"
        self.sufficient(condition, text, bits)

    def _results(self) -> dict[int, Number]:
        """Return the tiles of the result. Without `padding`, a dimension has at most its number of whole intrinsics."""
        if self.pads:
            return self.tiles
        sizes = enumerate(self.contraction.sizes)
        return self.clipped(
            [None if size is None else round_up(size, self.shapes[loop]) for loop, size in sizes]
        )

    def _exchanges(self, promotion: Promotion, is_odd: Number) -> tuple[Number, Number]:
        """Return the conditions under which the tile of the result certainly is, or may be, in shared memory.

        All threads certainly exchange the result between the steps of the reduction if it is padded without `padding`,
        or if sums start from given values. They may exchange it if their number does not match the tiles (`is_odd`),
        if the steps do not divide the reduction, or if they compute an operand that is not promoted.
        """
        contraction, tiles = self.contraction, self.tiles
        if contraction.accumulates:
            return (False, True) if self.pads else (True, True)
        sides, k = (contraction.m, contraction.n), contraction.k
        if self.pads:
            # The result is padded before the reduction, and stays in registers if the threads take all of it.
            uneven = [tiles[loop] % self.shapes[loop] != 0 for loop in sides]
            both = all_of(promotion.of(0), promotion.of(1))
            is_loaded = isinstance(promotion, DirectLoads)
            return False, any_of(negation(both), is_odd, is_loaded, *uneven)
        has_steps = any_of(*(tiles[loop] < contraction.size(loop) for loop in self.reductions))
        results = self._results()
        is_padded = any_of(*(results[loop] > contraction.size(loop) for loop in sides))
        certain = all_of(is_padded, has_steps)
        is_uneven = all_of(contraction.size(k) % tiles[k] != 0, has_steps)
        is_computed = any_of(
            *(negation(promotion.of(index)) for index, _ in self._computed()), number(0)
        )
        return certain, any_of(is_odd, is_uneven, certain, is_computed)


def _divide_up(dividend: Number, divisor: Number) -> Number:
    return (dividend + divisor - 1) / divisor
