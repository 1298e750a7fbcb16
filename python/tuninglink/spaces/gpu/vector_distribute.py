"""Contractions, convolutions and attention in the pipeline VectorDistribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree import (
    LANE_BASIS,
    MMA_KIND,
    PARTIAL_REDUCTION,
    REDUCTION_LEVEL,
    SUBGROUP_BASIS,
    THREAD,
    WORKGROUP,
    ProductLoops,
    Role,
    StructuredOp,
    loops_in,
)
from tuninglink.mlir import DECOMPOSITION_CONFIG
from tuninglink.solver import Grade, UndecidedError, all_of, any_of, negation, number, select
from tuninglink.spaces.gpu.contractions import (
    FOR_FEW_ROWS,
    Contraction,
    ContractionRules,
    Operand,
    Promotion,
    choose_intrinsic,
    intrinsic_slot,
    intrinsics_for,
    is_derivable,
    limit_like_compiler,
    loops_of,
    operand_over,
    promotion_slots,
    read_contraction,
    read_operand,
    require_derivable,
    starts_from_fill,
    static_sizes,
    tile_bits,
)
from tuninglink.spaces.gpu.gpu_rules import (
    MOST_INTRINSICS,
    Definition,
    Intrinsic,
    Number,
    Setting,
    SpaceRules,
    knob_name,
    look_up,
    product_of,
)
from tuninglink.spaces.gpu.gpu_space import GpuSpace, has_consumers
from tuninglink.spaces.gpu.without_intrinsics import keep_sums_apart
from tuninglink.spaces.model import ArraySlot, IntegerSlot, Workload

_BYTE: Final = 8
_MOST_PIECES: Final = 32
_MOST_INTRINSICS: Final = 1 << 9
"""The maximum number of intrinsics: 768 took over a minute to compile."""
_MOST_FUSED: Final = 512
_REGISTER: Final = 32
"""The maximum number of registers for results that another op reads, and the width of a register in bits. On gfx942,
this number took 7 s of processor time to compile, and twice the number took 71 s. Without another op, twice the number
took 8 s; on sm_80, four times the number took 10 s.
"""

WITH_INTRINSIC: Final = frozenset({MMA_KIND, SUBGROUP_BASIS, REDUCTION_LEVEL, WORKGROUP})
"""The entries of configurations with an intrinsic, for contractions and for convolutions."""

_UNKNOWN: Final = (
    "further requirements of code generation on a convolution in VectorDistribute are unknown"
)


def vector_distribute_spaces(workload: Workload, setting: Setting) -> list[GpuSpace]:
    """Return the configurations with an intrinsic."""
    # A workgroup takes a tile of each dimension; its subgroups form a grid over the tile.
    contraction = read_contraction(workload)
    static_sizes(workload)
    intrinsics = intrinsics_for(contraction, setting.device)
    is_fused = has_consumers(workload) and setting.device.is_amd
    return [
        GpuSpace(
            WITH_INTRINSIC,
            lambda: _define_contraction(
                ContractionRules(setting, contraction, intrinsics), is_fused=is_fused
            ),
        )
    ]


def _define_contraction(rules: ContractionRules, *, is_fused: bool) -> Definition:
    contraction, tiles, counts = rules.contraction, rules.tiles, rules.counts
    grid = (*contraction.outer, contraction.m, contraction.n)
    count_names = {loop: knob_name(SUBGROUP_BASIS, loop) for loop in grid}
    # Tiles are multiples of the intrinsics of their subgroups.
    rules.add_intrinsic()
    steps: dict[int, Number] = {}
    for loop in (*contraction.outer, *contraction.outer_k, *contraction.matrix_loops):
        entry, size = WORKGROUP if loop in grid else REDUCTION_LEVEL, contraction.size(loop)
        tile = tiles[loop] = rules.tile(entry, loop, size, zero=size)
        if loop in grid:
            most = size if loop in contraction.outer else rules.most_subgroups
            counts[loop] = rules.knob(count_names[loop], 1, most)
        name, step = knob_name(entry, loop), rules.shapes[loop] * counts.get(loop, 1)
        steps[loop] = step
        rules.divide(Grade.COMPILER, size, tile, f"dimension {loop}", name)
        part = "the part that its subgroups take at a time"
        rules.divide(Grade.COMPILER, tile, step, name, part)
    taken = {loop: tile / steps[loop] for loop, tile in tiles.items()}
    for loop in contraction.matrix_loops:
        rules.limit_work(taken[loop], f"intrinsics along dimension {loop}", _MOST_PIECES)
    rules.limit_compilation(product_of(taken.values()), "intrinsics", _MOST_INTRINSICS)
    # A workgroup has exactly the threads of its subgroups.
    rules.add_workgroup()
    rules.match_threads(product_of(counts.values()) * rules.subgroup_size, "of its subgroups")
    if is_fused:
        result = contraction.result
        bits = product_of(tiles[loop] for loop in result.loops) * result.bits
        registers = bits / (rules.threads * _REGISTER)
        rules.limit_compilation(registers, "registers for fused results", _MOST_FUSED)
    # Shared memory holds the copies of promoted operands. The inputs of a computed operand may be copied in its place.
    promotion = Promotion(rules)
    clipped = promotion.bits(contraction, rules.clipped(contraction.sizes))
    least = [
        bits if not operand.inputs else number(0)
        for operand, bits in zip(contraction.operands, clipped, strict=True)
    ]
    copies = zip(promotion.bits(contraction, tiles), least, strict=True)
    rules.limit_memory(least, [large - small for large, small in copies])
    for index, operand in enumerate(contraction.operands):
        # The compiler reads a tile of at most the size of the loop, rounded up to whole steps. A last tile beyond the
        # end of the loop is masked.
        exempt = [negation(promotion.of(index))]
        for loop in operand.loops:
            is_long = tiles[loop] > contraction.size(loop)
            exempt.append(any_of(is_long, tiles[loop] % steps[loop] != 0))
        require_derivable(rules, operand, f"operand {index}", unless=any_of(*exempt))
        # The threads share the tiles of all inputs of a promoted operand. Elements of less than a byte are not copied.
        for input_ in operand.inputs:
            shape = [tiles[loop] for loop in input_.loops]
            can_share = is_derivable(shape, rules.threads, input_.bits) if shape else True
            rules.sufficient(
                any_of(negation(promotion.of(index)), all_of(input_.bits >= _BYTE, can_share)),
                f"the {{}} threads must be able to share reading the elements of type {input_.element_type} that a "
                "promoted operand is computed from",
                rules.threads,
            )
    if contraction.is_plain:
        limit_like_compiler(rules, promotion, distributes_vectors=True)
    return rules.define(
        {
            MMA_KIND: intrinsic_slot(rules.intrinsics),
            SUBGROUP_BASIS: rules.basis(count_names),
            **promotion.slots,
            **rules.tile_slots(),
        }
    )


# --- Convolutions: as contractions (implicit GEMM), and directly

_KNOWN = {
    *(Role.BATCH, Role.OUTPUT_IMAGE, Role.OUTPUT_CHANNEL),
    *(Role.FILTER, Role.INPUT_CHANNEL, Role.DEPTH),
}
_REDUCING = (Role.FILTER, Role.INPUT_CHANNEL)


def read_igemm(workload: Workload) -> Contraction:
    """Return the contraction into which the compiler converts a convolution, from the compiler's description."""
    op, problem = StructuredOp(workload.root), workload.problem
    static_sizes(workload)
    if len(op.maps) != len(op.operation.operands) or not set(op.roles) <= _KNOWN:
        raise UndecidedError(
            f"{problem} has dimensions other than batch, image, channels and groups"
        )
    # The compiler describes its own contraction (`getIGEMMGenericConvDetails`).
    details = iree_codegen.get_igemm_generic_conv_details(workload.root)
    if details is None:
        raise UndecidedError(f"the compiler makes no contraction of {problem}")
    image, filters, out = op.operation.operands
    operands = (filters, image, out) if details.is_output_channel_first else (image, filters, out)
    maps = [
        mlir.AffineMapAttr(each).value for each in mlir.ArrayAttr(details.igemm_contraction_maps)
    ]
    lhs, rhs, result = map(read_operand, operands, maps)
    # Take the innermost loops for the intrinsic.
    loops = ProductLoops.of(lhs.loops, rhs.loops, result.loops)
    if not loops.rows or not loops.columns or len(loops.reductions) != 1:
        raise UndecidedError(f"the contraction that {problem} becomes is of another form")
    (*outer_m, m), (*outer_n, n) = loops.rows, loops.columns
    outer = tuple(sorted((*outer_m, *outer_n, *loops.batches)))
    return Contraction(
        *(tuple(details.igemm_loop_bounds), outer, (), m, n, loops.reductions[0], lhs, rhs, result),
        accumulates=not starts_from_fill(op),
        image=int(details.is_output_channel_first),
    )


