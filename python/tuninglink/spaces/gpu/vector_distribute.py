"""Contractions with intrinsics in the pipeline VectorDistribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import MMA_KIND, REDUCTION, SUBGROUP_BASIS, WORKGROUP
from tuninglink.solver.expressions import all_of, any_of, negation, number
from tuninglink.spaces.gpu import Gpu, Intrinsic
from tuninglink.spaces.gpu.contraction_tiles import ContractionTiles, vector_distribute_limits
from tuninglink.spaces.gpu.contractions import (
    Contraction,
    Operand,
    intrinsics_for,
    read_contraction,
    static_sizes,
)
from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number, clip, product
from tuninglink.spaces.gpu.gpu_space import FormRules, GpuSpace, Outline
from tuninglink.spaces.gpu.knob_table import knob_name
from tuninglink.spaces.gpu.promotion import Promotion, is_derivable, require_derivable
from tuninglink.spaces.gpu.root_loops import has_consumers
from tuninglink.spaces.slots import Slot
from tuninglink.spaces.workload import Problem, Workload

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

WITH_INTRINSIC: Final = Outline(frozenset({MMA_KIND, SUBGROUP_BASIS, REDUCTION, WORKGROUP}))
"""The outline of configurations with an intrinsic, for contractions and for convolutions."""


def vector_distribute_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Return the configurations with an intrinsic.

    A workgroup takes a tile of each dimension; its subgroups form a grid over the tile.

    Raises:
        UndecidedError: the contraction has another form, or the target has no intrinsic for it.
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
        self.rules.unrolled(product(taken.values()), "intrinsics", _MOST_INTRINSICS)

    def _tile_loop(self, loop: int) -> None:
        contraction, rules, size = self._contraction, self.rules, self._contraction.size(loop)
        entry = REDUCTION if loop in (*contraction.outer_k, contraction.k) else WORKGROUP
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
        """Return the step of the subgroups along a loop."""
        return self._tiling.shapes[loop] * self._tiling.counts.get(loop, 1)

    def arrange_threads(self) -> None:
        """Require a workgroup to have exactly the threads of its subgroups."""
        self.add_workgroup()
        threads = product(self._tiling.counts.values()) * self.subgroup_size
        self.rules.threads(self.threads, threads, "of its subgroups")
        if self._is_fused:
            result = self._contraction.result
            bits = product(self.tiles[loop] for loop in result.loops) * result.bits
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
        """Add the limits of the compiler's own constraints, if any."""
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
