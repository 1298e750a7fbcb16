"""Contractions, and convolutions as contractions, with intrinsics in the pipeline TileAndFuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product as combinations
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.solver.expressions import all_of, any_of, number, select
from tuninglink.spaces.gpu.compiler_limits import tile_and_fuse_limits
from tuninglink.spaces.gpu.contraction_tiles import (
    ContractionTiles,
    ExactIntrinsicSlot,
    intrinsic_slot,
)
from tuninglink.spaces.gpu.contractions import FOR_FEW_ROWS, intrinsics_for, read_contraction
from tuninglink.spaces.gpu.convolutions import has_innermost_channels, read_igemm
from tuninglink.spaces.gpu.copies import Copies
from tuninglink.spaces.gpu.gpu_rules import MOST_INTRINSICS, GpuRules, clip, product, round_up
from tuninglink.spaces.gpu.knob_table import (
    PADDING,
    PADDING_CONV,
    REDUCTION,
    SUBGROUP,
    WORKGROUP,
    KnobTable,
    gpu_template,
)
from tuninglink.spaces.gpu.promotion import Promotion
from tuninglink.spaces.gpu.space import Form, GpuSpace, Outline
from tuninglink.spaces.templates import ArraySlot, ConstantSlot, IgnoredSlot, IntegerSlot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.device import Device, Intrinsic
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.templates import Slot
    from tuninglink.spaces.workload import Workload

_CONVERTS: Final = "convert_acc_gemm"
"""The entry that makes a sum that starts from given values one that starts from zero, and adds them afterwards."""

_FEW_ROWS: Final = 8
"""How many rows `FOR_FEW_ROWS` is for."""


@dataclass(frozen=True)
class _Form:
    """A form of configurations.

    Attributes:
        converts: whether they have `convert_acc_gemm`, and it makes a difference.
        pads: whether they have `padding`: what sticks out of the tiles is padded, so that sizes do not matter.
        pads_convolution: whether they have `padding_conv`.
    """

    converts: bool
    pads: bool
    pads_convolution: bool


def tile_and_fuse_spaces(
    workload: Workload, device: Device, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Returns the spaces of configurations with an intrinsic, one for each form.

    A contraction that accumulates is converted; on AMD's GPUs that is not necessary, on NVIDIA's it would fail to
    bufferize.

    Raises:
        UndecidedError: the contraction is of another form, or the target has no intrinsic for it.
    """
    is_convolution = workload.problem.kind is OpKind.CONVOLUTION
    contraction = read_igemm(workload) if is_convolution else read_contraction(workload)
    has_few_rows = not is_convolution and contraction.size(contraction.m) <= _FEW_ROWS
    intrinsics = intrinsics_for(contraction, device, FOR_FEW_ROWS if has_few_rows else "")
    converts = [contraction.accumulates]
    if contraction.accumulates and device.architecture.startswith("gfx"):
        converts.append(False)
    pads = [(False, False), (True, False)]
    if is_convolution and has_innermost_channels(workload):
        pads.append((True, True))
    forms = (_Form(each, *padding) for each, padding in combinations(converts, pads))
    problem = workload.problem
    written = [
        _FormRules(problem, contraction, device, intrinsics, pipeline, each) for each in forms
    ]
    return [GpuSpace(each.outline(), each.build) for each in written]