def read_direct_convolution(workload: Workload) -> Contraction:
    """Return a convolution as the sum of the contractions for the elements of its filter."""
    # Intrinsics run over the rows of the image and over the channels. Without strides, the tile of the image for a
    # single element of the filter is that of the output.
    op, problem = StructuredOp(workload.root), workload.problem
    loops = {role: problem.loops(role) for role in _KNOWN}
    tiled = [loops[role] for role in (Role.OUTPUT_IMAGE, Role.OUTPUT_CHANNEL, Role.INPUT_CHANNEL)]
    is_known = len(op.maps) == len(op.operation.operands) and set(op.roles) <= _KNOWN - {Role.DEPTH}
    if not is_known or not all(tiled):
        raise UndecidedError(f"{problem} has dimensions other than batch, image and channels")
    (*rows, m), (*outer_n, n), (*outer_k, k) = tiled
    image, weights, result = op.operation.operands
    accesses = [loops_in(access) - set(loops[Role.FILTER]) for access in op.maps[0].results]
    if any(len(access) != 1 for access in accesses):
        raise UndecidedError(f"the image of {problem} is read through {op.maps[0]}")
    return Contraction(
        static_sizes(workload),
        tuple(sorted((*loops[Role.BATCH], *rows, *outer_n))),
        tuple(sorted((*loops[Role.FILTER], *outer_k))),
        *(m, n, k),
        operand_over(image, chain(*accesses)),
        read_operand(weights, op.maps[1]),
        read_operand(result, op.maps[2]),
        accumulates=not starts_from_fill(op),
        filter_loops=tuple(loops[Role.FILTER]),
    )


