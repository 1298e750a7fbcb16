"""Attention without intrinsics in the pipeline VectorDistribute: the lanes of subgroups share keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import Role
from tuninglink.mlir.names import DECOMPOSITION_CONFIG
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import number
from tuninglink.spaces.gpu.contractions import static_sizes
from tuninglink.spaces.gpu.gpu_rules import GpuRules
from tuninglink.spaces.gpu.knob_table import (
    LANE_BASIS,
    PARTIAL_REDUCTION,
    SUBGROUP_BASIS,
    THREAD,
    WORKGROUP,
    BasisSlot,
    KnobTable,
    gpu_template,
    knob_name,
)
from tuninglink.spaces.gpu.promotion import promotion_slots
from tuninglink.spaces.gpu.space import Form, GpuSpace, Outline
from tuninglink.spaces.slots import ArraySlot, IntegerSlot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.device import Device
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.slots import Slot
    from tuninglink.spaces.workload import Workload

_MOST_WIDTH: Final = 16
_MOST_ELEMENTS: Final = 256
"""More elements at a time, or of an operand, for one thread are not covered."""

_SUBGROUPS: Final = "sg_cnt"


def attention_lanes_spaces(
    workload: Workload, device: Device, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Returns the configurations without an intrinsic.

    A workgroup takes one query, and some elements of values; it goes through the keys in steps. Subgroups share
    the keys of a step, lanes the keys and the elements of each key and each value.

    Raises:
        UndecidedError: sizes are not known, or there are several dimensions of n, k1 or k2.
    """
    problem, sizes = workload.problem, static_sizes(workload)
    single = [problem.loops(role) for role in (Role.N, Role.K1, Role.K2)]
    if any(len(each) != 1 for each in single):
        raise UndecidedError(f"{problem} has other dimensions than one each of n, k1 and k2")
    outline = Outline(frozenset({WORKGROUP, PARTIAL_REDUCTION, DECOMPOSITION_CONFIG}))
    return [GpuSpace(outline, lambda: _form(problem, sizes, device, pipeline))]


def _form(problem: Problem, sizes: Sequence[int], device: Device, pipeline: mlir.Attribute) -> Form:
    """Writes down the rules of the form, and its template."""
    (n,), (k1,), (k2,) = (problem.loops(role) for role in (Role.N, Role.K1, Role.K2))
    rules = GpuRules()
    table = KnobTable(rules, len(sizes), pipeline.context)
    threads, subgroup_size, _ = rules.workgroup(device)
    for loop in (*problem.loops(Role.BATCH), *problem.loops(Role.M)):
        tile = table.tile(WORKGROUP, loop, sizes[loop], zero=sizes[loop])
        rules.sufficient(tile == 1, f"wg_{loop} must be 1, not {{}}", tile)
    most = max(1, device.threads // device.subgroup_size)
    subgroups = rules.knob(_SUBGROUPS, 1, most)
    rules.powers_of_two(subgroups, most)
    lanes = {loop: rules.knob(_lane(loop), 1, device.subgroup_size) for loop in (n, k1, k2)}
    widths = {loop: rules.knob(_width(loop), 1, _MOST_WIDTH) for loop in (n, k1)}
    tiles: dict[int, Number] = {
        n: table.tile(WORKGROUP, n, sizes[n], zero=sizes[n]),
        k1: number(sizes[k1]),
        k2: table.tile(PARTIAL_REDUCTION, k2, sizes[k2], zero=sizes[k2]),
    }
    steps = {n: lanes[n] * widths[n], k1: lanes[k1] * widths[k1], k2: lanes[k2] * subgroups}
    for loop, step in steps.items():
        rules.powers_of_two(lanes[loop], device.subgroup_size)
        name = {
            n: knob_name(WORKGROUP, n),
            k1: f"dimension {k1}",
            k2: knob_name(PARTIAL_REDUCTION, k2),
        }[loop]
        rules.sufficient(
            sizes[loop] % tiles[loop] == 0,
            f"dimension {loop} must be divisible by {name} ({sizes[loop]} % {{}} == 0)",
            tiles[loop],
        )
        rules.sufficient(
            tiles[loop] % step == 0,
            f"{name} must be divisible by what its threads take at a time ({{}} % {{}} == 0)",
            tiles[loop],
            step,
        )
    for loop in (n, k1):
        rules.powers_of_two(widths[loop], _MOST_WIDTH)
        spread = lanes[loop] * lanes[k2]
        rules.sufficient(
            subgroup_size % spread == 0,
            f"the {{}} threads of a subgroup must be divisible by the lanes along dimensions {loop} and {k2} ({{}})",
            subgroup_size,
            spread,
        )
        rules.unrolled(
            tiles[loop] / lanes[loop] * (tiles[k2] / (lanes[k2] * subgroups)),
            "elements",
            _MOST_ELEMENTS,
        )
    rules.sufficient(
        threads == subgroups * subgroup_size,
        "a workgroup must have the threads of its subgroups ({} == {})",
        threads,
        subgroups * subgroup_size,
    )
    rules.memory_bounds([], [tiles[n] * subgroups * (device.subgroup_size * 32)], device)
    parts: dict[str, dict[str, Slot]] = {}
    for part, inner, absent in (("qk_attrs", k1, n), ("pv_attrs", n, k1)):
        loops = tuple(loop for loop in range(len(sizes)) if loop != absent)
        parts[part] = {
            SUBGROUP_BASIS: BasisSlot({k2: _SUBGROUPS}, loops, len(sizes)),
            LANE_BASIS: BasisSlot({loop: _lane(loop) for loop in (inner, k2)}, loops, len(sizes)),
            THREAD: ArraySlot(
                tuple(
                    IntegerSlot(_width(loop)) if loop == inner else table.constant(0)
                    for loop in loops
                )
            ),
            **promotion_slots((), pipeline.context),
        }
    slots = {**table.slots(), **promotion_slots((), pipeline.context)}
    template = gpu_template(pipeline, slots, decomposition=parts)
    return Form(rules.build(problem, str(pipeline)), template)


def _lane(loop: int) -> str:
    return f"lane_{loop}_cnt"


def _width(loop: int) -> str:
    return f"thread_{loop}"
