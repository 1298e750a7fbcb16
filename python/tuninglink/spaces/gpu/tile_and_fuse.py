"""Contractions, and convolutions as contractions, with intrinsics in the pipeline TileAndFuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import (
    CONVERTS,
    MMA_KIND,
    PADDING,
    PADDING_CONV,
    PROMOTION_TYPES,
    REDUCTION,
    SUBGROUP,
    WORKGROUP,
)
from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.solver.expressions import all_of, any_of, number, select
from tuninglink.spaces.gpu import Gpu, Intrinsic
from tuninglink.spaces.gpu.contraction_tiles import (
    ExactIntrinsicSlot,
    intrinsic_slot,
    tile_and_fuse_limits,
)
from tuninglink.spaces.gpu.contractions import (
    FOR_FEW_ROWS,
    Contraction,
    intrinsics_for,
    read_open_contraction,
)
from tuninglink.spaces.gpu.convolutions import (
    has_innermost_channels,
    read_direct_convolution,
    read_igemm,
)
from tuninglink.spaces.gpu.copies import Copies
from tuninglink.spaces.gpu.gpu_rules import MOST_INTRINSICS, product
from tuninglink.spaces.gpu.gpu_space import FormRules, GpuSpace, Outline
from tuninglink.spaces.gpu.knob_table import gpu_template
from tuninglink.spaces.gpu.promotion import DirectLoads, Promotion, direct_load_slots
from tuninglink.spaces.gpu.tile_and_fuse_tiles import (
    TileAndFuseTiles,
    convolution_padding_slot,
    padding_slot,
)
from tuninglink.spaces.knob_templates import KnobTemplate
from tuninglink.spaces.slots import ConstantSlot, IgnoredSlot, Slot
from tuninglink.spaces.workload import Problem, Workload

_FEW_ROWS: Final = 8
"""The maximum number of rows for the intrinsics of `FOR_FEW_ROWS`."""


@dataclass(frozen=True)
class _Form:
    """A form of configurations.

    Attributes:
        converts: whether they have `convert_acc_gemm`, and the entry has an effect.
        pads: whether they have `padding`, so that tiles need not divide the sizes.
        pads_convolution: whether they have `padding_conv`.
        loads: whether operands are loaded directly into shared memory, with `use_global_load_dma`.
        has_strides: whether a convolution is tiled directly, without implicit GEMM, and has strides.
    """

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

    Raises:
        UndecidedError: the contraction has another form, or the target has no intrinsic for it.
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

    Raises:
        UndecidedError: the convolution has another form, or the target has no intrinsic for it.
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
        return Outline(frozenset({*first, *conversion, WORKGROUP, REDUCTION, SUBGROUP}), first)

    def tile_loops(self) -> None:
        """Add tiles of whole intrinsics, and limit the number of intrinsics in a step."""
        self.rules.necessary(not self._form.has_strides, "strides require implicit GEMM")
        tiling = self._tiling
        tiling.tile_loops()
        depth = product(self.tiles[loop] for loop in tiling.reductions)
        steps = depth / tiling.shapes[self._contraction.k]
        # A subgroup without a tile of an outer dimension takes the whole workgroup tile.
        taken = (
            select(piece == 0, self.tiles[loop], piece) for loop, piece in tiling.pieces.items()
        )
        self.rules.unrolled(product([steps, *taken]), "intrinsics", MOST_INTRINSICS)

    def arrange_threads(self) -> None:
        """Require the number of threads that the tiles of a workgroup need."""
        self.add_workgroup()
        needed = product(self._tiling.counts.values()) * self.subgroup_size
        busy = product(self._tiling.busy.values()) * self.subgroup_size
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
