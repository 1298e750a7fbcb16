"""Attention without intrinsics in the pipeline VectorDistribute: the lanes of subgroups share keys and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import (
    LANE_BASIS,
    PARTIAL_REDUCTION,
    SUBGROUP_BASIS,
    THREAD,
    WORKGROUP,
)
from tuninglink.iree.op_kinds import Role
from tuninglink.mlir.names import DECOMPOSITION_CONFIG
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import number
from tuninglink.spaces.gpu import Gpu
from tuninglink.spaces.gpu.contractions import static_sizes
from tuninglink.spaces.gpu.gpu_rules import Number
from tuninglink.spaces.gpu.gpu_space import FormRules, GpuSpace, Outline
from tuninglink.spaces.gpu.knob_table import BasisSlot, gpu_template, knob_name
from tuninglink.spaces.gpu.promotion import promotion_slots
from tuninglink.spaces.knob_templates import KnobTemplate
from tuninglink.spaces.slots import ArraySlot, IntegerSlot, Slot
from tuninglink.spaces.workload import Problem, Workload

_MOST_WIDTH: Final = 16
_MOST_ELEMENTS: Final = 256
"""The maximum number of elements that one thread takes at a time, or of one operand. Larger numbers are not covered."""


def attention_lanes_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Return the configurations without an intrinsic.

    A workgroup takes one query and some elements of values, and iterates over the keys in steps. Subgroups share the
    keys of a step. Lanes share the keys, and the elements of each key and each value.

    Raises:
        UndecidedError: sizes are unknown, or there are several dimensions of n, k1 or k2.
    """
    problem, sizes = workload.problem, static_sizes(workload)
    single = [problem.loops(role) for role in (Role.N, Role.K1, Role.K2)]
    if any(len(each) != 1 for each in single):
        raise UndecidedError(f"{problem} has other dimensions than one each of n, k1 and k2")
    outline = Outline(frozenset({WORKGROUP, PARTIAL_REDUCTION, DECOMPOSITION_CONFIG}))
    return [GpuSpace(outline, _AttentionLanesRules(problem, sizes, device, pipeline).build)]


class _AttentionLanesRules(FormRules):
    """The rules for attention without intrinsics."""

    def __init__(
        self, problem: Problem, sizes: Sequence[int], device: Gpu, pipeline: mlir.Attribute
    ) -> None:
        super().__init__(problem, device, pipeline, len(sizes))
        self._sizes = sizes
        (self._n,), (self._k1,), (self._k2,) = (
            problem.loops(role) for role in (Role.N, Role.K1, Role.K2)
        )

    def tile_loops(self) -> None:
        """Add tiles that are multiples of the steps of their threads."""
        self.add_workgroup()
        sizes, table, rules = self._sizes, self.table, self.rules
        n, k1, k2 = self._n, self._k1, self._k2
        for loop in (*self.problem.loops(Role.BATCH), *self.problem.loops(Role.M)):
            tile = table.tile(WORKGROUP, loop, sizes[loop], zero=sizes[loop])
            rules.sufficient(tile == 1, f"workgroup[{loop}] must be 1, not {{}}", tile)
        most = self.most_subgroups
        subgroups = self._subgroups = rules.knob(knob_name(SUBGROUP_BASIS, k2), 1, most)
        rules.powers_of_two(subgroups, most)
        lanes = self._lanes = {
            loop: rules.knob(_lane(loop), 1, self.device.subgroup_size) for loop in (n, k1, k2)
        }
        widths = self._widths = {loop: rules.knob(_width(loop), 1, _MOST_WIDTH) for loop in (n, k1)}
        self.tiles = {
            n: table.tile(WORKGROUP, n, sizes[n], zero=sizes[n]),
            k1: number(sizes[k1]),
            k2: table.tile(PARTIAL_REDUCTION, k2, sizes[k2], zero=sizes[k2]),
        }
        self._divide(n, lanes[n] * widths[n], knob_name(WORKGROUP, n))
        self._divide(k1, lanes[k1] * widths[k1], f"dimension {k1}")
        self._divide(k2, lanes[k2] * subgroups, knob_name(PARTIAL_REDUCTION, k2))

    def _divide(self, loop: int, step: Number, name: str) -> None:
        """Require a tile to divide its dimension and to be a multiple of the step of its threads."""
        rules, tile, size = self.rules, self.tiles[loop], self._sizes[loop]
        rules.powers_of_two(self._lanes[loop], self.device.subgroup_size)
        rules.sufficient(
            size % tile == 0,
            f"dimension {loop} must be divisible by {name} ({{}} % {{}} == 0)",
            size,
            tile,
        )
        rules.sufficient(
            tile % step == 0,
            f"{name} must be divisible by the part that its threads take at a time ({{}} % {{}} == 0)",
            tile,
            step,
        )

    def arrange_threads(self) -> None:
        """Require the numbers of lanes and threads to match the sizes of a subgroup and a workgroup."""
        rules, tiles, lanes, k2 = self.rules, self.tiles, self._lanes, self._k2
        for loop in (self._n, self._k1):
            rules.powers_of_two(self._widths[loop], _MOST_WIDTH)
            spread = lanes[loop] * lanes[k2]
            rules.sufficient(
                self.subgroup_size % spread == 0,
                f"the {{}} threads of a subgroup must be divisible by the lanes along dimensions {loop} and {k2} ({{}})",
                self.subgroup_size,
                spread,
            )
            rules.few(
                tiles[loop] / lanes[loop] * (tiles[k2] / (lanes[k2] * self._subgroups)),
                "elements",
                _MOST_ELEMENTS,
            )
        rules.sufficient(
            self.threads == self._subgroups * self.subgroup_size,
            "a workgroup must have the threads of its subgroups ({} == {})",
            self.threads,
            self._subgroups * self.subgroup_size,
        )

    def limit_memory(self) -> None:
        """Limit the partial results that subgroups add up."""
        exchanged = self.tiles[self._n] * self._subgroups * (self.device.subgroup_size * 32)
        self.rules.memory_bounds([], [exchanged], self.device)

    def slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config."""
        return {**self.table.slots(), **promotion_slots((), self.pipeline.context)}

    def template(self, slots: Mapping[str, Slot]) -> KnobTemplate:
        """Return the template, with the lowering configs of both matmuls."""
        parts = {
            "qk_attrs": self._part_slots(self._k1, self._n),
            "pv_attrs": self._part_slots(self._n, self._k1),
        }
        return gpu_template(self.pipeline, slots, decomposition=parts)

    def _part_slots(self, inner: int, absent: int) -> dict[str, Slot]:
        """Return the entries of the lowering config of a matmul, which lacks one of the loops."""
        rank, k2 = len(self._sizes), self._k2
        loops = tuple(loop for loop in range(rank) if loop != absent)
        widths = (
            IntegerSlot(_width(loop)) if loop == inner else self.table.constant(0) for loop in loops
        )
        return {
            SUBGROUP_BASIS: BasisSlot({k2: knob_name(SUBGROUP_BASIS, k2)}, loops, rank),
            LANE_BASIS: BasisSlot({loop: _lane(loop) for loop in (inner, k2)}, loops, rank),
            THREAD: ArraySlot(tuple(widths)),
            **promotion_slots((), self.pipeline.context),
        }


def _lane(loop: int) -> str:
    return f"lane_basis[{loop}]"


def _width(loop: int) -> str:
    return f"thread[{loop}]"
