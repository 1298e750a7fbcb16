"""Ops without intrinsics in the pipeline TileAndFuse: each thread computes a tile by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree import (
    LANE_BASIS,
    PARTIAL_REDUCTION,
    REDUCTION_LEVEL,
    SUBGROUP_BASIS,
    THREAD,
    WORKGROUP,
    WORKGROUP_SIZE,
    OpKind,
    Role,
    Sizes,
    element_type,
    function_ops,
    shape,
)
from tuninglink.mlir import error, named_parameters, names
from tuninglink.solver import AssignmentError, Grade, UndecidedError, all_of, any_of, number, select
from tuninglink.spaces.gpu.contractions import (
    Contraction,
    Promotion,
    promotion_slots,
    read_contraction,
)
from tuninglink.spaces.gpu.gpu_rules import (
    SUBGROUP_SIZE_KNOB,
    Gpu,
    GpuRules,
    Number,
    check_element_types,
    clip,
    gpu_template,
    knob_name,
    product_of,
)
from tuninglink.spaces.gpu.gpu_space import (
    Beside,
    FormRules,
    GpuSpace,
    NeighboringOp,
    Outline,
    RootLoops,
    has_consumers,
    ops_beside,
    read_loops,
    read_neighbors,
)
from tuninglink.spaces.model import (
    ArraySlot,
    Configuration,
    DictionarySlot,
    IntegerSlot,
    KnobTemplate,
    MismatchError,
    MissingEntryError,
    Problem,
    Slot,
    Space,
    Workload,
)

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
    """
    loops = read_loops(workload, device)
    if loops.accumulates and workload.problem.kind is OpKind.CONTRACTION:
        raise UndecidedError(f"{workload.problem} adds to given values, without an intrinsic")
    neighborhood = _Neighborhood(
        beside=tuple(ops_beside(workload, loops)),
        contraction=_read_product(workload),
        is_followed=bool(loops.reductions) and has_consumers(workload),
    )
    reduction = {REDUCTION_LEVEL} if loops.reductions else set[str]()
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
    """The computations before, next to and after a root op."""

    beside: tuple[Beside, ...] = ()
    contraction: Contraction | None = None
    is_followed: bool = False


class _ThreadsRules(FormRules):
    """The rules for ops without intrinsics in the pipeline TileAndFuse."""

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
                REDUCTION_LEVEL, loop, size or _MOST_TILE, zero=size
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
        summed = product_of([number(1), *(self.tiles[loop] for loop in self._loops.reductions)])
        rules.few(summed, "sums of one result", _MOST_SUMS)
        rules.few(product_of(self._pieces) * summed, "sums")
        needed = product_of(self._counts)
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
        results = product_of([number(1), *(clipped[loop] for loop in loops.parallel)])
        copies = self._promote(clipped)
        exchanged = [results * (op.elements * op.bits) for op in neighborhood.beside]
        bits = results * loops.bits
        is_exact = self.threads == product_of(self._counts)
        exchanged.append(bits if neighborhood.is_followed else select(is_exact, 0, bits))
        for op in neighborhood.beside:
            elements = product_of(self._pieces) * op.elements
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
        return {**self.table.slots(), **self._promotion_slots}

    def template(self, slots: Mapping[str, Slot]) -> KnobTemplate:
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


# --- Ops without intrinsics in the pipeline VectorDistribute: the lanes of subgroups share each tile

_FEW_ROWS: Final = 16
_MOST_LANE_TILE: Final = 1 << 14
_MOST_WIDTH: Final = 32
"""The maximum covered number of elements that a lane takes at a time, the compiler's choice for 4-bit elements."""
_MOST_PROPOSED: Final = 16

_MOST_LANES_BITS: Final = 6
"""The logarithm of the maximum number of threads in a subgroup, 64."""

_MOST_ELEMENTS: Final = 512
_MOST_BESIDE_LANES: Final = 256
"""The maximum covered numbers of elements of an operand for one thread: of a lone root op, and of one with ops next to
it.
"""

_MOST_OF_INPUT: Final = 512
"""The maximum number of elements of an input for one thread: 1,024 take 25 to 40 seconds to compile, 2,048 minutes."""


def lanes_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> list[GpuSpace]:
    """Return the configurations without an intrinsic.

    A workgroup takes a tile of each parallel loop, and iterates over the reductions in steps. Subgroups share each
    tile, the lanes of a subgroup share its part, and a lane takes some elements at a time.
    """
    loops = read_loops(workload, device)
    if not loops.reductions:
        raise UndecidedError(f"{workload.problem} reduces nothing")
    return [lanes_space(workload, loops, device, pipeline)]


