"""Ops without intrinsics in the pipeline TileAndFuse: each thread computes a tile by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import REDUCTION, THREAD, WORKGROUP
from tuninglink.iree.op_kinds import OpKind
from tuninglink.solver import Grade
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import all_of, any_of, number, select
from tuninglink.spaces.gpu import Gpu
from tuninglink.spaces.gpu.contractions import Contraction, read_contraction
from tuninglink.spaces.gpu.gpu_rules import Number, clip, product
from tuninglink.spaces.gpu.gpu_space import FormRules, GpuSpace, Outline
from tuninglink.spaces.gpu.knob_table import gpu_template
from tuninglink.spaces.gpu.promotion import Promotion, promotion_slots
from tuninglink.spaces.gpu.root_loops import (
    Beside,
    RootLoops,
    has_consumers,
    ops_beside,
    read_loops,
)
from tuninglink.spaces.knob_templates import KnobTemplate
from tuninglink.spaces.slots import Slot
from tuninglink.spaces.workload import Problem, Workload

_LEAST_BOUND: Final = 128
_MOST_SUMS: Final = 128
_LEAST_STAGES: Final = 2
"""The minimum number of stages with prefetching."""
_MOST_BESIDE: Final = 1 << 12
"""The maximum number of elements of ops next to the root op. Compile time is quadratic: 8,006 took a minute."""
_MOST_TILE: Final = 1024
"""The maximum tile of a loop. Tiles may exceed the computed part, as the compiler's own tiles do."""


def threads_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> list[GpuSpace]:
    """Return the configurations without an intrinsic.

    Tiles need not divide the loops: the generated code checks bounds.

    Raises:
        UndecidedError: the loops are not supported.
    """
    loops = read_loops(workload, device)
    if loops.accumulates and workload.problem.kind is OpKind.CONTRACTION:
        raise UndecidedError(f"{workload.problem} adds to given values, without an intrinsic")
    neighborhood = _Neighborhood(
        beside=tuple(ops_beside(workload, loops)),
        contraction=_read_product(workload),
        is_followed=bool(loops.reductions) and has_consumers(workload),
    )
    reduction = {REDUCTION} if loops.reductions else set[str]()
    outline = Outline(frozenset({WORKGROUP, THREAD} | reduction))
    rules = _ThreadsRules(workload.problem, loops, device, pipeline, neighborhood)
    return [GpuSpace(outline, rules.build)]


def threads_space(
    problem: Problem, loops: RootLoops, device: Gpu, pipeline: mlir.Attribute
) -> GpuSpace:
    """Return the configurations of a single op without reductions and promotion.

    The compiler itself chooses numbers of threads that differ from those that the tiles need.
    """
    rules = _ThreadsRules(
        *(problem, loops, device, pipeline), _Neighborhood(), grade=Grade.HEURISTIC
    )
    return GpuSpace(Outline(frozenset({WORKGROUP, THREAD})), rules.build)


@dataclass(frozen=True)
class _Neighborhood:
    """The computations before, next to and after a root op.

    Attributes:
        beside: the ops next to it.
        contraction: its contraction, if it is a supported one.
        is_followed: whether another op reads its results; the threads of that op may take other tiles.
    """

    beside: tuple[Beside, ...] = ()
    contraction: Contraction | None = None
    is_followed: bool = False


