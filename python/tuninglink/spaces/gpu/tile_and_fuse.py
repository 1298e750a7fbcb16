"""Contractions, and convolutions as contractions, with intrinsics in the pipeline TileAndFuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product as combinations
from typing import Final, NamedTuple

from iree.compiler import ir as mlir

from tuninglink.iree import (
    CONVERTS,
    MMA_KIND,
    PADDING,
    PADDING_CONV,
    PROMOTED_OPERANDS,
    PROMOTION_TYPES,
    REDUCTION_LEVEL,
    SUBGROUP,
    WORKGROUP,
    OpKind,
    ProductLoops,
    StructuredOp,
)
from tuninglink.mlir import names
from tuninglink.solver import Grade, UndecidedError, all_of, any_of, negation, number, select
from tuninglink.spaces.gpu.contractions import (
    FOR_FEW_ROWS,
    LOAD_BITS,
    Contraction,
    ContractionRules,
    ExactIntrinsicSlot,
    Operand,
    Promotion,
    direct_load_slots,
    intrinsic_slot,
    intrinsics_for,
    limit_like_compiler,
    read_contraction,
    read_operand,
    starts_from_fill,
    static_sizes,
    tile_bits,
)
from tuninglink.spaces.gpu.gpu_rules import (
    MOST_INTRINSICS,
    MOST_STAGES,
    Definition,
    Intrinsic,
    Number,
    Setting,
    clip,
    divide_up,
    product_of,
    round_up,
)
from tuninglink.spaces.gpu.gpu_space import GpuSpace
from tuninglink.spaces.gpu.vector_distribute import (
    has_innermost_channels,
    read_direct_convolution,
    read_igemm,
)
from tuninglink.spaces.model import (
    ArraySlot,
    ConstantSlot,
    ImpliedSlot,
    IntegerSlot,
    OptionSlot,
    Slot,
    Workload,
    integer,
)

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

    def __init__(
        self,
        setting: Setting,
        contraction: Contraction,
        intrinsics: Sequence[Intrinsic],
        *,
        pads: bool,
    ) -> None:
        super().__init__(setting, contraction, intrinsics)
        self.pads = pads
        self.busy: dict[int, Number] = {}
        self.paddings: dict[int, Number] = {}
        self.reductions = (*contraction.outer_k, contraction.k)
        self.is_one_step: Number = None
        operands = enumerate(contraction.operands)
        self.computed = [(index, operand) for index, operand in operands if operand.inputs]

    def tile_loops(self) -> None:
        """Add the knobs of every loop, and the rules that do not depend on copies and promotion."""
        contraction, tiles, pieces, counts = self.contraction, self.tiles, self.pieces, self.counts
        self.add_intrinsic()
        # The size of a dimension after `padding` is unknown.
        require = self.sufficient if self.pads else self.necessary
        # Outer loops have the tiles of a workgroup and of a subgroup, for which zero is equivalent to the whole tile.
        for loop in contraction.outer:
            whole = contraction.sizes[loop]
            most = whole or _MOST_DYNAMIC
            tile = tiles[loop] = self.tile(WORKGROUP, loop, most, zero=whole)
            piece = pieces[loop] = self.tile(SUBGROUP, loop, most, low=0)
            if whole is None:
                text = f"workgroup[{loop}] must be 1, as dimension {loop} is dynamic, not {{}}"
                self.sufficient(tile == 1, text, tile)
            counts[loop] = select(all_of(piece > 0, piece < tile), tile / piece, 1)
            self.busy[loop] = counts[loop]
            text = f"workgroup[{loop}] must be divisible by subgroup[{loop}] ({{}} % {{}} == 0)"
            is_even = any_of(piece == 0, piece >= clip(tile, whole), tile % piece == 0)
            require(is_even, text, tile, piece)
            text = f"subgroup[{loop}] must not be more than workgroup[{loop}] ({{}} <= {{}})"
            self.follow_compiler(piece <= tile, text, piece, tile)
        sides = (contraction.m, contraction.n)
        for loop, side in zip(sides, ("m", "n"), strict=True):
            self._tile_side(loop, side)
        for loop in contraction.outer_k:
            size = contraction.size(loop)
            tile = tiles[loop] = self.tile(REDUCTION_LEVEL, loop, size, zero=size)
            if loop in contraction.filter_loops:
                tiles[loop] = number(1)  # the code is the same for all tiles
            else:
                self.divide(Grade.SUFFICIENT, size, tile, f"dimension {loop}", f"reduction[{loop}]")
        # The innermost reduction loop, whose tile counts intrinsics. An untiled loop takes one step.
        loop, shape = contraction.k, self.shapes[contraction.k]
        size = contraction.size(loop)
        padded = round_up(size, shape)
        taken = self.tile(
            REDUCTION_LEVEL, loop, max(-(-size // each.k) for each in self.intrinsics)
        )
        tile = tiles[loop] = select(taken == 0, padded, taken * shape)
        what = f"reduction[{loop}] intrinsics"
        if not self.pads:
            text = f"dimension {loop}, in whole intrinsics, must be divisible by {what} ({{}} % {{}} == 0)"
            self.necessary(any_of(padded % tile == 0, tile >= padded), text, padded, tile)
        text = f"{what} must not be more than dimension {loop} has ({{}} <= {{}})"
        self.follow_compiler(tile <= padded, text, tile, padded)
        # Tiles divide the result, which is necessary if the reduction takes several steps.
        whole_loops = (tiles[loop] >= contraction.size(loop) for loop in self.reductions)
        is_one_step = self.is_one_step = all_of(*whole_loops)
        for loop in () if self.pads else (*contraction.outer, *sides):
            tile, whole = tiles[loop], contraction.sizes[loop]
            if whole is not None:
                # A single tile that exceeds the dimension is equivalent to it; tiles of rows or columns are padded.
                is_even, is_only = whole % tile == 0, tile >= whole
                text = f"dimension {loop} must be divisible by workgroup[{loop}], or fit into it ({{}} % {{}} == 0)"
                self.necessary(any_of(is_even, is_only, is_one_step), text, whole, tile)
                fits = any_of(is_even, is_only) if loop in sides else is_even
                self.sufficient(fits, text, whole, tile)
                if loop in sides and not self.device.is_amd:
                    # What compiles is wrong.
                    text = f"with one step, workgroup[{loop}] must divide dimension {loop}, or cover it ({{}} % {{}} == 0)"
                    self.keep_right(fits, text, whole, tile)

    def _tile_side(self, loop: int, side: str) -> None:
        """Add the tiles of a workgroup and of a subgroup along the rows or the columns."""
        size, shape = self.contraction.sizes[loop], self.shapes[loop]
        extents = [getattr(intrinsic, side) for intrinsic in self.intrinsics]
        most = max(-(-(size or 1) // extent) * extent for extent in extents)
        if self.pads:
            most = max(most, _MOST_PADDED)
        tile = self.tiles[loop] = self.tile(WORKGROUP, loop, most, zero=size)
        piece = self.pieces[loop] = self.tile(SUBGROUP, loop, -(-most // min(extents)))
        text = f"workgroup[{loop}] must be a multiple of the intrinsic's {side} ({{}} % {{}} == 0)"
        self.follow_compiler(tile % shape == 0, text, tile, shape)
        # A tile that exceeds the dimension is clipped.
        there, whole = divide_up(clip(tile, size), shape), divide_up(tile, shape)
        self.counts[loop] = select(piece < whole, whole / piece, 1)
        self.busy[loop] = select(piece < there, there / piece, 1)
        text = f"the {{}} intrinsics that workgroup[{loop}] takes must be divisible by subgroup[{loop}] ({{}})"
        if not self.pads:
            self.necessary(any_of(there % piece == 0, piece >= there), text, there, piece)
        self.sufficient(any_of(whole % piece == 0, piece >= whole), text, whole, piece)
        text = f"subgroup[{loop}] must not be more than the intrinsics that workgroup[{loop}] takes ({{}} <= {{}})"
        self.follow_compiler(piece <= whole, text, piece, whole)

    def add_threads(self) -> Number:
        """Limit the intrinsics in a step, add the knobs of a workgroup, and return the threads that its tiles need."""
        depth = product_of(self.tiles[loop] for loop in self.reductions)
        steps = depth / self.shapes[self.contraction.k]
        # A subgroup without a tile of an outer dimension takes the whole workgroup tile.
        pieces = self.pieces.items()
        taken = (select(piece == 0, self.tiles[loop], piece) for loop, piece in pieces)
        self.limit_compilation(product_of([steps, *taken]), "intrinsics", MOST_INTRINSICS)
        self.add_workgroup()
        needed = product_of(self.counts.values()) * self.subgroup_size
        self.match_threads(needed, "that its tiles need")
        return needed

    def pad_loops(self, loops: Iterable[int]) -> dict[int, Slot]:
        """Return the slots of `padding`: each loop is padded to its tile, or to a divisor of whole intrinsics."""
        # The innermost reduction loop may be padded to several tiles.
        slots: dict[int, Slot] = {}
        for loop in loops:
            name, tile = f"padding[{loop}]", self.tiles[loop]
            pad = self.paddings[loop] = self.knob(name, 0, _MOST_PADDING)
            self.necessary(pad >= 1, f"{name} must be at least 1, not {{}}", pad)
            is_divisor = all_of(tile % pad == 0, pad % self.shapes[loop] == 0)
            is_multiple = pad % tile == 0 if loop == self.contraction.k else False
            text = f"dimension {loop} must be padded to its tile ({{}} == {{}})"
            self.sufficient(any_of(pad == tile, is_divisor, is_multiple), text, pad, tile)
            self.limit_search(pad == tile, f"{name} must be the tile ({{}} == {{}})", pad, tile)
            slots[loop] = IntegerSlot(name)
        return slots

    def keep_within(self, promotion: Promotion) -> None:
        """Exclude copies that read a row beyond the end of an operand.

        Its numbers, which are those of other tensors and may be NaN, are multiplied by zeros. Copies of matrices alone
        and of rows along the reduction are masked: of 16 forms of products, only these fail with NaNs around operands.
        """
        contraction, k = self.contraction, self.contraction.k
        for index, operand in enumerate(contraction.operands):
            is_matrix = len(operand.loops) == len(contraction.matrix_loops) - 1
            is_right = self.device.is_amd or contraction.image is not None or is_matrix
            if not is_right and operand.loops[-1] != k:
                size, pad = contraction.size(k), self.paddings[k]
                text = f"padding[{k}] must divide dimension {k}, as operand {index} is read beyond its end ({{}} % {{}} == 0)"
                is_whole = any_of(negation(promotion.of(index)), size % pad == 0)
                self.keep_right(is_whole, text, size, pad)

    def refuse_needless_padding(self) -> None:
        """Exclude padding from proposals if an intrinsic divides the dimensions that it runs over."""
        m, n, k = (self.contraction.sizes[loop] for loop in self.contraction.matrix_loops)
        if not self.pads or m is None or n is None or k is None:
            return
        if any(m % each.m == n % each.n == k % each.k == 0 for each in self.intrinsics):
            self.propose_nothing("tiles divide the dimensions without padding")

    # The rest limits copies of promoted operands, and exchanges between the threads of a workgroup.

    def limit_copies(self, promotion: Promotion, is_odd: Number, buffers: Number) -> None:
        """Limit shared memory: the copies, and the tile of the result if threads exchange it."""
        # Whether the number of threads does not match the tiles is `is_odd`.
        contraction, tiles, sides = self.contraction, self.tiles, self.contraction.matrix_loops[:2]
        least = promotion.bits(contraction, self.clipped(contraction.sizes))
        most = promotion.bits(contraction, tiles) if self.pads else least
        # Without `padding`, a dimension of the result has at most its number of whole intrinsics.
        results = tiles
        if not self.pads:
            sizes = enumerate(contraction.sizes)
            whole = [
                None if size is None else round_up(size, self.shapes[at]) for at, size in sizes
            ]
            results = self.clipped(whole)
        # All threads certainly exchange the result between the steps of the reduction if it is padded without
        # `padding`, or if sums start from given values. They may exchange it if their number does not match the tiles
        # (`is_odd`), if the steps do not divide the reduction, or if they compute an operand that is not promoted.
        certain: Number = not self.pads
        possible: Number = True
        if self.pads and not contraction.accumulates:
            # The result is padded before the reduction, and stays in registers if the threads take all of it.
            uneven = [tiles[loop] % self.shapes[loop] != 0 for loop in sides]
            both = all_of(promotion.of(0), promotion.of(1))
            possible = any_of(negation(both), is_odd, promotion.loads, *uneven)
        elif not contraction.accumulates:
            has_steps = any_of(*(tiles[loop] < contraction.size(loop) for loop in self.reductions))
            is_padded = any_of(*(results[loop] > contraction.size(loop) for loop in sides))
            certain, k = all_of(is_padded, has_steps), contraction.k
            is_uneven = all_of(contraction.size(k) % tiles[k] != 0, has_steps)
            alone = (negation(promotion.of(index)) for index, _ in self.computed)
            possible = any_of(is_odd, is_uneven, certain, any_of(*alone, number(0)))
        result = tile_bits(contraction.result, results)
        self.limit_memory(
            [*least, select(certain, result, 0)],
            [
                *(large * buffers - small for large, small in zip(most, least, strict=True)),
                *(
                    select(promotion.of(index), 0, tile_bits(operand, tiles))
                    for index, operand in self.computed
                ),
                select(all_of(possible, negation(certain)), result, 0),
            ],
        )

    def limit_masks(self, promotion: Promotion) -> None:
        """Limit masked reads of each thread where tiles do not divide an operand."""
        # A copy that is padded after its creation is read row by row, element by element. With `padding`, an operand
        # that is not promoted is read in each step of the intrinsic, and an image whose channels come first is
        # gathered.
        contraction, k, tiles = self.contraction, self.contraction.k, self.tiles
        sizes = contraction.sizes
        for index, operand in enumerate(contraction.operands):
            is_padded = self.is_masked(operand)
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
                if not self.device.is_amd and index != contraction.image:
                    # That takes 20 to 60 times as long as the fastest, 1 to 16 where the operand is not copied.
                    text = f"operand {index} must not be promoted, as tiles do not divide it"
                    self.limit_search(negation(is_masked), text)
                    promotion.any = any_of(promotion.any, is_padded)
            self.limit_compilation(select(is_masked, count, 0), f"{what} of operand {index}", most)
            if self.pads and operand.inputs:
                what = f"masked elements of operand {index}, which is computed,"
                # The elements that each thread of a subgroup takes in a step.
                taken = {**tiles, **{loop: self.pieces[loop] for loop in contraction.outer}}
                for loop in (contraction.m, contraction.n):
                    taken[loop] = self.pieces[loop] * self.shapes[loop]
                parts = (
                    select(taken[each] == 0, tiles[each], taken[each]) for each in operand.loops
                )
                count = product_of(parts) / self.device.subgroup_size
                self.limit_compilation(select(is_masked, count, 0), what, _MOST_COMPUTED)
        if contraction.image and self.pads:
            operand = contraction.operands[contraction.image]
            count = product_of(tiles[loop] for loop in operand.loops) / self.threads
            gathered = select(self.is_masked(operand), count, 0)
            self.limit_compilation(gathered, "masked elements of the image", _MOST_GATHERED)

    def is_masked(self, operand: Operand) -> Number:
        pairs = [(self.contraction.sizes[loop], loop) for loop in operand.loops]
        return any_of(*(size % self.tiles[loop] != 0 for size, loop in pairs if size is not None))

    def limit_loads(self, loads: Promotion, buffers: Number) -> None:
        """Add the rules for loads directly into shared memory, in addition to those for copies by threads."""
        # They transfer at least 32 bits for each thread of a subgroup. Swizzled elements must be read in groups of
        # eight along the reduction. Each thread of a subgroup holds as many elements of an operand of the intrinsic.
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
            in_order = negation(loads.swizzled[index])
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
                shares.append(tiles[loop] % divide_up(tiles[loop], sharing) == 0)
                subgroups = divide_up(subgroups, sharing)
            text = f"the {{}} threads must load rows of the swizzled operand {index} evenly"
            self.sufficient(any_of(in_order, all_of(*shares)), text, self.threads)
        # Without masks, tiles divide the loops that are not padded.
        for loop in contraction.outer if self.pads else tiles:
            if (size := contraction.sizes[loop]) is not None:
                text = f"dimension {loop} must be divisible for direct loads ({{}} % {{}} == 0)"
                self.sufficient(size % tiles[loop] == 0, text, size, tiles[loop])

    def require_whole_transfers(self, index: int, bits: Number, loads: Number = None) -> None:
        """Require the tile of an operand to be loaded in whole transfers, if `loads`."""
        is_whole = bits % (TRANSFER_BITS * self.device.subgroup_size) == 0
        condition = is_whole if loads is None else any_of(negation(loads), is_whole)
        text = f"operand {index} must have a tile of whole transfers ({{}} bits)"
        self.sufficient(condition, text, bits)


# --- The forms of configurations

_FEW_ROWS: Final = 8
"""The maximum number of rows for the intrinsics of `FOR_FEW_ROWS`."""


class _Options(NamedTuple):
    """What tells a form of configurations from others."""

    converts: bool
    pads: bool = False
    pads_convolution: bool = False
    loads: bool = False
    has_strides: bool = False


def tile_and_fuse_spaces(workload: Workload, setting: Setting) -> list[GpuSpace]:
    """Return the spaces of configurations with an intrinsic, one for each form."""
    # A contraction that accumulates is converted. Without the conversion it does not bufferize on NVIDIA GPUs; on AMD
    # GPUs the conversion is optional.
    is_convolution, device = workload.problem.kind is OpKind.CONVOLUTION, setting.device
    if is_convolution:
        contraction = read_igemm(workload)
    else:
        contraction = read_contraction(workload, may_be_open=True)
    rows = contraction.sizes[contraction.m]
    has_few_rows = not is_convolution and rows is not None and rows <= _FEW_ROWS
    intrinsics = intrinsics_for(contraction, device, FOR_FEW_ROWS if has_few_rows else "")
    converts = [contraction.accumulates]
    if contraction.accumulates and device.is_amd:
        converts.append(False)
    # Without padding, tiles of dynamic rows or columns do not bufferize.
    is_open = rows is None or contraction.sizes[contraction.n] is None
    padding = [(True, False)] if is_open else [(False, False), (True, False)]
    if is_convolution and has_innermost_channels(workload):
        padding.append((True, True))
    loads = [False] + [True] * (device.architecture == "gfx950")
    return [
        _intrinsic_space(
            *(setting, contraction, intrinsics),
            _Options(converting, pads, pads_convolution, loading),
        )
        for converting, (pads, pads_convolution), loading in combinations(converts, padding, loads)
        if not (is_convolution and pads and loading)  # some of these copies do not compile
    ]


def tiled_convolution_spaces(workload: Workload, setting: Setting) -> list[GpuSpace]:
    """Return the space of configurations that tile a convolution directly, one element of the filter at a time."""
    # No configuration is valid if the convolution has strides: the compiler crashes, or its verifier rejects the code.
    convolution = read_direct_convolution(workload)
    has_strides = set(StructuredOp(workload.root).steps["strides"]) != {1}
    options = _Options(convolution.accumulates, has_strides=has_strides)
    intrinsics = intrinsics_for(convolution, setting.device)
    return [_intrinsic_space(setting, convolution, intrinsics, options)]


def _intrinsic_space(
    setting: Setting, contraction: Contraction, intrinsics: Sequence[Intrinsic], options: _Options
) -> GpuSpace:
    """Return the space of a form, with the entries that configurations of other forms do not match."""
    matters = contraction.accumulates
    if options.converts:
        contraction = replace(contraction, accumulates=False)
    attributes = tuple(intrinsic.attribute for intrinsic in intrinsics)
    kind = ExactIntrinsicSlot(MMA_KIND, attributes, contraction.element_types)
    first: dict[str, Slot] = {MMA_KIND: kind}
    with setting.pipeline.context:
        anything = ConstantSlot(mlir.ArrayAttr.get([]), is_ignored=True)
        conversion = {CONVERTS: ConstantSlot(mlir.UnitAttr.get())} if options.converts else {}
    if options.pads:
        first[PADDING] = anything
    if options.pads_convolution:
        first[PADDING_CONV] = anything
    if options.loads:
        first[PROMOTION_TYPES] = direct_load_slots(setting.pipeline.context)[PROMOTION_TYPES]

    def make() -> Definition:
        rules = TileAndFuseRules(setting, contraction, intrinsics, pads=options.pads)
        promotion = _add_rules(rules, options)
        slots: dict[str, Slot] = {MMA_KIND: kind}
        if options.pads:
            slots[PADDING] = ArraySlot((*rules.pad_loops(range(rules.loop_count)).values(),))
            rules.keep_within(promotion)
        if options.pads_convolution:
            # A loop of the convolution is padded to its tile or not at all. The loops over a filter are not padded.
            allowed = [[number(0)] for _ in setting.problem.dimensions]
            for loop in range(len(contraction.sizes) - 1):
                allowed[loop].append(rules.tiles[loop])
            allowed[-1].append(rules.tiles[contraction.k])
            pads: list[Slot] = []
            for loop, sizes in enumerate(allowed):
                pad = rules.knob(f"padding_conv[{loop}]", 0, _MOST_PADDING)
                text = f"dimension {loop} must be padded to its tile ({{}} == {{}})"
                rules.sufficient(any_of(*(pad == size for size in sizes)), text, pad, sizes[-1])
                pads.append(IntegerSlot(f"padding_conv[{loop}]"))
            slots[PADDING_CONV] = ArraySlot(tuple(pads))
        return rules.define(
            {**slots, **promotion.slots, **rules.tile_slots(), **conversion},
            ignored=frozenset() if matters else frozenset({CONVERTS}),
            is_igemm=contraction.image is not None,
            keeps_banks=options.loads,
        )

    entries = {*first, WORKGROUP, REDUCTION_LEVEL, SUBGROUP}
    # The conversion of sums that start from a constant does not matter.
    return GpuSpace(
        frozenset(entries if contraction.accumulates else entries | {CONVERTS}), make, first
    )


def _add_rules(rules: TileAndFuseRules, options: _Options) -> Promotion:
    """Add the rules of a form, except for those of its padding, and return the promotion of operands."""
    contraction, loads = rules.contraction, options.loads
    # Tiles are of whole intrinsics.
    rules.necessary(not options.has_strides, "strides require implicit GEMM")
    rules.tile_loops()
    # A workgroup has the threads that its tiles need, with few intrinsics for each in a step.
    needed = rules.add_threads()
    busy = product_of(rules.busy.values()) * rules.subgroup_size
    has_odd_threads = any_of(rules.threads != needed, rules.threads != busy)
    # Shared memory holds the copies of promoted operands and the data that threads exchange.
    promotion = Promotion(rules, loads=loads)
    if (image := contraction.image) is not None:
        rules.sufficient(promotion.of(image), "the image must be promoted")
        # A masked tile of the gathered image has no static size, unless it is gathered at once.
        gathered = contraction.n if image else contraction.m
        for loop in () if rules.pads else contraction.matrix_loops:
            tile, size = rules.tiles[loop], contraction.size(loop)
            # A greater tile is clipped to the dimension, in whole intrinsics.
            is_clipped = all_of(tile >= size, size % rules.shapes[loop] == 0)
            is_even = any_of(size % tile == 0, is_clipped)
            text = f"dimension {loop} must be divisible ({{}} % {{}} == 0)"
            rules.sufficient(is_even, text, size, tile)
            if loop == gathered:
                rules.necessary(any_of(is_even, rules.is_one_step), text, size, tile)
    buffers = select(rules.stages < 1, 1, rules.stages) if loads else number(1)
    rules.limit_copies(promotion, has_odd_threads, buffers)
    if loads:
        rules.limit_loads(promotion, buffers)
    rules.limit_masks(promotion)
    # On AMD GPUs, threads share the copies that are two steps ahead: the compiler crashes on some other configurations,
    # and takes minutes for many copies.
    if rules.device.is_amd:
        one_is = rules.stages < MOST_STAGES
        copies = promotion.bits(contraction, rules.tiles)
        pairs = zip(contraction.operands, copies, strict=True)
        counts = [copy / operand.bits for operand, copy in pairs]
        for elements in counts:
            rules.share_prefetched(elements, MOST_STAGES)
        # The compiler crashes where masked weights are dequantized two steps ahead.
        for index, operand in rules.computed if rules.pads else ():
            is_whole = negation(rules.is_masked(operand))
            text = f"operand {index}, which is computed, must not be padded two steps ahead"
            rules.sufficient(any_of(one_is, is_whole), text)
        prefetched = select(one_is, 0, sum(counts) / rules.threads)
        rules.limit_compilation(prefetched, "prefetched elements", _MOST_PREFETCHED)
    # The compiler's own constraints, if any, limit the search.
    if contraction.is_plain and not options.pads:
        limit_like_compiler(rules, promotion, distributes_vectors=False)
    rules.refuse_needless_padding()
    return promotion


# --- Contractions of operands with block scales, using `MFMA_SCALE` intrinsics in the pipeline TileAndFuse

_SCALING: Final = "arith.scaling_extf"
_BODY: Final = [_SCALING, _SCALING, "arith.mulf", "arith.addf", "linalg.yield"]
_OPERANDS: Final = 5

BLOCK: Final = 32
"""The number of elements that share a scale, the `B32` of the intrinsics."""
INTRINSIC_SHAPES: Final = {
    "MFMA_SCALE_F32_16x16x128_B32": (16, 16, 4),
    "MFMA_SCALE_F32_32x32x64_B32": (32, 32, 2),
}
"""The numbers of rows, columns and blocks of the intrinsics."""
_ELEMENT_TYPES: Final = frozenset({"f4E2M1FN", "f8E4M3FN", "f8E5M2"})
"""The element types for which the target description of gfx950 lists the intrinsics, and that gfx950 can convert."""


def is_scaled(root: mlir.Operation) -> bool:
    return root.name == names.GENERIC and any(
        op.name == _SCALING for op in root.regions[0].blocks[0].operations
    )


_GAP_BITS: Final = 64
"""The padding of a row in shared memory against bank conflicts."""
_STORED_BITS: Final = (4, 8, 16, 32, 64)
_KNOB: Final = PROMOTED_OPERANDS
_THREADS: Final = "#iree_gpu.derived_thread_config"
_SWIZZLED_COPY: Final = f"#iree_gpu.swizzle_operand<copy_config = {_THREADS}, swizzle = #iree_codegen.xor_shuffle<256, 32>>"
_LOADS: Final = "loads of all"
_COPIES: Final = {"all": [_THREADS] * 4, "operands": [_THREADS] * 2, "none": []}
"""The promotions of the operands and their scales, by name."""
_ARRANGED_COPIES: Final = {
    "all, swizzled": [_SWIZZLED_COPY, _SWIZZLED_COPY, _THREADS, _THREADS],
    "operands, swizzled": [_SWIZZLED_COPY] * 2,
    _LOADS: ["#iree_gpu.use_global_load_dma"] * 4,
}
"""The promotions that exclude padding against bank conflicts."""


def scaled_spaces(workload: Workload, setting: Setting) -> list[GpuSpace]:
    """Return the spaces of configurations with an intrinsic, one for each form."""
    # Read the contraction of a root op.
    op, problem = StructuredOp(workload.root), workload.problem
    other_form = UndecidedError(
        f"{problem} has a form other than that of a product with block scales"
    )
    body = [operation.name for operation in workload.root.regions[0].blocks[0].operations]
    if body != _BODY or len(op.maps) != _OPERANDS:
        raise other_form
    # Scales have one element for each block: the loops of reductions that they lack are those inside of blocks.
    lhs, rhs, *scales, result = map(read_operand, op.operation.operands, op.maps)
    loops = ProductLoops.of(lhs.loops, rhs.loops, result.loops)
    blocks = [loop for loop in loops.reductions if loop in scales[0].loops]
    elements = [loop for loop in loops.reductions if loop not in scales[0].loops]
    # Check the form of the scales, and the size of a block.
    sizes = static_sizes(workload)
    expected = [set(operand.loops) - {*elements} for operand in (lhs, rhs)]
    is_product = loops.rows and loops.columns and len(blocks) == len(elements) == 1
    if not is_product or [set(scale.loops) for scale in scales] != expected:
        raise other_form
    if sizes[elements[0]] != BLOCK:
        raise UndecidedError(f"intrinsics take blocks of {BLOCK}, not of {sizes[elements[0]]}")
    m, n = loops.rows[-1], loops.columns[-1]
    outer = tuple(sorted(set(result.loops) - {m, n}))
    contraction = Contraction(
        *(sizes, outer, (), m, n, blocks[0], lhs, rhs, result), accumulates=not starts_from_fill(op)
    )
    # The intrinsics that compute the contraction of scaled operands.
    types = contraction.element_types
    is_known = types[0] == types[1] in _ELEMENT_TYPES and types[2] == "f32"
    if not (setting.device.architecture == "gfx950" and is_known):
        raise UndecidedError(f"no intrinsic of the target multiplies scaled {'x'.join(types)}")
    operand_types = f"lhs_elem_type = {types[0]}, rhs_elem_type = {types[1]}, acc_elem_type = f32"
    intrinsics = [
        Intrinsic(
            mlir.Attribute.parse(
                f"#iree_gpu.scaled_mma_layout<intrinsic = {name}, {operand_types}>",
                setting.pipeline.context,
            ),
            *extents,
            types,
        )
        for name, extents in INTRINSIC_SHAPES.items()
    ]
    return [
        _scaled_space(
            *(setting, contraction, intrinsics),
            block=elements[0],
            scales=scales,
            pads=pads,
            arranges=arranges,
        )
        for pads, arranges in combinations((False, True), (True, False))
    ]


def _scaled_space(
    setting: Setting,
    contraction: Contraction,
    intrinsics: Sequence[Intrinsic],
    *,
    block: int,
    scales: Sequence[Operand],
    pads: bool,
    arranges: bool,
) -> GpuSpace:
    """Return the space of a form, with the entries that configurations of other forms do not match."""
    promotions = _ARRANGED_COPIES if arranges else _COPIES
    # With padding, threads exchange the result next to operands that are not promoted.
    promotions = dict([*promotions.items()][:1]) if pads else promotions
    kind = intrinsic_slot(intrinsics)
    with setting.pipeline.context:
        kinds = [[*map(mlir.Attribute.parse, texts)] for texts in promotions.values()]
        indices = [[*map(integer, range(len(texts)))] for texts in kinds]
        promotion_types = OptionSlot(_KNOB, tuple(map(mlir.ArrayAttr.get, kinds)))
        promoted_operands = ImpliedSlot(_KNOB, tuple(map(mlir.ArrayAttr.get, indices)))
        one = ConstantSlot(integer(1))
        anything = ConstantSlot(mlir.ArrayAttr.get([]), is_ignored=True)
    first: dict[str, Slot] = {MMA_KIND: kind, PROMOTION_TYPES: promotion_types}
    if pads:
        first[PADDING] = anything

    def make() -> Definition:
        rules = TileAndFuseRules(setting, contraction, intrinsics, pads=pads)
        # Tiles are of whole intrinsics, and take blocks as a whole.
        rules.tile_loops()
        for loop in () if pads else contraction.matrix_loops:
            size, tile = contraction.size(loop), rules.tiles[loop]
            rules.divide(Grade.SUFFICIENT, size, tile, f"dimension {loop}", "its tile")
        rules.tile(REDUCTION_LEVEL, block, 1, zero=1)
        rules.tiles[block] = number(BLOCK)
        rules.add_threads()
        # Shared memory holds the copies of promoted operands, which threads share.
        chosen = rules.choice(_KNOB, promotions)
        loads = chosen == [*promotions].index(_LOADS) if _LOADS in promotions else False
        copies: list[Number] = [tile_bits(contraction.result, rules.tiles)] if pads else []
        for index, operand in enumerate((*contraction.operands, *scales)):
            counts = enumerate(map(len, kinds))
            is_copied = any_of(*(chosen == at for at, count in counts if index < count))
            bits = tile_bits(operand, rules.tiles)
            buffers = select(loads, select(rules.stages < 1, 1, rules.stages), 1)
            rows = bits / (rules.tiles[operand.loops[-1]] * operand.bits)
            gaps = number(0) if arranges else rows * _GAP_BITS
            copies.append(select(is_copied, bits * buffers + gaps, 0))
            # Threads share the tile. On some other configurations, the compiler crashes.
            rules.share_prefetched(bits / operand.bits, MOST_STAGES)
            rules.sufficient(
                any_of(negation(loads), operand.bits >= _BYTE),
                f"operand {index} must have elements of a byte to be loaded into several buffers",
            )
            rules.require_whole_transfers(index, bits, loads)
            if block in operand.loops:
                share = bits / rules.threads
                is_whole = any_of(*(share == width for width in _STORED_BITS), share >= LOAD_BITS)
                text = "the bits of an operand that a thread stores must be a power of two, not {}"
                rules.sufficient(any_of(bits % rules.threads != 0, is_whole), text, share)
        rules.limit_memory([], copies)
        rules.refuse_needless_padding()
        # The entries of the lowering config.
        slots: dict[str, Slot] = {
            MMA_KIND: kind,
            PROMOTION_TYPES: promotion_types,
            PROMOTED_OPERANDS: promoted_operands,
            **rules.tile_slots(),
        }
        if pads:
            padding = {**rules.pad_loops({*rules.tiles} - {block}), block: one}
            slots[PADDING] = ArraySlot(tuple(padding[loop] for loop in sorted(padding)))
        return rules.define(slots, keeps_banks=arranges)

    return GpuSpace(frozenset({*first, WORKGROUP, REDUCTION_LEVEL, SUBGROUP}), make, first)
