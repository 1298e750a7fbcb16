"""Ops without intrinsics in the pipeline VectorDistribute: the lanes of subgroups share each tile."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from tuninglink.iree.lowering_configs import (
    LANE_BASIS,
    PARTIAL_REDUCTION,
    SUBGROUP_BASIS,
    THREAD,
    WORKGROUP,
)
from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import all_of, any_of, number, select
from tuninglink.spaces.gpu.gpu_rules import product
from tuninglink.spaces.gpu.gpu_space import FormRules, GpuSpace, Outline
from tuninglink.spaces.gpu.knob_table import knob_name
from tuninglink.spaces.gpu.promotion import promotion_slots
from tuninglink.spaces.gpu.root_loops import NeighboringOp, read_loops, read_neighbors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu import Gpu
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.gpu.root_loops import RootLoops
    from tuninglink.spaces.slots import Slot
    from tuninglink.spaces.workload import Problem, Workload

_FEW_ROWS: Final = 16
_MOST_TILE: Final = 1 << 14
_MOST_WIDTH: Final = 32
"""The maximum covered number of elements that a lane takes at a time, the compiler's choice for 4-bit elements."""
_MOST_PROPOSED: Final = 16

_MOST_LANES_BITS: Final = 6
"""The logarithm of the maximum number of threads in a subgroup, 64."""

_MOST_ELEMENTS: Final = 512
_MOST_BESIDE: Final = 256
"""The maximum covered numbers of elements of an operand for one thread: of a lone root op, and of one with ops next to
it.
"""

_MOST_OF_INPUT: Final = 512
"""The maximum number of elements of an input for one thread: 1,024 take 25 to 40 seconds to compile, 2,048 minutes."""


def lanes_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> list[GpuSpace]:
    """Return the configurations without an intrinsic.

    A workgroup takes a tile of each parallel loop, and iterates over the reductions in steps. Subgroups share each
    tile, the lanes of a subgroup share its part, and a lane takes some elements at a time.

    Raises:
        UndecidedError: the loops are not supported.
    """
    loops = read_loops(workload, device)
    if not loops.reductions:
        raise UndecidedError(f"{workload.problem} reduces nothing")
    return [lanes_space(workload, loops, device, pipeline)]


def lanes_space(
    workload: Workload, loops: RootLoops, device: Gpu, pipeline: mlir.Attribute
) -> GpuSpace:
    """Return the configurations of an op with these loops; see `lanes_spaces`.

    Raises:
        UndecidedError: other ops with further loops are next to the root op.
    """
    neighbors = read_neighbors(workload, len(loops.parallel))
    outline = Outline(frozenset({WORKGROUP, PARTIAL_REDUCTION, THREAD, SUBGROUP_BASIS, LANE_BASIS}))
    rules = _LanesRules(workload.problem, loops, neighbors, device, pipeline)
    return GpuSpace(outline, rules.build)