class _ThreadsRules(FormRules):
    """The rules for ops without intrinsics in the pipeline TileAndFuse.

    Args:
        problem: the problem to configure.
        loops: the loops of the root op.
        device: the target GPU.
        pipeline: the pipeline to configure.
        neighborhood: the computations around the root op.
        grade: the grade of the rule on the number of threads.
    """

    def __init__(
        self,
        problem: Problem,
        loops: RootLoops,
        device: Gpu,
        pipeline: mlir.Attribute,
        neighborhood: _Neighborhood,
        *,
        grade: Grade = Grade.COMPILER,
    ) -> None:
        super().__init__(problem, device, pipeline, len(loops.sizes))
        self._loops = loops
        self._neighborhood = neighborhood
        self._grade = grade
        self._counts: list[Number] = [number(1)]
        self._pieces: list[Number] = [number(1)]

    def tile_loops(self) -> None:
        """Add workgroup and thread tiles of any size."""
        for loop in self._loops.parallel:
            self._tile_parallel(loop)
        for loop in self._loops.reductions:
            size = self._loops.sizes[loop]
            tile = self.tiles[loop] = self.table.tile(
                REDUCTION, loop, size or _MOST_TILE, zero=size
            )
            self.rules.powers_of_two(tile, _MOST_SUMS, size)
            self.table.ignore(WORKGROUP, loop)
            self.table.ignore(THREAD, loop)

    def _tile_parallel(self, loop: int) -> None:
        rules, size = self.rules, self._loops.sizes[loop]
        most = _most_tile(size)
        tile = self.tiles[loop] = self.table.tile(WORKGROUP, loop, most, zero=size)
        piece = self.table.tile(THREAD, loop, most, low=0)
        rules.powers_of_two(piece, most)
        rules.powers_of_two(tile, most, size)
        self._pieces.append(select(piece == 0, tile, piece))
        self._counts.append(select(piece == 0, 1, (tile + piece - 1) / piece))
        rules.compilers(
            piece <= tile,
            f"thread[{loop}] must not be more than workgroup[{loop}] ({{}} <= {{}})",
            piece,
            tile,
        )

    def arrange_threads(self) -> None:
        """Require the number of threads that the tiles need, and little work for each thread."""
        self.add_workgroup()
        rules, most = self.rules, self.device.threads
        summed = product([number(1), *(self.tiles[loop] for loop in self._loops.reductions)])
        rules.few(summed, "sums of one result", _MOST_SUMS)
        rules.few(product(self._pieces) * summed, "sums")
        needed = product(self._counts)
        rules.compilers(
            needed <= most,
            f"tiles must not need more than {most} threads ({{}} <= {most})",
            needed,
        )
        rules.threads(self.threads, needed, "that its tiles need", self._grade)

    def limit_memory(self) -> None:
        """Limit the copies of promoted operands and the data that threads exchange."""
        loops, rules, neighborhood = self._loops, self.rules, self._neighborhood
        clipped = {loop: clip(tile, loops.sizes[loop]) for loop, tile in self.tiles.items()}
        results = product([number(1), *(clipped[loop] for loop in loops.parallel)])
        copies = self._promote(clipped)
        exchanged = [results * (op.elements * op.bits) for op in neighborhood.beside]
        bits = results * loops.bits
        is_exact = self.threads == product(self._counts)
        exchanged.append(bits if neighborhood.is_followed else select(is_exact, 0, bits))
        for op in neighborhood.beside:
            elements = product(self._pieces) * op.elements
            rules.unrolled(elements, "elements of another op", _MOST_BESIDE)
        loops.refuse_mixed_types(rules)
        rules.memory_bounds(copies, exchanged, self.device)

    def _promote(self, tiles: Mapping[int, Number]) -> list[Number]:
        """Add the promotion of operands, which only products have, and return the sizes of the copies.

        The compiler crashes if it prefetches copies that only some of the threads make.
        """
        contraction, threads = self._neighborhood.contraction, self.threads
        if contraction is None:
            self._promotion_slots = promotion_slots((), self.pipeline.context)
            return []
        promotion = Promotion(self.rules, self.pipeline.context)
        self._promotion_slots = promotion.slots
        copies = promotion.bits(contraction, tiles)
        for operand, copy in zip((contraction.lhs, contraction.rhs), copies, strict=True):
            elements = copy / operand.bits
            # On AMD GPUs, threads without a part of the copy prevent a second step in flight.
            is_amd = self.device.architecture.startswith("gfx")
            is_free = any_of(self.stages == _LEAST_STAGES, not is_amd)
            fewer = all_of(is_free, copy > 0, threads % elements == 0)
            self.rules.sufficient(
                any_of(self.stages < _LEAST_STAGES, elements % threads == 0, fewer),
                "the {} threads must share the {} elements that are prefetched",
                threads,
                elements,
            )
        return copies

    def slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config."""
        return {**self.table.slots(), **self._promotion_slots}

    def template(self, slots: Mapping[str, Slot]) -> KnobTemplate:
        """Return the template, which accepts any arrangement of the threads."""
        return gpu_template(self.pipeline, slots, is_flat=False)


def _read_product(workload: Workload) -> Contraction | None:
    """Read the contraction of a root op, None if it is not a supported one."""
    try:
        return read_contraction(workload)
    except UndecidedError:
        return None


def _most_tile(size: int | None) -> int:
    if size is None:
        return _MOST_TILE
    most = _LEAST_BOUND
    while most < min(size, _MOST_TILE):
        most *= 2
    return most