def has_innermost_channels(workload: Workload) -> bool:
    """Return whether the channels are the innermost dimension of image and result, with one loop over each."""
    op = StructuredOp(workload.root)
    roles = list(op.roles)
    *parallel, channel = (loop for loop, role in enumerate(roles) if role not in _REDUCING)
    *filters, inputs = (loop for loop, role in enumerate(roles) if role in _REDUCING)
    weights, result = (loops_of(map_) for map_ in op.maps[1:3])
    return (
        [*parallel, channel, *filters, inputs] == list(range(len(roles)))
        and (roles[channel], roles[inputs]) == (Role.OUTPUT_CHANNEL, Role.INPUT_CHANNEL)
        and roles.count(Role.OUTPUT_CHANNEL) == roles.count(Role.INPUT_CHANNEL) == 1
        and result == [*parallel, channel]
        and weights in ([*filters, inputs, channel], [channel, *filters, inputs])
        and str(op.maps[0].results[-1]) == f"d{inputs}"
    )


def direct_convolution_spaces(workload: Workload, setting: Setting) -> list[GpuSpace]:
    """Return the configurations that take one element of the filter at a time, and promote both operands."""
    # The rules refute some of them and prove none. Of 141 configurations compiled for sm_80, 85 failed: those whose
    # tiles the threads cannot share evenly.
    intrinsics = intrinsics_for(read_igemm(workload), setting.device)
    op, problem = StructuredOp(workload.root), workload.problem
    if not has_innermost_channels(workload):
        raise UndecidedError(f"the channels of {problem} are not innermost")
    if set(op.steps["strides"]) != {1}:
        raise UndecidedError(f"{problem} has strides")
    roles, sizes = op.roles, static_sizes(workload)
    *rows, channel = (loop for loop, role in enumerate(roles) if role not in _REDUCING)
    inputs = len(roles) - 1
    image, filters = op.operation.operands[:2]
    # For a single element of the filter, the tile of the image is that of the output.
    operands = (operand_over(image, (*rows, inputs)), read_operand(filters, op.maps[1]))

    def make() -> Definition:
        rules, tiles = SpaceRules(setting, len(sizes)), dict[int, Number]()
        # Tiles are of any size. Along the filter, the tile is one element.
        _, shapes = choose_intrinsic(rules, MMA_KIND, intrinsics)
        for loop, (size, role) in enumerate(zip(sizes, roles, strict=True)):
            if role is Role.FILTER:
                rules.tile(REDUCTION_LEVEL, loop, 1)
                tiles[loop] = number(1)
            else:
                entry = REDUCTION_LEVEL if role is Role.INPUT_CHANNEL else WORKGROUP
                tiles[loop] = rules.tile(entry, loop, size, zero=size)
        rules.tiles.update(tiles)
        count_names = {loop: knob_name(SUBGROUP_BASIS, loop) for loop in (rows[-1], channel)}
        most = rules.most_subgroups
        counts = {loop: rules.knob(name, 1, most) for loop, name in count_names.items()}
        rules.add_workgroup()
        # Threads share the copies of the operands. Tiles that are rounded up are masked, so the tiles that are read
        # differ from the configured ones.
        steps = zip((rows[-1], channel, inputs), shapes, strict=True)
        uneven = any_of(
            *(sizes[loop] % tile != 0 for loop, tile in tiles.items()),
            *(tiles[loop] % (shape * counts.get(loop, 1)) != 0 for loop, shape in steps),
        )
        for index, operand in enumerate(operands):
            require_derivable(rules, operand, f"operand {index}", unless=uneven)
        rules.propose_nothing("the compiler's own constraints propose")
        slots = {MMA_KIND: intrinsic_slot(intrinsics), SUBGROUP_BASIS: rules.basis(count_names)}
        promotion = promotion_slots((0, 1), rules.context)
        return rules.define({**slots, **promotion, **rules.tile_slots()}, unknown=_UNKNOWN)

    return [GpuSpace(WITH_INTRINSIC, make)]