@dataclass
class _FormRules:
    """Writes down the rules of a form.

    A workgroup takes a tile of each dimension of the result, each of its subgroups a number of results of the
    intrinsic; the tile of k is counted in intrinsics, too.
    """

    problem: Problem
    contraction: Contraction
    device: Device
    intrinsics: Sequence[Intrinsic]
    pipeline: mlir.Attribute
    form: _Form

    def __post_init__(self) -> None:
        if self.form.converts:
            self.contraction = replace(self.contraction, accumulates=False)
        self._rules = GpuRules()
        self._table = KnobTable(self._rules, len(self.contraction.sizes), self.pipeline.context)
        self._tiling = ContractionTiles(self.contraction, self._rules, self._table)

    @property
    def _kind(self) -> Slot:
        slot, types = intrinsic_slot(self.intrinsics), self.contraction.element_types
        return ExactIntrinsicSlot(slot.name, slot.options, types)

    def outline(self) -> Outline:
        """Returns what tells configurations of another form."""
        first = {"mma_kind": self._kind}
        with self.pipeline.context:
            anything = IgnoredSlot(mlir.ArrayAttr.get([]))
        if self.form.pads:
            first[PADDING] = anything
        if self.form.pads_convolution:
            first[PADDING_CONV] = anything
        conversion = set[str]() if self.contraction.accumulates else {_CONVERTS}
        return Outline(frozenset({*first, *conversion, WORKGROUP, REDUCTION, SUBGROUP}), first)

    def build(self) -> Form:
        """Returns the form; the object is spent."""
        contraction, tiling, rules = self.contraction, self._tiling, self._rules
        tiling.choose_intrinsic(self.intrinsics)
        slots: dict[str, Slot] = {"mma_kind": self._kind}
        for loop in contraction.outer:
            self._tile_outer(loop)
        for loop, side in ((contraction.m, "m"), (contraction.n, "n")):
            self._tile_side(loop, side)
        for loop in contraction.outer_k:
            self._tile_outer_reduction(loop)
        self._tile_reduction(contraction.k)
        reductions = (*contraction.outer_k, contraction.k)
        if not self.form.pads:
            # A loop that is not tiled takes one step, too.
            whole = (
                any_of(tiling.tiles[loop] >= contraction.size(loop), tiling.tiles[loop] == 0)
                for loop in reductions
            )
            self._divide(all_of(*whole))
        steps = product(tiling.tiles[loop] for loop in reductions) / tiling.shapes[contraction.k]
        # A subgroup that takes nothing in particular of an outer dimension takes all of the tile.
        taken = (
            select(piece == 0, tiling.tiles[loop], piece) for loop, piece in tiling.pieces.items()
        )
        rules.unrolled(product([steps, *taken]), "intrinsics", MOST_INTRINSICS)
        threads, subgroup_size, stages = rules.workgroup(self.device)
        wanted = product(tiling.counts.values()) * subgroup_size
        rules.threads(threads, wanted, "that its tiles ask for")
        promotion = Promotion(rules, self.pipeline.context)
        if contraction.image is not None:
            rules.sufficient(promotion.of(contraction.image), "the image must be promoted")
            for loop in () if self.form.pads else contraction.matrix_loops:
                tile, size = tiling.tiles[loop], contraction.size(loop)
                rules.sufficient(
                    size % tile == 0,
                    f"dimension {loop} must be divisible ({size} % {{}} == 0)",
                    tile,
                )
        copies = Copies(tiling, promotion, self.device, pads=self.form.pads)
        copies.limit_memory(is_odd=threads != wanted)
        copies.limit_masks()
        copies.limit_stages(threads, stages)
        if contraction.is_plain and not self.form.pads:
            tile_and_fuse_limits(tiling, stages, promotion)
        if self.form.pads and self._is_even():
            rules.propose_nothing("tiles divide the dimensions without padding")
        slots |= self._padding()
        slots |= {**promotion.slots, **self._table.slots()}
        if self.form.converts:
            with self.pipeline.context:
                slots[_CONVERTS] = ConstantSlot(mlir.UnitAttr.get())
        matters = self.form.converts or contraction.accumulates
        template = gpu_template(
            self.pipeline,
            slots,
            ignored=frozenset() if matters else frozenset({_CONVERTS}),
            is_igemm=contraction.image is not None,
        )
        return Form(rules.build(self.problem, str(self.pipeline)), template)

    def _is_even(self) -> bool:
        """Tells whether an intrinsic divides the dimensions that it runs over."""
        contraction = self.contraction
        sizes = [contraction.size(loop) for loop in contraction.matrix_loops]
        return any(
            all(
                size % step == 0 for size, step in zip(sizes, (each.m, each.n, each.k), strict=True)
            )
            for each in self.intrinsics
        )

    def _padding(self) -> dict[str, Slot]:
        """Returns the entries for padding, which is to be what the tiles take."""
        tiles = self._tiling.tiles
        slots: dict[str, Slot] = {}
        if self.form.pads:
            loops = range(len(self.contraction.sizes))
            slots[PADDING] = ArraySlot(
                tuple(self._pad(f"pad_{loop}", [tiles[loop]], loop) for loop in loops)
            )
        if self.form.pads_convolution:
            parallel = len(self.contraction.sizes) - 1
            count = len(self.problem.dimensions)
            slots[PADDING_CONV] = ArraySlot(
                tuple(
                    self._pad(f"pad_conv_{loop}", self._pads_of(loop, parallel, count), loop)
                    for loop in range(count)
                )
            )
        return slots

    def _pads_of(self, loop: int, parallel: int, count: int) -> list[Number]:
        """Returns what a loop of a convolution may be padded to: nothing, or the tile, but no filter."""
        zero = number(0)
        if loop < parallel:
            return [zero, self._tiling.tiles[loop]]
        return [zero, self._tiling.tiles[self.contraction.k]] if loop == count - 1 else [zero]

    def _pad(self, name: str, allowed: Sequence[Number], loop: int) -> Slot:
        pad = self._rules.knob(name, 0, _MOST_PADDING)
        self._rules.sufficient(
            any_of(*(pad == each for each in allowed)),
            f"dimension {loop} must be padded to its tile ({{}} == {{}})",
            pad,
            allowed[-1],
        )
        return IntegerSlot(name)

    def _tile_outer(self, loop: int) -> None:
        rules, tiling, size = self._rules, self._tiling, self.contraction.sizes[loop]
        tile = tiling.tiles[loop] = self._table.tile(
            WORKGROUP, loop, size or _MOST_DYNAMIC, zero=size
        )
        piece = tiling.pieces[loop] = self._table.tile(SUBGROUP, loop, size or _MOST_DYNAMIC, low=0)
        if size is None:
            rules.sufficient(
                tile == 1, f"wg_{loop} must be 1, as dimension {loop} is dynamic, not {{}}", tile
            )
        # Zero is as good as all of the tile.
        tiling.counts[loop] = select(all_of(piece > 0, piece < tile), tile / piece, 1)
        # What `padding` makes of the dimension is not known.
        require = rules.sufficient if self.form.pads else rules.necessary
        require(
            any_of(piece == 0, piece >= clip(tile, size), tile % piece == 0),
            f"wg_{loop} must be divisible by sg_{loop} ({{}} % {{}} == 0)",
            tile,
            piece,
        )
        rules.compilers(
            piece <= tile,
            f"sg_{loop} must not be more than wg_{loop} ({{}} <= {{}})",
            piece,
            tile,
        )

    def _divide(self, is_one_step: Number) -> None:
        """Asks for tiles that divide the result, which is necessary where the reduction takes several steps."""
        sides = (self.contraction.m, self.contraction.n)
        for loop in (*self.contraction.outer, *sides):
            tile, size = self._tiling.tiles[loop], self.contraction.sizes[loop]
            if size is None:
                continue
            # A tile that sticks out is as good as the dimension if it is the only one; one of rows or columns is padded.
            is_even, is_only = size % tile == 0, tile >= size
            text = f"dimension {loop} must be divisible by wg_{loop}, or fit into it ({size} % {{}} == 0)"
            self._rules.necessary(any_of(is_even, is_only, is_one_step), text, tile)
            self._rules.sufficient(
                any_of(is_even, is_only) if loop in sides else is_even, text, tile
            )

    def _tile_side(self, loop: int, side: str) -> None:
        rules, tiling, size = self._rules, self._tiling, self.contraction.size(loop)
        shape = tiling.shapes[loop]
        extents = [getattr(each, side) for each in self.intrinsics]
        most = max(-(-size // each) * each for each in extents)
        if self.form.pads:
            most = max(most, _MOST_PADDED)
        tile = tiling.tiles[loop] = self._table.tile(WORKGROUP, loop, most, zero=size)
        piece = tiling.pieces[loop] = self._table.tile(SUBGROUP, loop, -(-most // min(extents)))
        rules.compilers(
            tile % shape == 0,
            f"wg_{loop} must be a multiple of the intrinsic's {side} ({{}} % {{}} == 0)",
            tile,
            shape,
        )
        # A tile that sticks out takes what there is; what `padding` makes of the dimension is not known.
        there = (clip(tile, size) + shape - 1) / shape
        whole = (tile + shape - 1) / shape
        tiling.counts[loop] = select(piece < whole, whole / piece, 1)
        text = f"the {{}} intrinsics that wg_{loop} takes must be divisible by sg_{loop} ({{}})"
        if not self.form.pads:
            rules.necessary(any_of(there % piece == 0, piece >= there), text, there, piece)
        rules.sufficient(any_of(whole % piece == 0, piece >= whole), text, whole, piece)
        rules.compilers(
            piece <= whole,
            f"sg_{loop} must not be more than the intrinsics that wg_{loop} takes ({{}} <= {{}})",
            piece,
            whole,
        )

    def _tile_outer_reduction(self, loop: int) -> None:
        size = self.contraction.size(loop)
        tile = self._tiling.tiles[loop] = self._table.tile(REDUCTION, loop, size, zero=size)
        self._rules.sufficient(
            size % tile == 0,
            f"dimension {loop} must be divisible by red_{loop} ({size} % {{}} == 0)",
            tile,
        )

    def _tile_reduction(self, loop: int) -> None:
        rules, tiling, size = self._rules, self._tiling, self.contraction.size(loop)
        shape = tiling.shapes[loop]
        most = max(-(-size // each.k) for each in self.intrinsics)
        tile = tiling.tiles[loop] = self._table.tile(REDUCTION, loop, most) * shape
        padded = round_up(size, shape)
        if not self.form.pads:
            rules.necessary(
                any_of(padded % tile == 0, tile >= padded),
                f"dimension {loop}, in whole intrinsics, must be divisible by red_{loop} intrinsics "
                "({} % {} == 0)",
                padded,
                tile,
            )
        rules.compilers(
            tile <= padded,
            f"red_{loop} intrinsics must not be more than dimension {loop} has ({{}} <= {{}})",
            tile,
            padded,
        )


_MOST_DYNAMIC: Final = 1024
_MOST_PADDED: Final = 512
_MOST_PADDING: Final = 1 << 12
"""The greatest tiles of dynamic and of padded dimensions, and the greatest padding."""
