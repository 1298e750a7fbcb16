"""Contractions with intrinsics in the pipeline VectorDistribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree import (
    MMA_KIND,
    REDUCTION_LEVEL,
    SUBGROUP_BASIS,
    WORKGROUP,
    ProductLoops,
    Role,
    StructuredOp,
    loops_in,
)
from tuninglink.solver import UndecidedError, all_of, any_of, negation, number
from tuninglink.spaces.gpu.contractions import (
    Contraction,
    ContractionTiles,
    Operand,
    Promotion,
    intrinsic_slot,
    intrinsics_for,
    is_derivable,
    loops_of,
    operand_over,
    promotion_slots,
    read_contraction,
    read_operand,
    require_derivable,
    starts_from_fill,
    static_sizes,
    vector_distribute_limits,
)
from tuninglink.spaces.gpu.gpu_rules import (
    Gpu,
    GpuRules,
    Intrinsic,
    Number,
    clip,
    knob_name,
    product_of,
)
from tuninglink.spaces.gpu.gpu_space import FormRules, GpuSpace, Outline, has_consumers
from tuninglink.spaces.model import Problem, Slot, Workload

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

WITH_INTRINSIC: Final[Outline] = Outline(
    frozenset({MMA_KIND, SUBGROUP_BASIS, REDUCTION_LEVEL, WORKGROUP})
)
"""The outline of configurations with an intrinsic, for contractions and for convolutions."""


def vector_distribute_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Return the configurations with an intrinsic.

    A workgroup takes a tile of each dimension; its subgroups form a grid over the tile.
    """
    contraction = read_contraction(workload)
    static_sizes(workload)
    intrinsics = intrinsics_for(contraction, device)
    rules = _VectorDistributeRules(
        *(workload.problem, contraction, intrinsics, device, pipeline),
        is_fused=has_consumers(workload) and device.architecture.startswith("gfx"),
    )
    return [GpuSpace(WITH_INTRINSIC, rules.build)]