# --- Attention with intrinsics

_ACCUMULATED: Final = "f32"
"""The type in which attention accumulates."""

_ROW_BITS: Final = 2 * 32
"""The size in bits of the maximum and the sum of a row of scores."""


_LOOPS: Final = (Role.M, Role.N, Role.K1, Role.K2)


def attention_spaces(workload: Workload, setting: Setting) -> list[GpuSpace]:
    """Return the configurations with intrinsics for both of its matmuls."""
    # A workgroup takes a tile of queries and of the elements of values, and iterates over the keys in steps.
    op, problem = StructuredOp(workload.root), workload.problem
    sizes = static_sizes(workload)
    if any(len(problem.loops(role)) != 1 for role in _LOOPS):
        raise UndecidedError(f"{problem} has other dimensions than one each of m, n, k1 and k2")
    query, key, value = map(read_operand, list(op.operation.operands)[:3], op.maps)
    intrinsics = {}
    for part, lhs, rhs in (("qk", query, key), ("pv", value, value)):
        types = (lhs.element_type, rhs.element_type, _ACCUMULATED)
        # The intrinsics for few rows do not compile in this pipeline.
        intrinsics[part] = [
            intrinsic
            for intrinsic in setting.device.intrinsics
            if intrinsic.element_types == types
            and f"<{FOR_FEW_ROWS}" not in str(intrinsic.attribute)
        ]
        if not intrinsics[part]:
            what = f"no intrinsic of the target multiplies {lhs.element_type}x{rhs.element_type}"
            raise UndecidedError(f"{what}, and attention without one is not known")
    return [
        GpuSpace(
            frozenset({WORKGROUP, REDUCTION_LEVEL, DECOMPOSITION_CONFIG}),
            lambda: _define_attention(
                SpaceRules(setting, len(sizes)), sizes, (query, key, value), intrinsics
            ),
        )
    ]


