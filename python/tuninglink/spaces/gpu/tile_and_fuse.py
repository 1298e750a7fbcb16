"""Contractions, and convolutions as contractions, with intrinsics in the pipeline TileAndFuse."""

from __future__ import annotations

from collections.abc import Sequence
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
    DirectLoads,
    ExactIntrinsicSlot,
    Operand,
    Promotion,
    direct_load_slots,
    intrinsic_slot,
    intrinsics_for,
    read_contraction,
    read_operand,
    starts_from_fill,
    static_sizes,
    tile_and_fuse_limits,
    tile_bits,
)
from tuninglink.spaces.gpu.gpu_rules import (
    MOST_STAGES,
    Form,
    Gpu,
    Intrinsic,
    Number,
    product_of,
)
from tuninglink.spaces.gpu.gpu_space import GpuSpace
from tuninglink.spaces.gpu.tile_and_fuse_rules import TileAndFuseRules
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
    OptionSlot,
    Problem,
    Slot,
    Workload,
    integer,
)

_FEW_ROWS: Final = 8
"""The maximum number of rows for the intrinsics of `FOR_FEW_ROWS`."""


class _Options(NamedTuple):
    """What tells a form of configurations from others."""

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
    # Without padding, tiles of dynamic sizes do not bufferize.
    padding = [(True, False)] if contraction.is_open else [(False, False), (True, False)]
    if is_convolution and has_innermost_channels(workload):
        padding.append((True, True))
    loads = [False] + [True] * device.loads_directly
    return [
        _intrinsic_space(
            *(workload.problem, device, pipeline, contraction, intrinsics),
            options=_Options(converting, pads, pads_convolution, loading),
        )
        for converting, (pads, pads_convolution), loading in combinations(converts, padding, loads)
        if not (is_convolution and pads and loading)  # some of these copies do not compile
    ]


