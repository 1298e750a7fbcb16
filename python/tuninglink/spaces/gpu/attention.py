"""Attention with intrinsics in the pipeline VectorDistribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree import (
    LANE_BASIS,
    MMA_KIND,
    PARTIAL_REDUCTION,
    REDUCTION_LEVEL,
    SUBGROUP_BASIS,
    THREAD,
    WORKGROUP,
    Role,
    StructuredOp,
)
from tuninglink.mlir import DECOMPOSITION_CONFIG
from tuninglink.solver import UndecidedError, all_of, any_of, negation, number, select
from tuninglink.spaces.gpu.contractions import (
    FOR_FEW_ROWS,
    Operand,
    promotion_slots,
    read_operand,
    require_derivable,
    static_sizes,
    tile_bits,
)
from tuninglink.spaces.gpu.gpu_rules import (
    MOST_INTRINSICS,
    BasisSlot,
    Gpu,
    GpuRules,
    Intrinsic,
    Number,
    clip,
    gpu_template,
    knob_name,
    product_of,
)
from tuninglink.spaces.gpu.gpu_space import FormRules, GpuSpace, Outline
from tuninglink.spaces.model import (
    ArraySlot,
    IntegerSlot,
    KnobTemplate,
    OptionSlot,
    Problem,
    Slot,
    Workload,
)

_ACCUMULATED = "f32"
"""The type in which attention accumulates."""

_ROW_BITS = 2 * 32
"""The size in bits of the maximum and the sum of a row of scores."""

_EXCHANGING = "gfx"
"""The architectures on which threads exchange values in shared memory."""


@dataclass(frozen=True)
class AttentionLoops:
    """The loops and operands of an attention."""

    sizes: tuple[int, ...]
    batch: tuple[int, ...]
    m: int
    n: int
    k1: int
    k2: int
    operands: tuple[Operand, Operand, Operand]


def read_attention(workload: Workload) -> AttentionLoops:
    """Read the attention of a root op."""
    op, problem = StructuredOp(workload.root), workload.problem
    sizes = static_sizes(workload)
    single = [problem.loops(role) for role in (Role.M, Role.N, Role.K1, Role.K2)]
    if any(len(loops) != 1 for loops in single):
        raise UndecidedError(f"{problem} has other dimensions than one each of m, n, k1 and k2")
    (m,), (n,), (k1,), (k2,) = single
    query, key, value = map(read_operand, list(op.operation.operands)[:3], op.maps)
    return AttentionLoops(sizes, problem.loops(Role.BATCH), m, n, k1, k2, (query, key, value))


def attention_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> list[GpuSpace]:
    """Return the configurations with intrinsics for both of its matmuls.

    A workgroup takes a tile of queries and of the elements of values, and iterates over the keys in steps.
    """
    attention = read_attention(workload)
    query, key, value = attention.operands
    for lhs, rhs in ((query, key), (value, value)):
        _intrinsics(device, lhs, rhs)
    outline = Outline(frozenset({WORKGROUP, REDUCTION_LEVEL, DECOMPOSITION_CONFIG}))
    rules = _AttentionRules(workload.problem, attention, device, pipeline)
    return [GpuSpace(outline, rules.build)]


class _AttentionRules(FormRules):
    """The rules for attention with intrinsics."""

    def __init__(
        self, problem: Problem, attention: AttentionLoops, device: Gpu, pipeline: mlir.Attribute
    ) -> None:
        super().__init__(problem, device, pipeline, len(attention.sizes))
        self._attention = attention
        self._counts: dict[int, Number] = {}

    def tile_loops(self) -> None:
        """Add tiles that are multiples of the intrinsics of both matmuls.

        `emitVectorDistributeAttentionConstraints` requires them to divide their loops, too.
        """
        attention, rules, tiles, sizes = (
            self._attention,
            self.rules,
            self.tiles,
            self._attention.sizes,
        )
        tiles[attention.k1] = number(sizes[attention.k1])
        for loop in (*attention.batch, attention.m, attention.n):
            tiles[loop] = self.table.tile(WORKGROUP, loop, sizes[loop], zero=sizes[loop])
        tiles[attention.k2] = self.table.tile(REDUCTION_LEVEL, attention.k2, sizes[attention.k2])
        for loop in (*attention.batch, attention.m, attention.n, attention.k2):
            rules.compilers(
                sizes[loop] % tiles[loop] == 0,
                f"dimension {loop} must be divisible by {_tile_name(attention, loop)} ({{}} % {{}} == 0)",
                sizes[loop],
                tiles[loop],
            )
        for loop, name in self._count_names.items():
            self._counts[loop] = rules.knob(name, 1, self.most_subgroups)
        self._fit_intrinsics()

    @property
    def _count_names(self) -> dict[int, str]:
        return {
            loop: knob_name(SUBGROUP_BASIS, loop) for loop in (self._attention.m, self._attention.n)
        }

    def _fit_intrinsics(self) -> None:
        attention, rules = self._attention, self.rules
        query, key, value = attention.operands
        m, n, k1, k2 = (
            _Extent(_tile_name(attention, loop), self.tiles[loop], self._counts.get(loop, 1))
            for loop in (attention.m, attention.n, attention.k1, attention.k2)
        )
        qk = self._qk = _fit(rules, "qk", _intrinsics(self.device, query, key), (m, k2, k1))
        pv = self._pv = _fit(rules, "pv", _intrinsics(self.device, value, value), (m, n, k2))
        rules.sufficient(
            qk.order == pv.order, "either both intrinsics or none must have col_major results"
        )
        taken = product_of([qk.taken + pv.taken, *(self.tiles[loop] for loop in attention.batch)])
        rules.unrolled(taken, "intrinsics", MOST_INTRINSICS)

    def arrange_threads(self) -> None:
        self.add_workgroup()
        threads = product_of(self._counts.values()) * self.subgroup_size
        self.rules.threads(self.threads, threads, "of its subgroups")

    def limit_memory(self) -> None:
        """Limit the copies of the operands and the data that threads exchange."""
        attention, sizes = self._attention, self._attention.sizes
        clipped = {loop: clip(tile, sizes[loop]) for loop, tile in self.tiles.items()}
        copies = [tile_bits(operand, clipped) for operand in attention.operands]
        exchanged = _exchanged(attention, clipped, self.device)
        has_same_rows = self._qk.rows == self._pv.rows
        certain = [select(has_same_rows, 0, bits) for bits in exchanged]
        possible = [select(has_same_rows, bits, 0) for bits in exchanged]
        self.rules.memory_bounds([*copies, *certain], possible, self.device)
        for name, operand in zip(("query", "key", "value"), attention.operands, strict=True):
            # Tiles are at most as large as their loops, and rounded up to whole steps.
            is_rounded = any_of(
                *(self.tiles[loop] > sizes[loop] for loop in operand.loops),
                negation(all_of(self._qk.is_whole, self._pv.is_whole)),
            )
            require_derivable(
                self.rules, operand, self.tiles, self.threads, f"the {name}", unless=is_rounded
            )

    def slots(self) -> dict[str, Slot]:
        return {**promotion_slots((0, 1, 2), self.pipeline.context), **self.table.slots()}

    def template(self, slots: Mapping[str, Slot]) -> KnobTemplate:
        """Return the template, with the lowering configs of both matmuls."""
        parts = {
            "qk_attrs": self._part_slots(self._qk.slot, (0, 1), self._attention.n),
            "pv_attrs": self._part_slots(self._pv.slot, (1,), self._attention.k1),
        }
        return gpu_template(self.pipeline, slots, decomposition=parts)

    def _part_slots(self, kind: Slot, operands: Sequence[int], absent: int) -> dict[str, Slot]:
        """Return the entries of the lowering config of a matmul, which lacks one of the loops."""
        loops = (loop for loop in range(len(self._attention.sizes)) if loop != absent)
        return {
            MMA_KIND: kind,
            SUBGROUP_BASIS: self.table.basis(self._count_names, loops),
            **promotion_slots(operands, self.pipeline.context),
        }


@dataclass(frozen=True)
class _Extent:
    """The tile of a workgroup along a loop: its name, its size, and the number of subgroups that share it."""

    name: str
    tile: Number
    count: Number


def _tile_name(attention: AttentionLoops, loop: int) -> str:
    if loop == attention.k1:
        return f"dimension {loop}"
    return knob_name(REDUCTION_LEVEL if loop == attention.k2 else WORKGROUP, loop)


def _intrinsics(device: Gpu, lhs: Operand, rhs: Operand) -> list[Intrinsic]:
    """Return the intrinsics for a matmul, without those for few rows, which do not compile in this pipeline."""
    intrinsics = device.multiplying(lhs.element_type, rhs.element_type, _ACCUMULATED)
    result = [intrinsic for intrinsic in intrinsics if not intrinsic.is_named(FOR_FEW_ROWS)]
    if not result:
        what = f"no intrinsic of the target multiplies {lhs.element_type}x{rhs.element_type}"
        raise UndecidedError(f"{what}, and attention without one is not known")
    return result


def _exchanged(attention: AttentionLoops, tiles: Mapping[int, Number], device: Gpu) -> list[Number]:
    """Return the sizes in bits of the values that threads may exchange in shared memory.

    These are the scores, unless both matmuls use the same layout for them; and the maximum and the sum of each row, if
    the intrinsics of the matmuls have different m. On NVIDIA GPUs, the layouts agree.
    """
    if not device.architecture.startswith(_EXCHANGING):
        return []
    rows = product_of([tiles[attention.m], *(tiles[loop] for loop in attention.batch)])
    scores = rows * tiles[attention.k2] * attention.operands[2].bits
    return [scores, rows * _ROW_BITS]


@dataclass(frozen=True)
class _Fit:
    """The relation of tiles to the intrinsics of one of the matmuls."""

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
    """Require tiles to be multiples of the intrinsic of one of the matmuls; the extents are its m, n and k."""
    options = tuple(intrinsic.attribute for intrinsic in intrinsics)
    chosen = rules.choice(f"{part}_attrs.mma_kind", options)
    taken = number(1)
    whole = []
    for side, extent in zip("mnk", extents, strict=True):
        step = rules.look_up(chosen, [getattr(intrinsic, side) for intrinsic in intrinsics])
        step = step * extent.count
        taken = taken * (extent.tile / step)
        whole.append(extent.tile % step == 0)
        rules.compilers(
            whole[-1],
            f"{extent.name} must be divisible by the part that the intrinsics of {part} take at a time ({{}} % {{}} == 0)",
            extent.tile,
            step,
        )
    return _Fit(
        slot=OptionSlot(f"{part}_attrs.mma_kind", options),
        taken=taken,
        is_whole=all_of(*whole),
        order=rules.look_up(chosen, [int(intrinsic.is_transposed) for intrinsic in intrinsics]),
        rows=rules.look_up(chosen, [intrinsic.m for intrinsic in intrinsics]),
    )


# --- Attention without intrinsics in the pipeline VectorDistribute: the lanes of subgroups share keys and values

_MOST_WIDTH: Final = 16
_MOST_ELEMENTS: Final = 256
"""The maximum number of elements that one thread takes at a time, or of one operand. Larger numbers are not covered."""


def attention_lanes_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> list[GpuSpace]:
    """Return the configurations without an intrinsic.

    A workgroup takes one query and some elements of values, and iterates over the keys in steps. Subgroups share the
    keys of a step. Lanes share the keys, and the elements of each key and each value.
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
        exchanged = self.tiles[self._n] * self._subgroups * (self.device.subgroup_size * 32)
        self.rules.memory_bounds([], [exchanged], self.device)

    def slots(self) -> dict[str, Slot]:
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
