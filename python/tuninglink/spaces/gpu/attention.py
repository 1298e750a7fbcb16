"""Attention with intrinsics in the pipeline VectorDistribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.iree.op_kinds import Role
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir.names import DECOMPOSITION_CONFIG
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import all_of, any_of, negation, number, select
from tuninglink.spaces.gpu.contractions import (
    FOR_FEW_ROWS,
    Operand,
    read_operand,
    static_sizes,
)
from tuninglink.spaces.gpu.gpu_rules import MOST_INTRINSICS, GpuRules, clip, product
from tuninglink.spaces.gpu.knob_table import (
    REDUCTION,
    SUBGROUP_BASIS,
    WORKGROUP,
    KnobTable,
    gpu_template,
    knob_name,
)
from tuninglink.spaces.gpu.promotion import promotion_slots, tile_bits
from tuninglink.spaces.gpu.space import Form, GpuSpace, Outline
from tuninglink.spaces.gpu.thread_layouts import require_derivable
from tuninglink.spaces.slots import OptionSlot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.device import Device, Intrinsic
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.slots import Slot
    from tuninglink.spaces.workload import Workload

_ACCUMULATED = "f32"
"""What attention adds up in."""

_ROW_BITS = 2 * 32
"""The maximum and the sum of a row of scores."""

_EXCHANGING = "gfx"
"""Architectures on which threads exchange in shared memory."""


@dataclass(frozen=True)
class Attention:
    """An attention.

    Attributes:
        sizes: the sizes of the loops.
        batch: the loops over independent problems.
        m: the loop over queries.
        n: the loop over the elements of a value.
        k1: the loop over the elements of a query.
        k2: the loop over keys.
        operands: query, key and value.
    """

    sizes: tuple[int, ...]
    batch: tuple[int, ...]
    m: int
    n: int
    k1: int
    k2: int
    operands: tuple[Operand, Operand, Operand]


def read_attention(workload: Workload) -> Attention:
    """Returns the attention that a root op is.

    Raises:
        UndecidedError: it has more dimensions than are known here, or its sizes are not known.
    """
    op, problem = StructuredOp(workload.root), workload.problem
    sizes = static_sizes(workload)
    single = [problem.loops(role) for role in (Role.M, Role.N, Role.K1, Role.K2)]
    if any(len(each) != 1 for each in single):
        raise UndecidedError(f"{problem} has other dimensions than one each of m, n, k1 and k2")
    (m,), (n,), (k1,), (k2,) = single
    query, key, value = map(read_operand, list(op.operation.operands)[:3], op.maps)
    return Attention(sizes, problem.loops(Role.BATCH), m, n, k1, k2, (query, key, value))


def attention_spaces(
    workload: Workload, device: Device, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Returns the configurations with intrinsics for both of its matmuls.

    A workgroup takes a tile of queries and of the elements of values, and goes through the keys in steps.

    Raises:
        UndecidedError: the target has no intrinsic for one of the matmuls.
    """
    attention = read_attention(workload)
    query, key, value = attention.operands
    for lhs, rhs in ((query, key), (value, value)):
        _intrinsics(device, lhs, rhs)
    outline = Outline(frozenset({WORKGROUP, REDUCTION, DECOMPOSITION_CONFIG}))
    problem = workload.problem
    return [GpuSpace(outline, lambda: _form(problem, attention, device, pipeline))]


