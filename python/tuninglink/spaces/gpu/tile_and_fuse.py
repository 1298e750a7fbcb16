"""Contractions, and convolutions as contractions, with intrinsics in the pipeline TileAndFuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations
from typing import Final

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
from tuninglink.solver import UndecidedError, all_of, any_of, negation, number, select
from tuninglink.spaces.gpu.contractions import (
    FOR_FEW_ROWS,
    LOAD_BITS,
    Contraction,
    DirectLoads,
    ExactIntrinsicSlot,
    Operand,
    Promotion,
    direct_load_slots,
    intrinsic_slot,
    intrinsics_for,
    read_open_contraction,
    read_operand,
    starts_from_fill,
    static_sizes,
    tile_and_fuse_limits,
    tile_bits,
)
from tuninglink.spaces.gpu.gpu_rules import (
    MOST_INTRINSICS,
    MOST_STAGES,
    Gpu,
    Intrinsic,
    Number,
    gpu_template,
    product_of,
)
from tuninglink.spaces.gpu.gpu_space import FormRules, GpuSpace, Outline
from tuninglink.spaces.gpu.tile_and_fuse_tiles import (
    TRANSFER_BITS,
    Copies,
    TileAndFuseTiles,
    convolution_padding_slot,
    padding_slot,
    padding_slots,
)
from tuninglink.spaces.gpu.vector_distribute import (
    has_innermost_channels,
    read_direct_convolution,
    read_igemm,
)
from tuninglink.spaces.model import (
    ArraySlot,
    ConstantSlot,
    IgnoredSlot,
    ImpliedSlot,
    KnobTemplate,
    OptionSlot,
    Problem,
    Slot,
    Workload,
    integer,
)

_FEW_ROWS: Final = 8
"""The maximum number of rows for the intrinsics of `FOR_FEW_ROWS`."""


@dataclass(frozen=True)
class _Form:
    """A form of configurations."""

    converts: bool
    pads: bool = False
    pads_convolution: bool = False
    loads: bool = False
    has_strides: bool = False


def tile_and_fuse_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Return the spaces of configurations with an intrinsic, one for each form.

    A contraction that accumulates is converted. Without the conversion it does not bufferize on NVIDIA GPUs; on AMD
    GPUs the conversion is optional.
    """
    is_convolution = workload.problem.kind is OpKind.CONVOLUTION
    contraction = read_igemm(workload) if is_convolution else read_open_contraction(workload)
    rows = contraction.sizes[contraction.m]
    has_few_rows = not is_convolution and rows is not None and rows <= _FEW_ROWS
    intrinsics = intrinsics_for(contraction, device, FOR_FEW_ROWS if has_few_rows else "")
    converts = [contraction.accumulates]
    if contraction.accumulates and device.architecture.startswith("gfx"):
        converts.append(False)
    # Without padding, tiles of dynamic sizes do not bufferize.
    padding = [(True, False)] if contraction.is_open else [(False, False), (True, False)]
    if is_convolution and has_innermost_channels(workload):
        padding.append((True, True))
    loads = [False] + [True] * device.loads_directly
    forms = (
        _Form(converting, pads, pads_convolution, loading)
        for converting, (pads, pads_convolution), loading in combinations(converts, padding, loads)
        if not (is_convolution and pads and loading)  # some of these copies do not compile
    )
    problem = workload.problem
    written = [
        _TileAndFuseRules(problem, contraction, device, intrinsics, pipeline, form=form)
        for form in forms
    ]
    return [GpuSpace(rules.outline(), rules.build) for rules in written]