def lanes_space(
    workload: Workload, loops: RootLoops, device: Gpu, pipeline: mlir.Attribute
) -> GpuSpace:
    """Return the configurations of an op with these loops; see `lanes_spaces`."""
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
        tile = self.tiles[loop] = self.table.tile(entry, loop, size or _MOST_LANE_TILE, zero=size)
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
        lanes = product_of(self._lanes.values())
        message = "the lanes of lane_basis must be those of a subgroup ({} == {})"
        rules.sufficient(self.subgroup_size % lanes == 0, message, lanes, self.subgroup_size)
        rules.compilers(lanes >= self.subgroup_size, message, lanes, self.subgroup_size)
        for loop in self._loops.reductions:
            self._reduce(loop)
        threads = product_of(self._subgroups.values()) * self.subgroup_size
        rules.threads(self.threads, threads, "of its subgroups")
        if self.problem.kind is OpKind.CONTRACTION and _is_large(self.problem):
            rules.propose_nothing("intrinsics multiply large matrices")
        most_elements = _MOST_BESIDE_LANES if self._neighbors else _MOST_ELEMENTS
        rules.few(product_of(self._vectors.values()) / self.threads, "elements", most_elements)
        for loops in self._loops.inputs:
            taken = [
                self._vectors[loop] / (self._subgroups[loop] * self._lanes[loop]) for loop in loops
            ]
            rules.unrolled(product_of([number(1), *taken]), "elements of an input", _MOST_OF_INPUT)
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
        return product_of([number(1), *(self._vectors[loop] for loop in self._loops.parallel)])

    def _agree_with(self, neighbor: NeighboringOp) -> None:
        """Require the number of threads that another op is distributed over, or a multiple, which repeats the op.

        The op iterates over its own tiles for each result of a workgroup.
        """
        self.rules.sufficient(
            self.threads % (neighbor.subgroups * self.subgroup_size) == 0,
            f"a workgroup must have the {neighbor.subgroups} subgroups of {neighbor.name} beside it, or a multiple",
        )
        taken = self._results * neighbor.step / (neighbor.subgroups * neighbor.lanes)
        self.rules.few(taken, f"elements of {neighbor.name} beside it", _MOST_BESIDE_LANES)

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
    shared = product_of([1, *(subgroups[loop] for loop in loops.reductions)])
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
    return select(is_one_step, results * product_of(tile for _, tile in sizes) * loops.bits, 0)


# --- Ops whose threads process parts of a tile element by element: the pipeline Distribute, and indexed accesses

_LOWERING_CONFIG: Final = "#iree_codegen.lowering_config"
_LEVELS: Final = "tile_sizes"
_THREADS: Final = tuple(f"{WORKGROUP_SIZE}[{axis}]" for axis in range(3))
_MOST_DISTRIBUTED_TILE: Final = 1 << 20