def _form(problem: Problem, attention: Attention, device: Device, pipeline: mlir.Attribute) -> Form:
    """Writes down the rules of the form, and its template."""
    rules = GpuRules()
    sizes = attention.sizes
    table = KnobTable(rules, len(sizes), pipeline.context)
    tiles: dict[int, Number] = {attention.k1: number(sizes[attention.k1])}
    for loop in (*attention.batch, attention.m, attention.n):
        tiles[loop] = table.tile(WORKGROUP, loop, sizes[loop], zero=sizes[loop])
    tiles[attention.k2] = table.tile(REDUCTION, attention.k2, sizes[attention.k2])
    for loop in (*attention.batch, attention.m, attention.n, attention.k2):
        rules.compilers(
            sizes[loop] % tiles[loop] == 0,
            f"dimension {loop} must be divisible by {_tile_name(attention, loop)} ({sizes[loop]} % {{}} == 0)",
            tiles[loop],
        )
    most = max(1, device.threads // device.subgroup_size)
    names = {attention.m: "sg_m_cnt", attention.n: "sg_n_cnt"}
    counts = {loop: rules.knob(name, 1, most) for loop, name in names.items()}
    query, key, value = attention.operands
    # Keys are divided among steps, not among subgroups.
    m, n, k1, k2 = (
        _Extent(_tile_name(attention, loop), tiles[loop], counts.get(loop, 1))
        for loop in (attention.m, attention.n, attention.k1, attention.k2)
    )
    qk = _fit(rules, "qk", _intrinsics(device, query, key), (m, k2, k1))
    pv = _fit(rules, "pv", _intrinsics(device, value, value), (m, n, k2))
    rules.sufficient(
        qk.order == pv.order, "either both intrinsics or none must have col_major results"
    )
    taken = product([qk.taken + pv.taken, *(tiles[loop] for loop in attention.batch)])
    rules.unrolled(taken, "intrinsics", MOST_INTRINSICS)
    threads, subgroup_size, _ = rules.workgroup(device)
    rules.threads(threads, product(counts.values()) * subgroup_size, "of its subgroups")
    clipped = {loop: clip(tile, sizes[loop]) for loop, tile in tiles.items()}
    copies = [tile_bits(each, clipped) for each in attention.operands]
    exchanged = _exchanged(attention, clipped, device)
    certain = [select(qk.rows == pv.rows, 0, each) for each in exchanged]
    possible = [select(qk.rows == pv.rows, each, 0) for each in exchanged]
    rules.memory_bounds([*copies, *certain], possible, device)
    for name, operand in zip(("query", "key", "value"), attention.operands, strict=True):
        # What is masked is read in other tiles.
        uneven = any_of(
            *(sizes[loop] % tiles[loop] != 0 for loop in operand.loops),
            negation(all_of(qk.is_whole, pv.is_whole)),
        )
        require_derivable(rules, operand, tiles, threads, f"the {name}", unless=uneven)
    context = pipeline.context
    parts = {
        f"{part}_attrs": {
            "mma_kind": kind,
            SUBGROUP_BASIS: table.basis(
                names, (each for each in range(len(sizes)) if each != absent)
            ),
            **promotion_slots(operands, context),
        }
        for part, kind, operands, absent in (
            ("qk", qk.slot, (0, 1), attention.n),
            ("pv", pv.slot, (1,), attention.k1),
        )
    }
    slots = {**promotion_slots((0, 1, 2), context), **table.slots()}
    template = gpu_template(pipeline, slots, decomposition=parts)
    return Form(rules.build(problem, str(pipeline)), template)


@dataclass(frozen=True)
class _Extent:
    """The tile of a workgroup along a loop: its name, its size, and the number of subgroups that share it."""

    name: str
    tile: Number
    count: Number


def _tile_name(attention: Attention, loop: int) -> str:
    if loop == attention.k1:
        return f"dimension {loop}"
    return knob_name(REDUCTION if loop == attention.k2 else WORKGROUP, loop)


def _intrinsics(device: Device, lhs: Operand, rhs: Operand) -> list[Intrinsic]:
    """Returns the intrinsics for a matmul; those for few rows do not compile here."""
    intrinsics = device.multiplying(lhs.element_type, rhs.element_type, _ACCUMULATED)
    found = [each for each in intrinsics if not each.is_named(FOR_FEW_ROWS)]
    if not found:
        what = f"no intrinsic of the target multiplies {lhs.element_type}x{rhs.element_type}"
        raise UndecidedError(f"{what}, and attention without one is not known")
    return found


def _exchanged(attention: Attention, tiles: Mapping[int, Number], device: Device) -> list[Number]:
    """Returns the sizes of what threads may exchange in shared memory, in bits.

    These are the scores, as one matmul leaves and the other one takes them, unless their layouts agree; and the
    maximum and the sum of each row, if the intrinsics of the matmuls have different m. On NVIDIA's GPUs they agree.
    """
    if not device.architecture.startswith(_EXCHANGING):
        return []
    rows = product([tiles[attention.m], *(tiles[loop] for loop in attention.batch)])
    scores = rows * tiles[attention.k2] * attention.operands[2].bits
    return [scores, rows * _ROW_BITS]


@dataclass(frozen=True)
class _Fit:
    """How tiles fit the intrinsics of one of the matmuls.

    Attributes:
        slot: the slot of the intrinsic.
        taken: the number of intrinsics that a subgroup takes in a step.
        is_whole: whether the tiles are whole intrinsics.
        order: whether the result of one is in column-major order, as a number.
        rows: its m.
    """

    slot: Slot
    taken: Number
    is_whole: Number
    order: Number
    rows: Number


def _fit(
    rules: GpuRules,
    part: str,
    intrinsics: Sequence[Intrinsic],
    extents: tuple[_Extent, _Extent, _Extent],
) -> _Fit:
    """Asks for tiles that are whole intrinsics of one of the matmuls; the extents are its m, n and k."""
    options = tuple(each.attribute for each in intrinsics)
    chosen = rules.choice(f"{part}_mma_idx", options)
    taken = number(1)
    whole = []
    for side, each in zip("mnk", extents, strict=True):
        step = rules.look_up(chosen, [getattr(intrinsic, side) for intrinsic in intrinsics])
        step = step * each.count
        taken = taken * (each.tile / step)
        whole.append(each.tile % step == 0)
        rules.compilers(
            whole[-1],
            f"{each.name} must be divisible by what the intrinsics of {part} take at a time ({{}} % {{}} == 0)",
            each.tile,
            step,
        )
    return _Fit(
        slot=OptionSlot(f"{part}_mma_idx", options),
        taken=taken,
        is_whole=all_of(*whole),
        order=rules.look_up(chosen, [int(each.is_transposed) for each in intrinsics]),
        rows=rules.look_up(chosen, [each.m for each in intrinsics]),
    )