def tiled_convolution_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Return the space of configurations that tile a convolution directly, one element of the filter at a time.

    No configuration is valid if the convolution has strides: the compiler crashes, or its verifier rejects the code.
    """
    convolution = read_direct_convolution(workload)
    has_strides = set(StructuredOp(workload.root).strides) != {1}
    form = _Form(convolution.accumulates, has_strides=has_strides)
    intrinsics = intrinsics_for(convolution, device)
    rules = _TileAndFuseRules(
        workload.problem, convolution, device, intrinsics, pipeline, form=form
    )
    return [GpuSpace(rules.outline(), rules.build)]


class _TileAndFuseRules(FormRules):
    """The rules for contractions with intrinsics in the pipeline TileAndFuse."""

    def __init__(
        self,
        problem: Problem,
        contraction: Contraction,
        device: Gpu,
        intrinsics: Sequence[Intrinsic],
        pipeline: mlir.Attribute,
        *,
        form: _Form,
    ) -> None:
        super().__init__(problem, device, pipeline, len(contraction.sizes))
        self._contraction = (
            replace(contraction, accumulates=False) if form.converts else contraction
        )
        self._intrinsics = intrinsics
        self._form = form
        self._tiling = TileAndFuseTiles(
            *(self._contraction, self.rules, self.table, self.tiles),
            intrinsics=intrinsics,
            pads=form.pads,
        )

    @property
    def _kind(self) -> Slot:
        slot, types = intrinsic_slot(self._intrinsics), self._contraction.element_types
        return ExactIntrinsicSlot(slot.name, slot.options, types)

    def outline(self) -> Outline:
        """Return the outline that configurations of other forms do not match."""
        first = {MMA_KIND: self._kind}
        with self.pipeline.context:
            anything = IgnoredSlot(mlir.ArrayAttr.get([]))
        if self._form.pads:
            first[PADDING] = anything
        if self._form.pads_convolution:
            first[PADDING_CONV] = anything
        if self._form.loads:
            first[PROMOTION_TYPES] = direct_load_slots(self.pipeline.context)[PROMOTION_TYPES]
        conversion = set[str]() if self._contraction.accumulates else {CONVERTS}
        return Outline(
            frozenset({*first, *conversion, WORKGROUP, REDUCTION_LEVEL, SUBGROUP}), first
        )

    def tile_loops(self) -> None:
        """Add tiles of whole intrinsics, and limit the number of intrinsics in a step."""
        self.rules.necessary(not self._form.has_strides, "strides require implicit GEMM")
        tiling = self._tiling
        tiling.tile_loops()
        depth = product_of(self.tiles[loop] for loop in tiling.reductions)
        steps = depth / tiling.shapes[self._contraction.k]
        # A subgroup without a tile of an outer dimension takes the whole workgroup tile.
        taken = (
            select(piece == 0, self.tiles[loop], piece) for loop, piece in tiling.pieces.items()
        )
        self.rules.unrolled(product_of([steps, *taken]), "intrinsics", MOST_INTRINSICS)

    def arrange_threads(self) -> None:
        """Require the number of threads that the tiles of a workgroup need."""
        self.add_workgroup()
        needed = product_of(self._tiling.counts.values()) * self.subgroup_size
        busy = product_of(self._tiling.busy.values()) * self.subgroup_size
        self.rules.threads(self.threads, needed, "that its tiles need")
        self._has_odd_threads = any_of(self.threads != needed, self.threads != busy)

    def limit_memory(self) -> None:
        """Limit the copies of promoted operands and the data that threads exchange."""
        loads, image = self._form.loads, self._contraction.image
        promotion = (DirectLoads if loads else Promotion)(self.rules, self.pipeline.context)
        self._promotion = promotion
        if image is not None:
            self._promote(image, promotion)
        copies = Copies(self._tiling, promotion, self.device, pads=self._form.pads)
        buffers = select(self.stages < 1, 1, self.stages) if loads else number(1)
        copies.limit_memory(self._has_odd_threads, buffers)
        if isinstance(promotion, DirectLoads):
            copies.limit_loads(promotion, buffers, self.threads)
        copies.limit_masks()
        copies.limit_gathers(self.threads)
        copies.limit_stages(self.threads, self.stages)

    def limit_search(self) -> None:
        """Add the limits of the compiler's own constraints, if any, and exclude needless padding from proposals."""
        if self._contraction.is_plain and not self._form.pads:
            tile_and_fuse_limits(self._tiling, self.stages, self._promotion)
        if self._form.pads and self._is_even():
            self.rules.propose_nothing("tiles divide the dimensions without padding")

    def slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config."""
        return {
            MMA_KIND: self._kind,
            **self._padding(),
            **self._promotion.slots,
            **self.table.slots(),
            **self._conversion(),
        }

    def template(self, slots: Mapping[str, Slot]) -> KnobTemplate:
        """Return the template, with the options of a convolution and of direct loads."""
        matters = self._form.converts or self._contraction.accumulates
        return gpu_template(
            self.pipeline,
            slots,
            ignored=frozenset() if matters else frozenset({CONVERTS}),
            is_igemm=self._contraction.image is not None,
            keeps_banks=self._form.loads,
        )

    def _padding(self) -> dict[str, Slot]:
        slots: dict[str, Slot] = {}
        if self._form.pads:
            slots[PADDING] = padding_slot(self._tiling)
        if self._form.pads_convolution:
            count = len(self.problem.dimensions)
            slots[PADDING_CONV] = convolution_padding_slot(self._tiling, count)
        return slots

    def _conversion(self) -> dict[str, Slot]:
        if not self._form.converts:
            return {}
        with self.pipeline.context:
            return {CONVERTS: ConstantSlot(mlir.UnitAttr.get())}

    def _promote(self, image: int, promotion: Promotion) -> None:
        rules, contraction = self.rules, self._contraction
        rules.sufficient(promotion.of(image), "the image must be promoted")
        if self._form.pads:
            return
        # A masked tile of the gathered image has no static size, unless it is gathered at once.
        gathered = contraction.n if image else contraction.m
        for loop in contraction.matrix_loops:
            tile, size = self.tiles[loop], contraction.size(loop)
            # A greater tile is clipped to the dimension, in whole intrinsics.
            is_clipped = all_of(tile >= size, size % self._tiling.shapes[loop] == 0)
            is_even = any_of(size % tile == 0, is_clipped)
            text = f"dimension {loop} must be divisible ({{}} % {{}} == 0)"
            rules.sufficient(is_even, text, size, tile)
            if loop == gathered:
                rules.necessary(any_of(is_even, self._tiling.is_one_step), text, size, tile)

    def _is_even(self) -> bool:
        """Return whether an intrinsic divides the dimensions that it runs over."""
        contraction = self._contraction
        if contraction.is_open:
            return False
        sizes = [contraction.size(loop) for loop in contraction.matrix_loops]
        return any(
            all(
                size % step == 0
                for size, step in zip(sizes, (intrinsic.m, intrinsic.n, intrinsic.k), strict=True)
            )
            for intrinsic in self._intrinsics
        )


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
    """Return whether an op multiplies operands with scales."""
    return root.name == names.GENERIC and any(
        op.name == _SCALING for op in root.regions[0].blocks[0].operations
    )


@dataclass(frozen=True)
class ScaledContraction:
    """A contraction of scaled operands."""

    contraction: Contraction
    block: int
    scales: tuple[Operand, Operand]

    @property
    def promoted(self) -> tuple[Operand, ...]:
        return (self.contraction.lhs, self.contraction.rhs, *self.scales)


def scaled_intrinsics(
    contraction: Contraction, device: Gpu, context: mlir.Context
) -> list[Intrinsic]:
    """Return the intrinsics that compute a contraction of scaled operands."""
    lhs, rhs, result = types = contraction.element_types
    if not (device.architecture == "gfx950" and lhs == rhs in _ELEMENT_TYPES and result == "f32"):
        raise UndecidedError(f"no intrinsic of the target multiplies scaled {'x'.join(types)}")
    return [
        Intrinsic(
            mlir.Attribute.parse(
                f"#iree_gpu.scaled_mma_layout<intrinsic = {name}, lhs_elem_type = {lhs}, "
                f"rhs_elem_type = {rhs}, acc_elem_type = {result}>",
                context,
            ),
            *shape,
            types,
        )
        for name, shape in INTRINSIC_SHAPES.items()
    ]


_BYTE: Final = 8
_GAP_BITS: Final = 64
"""The padding of a row in shared memory against bank conflicts."""
_STORED_BITS: Final = (4, 8, 16, 32, 64)
_KNOB: Final = PROMOTED_OPERANDS
_THREADS: Final = "#iree_gpu.derived_thread_config"
_SWIZZLED: Final = f"#iree_gpu.swizzle_operand<copy_config = {_THREADS}, swizzle = #iree_codegen.xor_shuffle<256, 32>>"
_LOADS: Final = "loads of all"
_COPIES: Final = {
    "all": [_THREADS] * 4,
    "operands": [_THREADS] * 2,
    "none": [],
}
"""The promotions of the operands and their scales, by name."""
_ARRANGED_COPIES: Final = {
    "all, swizzled": [_SWIZZLED, _SWIZZLED, _THREADS, _THREADS],
    "operands, swizzled": [_SWIZZLED] * 2,
    _LOADS: ["#iree_gpu.use_global_load_dma"] * 4,
}
"""The promotions that exclude padding against bank conflicts."""


def scaled_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> list[GpuSpace]:
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
    outer = sorted(set(result.loops) - {m, n})
    contraction = Contraction(
        sizes,
        tuple(outer),
        (),
        m,
        n,
        blocks[0],
        lhs,
        rhs,
        result,
        accumulates=not starts_from_fill(op),
        is_plain=False,
    )
    scaled = ScaledContraction(contraction, elements[0], (scales[0], scales[1]))
    intrinsics = scaled_intrinsics(scaled.contraction, device, workload.root.context)
    written = [
        _ScaledRules(
            workload.problem, scaled, device, intrinsics, pipeline, pads=pads, arranges=arranges
        )
        for pads, arranges in combinations((False, True), (True, False))
    ]
    return [GpuSpace(rules.outline(), rules.build) for rules in written]


class _ScaledRules(FormRules):
    """The rules for contractions with block scales."""

    def __init__(
        self,
        problem: Problem,
        scaled: ScaledContraction,
        device: Gpu,
        intrinsics: Sequence[Intrinsic],
        pipeline: mlir.Attribute,
        *,
        pads: bool,
        arranges: bool,
    ) -> None:
        contraction = scaled.contraction
        super().__init__(problem, device, pipeline, len(contraction.sizes))
        self._scaled = scaled
        self._pads = pads
        self._arranges = arranges
        self._kind = intrinsic_slot(intrinsics)
        self._tiling = TileAndFuseTiles(
            *(contraction, self.rules, self.table, self.tiles), intrinsics=intrinsics, pads=pads
        )
        promotions = _ARRANGED_COPIES if arranges else _COPIES
        # With padding, threads exchange the result next to operands that are not promoted.
        self._promotions = dict([*promotions.items()][:1]) if pads else promotions
        with pipeline.context:
            kinds = [[*map(mlir.Attribute.parse, kind)] for kind in self._promotions.values()]
            operands = [[*map(integer, range(len(kind)))] for kind in kinds]
            self._promotion_types = OptionSlot(_KNOB, tuple(map(mlir.ArrayAttr.get, kinds)))
            self._promoted_operands = ImpliedSlot(_KNOB, tuple(map(mlir.ArrayAttr.get, operands)))

    def outline(self) -> Outline:
        """Return the outline that configurations of other forms do not match."""
        first: dict[str, Slot] = {MMA_KIND: self._kind, PROMOTION_TYPES: self._promotion_types}
        if self._pads:
            with self.pipeline.context:
                first[PADDING] = IgnoredSlot(mlir.ArrayAttr.get([]))
        return Outline(frozenset({*first, WORKGROUP, REDUCTION_LEVEL, SUBGROUP}), first)

    def tile_loops(self) -> None:
        """Add tiles of whole intrinsics, and take blocks as a whole."""
        tiling, block = self._tiling, self._scaled.block
        tiling.tile_loops()
        for loop in () if self._pads else tiling.contraction.matrix_loops:
            size, tile = tiling.contraction.size(loop), self.tiles[loop]
            text = f"dimension {loop} must be divisible by its tile ({{}} % {{}} == 0)"
            self.rules.sufficient(size % tile == 0, text, size, tile)
        self.table.tile(REDUCTION_LEVEL, block, 1, zero=1)
        self.tiles[block] = number(BLOCK)
        steps = self.tiles[tiling.contraction.k] / tiling.shapes[tiling.contraction.k]
        taken = (
            select(piece == 0, self.tiles[loop], piece) for loop, piece in tiling.pieces.items()
        )
        self.rules.unrolled(product_of([steps, *taken]), "intrinsics", MOST_INTRINSICS)

    def arrange_threads(self) -> None:
        self.add_workgroup()
        needed = product_of(self._tiling.counts.values()) * self.subgroup_size
        self.rules.threads(self.threads, needed, "that its tiles need")

    def limit_memory(self) -> None:
        """Limit the copies of promoted operands, and require that threads can share them."""
        chosen = self.rules.choice(_KNOB, self._promotions)
        names_of_promotions = [*self._promotions]
        loads = chosen == names_of_promotions.index(_LOADS) if _LOADS in self._promotions else False
        result = tile_bits(self._tiling.contraction.result, self.tiles)
        copies: list[Number] = [result] if self._pads else []
        for index, operand in enumerate(self._scaled.promoted):
            counts = [len(kind) for kind in self._promotions.values()]
            is_copied = any_of(*(chosen == at for at, count in enumerate(counts) if index < count))
            bits = tile_bits(operand, self.tiles)
            buffers = select(loads, select(self.stages < 1, 1, self.stages), 1)
            rows = bits / (self.tiles[operand.loops[-1]] * operand.bits)
            gaps = number(0) if self._arranges else rows * _GAP_BITS
            copies.append(select(is_copied, bits * buffers + gaps, 0))
            self._share(index, operand, bits, loads)
        self.rules.memory_bounds([], copies, self.device)

    def _share(self, index: int, operand: Operand, bits: Number, loads: Number) -> None:
        """Require that threads can share the tile of an operand."""
        rules, threads = self.rules, self.threads
        # On some other configurations, the compiler crashes.
        rules.sufficient(
            any_of(self.stages < MOST_STAGES, bits / operand.bits % threads == 0),
            "the {} threads must share the {} elements that are prefetched",
            threads,
            bits / operand.bits,
        )
        rules.sufficient(
            any_of(negation(loads), operand.bits >= _BYTE),
            f"operand {index} must have elements of a byte to be loaded into several buffers",
        )
        rules.sufficient(
            any_of(negation(loads), bits % (TRANSFER_BITS * self.device.subgroup_size) == 0),
            f"operand {index} must have a tile of whole transfers ({{}} bits)",
            bits,
        )
        if self._scaled.block in operand.loops:
            share = bits / threads
            is_whole = any_of(*(share == width for width in _STORED_BITS), share >= LOAD_BITS)
            rules.sufficient(
                any_of(bits % threads != 0, is_whole),
                "the bits of an operand that a thread stores must be a power of two, not {}",
                share,
            )

    def limit_search(self) -> None:
        """Exclude needless padding from proposals."""
        contraction = self._tiling.contraction
        is_even = any(
            all(
                contraction.size(loop) % step == 0
                for loop, step in zip(contraction.matrix_loops, shape, strict=True)
            )
            for shape in INTRINSIC_SHAPES.values()
        )
        if self._pads and is_even:
            self.rules.propose_nothing("tiles divide the dimensions without padding")

    def slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config."""
        slots: dict[str, Slot] = {
            MMA_KIND: self._kind,
            PROMOTION_TYPES: self._promotion_types,
            PROMOTED_OPERANDS: self._promoted_operands,
            **self.table.slots(),
        }
        if self._pads:
            padding = padding_slots(self._tiling, {*self.tiles} - {self._scaled.block})
            with self.pipeline.context:
                padding[self._scaled.block] = ConstantSlot(integer(1))
            slots[PADDING] = ArraySlot(tuple(padding[loop] for loop in sorted(padding)))
        return slots

    def template(self, slots: Mapping[str, Slot]) -> KnobTemplate:
        return gpu_template(self.pipeline, slots, keeps_banks=self._arranges)