class _LanesRules(FormRules):
    """The rules for ops without intrinsics in the pipeline VectorDistribute."""

    def __init__(
        self,
        problem: Problem,
        loops: RootLoops,
        neighbors: Sequence[NeighboringOp],
        device: Gpu,
        pipeline: mlir.Attribute,
    ) -> None:
        super().__init__(problem, device, pipeline, len(loops.sizes))
        self._loops = loops
        self._neighbors = neighbors
        self._subgroups: dict[int, Number] = {}
        self._lanes: dict[int, Number] = {}
        self._vectors: dict[int, Number] = {}

    def tile_loops(self) -> None:
        """Add tiles that are multiples of the steps of their threads."""
        self.table.untiled(WORKGROUP)
        self._loops.refuse_mixed_types(self.rules)
        self._loops.refuse_reused_sums(self.rules)
        self.add_workgroup()
        for loop in range(len(self._loops.sizes)):
            self._tile_loop(loop)

    def _tile_loop(self, loop: int) -> None:
        loops, rules, device, size = self._loops, self.rules, self.device, self._loops.sizes[loop]
        # Knobs: the tile, its subgroups and lanes, and the elements of a lane.
        entry = PARTIAL_REDUCTION if loop in loops.reductions else WORKGROUP
        tile = self.tiles[loop] = self.table.tile(entry, loop, size or _MOST_TILE, zero=size)
        most = self.most_subgroups
        subgroups = self._subgroups[loop] = rules.knob(_subgroups_knob(loop), 1, most)
        lanes = self._lanes[loop] = rules.knob(_lanes_knob(loop), 1, max(device.subgroup_sizes))
        width = self.table.tile(THREAD, loop, min(size or _MOST_WIDTH, _MOST_WIDTH), zero=1)
        rules.powers_of_two(subgroups, most)
        rules.powers_of_two(lanes, device.subgroup_size)
        rules.powers_of_two(width, _MOST_PROPOSED)
        # Rules: positive counts, and tiles that divide the loop.
        rules.necessary(
            subgroups >= 1, f"{_subgroups_knob(loop)} must be at least 1, not {{}}", subgroups
        )
        rules.necessary(lanes >= 1, f"{_lanes_knob(loop)} must be at least 1, not {{}}", lanes)
        self._share(loop, tile, subgroups * lanes * width, width)
        if size is None and loop in loops.parallel:
            rules.sufficient(
                tile == 1,
                f"workgroup[{loop}] must be 1, as dimension {loop} is dynamic, not {{}}",
                tile,
            )
        elif size is not None:
            rules.sufficient(
                size % tile == 0,
                f"dimension {loop} must be divisible by {knob_name(entry, loop)} ({{}} % {{}} == 0)",
                size,
                tile,
            )

    def _share(self, loop: int, tile: Number, step: Number, width: Number) -> None:
        """Require the threads to take a tile in whole steps, or in a part of one step.

        `setGPULoweringConfigLayout` rounds up to whole steps. A neighboring op that shares a result then gets another size
        (`MaterializeVectorTileSizesPass`).
        """
        self._vectors[loop] = select(tile < step, step, tile)
        is_parallel = loop in self._loops.parallel
        name = knob_name(WORKGROUP if is_parallel else PARTIAL_REDUCTION, loop)
        is_whole = tile % step == 0
        shared = is_parallel and self._neighbors and not self._loops.accumulates
        is_part = False if shared else all_of(step % tile == 0, is_parallel or tile % width == 0)
        message = f"{name} must be divisible by the part that its threads take at a time ({{}} % {{}} == 0)"
        require = self.rules.necessary if shared else self.rules.sufficient
        require(any_of(is_whole, is_part), message, tile, step)
        self.rules.not_chosen(is_whole, message, tile, step)

    def arrange_threads(self) -> None:
        """Require the numbers of lanes and threads to match the sizes of a subgroup and a workgroup."""
        rules = self.rules
        lanes = product(self._lanes.values())
        message = "the lanes of lane_basis must be those of a subgroup ({} == {})"
        rules.sufficient(self.subgroup_size % lanes == 0, message, lanes, self.subgroup_size)
        rules.compilers(lanes >= self.subgroup_size, message, lanes, self.subgroup_size)
        for loop in self._loops.reductions:
            self._reduce(loop)
        threads = product(self._subgroups.values()) * self.subgroup_size
        rules.threads(self.threads, threads, "of its subgroups")
        if self.problem.kind is OpKind.CONTRACTION and _is_large(self.problem):
            rules.propose_nothing("intrinsics multiply large matrices")
        most_elements = _MOST_BESIDE if self._neighbors else _MOST_ELEMENTS
        rules.few(product(self._vectors.values()) / self.threads, "elements", most_elements)
        for loops in self._loops.inputs:
            taken = [
                self._vectors[loop] / (self._subgroups[loop] * self._lanes[loop]) for loop in loops
            ]
            rules.unrolled(product([number(1), *taken]), "elements of an input", _MOST_OF_INPUT)
        for neighbor in self._neighbors:
            self._agree_with(neighbor)

    def _reduce(self, loop: int) -> None:
        """Require numbers of lanes and subgroups that can combine their results."""
        if self._loops.finds_places:
            self.rules.necessary(
                self._subgroups[loop] == 1,
                f"{_subgroups_knob(loop)} must be 1: subgroups cannot combine indices ({{}})",
                self._subgroups[loop],
            )
        # `gpu.subgroup_reduce` accepts powers of two.
        lanes, sizes = (
            self._lanes[loop],
            [1 << position for position in range(_MOST_LANES_BITS + 1)],
        )
        self.rules.necessary(
            any_of(*(lanes == each for each in sizes)),
            f"{_lanes_knob(loop)} must be a power of two, not {{}}",
            lanes,
        )
        # The op is lowered for the subgroups of the target, whatever `subgroup_size` is.
        self.rules.necessary(
            lanes <= self.device.subgroup_size,
            f"{_lanes_knob(loop)} must not be more than the threads of a subgroup ({{}} <= {{}})",
            lanes,
            number(self.device.subgroup_size),
        )

    @property
    def _results(self) -> Number:
        """The number of results of a workgroup, in whole steps of its threads."""
        return product([number(1), *(self._vectors[loop] for loop in self._loops.parallel)])

    def _agree_with(self, neighbor: NeighboringOp) -> None:
        """Require the number of threads that another op is distributed over, or a multiple, which repeats the op.

        The op iterates over its own tiles for each result of a workgroup.
        """
        self.rules.sufficient(
            self.threads % (neighbor.subgroups * self.subgroup_size) == 0,
            f"a workgroup must have the {neighbor.subgroups} subgroups of {neighbor.name} beside it, or a multiple",
        )
        taken = self._results * neighbor.step / (neighbor.subgroups * neighbor.lanes)
        self.rules.few(taken, f"elements of {neighbor.name} beside it", _MOST_BESIDE)

    def limit_memory(self) -> None:
        """Limit the data that threads exchange."""
        exchanged = [_sums(self._loops, self._results, self._subgroups)]
        if self._neighbors:
            exchanged.append(_reread(self._loops, self._results, self._vectors))
        self.rules.memory_bounds([], exchanged, self.device)

    def slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config."""
        return {
            **self.table.slots(),
            **promotion_slots((), self.pipeline.context),
            SUBGROUP_BASIS: self.table.basis({loop: _subgroups_knob(loop) for loop in self.tiles}),
            LANE_BASIS: self.table.basis({loop: _lanes_knob(loop) for loop in self.tiles}),
        }


def _subgroups_knob(loop: int) -> str:
    return f"subgroup_basis[{loop}]"


def _lanes_knob(loop: int) -> str:
    return f"lane_basis[{loop}]"


def _is_large(problem: Problem) -> bool:
    """Return whether a product has many rows and many columns."""
    sides = [problem.loops(role) for role in (Role.M, Role.N)]
    for loops in sides:
        sizes = [problem.dimensions[loop].size for loop in loops]
        static = [size for size in sizes if size is not None]
        if len(static) != len(sizes) or prod(static) <= _FEW_ROWS:
            return False
    return True


def _sums(loops: RootLoops, results: Number, subgroups: Mapping[int, Number]) -> Number:
    """Return the size in bits of the data exchanged by subgroups that share a reduction."""
    shared = product([1, *(subgroups[loop] for loop in loops.reductions)])
    return results * shared * max(loops.bits, 32)


def _reread(loops: RootLoops, results: Number, tiles: Mapping[int, Number]) -> Number:
    """Return the size in bits of the elements read by the root op that other ops may reuse.

    If the reduction takes one step, the other ops do not read the elements again: threads exchange the elements that
    each op needs.
    """
    sizes = [(loops.sizes[loop], tiles[loop]) for loop in loops.reductions]
    if any(size is None for size, _ in sizes):
        return number(0)
    is_one_step = all_of(*(tile >= size for size, tile in sizes))
    return select(is_one_step, results * product(tile for _, tile in sizes) * loops.bits, 0)