class _VectorDistributeRules(FormRules):
    """The rules for contractions with intrinsics in the pipeline VectorDistribute."""

    def __init__(
        self,
        problem: Problem,
        contraction: Contraction,
        intrinsics: Sequence[Intrinsic],
        device: Gpu,
        pipeline: mlir.Attribute,
        *,
        is_fused: bool,
    ) -> None:
        super().__init__(problem, device, pipeline, len(contraction.sizes))
        self._contraction = contraction
        self._is_fused = is_fused
        self._intrinsics = intrinsics
        self._tiling = ContractionTiles(contraction, self.rules, self.table, self.tiles)
        self._count_names = {
            loop: knob_name(SUBGROUP_BASIS, loop)
            for loop in (*contraction.outer, contraction.m, contraction.n)
        }

    def tile_loops(self) -> None:
        """Add tiles that are multiples of the intrinsics of their subgroups."""
        contraction, tiling = self._contraction, self._tiling
        self._kind = tiling.choose_intrinsic(self._intrinsics)
        for loop in (*contraction.outer, *contraction.outer_k, *contraction.matrix_loops):
            self._tile_loop(loop)
        taken = {loop: tile / self._step(loop) for loop, tile in self.tiles.items()}
        for loop in contraction.matrix_loops:
            self.rules.few(taken[loop], f"intrinsics along dimension {loop}", _MOST_PIECES)
        self.rules.unrolled(product_of(taken.values()), "intrinsics", _MOST_INTRINSICS)

    def _tile_loop(self, loop: int) -> None:
        contraction, rules, size = self._contraction, self.rules, self._contraction.size(loop)
        entry = REDUCTION_LEVEL if loop in (*contraction.outer_k, contraction.k) else WORKGROUP
        tile = self.tiles[loop] = self.table.tile(entry, loop, size, zero=size)
        if loop in self._count_names:
            most = size if loop in contraction.outer else self.most_subgroups
            self._tiling.counts[loop] = rules.knob(self._count_names[loop], 1, most)
        name, step = knob_name(entry, loop), self._step(loop)
        rules.compilers(
            size % tile == 0,
            f"dimension {loop} must be divisible by {name} ({{}} % {{}} == 0)",
            size,
            tile,
        )
        rules.compilers(
            tile % step == 0,
            f"{name} must be divisible by the part that its subgroups take at a time ({{}} % {{}} == 0)",
            tile,
            step,
        )

    def _step(self, loop: int) -> Number:
        return self._tiling.shapes[loop] * self._tiling.counts.get(loop, 1)

    def arrange_threads(self) -> None:
        """Require a workgroup to have exactly the threads of its subgroups."""
        self.add_workgroup()
        threads = product_of(self._tiling.counts.values()) * self.subgroup_size
        self.rules.threads(self.threads, threads, "of its subgroups")
        if self._is_fused:
            result = self._contraction.result
            bits = product_of(self.tiles[loop] for loop in result.loops) * result.bits
            registers = bits / (self.threads * _REGISTER)
            self.rules.unrolled(registers, "registers for fused results", _MOST_FUSED)

    def limit_memory(self) -> None:
        """Limit the copies of promoted operands, and require that threads can share them."""
        contraction, rules, tiles = self._contraction, self.rules, self.tiles
        promotion = self._promotion = Promotion(rules, self.pipeline.context)
        clipped = {loop: clip(tile, contraction.sizes[loop]) for loop, tile in tiles.items()}
        operands = (contraction.lhs, contraction.rhs)
        # The inputs of a computed operand may be copied in its place.
        least = [
            bits if not operand.inputs else number(0)
            for operand, bits in zip(operands, promotion.bits(contraction, clipped), strict=True)
        ]
        copies = promotion.bits(contraction, tiles)
        further = [large - small for large, small in zip(copies, least, strict=True)]
        rules.memory_bounds(least, further, self.device)
        for index, operand in enumerate(operands):
            is_promoted = promotion.of(index)
            rounded = [self._is_rounded(loop) for loop in operand.loops]
            exempt = any_of(negation(is_promoted), *rounded)
            name = f"operand {index}"
            require_derivable(rules, operand, tiles, self.threads, name, unless=exempt)
            _cover_inputs(rules, operand, tiles, self.threads, is_promoted)

    def _is_rounded(self, loop: int) -> Number:
        """Return the condition that the compiler reads a tile of a size other than the configured one.

        The size is at most that of the loop, and is rounded up to whole steps. A last tile beyond the end of the loop is masked.
        """
        tile = self.tiles[loop]
        return any_of(tile > self._contraction.size(loop), tile % self._step(loop) != 0)

    def limit_search(self) -> None:
        if self._contraction.is_plain:
            vector_distribute_limits(self._tiling, self.threads, self.stages, self._promotion)

    def slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config."""
        return {
            MMA_KIND: self._kind,
            SUBGROUP_BASIS: self.table.basis(self._count_names),
            **self._promotion.slots,
            **self.table.slots(),
        }


def _cover_inputs(
    rules: GpuRules,
    operand: Operand,
    tiles: Mapping[int, Number],
    threads: Number,
    is_promoted: Number,
) -> None:
    """Require that the threads can share the tiles of all inputs of a promoted operand.

    Elements of less than a byte cannot be copied.
    """
    for input_ in operand.inputs:
        shape = [tiles[loop] for loop in input_.loops]
        can_share = is_derivable(shape, threads, input_.bits) if shape else True
        rules.sufficient(
            any_of(negation(is_promoted), all_of(input_.bits >= _BYTE, can_share)),
            f"the {{}} threads must be able to share reading the elements of type {input_.element_type} that a promoted "
            "operand is computed from",
            threads,
        )


# --- Convolutions: as contractions (implicit GEMM), and directly in the pipeline VectorDistribute

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
    return Contraction(
        tuple(details.igemm_loop_bounds),
        tuple(sorted((*outer_m, *outer_n, *loops.batches))),
        (),
        m,
        n,
        loops.reductions[0],
        lhs,
        rhs,
        result,
        accumulates=not starts_from_fill(op),
        is_plain=False,
        image=int(details.is_output_channel_first),
    )


def read_direct_convolution(workload: Workload) -> Contraction:
    """Return a convolution as the sum of the contractions for the elements of its filter.

    Intrinsics run over the rows of the image and over the channels. Without strides, the tile of the image for a single
    element of the filter is that of the output.
    """
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
        m,
        n,
        k,
        operand_over(image, chain(*accesses)),
        read_operand(weights, op.maps[1]),
        read_operand(result, op.maps[2]),
        accumulates=not starts_from_fill(op),
        is_plain=False,
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


def direct_convolution_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Return the configurations that take one element of the filter at a time, and promote both operands.

    The rules refute some of them and prove none. Of 141 configurations compiled for sm_80, 85 failed: those whose tiles
    the threads cannot share evenly.
    """
    intrinsics = intrinsics_for(read_igemm(workload), device)
    op, problem = StructuredOp(workload.root), workload.problem
    if not has_innermost_channels(workload):
        raise UndecidedError(f"the channels of {problem} are not innermost")
    if set(op.strides) != {1}:
        raise UndecidedError(f"{problem} has strides")
    *rows, channel = (
        loop for loop, role in enumerate(op.roles) if role not in (Role.FILTER, Role.INPUT_CHANNEL)
    )
    inputs = len(op.roles) - 1
    image, filters = op.operation.operands[:2]
    # For a single element of the filter, the tile of the image is that of the output.
    operands = (operand_over(image, (*rows, inputs)), read_operand(filters, op.maps[1]))
    convolution = _Convolution(
        static_sizes(workload), op.roles, (rows[-1], channel, inputs), operands
    )
    rules = _ConvolutionRules(problem, convolution, intrinsics, device, pipeline)
    return [GpuSpace(WITH_INTRINSIC, rules.build)]