def distribute_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of an elementwise op that is alone in its function."""
    if ops_beside(workload, read_loops(workload, device)):
        raise UndecidedError(f"other ops are beside {workload.problem}")
    sizes = tuple(dimension.size for dimension in workload.problem.dimensions)
    return [DistributeSpace(workload, device, pipeline, sizes)]


class DistributeSpace(Space):
    """The tiles of a workgroup and its number of threads, which are independent of each other."""

    def __init__(
        self, workload: Workload, device: Gpu, pipeline: mlir.Attribute, sizes: Sizes
    ) -> None:
        self._pipeline = pipeline
        rules = GpuRules()
        # The tiles of the only level.
        tiles = tuple(f"{_LEVELS}[{loop}]" for loop in range(len(sizes)))
        for name, size in zip(tiles, sizes, strict=True):
            tile = rules.knob(name, 0, _MOST_DISTRIBUTED_TILE)
            rules.necessary(tile >= 0, f"{name} must not be negative, as {{}} is", tile)
            rules.powers_of_two(tile, device.threads, size)
        level = ArraySlot(tuple(map(IntegerSlot, tiles)))
        self._entries = DictionarySlot({_LEVELS: ArraySlot((level,))}, frozenset())
        # The threads of a workgroup and of a subgroup.
        threads = [rules.knob(name, 1, device.threads) for name in _THREADS]
        for thread in threads:
            rules.powers_of_two(thread, device.threads)
        rules.sufficient(
            product_of(threads) <= device.threads,
            f"a workgroup must have at most {device.threads} threads, not {{}}",
            product_of(threads),
        )
        subgroup_size = rules.knob(SUBGROUP_SIZE_KNOB, 0, max(device.subgroup_sizes))
        rules.not_chosen(
            subgroup_size == device.subgroup_size,
            f"a subgroup must have {device.subgroup_size} threads, not {{}}",
            subgroup_size,
        )
        if workload.root.results and workload.root.name != _TOPK:
            rules.propose_nothing("other pipelines make vectors of tensors")
        self.constraints = rules.build(workload.problem, str(pipeline))

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Read the tiles of the only level, the number of threads and the size of a subgroup."""
        lowering, info = configuration.lowering_config, configuration.translation_info
        if not str(lowering).startswith(f"{_LOWERING_CONFIG}<"):
            raise MismatchError(f"'{names.LOWERING_CONFIG}' is {lowering}")
        if info is None or len(info.workgroup_size) != len(_THREADS):
            raise MissingEntryError("'workgroup_size' does not have three sizes")
        assignment = dict(zip(_THREADS, info.workgroup_size, strict=True))
        assignment[SUBGROUP_SIZE_KNOB] = info.subgroup_size
        self._entries.read_entries("", named_parameters(lowering), assignment)
        return assignment

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Write a configuration."""
        try:
            with self._pipeline.context:
                levels = self._entries.entries[_LEVELS].write(assignment)
                return iree_codegen.CompilationInfoAttr.get(
                    mlir.Attribute.parse(f"{_LOWERING_CONFIG}<{_LEVELS} = {levels}>"),
                    iree_codegen.TranslationInfoAttr.get(
                        self._pipeline,
                        None,
                        [assignment[name] for name in _THREADS],
                        assignment[SUBGROUP_SIZE_KNOB],
                    ),
                )
        except (ValueError, mlir.MLIRError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None


_GATHER: Final = "iree_linalg_ext.gather"
_TOPK: Final = "iree_linalg_ext.topk"
_SCATTER: Final = "iree_linalg_ext.scatter"
_ARG_COMPARE: Final = "iree_linalg_ext.arg_compare"


def gather_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of a gather, whose loops are the dimensions of its result."""
    operation = _alone(workload, _GATHER)
    sizes, _ = _sizes(operation.operands[len(operation.operands) - 1], device)
    return [DistributeSpace(workload, device, pipeline, sizes)]


def topk_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of a top-k selection, whose loops are the rows that it selects from."""
    operation = _alone(workload, _TOPK)
    sizes, _ = _sizes(operation.operands[0], device)
    dimension = mlir.IntegerAttr(operation.attributes["dimension"]).value
    rows = tuple(size for position, size in enumerate(sizes) if position != dimension)
    return [DistributeSpace(workload, device, pipeline, rows)]


def scatter_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of a scatter, whose loops are the dimensions of the values that it writes."""
    operation = _alone(workload, _SCATTER)
    sizes, bits = _sizes(operation.operands[0], device)
    loops = RootLoops(
        sizes, tuple(range(len(sizes))), (), bits, accumulates=False, mixes_types=False
    )
    return [threads_space(workload.problem, loops, device, pipeline)]


def arg_compare_spaces(
    workload: Workload, device: Gpu, pipeline: mlir.Attribute
) -> Sequence[Space]:
    """Return the configurations of an arg_compare, whose loops are the dimensions of the values that it compares."""
    operation = _alone(workload, _ARG_COMPARE)
    sizes, bits = _sizes(operation.operands[0], device)
    dimension = mlir.IntegerAttr(operation.attributes["dimension"]).value
    parallel = tuple(loop for loop in range(len(sizes)) if loop != dimension)
    loops = RootLoops(
        *(sizes, parallel, (dimension,), bits),
        accumulates=False,
        mixes_types=False,
        finds_places=True,
    )
    return [lanes_space(workload, loops, device, pipeline)]


def _alone(workload: Workload, name: str) -> mlir.Operation:
    root = workload.root
    if root.name != name:
        raise UndecidedError(f"no constraints are known for {root.name}")
    for op in function_ops(workload.function).computing:
        if op != root and op.name != names.FILL:
            raise UndecidedError(f"{op.name} is beside {root.name}")
    return root


def _sizes(value: mlir.Value[Any], device: Gpu) -> tuple[Sizes, int]:
    """Return the sizes of an operand, and the bits of an element."""
    sizes, element = shape(value.type), element_type(value.type)
    is_known = isinstance(element, mlir.IntegerType | mlir.FloatType) and element.width >= _BYTE
    if not sizes or None in sizes or not is_known:
        raise UndecidedError(f"an operand is of type {value.type}")
    assert isinstance(element, mlir.IntegerType | mlir.FloatType)
    check_element_types([str(element)], device)
    return sizes, element.width


_BYTE: Final = 8