def _define_attention(
    rules: SpaceRules,
    sizes: Sequence[int],
    operands: Sequence[Operand],
    intrinsics: Mapping[str, Sequence[Intrinsic]],
) -> Definition:
    tiles, batch = rules.tiles, rules.problem.loops(Role.BATCH)
    (m,), (n,), (k1,), (k2,) = map(rules.problem.loops, _LOOPS)
    # Tiles are multiples of the intrinsics of both matmuls. `emitVectorDistributeAttentionConstraints` requires them to
    # divide their loops, too.
    tiles[k1] = number(sizes[k1])
    for loop in (*batch, m, n):
        tiles[loop] = rules.tile(WORKGROUP, loop, sizes[loop], zero=sizes[loop])
    tiles[k2] = rules.tile(REDUCTION_LEVEL, k2, sizes[k2])
    tile_names = {loop: knob_name(WORKGROUP, loop) for loop in (*batch, m, n)}
    tile_names |= {k2: knob_name(REDUCTION_LEVEL, k2)}
    for loop, name in tile_names.items():
        rules.divide(Grade.COMPILER, sizes[loop], tiles[loop], f"dimension {loop}", name)
    tile_names[k1] = f"dimension {k1}"
    count_names = {loop: knob_name(SUBGROUP_BASIS, loop) for loop in (m, n)}
    most = rules.most_subgroups
    counts = {loop: rules.knob(name, 1, most) for loop, name in count_names.items()}
    # For each matmul, the intrinsics that it takes, whether tiles are whole, the order of its results, and its rows.
    fits: list[tuple[Number, ...]] = []
    for part, sides in (("qk", (m, k2, k1)), ("pv", (m, n, k2))):
        chosen, shapes = choose_intrinsic(rules, f"{part}_attrs.mma_kind", intrinsics[part])
        taken, are_whole = number(1), []
        for loop, shape in zip(sides, shapes, strict=True):
            tile, step = tiles[loop], shape * counts.get(loop, 1)
            taken = taken * (tile / step)
            are_whole.append(tile % step == 0)
            by = f"the part that the intrinsics of {part} take at a time"
            rules.divide(Grade.COMPILER, tile, step, tile_names[loop], by)
        transposed = [int(intrinsic.is_transposed) for intrinsic in intrinsics[part]]
        fits.append((taken, all_of(*are_whole), look_up(chosen, transposed), shapes[0]))
    (taken_qk, whole_qk, order_qk, rows_qk), (taken_pv, whole_pv, order_pv, rows_pv) = fits
    message = "either both intrinsics or none must have col_major results"
    rules.sufficient(order_qk == order_pv, message)
    taken = product_of([taken_qk + taken_pv, *(tiles[loop] for loop in batch)])
    rules.limit_compilation(taken, "intrinsics", MOST_INTRINSICS)
    rules.add_workgroup()
    rules.match_threads(product_of(counts.values()) * rules.subgroup_size, "of its subgroups")
    # Shared memory holds the copies of the operands and the values that threads may exchange: the scores, unless both
    # matmuls use the same layout for them; and the maximum and the sum of each row, if the intrinsics of the matmuls
    # have different m. On NVIDIA GPUs, the layouts agree.
    clipped = rules.clipped(sizes)
    copies = [tile_bits(operand, clipped) for operand in operands]
    rows = product_of([clipped[m], *(clipped[loop] for loop in batch)])
    scores = rows * clipped[k2] * operands[2].bits
    exchanged = [scores, rows * _ROW_BITS] if rules.device.is_amd else []
    has_same_rows = rows_qk == rows_pv
    certain = [select(has_same_rows, 0, bits) for bits in exchanged]
    possible = [select(has_same_rows, bits, 0) for bits in exchanged]
    rules.limit_memory([*copies, *certain], possible)
    for name, operand in zip(("query", "key", "value"), operands, strict=True):
        # Tiles are at most as large as their loops, and rounded up to whole steps.
        is_rounded = any_of(
            *(tiles[loop] > sizes[loop] for loop in operand.loops),
            negation(all_of(whole_qk, whole_pv)),
        )
        require_derivable(rules, operand, f"the {name}", unless=is_rounded)
    # The lowering config of a matmul lacks one of the loops.
    parts = {}
    for part, promoted, absent in (("qk", (0, 1), n), ("pv", (1,), k1)):
        loops = (loop for loop in range(rules.loop_count) if loop != absent)
        parts[f"{part}_attrs"] = {
            MMA_KIND: intrinsic_slot(intrinsics[part], f"{part}_attrs.mma_kind"),
            SUBGROUP_BASIS: rules.basis(count_names, loops),
            **promotion_slots(promoted, rules.context),
        }
    promotion = promotion_slots((0, 1, 2), rules.context)
    return rules.define({**promotion, **rules.tile_slots()}, decomposition=parts)


# --- Attention without intrinsics: the lanes of subgroups share keys and values

_MOST_WIDTH: Final = 16
_MOST_ELEMENTS: Final = 256
"""The maximum number of elements that one thread takes at a time, or of one operand. Larger numbers are not covered."""