def tiled_convolution_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Return the space of configurations that tile a convolution directly, one element of the filter at a time.

    No configuration is valid if the convolution has strides: the compiler crashes, or its verifier rejects the code.
    """
    convolution = read_direct_convolution(workload)
    has_strides = set(StructuredOp(workload.root).strides) != {1}
    options = _Options(convolution.accumulates, has_strides=has_strides)
    intrinsics = intrinsics_for(convolution, device)
    return [
        _intrinsic_space(
            *(workload.problem, device, pipeline, convolution, intrinsics), options=options
        )
    ]


def _intrinsic_space(
    problem: Problem,
    device: Gpu,
    pipeline: mlir.Attribute,
    contraction: Contraction,
    intrinsics: Sequence[Intrinsic],
    *,
    options: _Options,
) -> GpuSpace:
    """Return the space of a form, with the entries that configurations of other forms do not match."""
    matters = contraction.accumulates
    if options.converts:
        contraction = replace(contraction, accumulates=False)
    attributes = tuple(intrinsic.attribute for intrinsic in intrinsics)
    kind = ExactIntrinsicSlot(MMA_KIND, attributes, contraction.element_types)
    first: dict[str, Slot] = {MMA_KIND: kind}
    with pipeline.context:
        anything = IgnoredSlot(mlir.ArrayAttr.get([]))
        conversion = {CONVERTS: ConstantSlot(mlir.UnitAttr.get())} if options.converts else {}
    if options.pads:
        first[PADDING] = anything
    if options.pads_convolution:
        first[PADDING_CONV] = anything
    if options.loads:
        first[PROMOTION_TYPES] = direct_load_slots(pipeline.context)[PROMOTION_TYPES]

    def make() -> Form:
        rules = TileAndFuseRules(
            *(problem, device, pipeline, contraction, intrinsics), pads=options.pads
        )
        promotion = _add_rules(rules, options)
        slots: dict[str, Slot] = {MMA_KIND: kind}
        if options.pads:
            slots[PADDING] = ArraySlot((*rules.pad_loops(range(rules.loop_count)).values(),))
        if options.pads_convolution:
            slots[PADDING_CONV] = ArraySlot((*rules.pad_convolution(),))
        return rules.form(
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
    rules.limit_intrinsics()
    # A workgroup has the threads that its tiles need.
    needed = rules.add_threads()
    busy = product_of(rules.busy.values()) * rules.subgroup_size
    has_odd_threads = any_of(rules.threads != needed, rules.threads != busy)
    # Shared memory holds the copies of promoted operands and the data that threads exchange.
    promotion = (DirectLoads if loads else Promotion)(rules)
    if contraction.image is not None:
        _promote_image(rules, contraction.image, promotion)
    buffers = select(rules.stages < 1, 1, rules.stages) if loads else number(1)
    rules.limit_copies(promotion, has_odd_threads, buffers)
    if isinstance(promotion, DirectLoads):
        rules.limit_loads(promotion, buffers)
    rules.limit_masks(promotion)
    rules.limit_gathers()
    rules.limit_stages(promotion)
    # The compiler's own constraints, if any, limit the search.
    if contraction.is_plain and not options.pads:
        tile_and_fuse_limits(rules, promotion)
    rules.refuse_needless_padding()
    return promotion


def _promote_image(rules: TileAndFuseRules, image: int, promotion: Promotion) -> None:
    contraction = rules.contraction
    rules.sufficient(promotion.of(image), "the image must be promoted")
    if rules.pads:
        return
    # A masked tile of the gathered image has no static size, unless it is gathered at once.
    gathered = contraction.n if image else contraction.m
    for loop in contraction.matrix_loops:
        tile, size = rules.tiles[loop], contraction.size(loop)
        # A greater tile is clipped to the dimension, in whole intrinsics.
        is_clipped = all_of(tile >= size, size % rules.shapes[loop] == 0)
        is_even = any_of(size % tile == 0, is_clipped)
        text = f"dimension {loop} must be divisible ({{}} % {{}} == 0)"
        rules.sufficient(is_even, text, size, tile)
        if loop == gathered:
            rules.necessary(any_of(is_even, rules.is_one_step()), text, size, tile)


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
    outer = tuple(sorted(set(result.loops) - {m, n}))
    contraction = Contraction(
        *(sizes, outer, (), m, n, blocks[0], lhs, rhs, result), accumulates=not starts_from_fill(op)
    )
    # The intrinsics that compute the contraction of scaled operands.
    types = contraction.element_types
    is_known = types[0] == types[1] in _ELEMENT_TYPES and types[2] == "f32"
    if not (device.architecture == "gfx950" and is_known):
        raise UndecidedError(f"no intrinsic of the target multiplies scaled {'x'.join(types)}")
    operand_types = f"lhs_elem_type = {types[0]}, rhs_elem_type = {types[1]}, acc_elem_type = f32"
    intrinsics = [
        Intrinsic(
            mlir.Attribute.parse(
                f"#iree_gpu.scaled_mma_layout<intrinsic = {name}, {operand_types}>",
                pipeline.context,
            ),
            *extents,
            types,
        )
        for name, extents in INTRINSIC_SHAPES.items()
    ]
    return [
        _scaled_space(
            *(problem, device, pipeline, contraction, intrinsics),
            block=elements[0],
            scales=scales,
            pads=pads,
            arranges=arranges,
        )
        for pads, arranges in combinations((False, True), (True, False))
    ]


def _scaled_space(
    problem: Problem,
    device: Gpu,
    pipeline: mlir.Attribute,
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
    with pipeline.context:
        kinds = [[*map(mlir.Attribute.parse, texts)] for texts in promotions.values()]
        indices = [[*map(integer, range(len(texts)))] for texts in kinds]
        promotion_types = OptionSlot(_KNOB, tuple(map(mlir.ArrayAttr.get, kinds)))
        promoted_operands = ImpliedSlot(_KNOB, tuple(map(mlir.ArrayAttr.get, indices)))
        one = ConstantSlot(integer(1))
        anything = IgnoredSlot(mlir.ArrayAttr.get([]))
    first: dict[str, Slot] = {MMA_KIND: kind, PROMOTION_TYPES: promotion_types}
    if pads:
        first[PADDING] = anything

    def make() -> Form:
        rules = TileAndFuseRules(*(problem, device, pipeline, contraction, intrinsics), pads=pads)
        # Tiles are of whole intrinsics, and take blocks as a whole.
        rules.tile_loops()
        for loop in () if pads else contraction.matrix_loops:
            size, tile = contraction.size(loop), rules.tiles[loop]
            rules.divide(Grade.SUFFICIENT, size, tile, f"dimension {loop}", "its tile")
        rules.tile(REDUCTION_LEVEL, block, 1, zero=1)
        rules.tiles[block] = number(BLOCK)
        rules.limit_intrinsics()
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
            _share_scaled(rules, index, operand, loads, has_blocks=block in operand.loops)
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
        return rules.form(slots, keeps_banks=arranges)

    return GpuSpace(frozenset({*first, WORKGROUP, REDUCTION_LEVEL, SUBGROUP}), make, first)


def _share_scaled(
    rules: TileAndFuseRules, index: int, operand: Operand, loads: Number, *, has_blocks: bool
) -> None:
    """Require that threads can share the tile of an operand."""
    threads, bits = rules.threads, tile_bits(operand, rules.tiles)
    # On some other configurations, the compiler crashes.
    elements = bits / operand.bits
    rules.sufficient(
        any_of(rules.stages < MOST_STAGES, elements % threads == 0),
        "the {} threads must share the {} elements that are prefetched",
        *(threads, elements),
    )
    rules.sufficient(
        any_of(negation(loads), operand.bits >= _BYTE),
        f"operand {index} must have elements of a byte to be loaded into several buffers",
    )
    rules.require_whole_transfers(index, bits, loads)
    if has_blocks:
        share = bits / threads
        is_whole = any_of(*(share == width for width in _STORED_BITS), share >= LOAD_BITS)
        text = "the bits of an operand that a thread stores must be a power of two, not {}"
        rules.sufficient(any_of(bits % threads != 0, is_whole), text, share)