@dataclass(frozen=True)
class _Convolution:
    """A convolution without strides."""

    sizes: tuple[int, ...]
    roles: Sequence[Role]
    matrix_loops: tuple[int, int, int]
    operands: tuple[Operand, Operand]


class _ConvolutionRules(FormRules):
    """The rules for direct convolutions in the pipeline VectorDistribute."""

    unknown: ClassVar[str] = (
        "further requirements of code generation on a convolution in VectorDistribute are unknown"
    )

    def __init__(
        self,
        problem: Problem,
        convolution: _Convolution,
        intrinsics: Sequence[Intrinsic],
        device: Gpu,
        pipeline: mlir.Attribute,
    ) -> None:
        super().__init__(problem, device, pipeline, len(convolution.sizes))
        self._convolution = convolution
        self._intrinsics = intrinsics
        self._kind = intrinsic_slot(intrinsics)
        m, n, _ = convolution.matrix_loops
        self._count_names = {loop: knob_name(SUBGROUP_BASIS, loop) for loop in (m, n)}

    def tile_loops(self) -> None:
        """Add tiles of any size. Along the filter, the tile is one element."""
        convolution = self._convolution
        self._chosen = self.rules.choice(self._kind.name, self._kind.options)
        for loop, (size, role) in enumerate(zip(convolution.sizes, convolution.roles, strict=True)):
            if role is Role.FILTER:
                self.table.tile(REDUCTION_LEVEL, loop, 1)
                self.tiles[loop] = number(1)
            else:
                entry = REDUCTION_LEVEL if role is Role.INPUT_CHANNEL else WORKGROUP
                self.tiles[loop] = self.table.tile(entry, loop, size, zero=size)

    def arrange_threads(self) -> None:
        """Add the numbers of subgroups and of threads."""
        self._counts = {
            loop: self.rules.knob(name, 1, self.most_subgroups)
            for loop, name in self._count_names.items()
        }
        self.add_workgroup()

    def limit_memory(self) -> None:
        """Require that the threads can share the copies of the operands."""
        sizes, tiles = self._convolution.sizes, self.tiles
        # Tiles that are rounded up are masked, so the tiles that are read differ from the configured ones.
        uneven = any_of(
            *(sizes[loop] % tile != 0 for loop, tile in tiles.items()),
            *(tiles[loop] % step != 0 for loop, step in self._steps().items()),
        )
        for index, operand in enumerate(self._convolution.operands):
            name = f"operand {index}"
            require_derivable(self.rules, operand, tiles, self.threads, name, unless=uneven)

    def _steps(self) -> dict[int, Number]:
        """Return the step of the subgroups along each loop of the intrinsic."""
        steps = {}
        for loop, side in zip(self._convolution.matrix_loops, "mnk", strict=True):
            extents = [getattr(intrinsic, side) for intrinsic in self._intrinsics]
            steps[loop] = self.rules.look_up(self._chosen, extents) * self._counts.get(loop, 1)
        return steps

    def limit_search(self) -> None:
        self.rules.propose_nothing("the compiler's own constraints propose")

    def slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config."""
        return {
            MMA_KIND: self._kind,
            SUBGROUP_BASIS: self.table.basis(self._count_names),
            **promotion_slots((0, 1), self.pipeline.context),
            **self.table.slots(),
        }
