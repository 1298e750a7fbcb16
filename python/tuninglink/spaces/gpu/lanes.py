"""Ops without intrinsics in the pipeline VectorDistribute: the lanes of subgroups share each tile."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.root_ops import function_ops
from tuninglink.iree.structured_op import REDUCTION, StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.attributes import integers_of
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import all_of, number, select
from tuninglink.spaces.configuration import dictionary_of
from tuninglink.spaces.gpu.gpu_rules import GpuRules, product
from tuninglink.spaces.gpu.knob_table import (
    LANE_BASIS,
    PARTIAL_REDUCTION,
    SUBGROUP_BASIS,
    THREAD,
    WORKGROUP,
    KnobTable,
    gpu_template,
    knob_name,
)
from tuninglink.spaces.gpu.loops import read_loops
from tuninglink.spaces.gpu.promotion import promotion_slots
from tuninglink.spaces.gpu.space import Form, GpuSpace, Outline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.gpu.device import Device
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.gpu.loops import RootLoops
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.workload import Workload

_FEW_ROWS: Final = 16
_MOST_TILE: Final = 1 << 14
_MOST_WIDTH: Final = 16
"""More elements at a time are not covered."""

_STEPS: Final = (PARTIAL_REDUCTION, "serial")
"""The entries with the tiles of an op beside the root op."""

_MOST_ELEMENTS: Final = 512
_MOST_BESIDE: Final = 256
"""More elements of an operand for one thread are not covered: alone, and with other ops beside the root op."""


def lanes_spaces(workload: Workload, device: Device, pipeline: mlir.Attribute) -> list[GpuSpace]:
    """Returns the configurations without an intrinsic.

    A workgroup takes a tile of each parallel loop, and goes through the reductions in steps. Each tile is shared
    by subgroups, the part of each by its lanes, and a lane takes some elements at a time.

    Raises:
        UndecidedError: the loops are not covered.
    """
    loops = read_loops(workload, device)
    if not loops.reductions:
        raise UndecidedError(f"{workload.problem} reduces nothing")
    others = _read_others(workload)
    names_ = {WORKGROUP, PARTIAL_REDUCTION, THREAD, SUBGROUP_BASIS, LANE_BASIS}
    problem = workload.problem
    return [
        GpuSpace(
            Outline(frozenset(names_)), lambda: _form(problem, loops, others, device, pipeline)
        )
    ]


@dataclass(frozen=True)
class _Other:
    """The configuration of an op beside the root op.

    Attributes:
        name: the name of the op.
        subgroups: how many subgroups it is spread over.
        lanes: how many lanes of each.
        step: how many elements it takes in a step.
    """

    name: str
    subgroups: int
    lanes: int
    step: int


def _form(
    problem: Problem,
    loops: RootLoops,
    others: Sequence[_Other],
    device: Device,
    pipeline: mlir.Attribute,
) -> Form:
    """Writes down the rules of the form, and its template."""
    rules = GpuRules()
    table = KnobTable(rules, len(loops.sizes), pipeline.context)
    table.untiled(WORKGROUP)
    loops.refuse_mixed_types(rules)
    threads, subgroup_size, _ = rules.workgroup(device)
    most = max(1, device.threads // device.subgroup_size)
    tiles: dict[int, Number] = {}
    subgroups: dict[int, Number] = {}
    lanes: dict[int, Number] = {}
    for loop, size in enumerate(loops.sizes):
        entry = PARTIAL_REDUCTION if loop in loops.reductions else WORKGROUP
        tile = tiles[loop] = table.tile(entry, loop, size or _MOST_TILE, zero=size)
        subgroups[loop] = rules.knob(f"sg_{loop}_cnt", 1, most)
        lanes[loop] = rules.knob(f"lane_{loop}_cnt", 1, max(device.subgroup_sizes))
        width = table.tile(THREAD, loop, min(size or _MOST_WIDTH, _MOST_WIDTH), zero=1)
        for shared, high in (
            (subgroups[loop], most),
            (lanes[loop], device.subgroup_size),
            (width, _MOST_WIDTH),
        ):
            rules.powers_of_two(shared, high)
        step = subgroups[loop] * lanes[loop] * width
        rules.sufficient(
            tile % step == 0,
            f"{knob_name(entry, loop)} must be divisible by what its threads take at a time ({{}} % {{}} == 0)",
            tile,
            step,
        )
        if size is None and loop in loops.parallel:
            rules.sufficient(
                tile == 1, f"wg_{loop} must be 1, as dimension {loop} is dynamic, not {{}}", tile
            )
        elif size is not None:
            rules.sufficient(
                size % tile == 0,
                f"dimension {loop} must be divisible by {knob_name(entry, loop)} ({size} % {{}} == 0)",
                tile,
            )
    rules.sufficient(
        product(lanes.values()) == subgroup_size,
        "the lanes of lane_basis must be those of a subgroup ({} == {})",
        product(lanes.values()),
        subgroup_size,
    )
    rules.sufficient(
        product(subgroups.values()) * subgroup_size == threads,
        "a workgroup must have the threads of its subgroups ({1} == {0})",
        product(subgroups.values()) * subgroup_size,
        threads,
    )
    if problem.kind is OpKind.CONTRACTION and _is_large(problem):
        rules.propose_nothing("intrinsics multiply large matrices")
    most_elements = _MOST_BESIDE if others else _MOST_ELEMENTS
    rules.unrolled(product(tiles.values()) / threads, "elements", most_elements)
    results = product([number(1), *(tiles[loop] for loop in loops.parallel)])
    for each in others:
        _agree_with(each, rules, threads, subgroup_size, results)
    exchanged = [_sums(loops, results, subgroups)]
    if others:
        exchanged.append(_reread(loops, results, tiles))
    rules.memory_bounds([], exchanged, device)
    slots = {
        **table.slots(),
        **promotion_slots((), pipeline.context),
        SUBGROUP_BASIS: table.basis({loop: f"sg_{loop}_cnt" for loop in tiles}),
        LANE_BASIS: table.basis({loop: f"lane_{loop}_cnt" for loop in tiles}),
    }
    template = gpu_template(pipeline, slots)
    return Form(rules.build(problem, str(pipeline)), template)


def _is_large(problem: Problem) -> bool:
    """Tells whether a product has many rows and many columns."""
    sides = [problem.loops(role) for role in (Role.M, Role.N)]
    sizes = [[problem.dimensions[loop].size for loop in loops] for loops in sides]
    return all(None not in each and prod(filter(None, each)) > _FEW_ROWS for each in sizes)


def _read_others(workload: Workload) -> list[_Other]:
    """Returns the ops beside the root op that have a configuration of their own.

    Raises:
        UndecidedError: one has further loops, and nothing says how they are spread over threads.
    """
    read = []
    kinds = StructuredOp(workload.root).iterator_types
    parallel = sum(each != REDUCTION for each in kinds)
    for each in function_ops(workload.function).computing:
        found = each.attributes.get(names.LOWERING_CONFIG)
        entries = (dictionary_of(found) if found is not None else None) or {}
        if each == workload.root:
            continue
        if SUBGROUP_BASIS not in entries:
            if StructuredOp(each).loop_count > parallel:
                raise UndecidedError(f"{each.name} beside it has no configuration")
            continue
        subgroups, lanes = (
            prod(_first(entries.get(name))) for name in (SUBGROUP_BASIS, LANE_BASIS)
        )
        tiles = [size for name in _STEPS for size in integers_of(entries.get(name)) if size]
        read.append(_Other(each.name, subgroups, lanes, prod(tiles)))
    return read


def _agree_with(
    other: _Other, rules: GpuRules, threads: Number, subgroup_size: Number, results: Number
) -> None:
    """Asks for the threads that another op is spread over, or a multiple: further ones repeat it.

    For each of the `results` of a workgroup it goes through its own tiles.
    """
    rules.sufficient(
        threads % (other.subgroups * subgroup_size) == 0,
        f"a workgroup must have the {other.subgroups} subgroups of {other.name} beside it, or a multiple",
    )
    taken = results * other.step / (other.subgroups * other.lanes)
    rules.unrolled(taken, f"elements of {other.name} beside it", _MOST_BESIDE)


def _first(basis: mlir.Attribute | None) -> list[int]:
    return integers_of(basis[0]) if isinstance(basis, mlir.ArrayAttr) else []


def _sums(loops: RootLoops, results: Number, subgroups: Mapping[int, Number]) -> Number:
    """Returns the size of what subgroups exchange that share a reduction, in bits."""
    shared = product([1, *(subgroups[loop] for loop in loops.reductions)])
    return results * shared * max(loops.bits, 32)


def _reread(loops: RootLoops, results: Number, tiles: Mapping[int, Number]) -> Number:
    """Returns the size of what ops beside the root op may get of what it has read, in bits.

    Where the reduction takes one step, nobody reads anew, and threads exchange what each op wants of them.
    """
    sizes = [(loops.sizes[loop], tiles[loop]) for loop in loops.reductions]
    if any(size is None for size, _ in sizes):
        return number(0)
    is_one_step = all_of(*(tile >= size for size, tile in sizes))
    return select(is_one_step, results * product(tile for _, tile in sizes) * loops.bits, 0)
