"""Ops without intrinsics in the pipeline TileAndFuse: each thread computes a tile by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import OpKind
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.assertions import Grade
from tuninglink.solver.expressions import all_of, any_of, number, select
from tuninglink.spaces.gpu.contractions import read_contraction
from tuninglink.spaces.gpu.fused_ops import has_consumers
from tuninglink.spaces.gpu.gpu_rules import GpuRules, clip, product
from tuninglink.spaces.gpu.knob_table import (
    REDUCTION,
    THREAD,
    WORKGROUP,
    KnobTable,
    gpu_template,
)
from tuninglink.spaces.gpu.loops import ops_beside, read_loops
from tuninglink.spaces.gpu.promotion import Promotion, promotion_slots
from tuninglink.spaces.gpu.space import Form, GpuSpace, Outline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.device import Device
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.gpu.loops import Beside, RootLoops
    from tuninglink.spaces.problem import Problem
    from tuninglink.spaces.slots import Slot
    from tuninglink.spaces.workload import Workload

_LEAST_BOUND: Final = 128
_MOST_SUMS: Final = 128
_LEAST_STAGES: Final = 2
"""Fewer prefetch nothing."""
_MOST_BESIDE: Final = 1 << 12
"""The time that the compiler takes grows with the square: 8,006 elements took a minute."""
_MOST_TILE: Final = 1024
"""Tiles may stick out of what is computed, as the compiler's own do, but not by any amount."""


def threads_spaces(workload: Workload, device: Device, pipeline: mlir.Attribute) -> list[GpuSpace]:
    """Returns the configurations without an intrinsic.

    Tiles need not divide anything: what sticks out is left out where the code runs.

    Raises:
        UndecidedError: the loops are not covered.
    """
    loops = read_loops(workload, device)
    if loops.accumulates and workload.problem.kind is OpKind.CONTRACTION:
        raise UndecidedError(f"{workload.problem} adds to given values, without an intrinsic")
    beside, contraction = ops_beside(workload, loops), _read_product(workload)
    is_followed = loops.reductions and has_consumers(workload)
    reduction = {REDUCTION} if loops.reductions else set[str]()
    outline, problem = Outline(frozenset({WORKGROUP, THREAD} | reduction)), workload.problem

    def make() -> Form:
        return _form(
            *(problem, loops, device, pipeline),
            beside=beside,
            contraction=contraction,
            is_followed=bool(is_followed),
        )

    return [GpuSpace(outline, make)]


def threads_space(
    problem: Problem, loops: RootLoops, device: Device, pipeline: mlir.Attribute
) -> GpuSpace:
    """Returns the configurations of an op that is alone, reduces nothing, and promotes nothing.

    The compiler itself chooses other numbers of threads than the tiles ask for.
    """

    def make() -> Form:
        return _form(
            *(problem, loops, device, pipeline),
            beside=(),
            contraction=None,
            is_followed=False,
            grade=Grade.HEURISTIC,
        )

    return GpuSpace(Outline(frozenset({WORKGROUP, THREAD})), make)


def _form(
    problem: Problem,
    loops: RootLoops,
    device: Device,
    pipeline: mlir.Attribute,
    *,
    beside: Sequence[Beside],
    contraction: Contraction | None,
    is_followed: bool,
    grade: Grade = Grade.COMPILER,
) -> Form:
    """Writes down the rules of the form, and its template.

    The threads of an op that follows may take other tiles of the result, which is exchanged then.
    """
    rules, sizes = GpuRules(), loops.sizes
    table = KnobTable(rules, len(sizes), pipeline.context)
    tiles: dict[int, Number] = {}
    counts: list[Number] = [number(1)]
    pieces: list[Number] = [number(1)]
    for loop in loops.parallel:
        size = sizes[loop]
        tile = tiles[loop] = table.tile(WORKGROUP, loop, _most_tile(size), zero=size)
        piece = table.tile(THREAD, loop, _most_tile(size), low=0)
        rules.powers_of_two(piece, _most_tile(size))
        rules.powers_of_two(tile, _most_tile(size), size)
        pieces.append(select(piece == 0, tile, piece))
        counts.append(select(piece == 0, 1, (tile + piece - 1) / piece))
        rules.compilers(
            piece <= tile,
            f"thread_{loop} must not be more than wg_{loop} ({{}} <= {{}})",
            piece,
            tile,
        )
    for loop in loops.reductions:
        size = sizes[loop]
        tiles[loop] = table.tile(REDUCTION, loop, size or _MOST_TILE, zero=size)
        rules.powers_of_two(tiles[loop], _MOST_SUMS, size)
        table.ignore(WORKGROUP, loop)
        table.ignore(THREAD, loop)
    threads, _, stages = rules.workgroup(device)
    summed = product([number(1), *(tiles[loop] for loop in loops.reductions)])
    rules.unrolled(summed, "sums of one result", _MOST_SUMS)
    rules.unrolled(product(pieces) * summed, "sums")
    wanted = product(counts)
    rules.compilers(
        wanted <= device.threads,
        f"tiles must not ask for more than {device.threads} threads ({{}} <= {device.threads})",
        wanted,
    )
    rules.threads(threads, wanted, "that its tiles ask for", grade)
    clipped = {loop: clip(tile, sizes[loop]) for loop, tile in tiles.items()}
    results = product([number(1), *(clipped[loop] for loop in loops.parallel)])
    exchanged = [results * (each.elements * each.bits) for each in beside]
    slots, copies = _promotion(
        contraction,
        rules,
        clipped,
        device=device,
        threads=threads,
        stages=stages,
        context=pipeline.context,
    )
    exchanged.append(
        results * loops.bits if is_followed else select(threads == wanted, 0, results * loops.bits)
    )
    for each in beside:
        rules.unrolled(product(pieces) * each.elements, "elements of another op", _MOST_BESIDE)
    loops.refuse_mixed_types(rules)
    rules.memory_bounds(copies, exchanged, device)
    template = gpu_template(pipeline, {**table.slots(), **slots}, is_flat=False)
    return Form(rules.build(problem, str(pipeline)), template)


def _read_product(workload: Workload) -> Contraction | None:
    """Returns the contraction that a root op is, None if it is none that is known."""
    try:
        return read_contraction(workload)
    except UndecidedError:
        return None


def _promotion(
    contraction: Contraction | None,
    rules: GpuRules,
    tiles: Mapping[int, Number],
    *,
    device: Device,
    threads: Number,
    stages: Number,
    context: mlir.Context,
) -> tuple[Mapping[str, Slot], list[Number]]:
    """Returns the entries for promotion, and the sizes of the copies: only products promote operands.

    The compiler crashes where it prefetches what only some of the threads copy.
    """
    if contraction is None:
        return promotion_slots((), context), []
    promotion = Promotion(rules, context)
    copies = promotion.bits(contraction, tiles)
    for operand, copy in zip((contraction.lhs, contraction.rhs), copies, strict=True):
        elements = copy / operand.bits
        # On AMD's GPUs, threads that have nothing to copy are in the way of a second step that is under way.
        is_free = any_of(stages == _LEAST_STAGES, not device.architecture.startswith("gfx"))
        fewer = all_of(is_free, copy > 0, threads % elements == 0)
        rules.sufficient(
            any_of(stages < _LEAST_STAGES, elements % threads == 0, fewer),
            "the {} threads must share the {} elements that are prefetched",
            threads,
            elements,
        )
    return promotion.slots, copies


def _most_tile(size: int | None) -> int:
    if size is None:
        return _MOST_TILE
    return min(_MOST_TILE, max(_LEAST_BOUND, 1 << (size - 1).bit_length()))