def attention_lanes_spaces(workload: Workload, setting: Setting) -> list[GpuSpace]:
    """Return the configurations without an intrinsic."""
    # A workgroup takes one query and some elements of values, and iterates over the keys in steps. Subgroups share the
    # keys of a step. Lanes share the keys, and the elements of each key and each value.
    problem, sizes = workload.problem, static_sizes(workload)
    single = [problem.loops(role) for role in (Role.N, Role.K1, Role.K2)]
    if any(len(each) != 1 for each in single):
        raise UndecidedError(f"{problem} has other dimensions than one each of n, k1 and k2")
    entries = frozenset({WORKGROUP, PARTIAL_REDUCTION, DECOMPOSITION_CONFIG})
    return [
        GpuSpace(entries, lambda: _define_attention_lanes(SpaceRules(setting, len(sizes)), sizes))
    ]


def _define_attention_lanes(rules: SpaceRules, sizes: Sequence[int]) -> Definition:
    problem, most, tiles = rules.problem, rules.most_subgroups, rules.tiles
    (n,), (k1,), (k2,) = (problem.loops(role) for role in (Role.N, Role.K1, Role.K2))
    rules.add_workgroup()
    # Tiles are multiples of the steps of their threads.
    for loop in (*problem.loops(Role.BATCH), *problem.loops(Role.M)):
        tile = rules.tile(WORKGROUP, loop, sizes[loop], zero=sizes[loop])
        rules.sufficient(tile == 1, f"workgroup[{loop}] must be 1, not {{}}", tile)
    subgroups = rules.knob(knob_name(SUBGROUP_BASIS, k2), 1, most)
    rules.powers_of_two(subgroups, most)
    lane_names = {loop: knob_name(LANE_BASIS, loop) for loop in (n, k1, k2)}
    most_lanes = rules.device.subgroup_size
    lanes = {loop: rules.knob(name, 1, most_lanes) for loop, name in lane_names.items()}
    width_names = {loop: knob_name(THREAD, loop) for loop in (n, k1)}
    widths = {loop: rules.knob(name, 1, _MOST_WIDTH) for loop, name in width_names.items()}
    tiles[n] = rules.tile(WORKGROUP, n, sizes[n], zero=sizes[n])
    tiles[k1] = number(sizes[k1])
    tiles[k2] = rules.tile(PARTIAL_REDUCTION, k2, sizes[k2], zero=sizes[k2])
    for loop, sharing, name in (
        (n, widths[n], knob_name(WORKGROUP, n)),
        (k1, widths[k1], f"dimension {k1}"),
        (k2, subgroups, knob_name(PARTIAL_REDUCTION, k2)),
    ):
        rules.powers_of_two(lanes[loop], most_lanes)
        rules.divide(Grade.SUFFICIENT, sizes[loop], tiles[loop], f"dimension {loop}", name)
        part = "the part that its threads take at a time"
        rules.divide(Grade.SUFFICIENT, tiles[loop], lanes[loop] * sharing, name, part)
    keep_sums_apart(rules, k2, subgroups, lanes[k2])
    # The numbers of lanes and threads match the sizes of a subgroup and a workgroup.
    for loop in (n, k1):
        rules.powers_of_two(widths[loop], _MOST_WIDTH)
        spread = lanes[loop] * lanes[k2]
        rules.sufficient(
            rules.subgroup_size % spread == 0,
            f"the {{}} threads of a subgroup must be divisible by the lanes along dimensions {loop} and {k2} ({{}})",
            *(rules.subgroup_size, spread),
        )
        elements = tiles[loop] / lanes[loop] * (tiles[k2] / (lanes[k2] * subgroups))
        rules.limit_work(elements, "elements", _MOST_ELEMENTS)
    needed = subgroups * rules.subgroup_size
    rules.match_threads(needed, "of its subgroups", Grade.SUFFICIENT)
    rules.limit_memory([], [tiles[n] * subgroups * (rules.device.subgroup_size * 32)])
    # The lowering config of a matmul lacks one of the loops.
    parts, promotion = {}, promotion_slots((), rules.context)
    for part, inner, absent in (("qk_attrs", k1, n), ("pv_attrs", n, k1)):
        loops = [loop for loop in range(rules.loop_count) if loop != absent]
        thread = [
            IntegerSlot(width_names[loop]) if loop == inner else rules.constant(0) for loop in loops
        ]
        parts[part] = {
            SUBGROUP_BASIS: rules.basis({k2: knob_name(SUBGROUP_BASIS, k2)}, loops),
            LANE_BASIS: rules.basis({loop: lane_names[loop] for loop in (inner, k2)}, loops),
            THREAD: ArraySlot(tuple(thread)),
            **promotion,
        }
    return rules.define({**rules.tile_slots(), **promotion}, decomposition=parts)
