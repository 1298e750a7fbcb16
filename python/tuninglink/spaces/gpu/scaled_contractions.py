"""Contractions of operands with block scales, using `MFMA_SCALE` intrinsics in the pipeline TileAndFuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product as combinations
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import (
    MMA_KIND,
    PADDING,
    PROMOTED_OPERANDS,
    PROMOTION_TYPES,
    REDUCTION,
    SUBGROUP,
    WORKGROUP,
)
from tuninglink.iree.op_kinds import ProductLoops
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import any_of, negation, number, select
from tuninglink.spaces.configuration import integer
from tuninglink.spaces.gpu import Gpu, Intrinsic
from tuninglink.spaces.gpu.contraction_tiles import intrinsic_slot
from tuninglink.spaces.gpu.contractions import (
    Contraction,
    Operand,
    read_operand,
    starts_from_fill,
    static_sizes,
)
from tuninglink.spaces.gpu.copies import TRANSFER_BITS
from tuninglink.spaces.gpu.gpu_rules import MOST_INTRINSICS, MOST_STAGES, Number, product
from tuninglink.spaces.gpu.gpu_space import FormRules, GpuSpace, Outline
from tuninglink.spaces.gpu.knob_table import gpu_template
from tuninglink.spaces.gpu.promotion import LOAD_BITS, tile_bits
from tuninglink.spaces.gpu.tile_and_fuse_tiles import TileAndFuseTiles, padding_slots
from tuninglink.spaces.knob_templates import KnobTemplate
from tuninglink.spaces.slots import (
    ArraySlot,
    ConstantSlot,
    IgnoredSlot,
    ImpliedSlot,
    OptionSlot,
    Slot,
)
from tuninglink.spaces.workload import Problem, Workload

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
    """A contraction of scaled operands.

    Attributes:
        contraction: the contraction; its k is the loop over the blocks that share a scale.
        block: the loop over the elements of a block.
        scales: the scales of both operands.
    """

    contraction: Contraction
    block: int
    scales: tuple[Operand, Operand]

    @property
    def promoted(self) -> tuple[Operand, ...]:
        """The operands that can be promoted, in order."""
        return (self.contraction.lhs, self.contraction.rhs, *self.scales)


def read_scaled_contraction(workload: Workload) -> ScaledContraction:
    """Read the contraction of a root op.

    Raises:
        UndecidedError: the op does not have this form, or its sizes are unknown.
    """
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
    return ScaledContraction(contraction, elements[0], (scales[0], scales[1]))


def scaled_intrinsics(
    contraction: Contraction, device: Gpu, context: mlir.Context
) -> list[Intrinsic]:
    """Return the intrinsics that compute a contraction of scaled operands.

    Raises:
        UndecidedError: the target has no such intrinsic.
    """
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
    """Return the spaces of configurations with an intrinsic, one for each form.

    Raises:
        UndecidedError: the contraction has another form, or the target has no intrinsic for it.
    """
    scaled = read_scaled_contraction(workload)
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
        return Outline(frozenset({*first, WORKGROUP, REDUCTION, SUBGROUP}), first)

    def tile_loops(self) -> None:
        """Add tiles of whole intrinsics, and take blocks as a whole."""
        tiling, block = self._tiling, self._scaled.block
        tiling.tile_loops()
        for loop in () if self._pads else tiling.contraction.matrix_loops:
            size, tile = tiling.contraction.size(loop), self.tiles[loop]
            text = f"dimension {loop} must be divisible by its tile ({{}} % {{}} == 0)"
            self.rules.sufficient(size % tile == 0, text, size, tile)
        self.table.tile(REDUCTION, block, 1, zero=1)
        self.tiles[block] = number(BLOCK)
        steps = self.tiles[tiling.contraction.k] / tiling.shapes[tiling.contraction.k]
        taken = (
            select(piece == 0, self.tiles[loop], piece) for loop, piece in tiling.pieces.items()
        )
        self.rules.unrolled(product([steps, *taken]), "intrinsics", MOST_INTRINSICS)

    def arrange_threads(self) -> None:
        """Require the number of threads that the tiles of a workgroup need."""
        self.add_workgroup()
        needed = product(self._tiling.counts.values()) * self.subgroup_size
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
        """Return the template."""
        return gpu_template(self.pipeline, slots, keeps_banks=self._arranges)
