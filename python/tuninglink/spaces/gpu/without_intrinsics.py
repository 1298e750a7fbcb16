"""Ops without intrinsics: in TileAndFuse, VectorDistribute and Distribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree import (
    LANE_BASIS,
    PARTIAL_REDUCTION,
    REDUCTION_LEVEL,
    SUBGROUP_BASIS,
    SUBGROUP_SIZE,
    THREAD,
    WORKGROUP,
    WORKGROUP_SIZE,
    OpKind,
    Role,
    Sizes,
    StructuredOp,
    element_type,
    function_ops,
    shape,
)
from tuninglink.mlir import error, named_parameters, names
from tuninglink.solver import (
    AssignmentError,
    Grade,
    UndecidedError,
    all_of,
    any_of,
    number,
    select,
)
from tuninglink.spaces.gpu.contractions import (
    Contraction,
    Promotion,
    promotion_slots,
    read_contraction,
)
from tuninglink.spaces.gpu.gpu_rules import (
    Definition,
    GpuRules,
    Number,
    Setting,
    SpaceRules,
    check_element_types,
    clip,
    knob_name,
    product_of,
)
from tuninglink.spaces.gpu.gpu_space import (
    GpuSpace,
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
    MismatchError,
    MissingEntryError,
    Space,
    Workload,
)

# --- The pipeline TileAndFuse: each thread computes a tile by itself

_LEAST_BOUND: Final = 128
_MOST_SUMS: Final = 128
_LEAST_STAGES: Final = 2
"""The minimum number of stages with prefetching."""
_MOST_BESIDE: Final = 1 << 12
"""The maximum number of elements of ops next to the root op. Compile time is quadratic: 8,006 took a minute."""
_MOST_TILE: Final = 1024
"""The maximum tile of a loop. Tiles may exceed the computed part, as the compiler's own tiles do."""


def threads_spaces(workload: Workload, setting: Setting) -> list[GpuSpace]:
    """Return the configurations without an intrinsic."""
    # Tiles need not divide the loops: the generated code checks bounds.
    loops, problem = read_loops(workload, setting.device), workload.problem
    if loops.accumulates and problem.kind is OpKind.CONTRACTION:
        raise UndecidedError(f"{problem} adds to given values, without an intrinsic")
    beside = tuple(ops_beside(workload, loops))
    try:
        contraction = read_contraction(workload)
    except UndecidedError:
        contraction = None
    is_followed = bool(loops.reductions) and has_consumers(workload)
    swaps_channels = False
    if problem.kind is OpKind.CONVOLUTION and not problem.loops(Role.DEPTH):
        op = StructuredOp(workload.root)
        is_image = op.operand_loops[-1][-1] in problem.loops(Role.OUTPUT_IMAGE)
        swaps_channels = is_image and set(op.steps["strides"]) == {1}
    entries = {WORKGROUP, THREAD} | ({REDUCTION_LEVEL} if loops.reductions else set())
    make = partial(
        _define_threads,
        *(setting, loops, beside, contraction),
        is_followed=is_followed,
        swaps_channels=swaps_channels,
    )
    return [GpuSpace(frozenset(entries), make)]


def _define_threads(
    setting: Setting,
    loops: RootLoops,
    beside: Sequence[tuple[int, int]] = (),
    contraction: Contraction | None = None,
    *,
    is_followed: bool = False,
    swaps_channels: bool = False,
    grade: Grade = Grade.COMPILER,
) -> Definition:
    """Return the form; the grade is that of the rule about the number of threads.

    Vectors of a convolution may swap channels and columns if its channels come before the image, and it has no strides.
    """
    rules = SpaceRules(setting, len(loops.sizes))
    counts: list[Number] = [number(1)]
    pieces: list[Number] = [number(1)]
    own: dict[int, Number] = {}
    # Workgroup and thread tiles are of any size.
    for loop in loops.parallel:
        size = loops.sizes[loop]
        most = _MOST_TILE if size is None else _LEAST_BOUND
        while size is not None and most < min(size, _MOST_TILE):
            most *= 2
        tile = rules.tiles[loop] = rules.tile(WORKGROUP, loop, most, zero=size)
        piece = rules.tile(THREAD, loop, most, low=0)
        rules.powers_of_two(piece, most)
        rules.powers_of_two(tile, most, size)
        own[loop] = select(piece == 0, tile, piece)
        pieces.append(own[loop])
        counts.append(select(piece == 0, 1, (tile + piece - 1) / piece))
        text = f"thread[{loop}] must not be more than workgroup[{loop}] ({{}} <= {{}})"
        rules.follow_compiler(piece <= tile, text, piece, tile)
    for loop in loops.reductions:
        size = loops.sizes[loop]
        tile = rules.tile(REDUCTION_LEVEL, loop, size or _MOST_TILE, zero=size)
        rules.tiles[loop] = tile
        rules.powers_of_two(tile, _MOST_SUMS, size)
        for entry in (WORKGROUP, THREAD):
            rules.slots.setdefault(entry, {})[loop] = rules.constant(0, is_ignored=True)
    # With one element of the filter, vectors along the image have channels in the place of columns.
    if swaps_channels:
        roles = (Role.FILTER, Role.OUTPUT_IMAGE, Role.OUTPUT_CHANNEL)
        filters, image, channels = map(setting.problem.loops, roles)
        has_filter = any_of(*(rules.tiles[loop] > 1 for loop in filters))
        ones = [
            all_of(*(clip(own[loop], loops.sizes[loop]) == 1 for loop in role))
            for role in (image, channels)
        ]
        text = "a thread must take one element of the image, one channel, or more than one element of the filter"
        rules.keep_right(any_of(has_filter, *ones), text)
    # A workgroup has the threads that the tiles need, with little work for each.
    rules.add_workgroup()
    summed = product_of([number(1), *(rules.tiles[loop] for loop in loops.reductions)])
    rules.limit_work(summed, "sums of one result", _MOST_SUMS)
    rules.limit_work(product_of(pieces) * summed, "sums")
    needed, most = product_of(counts), rules.device.threads
    text = f"tiles must not need more than {most} threads ({{}} <= {most})"
    rules.follow_compiler(needed <= most, text, needed)
    rules.match_threads(needed, "that its tiles need", grade)
    # Shared memory holds the copies of promoted operands and the data that threads exchange.
    clipped = rules.clipped(loops.sizes)
    results = product_of([number(1), *(clipped[loop] for loop in loops.parallel)])
    slots, copies = promotion_slots((), rules.context), list[Number]()
    if contraction is not None:
        promotion = Promotion(rules)
        slots, copies = promotion.slots, promotion.bits(contraction, clipped)
        for operand, copy in zip(contraction.operands, copies, strict=True):
            # The compiler crashes if it prefetches copies that only some of the threads make. On AMD GPUs, threads
            # without a part of the copy prevent a second step in flight.
            elements = copy / operand.bits
            is_free = any_of(rules.stages == _LEAST_STAGES, not rules.device.is_amd)
            fewer = all_of(is_free, copy > 0, rules.threads % elements == 0)
            rules.share_prefetched(elements, _LEAST_STAGES, fewer)
    exchanged = [results * (elements * width) for elements, width in beside]
    bits = results * loops.bits
    exchanged.append(bits if is_followed else select(rules.threads == needed, 0, bits))
    for elements, _ in beside:
        taken = product_of(pieces) * elements
        rules.limit_compilation(taken, "elements of another op", _MOST_BESIDE)
    loops.refuse_mixed_types(rules)
    rules.limit_memory(copies, exchanged)
    return rules.define({**rules.tile_slots(), **slots}, is_flat=False)


# --- The pipeline VectorDistribute: the lanes of subgroups share each tile

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


def lanes_spaces(workload: Workload, setting: Setting) -> list[GpuSpace]:
    """Return the configurations without an intrinsic."""
    # A workgroup takes a tile of each parallel loop, and iterates over the reductions in steps. Subgroups share each
    # tile, the lanes of a subgroup share its part, and a lane takes some elements at a time.
    loops = read_loops(workload, setting.device)
    if not loops.reductions:
        raise UndecidedError(f"{workload.problem} reduces nothing")
    return [lanes_space(workload, loops, setting)]


def lanes_space(workload: Workload, loops: RootLoops, setting: Setting) -> GpuSpace:
    """Return the configurations of an op with these loops; see `lanes_spaces`."""
    neighbors = read_neighbors(workload, len(loops.parallel))
    entries = frozenset({WORKGROUP, PARTIAL_REDUCTION, THREAD, SUBGROUP_BASIS, LANE_BASIS})
    return GpuSpace(entries, lambda: _LanesRules(setting, loops, neighbors).write())


NO_VECTORS: Final = "without vectors, each lane computes what all lanes share"
"""Why some configurations take many times as long as others: 260 to 1,000 times, for strided 1x1 convolutions on an H200."""


class _LanesRules(SpaceRules):
    """The rules for ops without intrinsics in the pipeline VectorDistribute."""

    def __init__(
        self, setting: Setting, loops: RootLoops, neighbors: Sequence[tuple[str, int, int, int]]
    ) -> None:
        """Add the knobs of all loops, whose tiles are multiples of the steps of their threads."""
        super().__init__(setting, len(loops.sizes))
        device = self.device
        self._loops = loops
        self._neighbors = neighbors
        self._subgroups: dict[int, Number] = {}
        self._lanes: dict[int, Number] = {}
        self._vectors: dict[int, Number] = {}
        self.slots[WORKGROUP] = {}  # even without a parallel loop
        loops.refuse_mixed_types(self)
        # Lanes apply one combining operation for each result to partial results.
        if loops.reuses_sums:
            reason = "lanes cannot combine partial results of a body that uses an accumulator more than once"
            self.necessary(False, reason)  # noqa: FBT003 - that is the rule
        self.add_workgroup()
        for loop, size in enumerate(loops.sizes):
            is_parallel = loop in loops.parallel
            # Knobs: the tile, its subgroups and lanes, and the elements of a lane.
            entry = WORKGROUP if is_parallel else PARTIAL_REDUCTION
            tile = self.tiles[loop] = self.tile(entry, loop, size or _MOST_LANE_TILE, zero=size)
            most = self.most_subgroups
            names_of_counts = (knob_name(SUBGROUP_BASIS, loop), knob_name(LANE_BASIS, loop))
            subgroups = self._subgroups[loop] = self.knob(names_of_counts[0], 1, most)
            lanes = self._lanes[loop] = self.knob(names_of_counts[1], 1, max(device.subgroup_sizes))
            width = self.tile(THREAD, loop, min(size or _MOST_WIDTH, _MOST_WIDTH), zero=1)
            self.powers_of_two(subgroups, most)
            self.powers_of_two(lanes, device.subgroup_size)
            self.powers_of_two(width, _MOST_PROPOSED)
            for name, count in zip(names_of_counts, (subgroups, lanes), strict=True):
                self.necessary(count >= 1, f"{name} must be at least 1, not {{}}", count)
            # Threads take a tile in whole steps, or in a part of one step. `setGPULoweringConfigLayout` rounds up to whole
            # steps. A neighboring op that shares a result then gets another size (`MaterializeVectorTileSizesPass`).
            step = subgroups * lanes * width
            self._vectors[loop] = select(tile < step, step, tile)
            is_whole = tile % step == 0
            shared = is_parallel and self._neighbors and not loops.accumulates
            is_even = is_parallel or tile % width == 0
            is_part = False if shared else all_of(step % tile == 0, is_even)
            name, part = knob_name(entry, loop), "the part that its threads take at a time"
            message = f"{name} must be divisible by {part} ({{}} % {{}} == 0)"
            require = self.necessary if shared else self.sufficient
            require(any_of(is_whole, is_part), message, tile, step)
            self.limit_search(is_whole, message, tile, step)
            # Tiles divide the loop.
            if size is None and is_parallel:
                text = f"workgroup[{loop}] must be 1, as dimension {loop} is dynamic, not {{}}"
                self.sufficient(tile == 1, text, tile)
            elif size is not None:
                self.divide(Grade.SUFFICIENT, size, tile, f"dimension {loop}", name)

    def write(self) -> Definition:
        """Add the rules of a workgroup, and return the form."""
        loops = self._loops
        results = product_of([number(1), *(self._vectors[loop] for loop in loops.parallel)])
        self._arrange_threads(results)
        # Shared memory holds the partial sums of subgroups. Other ops may reuse the elements that the root op reads: if
        # the reduction takes one step, they do not read them again, but threads exchange those that each op needs.
        shared = product_of([1, *(self._subgroups[loop] for loop in loops.reductions)])
        exchanged = [results * shared * max(loops.bits, 32)]
        if self._neighbors:
            steps = [(loops.sizes[loop], self._vectors[loop]) for loop in loops.reductions]
            reread: Number = number(0)
            if all(size is not None for size, _ in steps):
                is_one_step = all_of(*(tile >= size for size, tile in steps))
                read = results * product_of(tile for _, tile in steps) * loops.bits
                reread = select(is_one_step, read, 0)
            exchanged.append(reread)
        self.limit_memory([], exchanged)
        return self.define(
            {
                **self.tile_slots(),
                **promotion_slots((), self.context),
                SUBGROUP_BASIS: self.basis(
                    {loop: knob_name(SUBGROUP_BASIS, loop) for loop in self.tiles}
                ),
                LANE_BASIS: self.basis({loop: knob_name(LANE_BASIS, loop) for loop in self.tiles}),
            }
        )

    def _arrange_threads(self, results: Number) -> None:
        """Require the numbers of lanes and threads to match the sizes of a subgroup and a workgroup."""
        loops = self._loops
        lanes, subgroup_size = product_of(self._lanes.values()), self.subgroup_size
        message = "the lanes of lane_basis must be those of a subgroup ({} == {})"
        self.sufficient(subgroup_size % lanes == 0, message, lanes, subgroup_size)
        self.follow_compiler(lanes >= subgroup_size, message, lanes, subgroup_size)
        for loop in loops.reductions:
            # The numbers of lanes and subgroups must be able to combine their results.
            if loops.finds_places:
                subgroups = self._subgroups[loop]
                text = f"{knob_name(SUBGROUP_BASIS, loop)} must be 1: subgroups cannot combine indices ({{}})"
                self.necessary(subgroups == 1, text, subgroups)
            # `gpu.subgroup_reduce` accepts powers of two.
            name, along = knob_name(LANE_BASIS, loop), self._lanes[loop]
            is_power = any_of(*(along == 1 << position for position in range(_MOST_LANES_BITS + 1)))
            self.necessary(is_power, f"{name} must be a power of two, not {{}}", along)
            # The op is lowered for the subgroups of the target, whatever `subgroup_size` is.
            most = self.device.subgroup_size
            text = f"{name} must not be more than the threads of a subgroup ({{}} <= {{}})"
            self.necessary(along <= most, text, along, number(most))
            keep_sums_apart(self, loop, self._subgroups[loop], along)
            # The lanes share what they read in private memory, where the loops of an op without vectors then read all of
            # it. With one step, the sums go over to the results of lanes before these loops are made.
            size, step = loops.sizes[loop], self.tiles[loop]
            if not loops.is_vectorized and size is not None:
                name = knob_name(PARTIAL_REDUCTION, loop)
                text = f"{name} must take all of dimension {loop}, as operands with strides prevent vectors ({{}} >= {{}})"
                self.keep_right(step >= size, text, step, number(size))
        self.match_threads(product_of(self._subgroups.values()) * subgroup_size, "of its subgroups")
        if not loops.is_vectorized:
            self.propose_nothing(NO_VECTORS)
        # A product of many rows and many columns.
        roles = [self.problem.loops(role) for role in (Role.M, Role.N)]
        sides: list[list[Number]] = [[loops.sizes[loop] for loop in role] for role in roles]
        if self.problem.kind is OpKind.CONTRACTION and all(
            all(size is not None for size in side) and prod(side) > _FEW_ROWS for side in sides
        ):
            self.propose_nothing("intrinsics multiply large matrices")
        most_elements = _MOST_BESIDE_LANES if self._neighbors else _MOST_ELEMENTS
        self.limit_work(
            product_of(self._vectors.values()) / self.threads, "elements", most_elements
        )
        for input_loops in loops.inputs:
            sharing = {loop: self._subgroups[loop] * self._lanes[loop] for loop in input_loops}
            taken = [self._vectors[loop] / count for loop, count in sharing.items()]
            self.limit_compilation(
                product_of([number(1), *taken]), "elements of an input", _MOST_OF_INPUT
            )
        # Another op is distributed over as many threads, or is repeated by a multiple of them. It iterates over its own
        # tiles for each result of a workgroup.
        for name, subgroups, its_lanes, step in self._neighbors:
            self.sufficient(
                self.threads % (subgroups * subgroup_size) == 0,
                f"a workgroup must have the {subgroups} subgroups of {name} beside it, or a multiple",
            )
            elements = results * step / (subgroups * its_lanes)
            self.limit_work(elements, f"elements of {name} beside it", _MOST_BESIDE_LANES)


def keep_sums_apart(rules: GpuRules, loop: int, subgroups: Number, lanes: Number) -> None:
    """Require that lanes of a reduction can add up the sums of its subgroups.

    As many lanes as subgroups do so, a stride of the lanes of a result apart (`gpu.subgroup_reduce`); beyond the lanes
    along the reduction are those of other results. On an H200, 25 of 25 such products and 19 of 49 such attentions gave
    wrong results, whose tolerance is larger, and none of 498 others.
    """
    text = f"{knob_name(SUBGROUP_BASIS, loop)} must not be more than {knob_name(LANE_BASIS, loop)} ({{}} <= {{}})"
    rules.keep_right(subgroups <= lanes, text, subgroups, lanes)


# --- The pipeline Distribute, whose threads process parts of a tile element by element, and indexed accesses

_LOWERING_CONFIG: Final = "#iree_codegen.lowering_config"
_LEVELS: Final = "tile_sizes"
_THREADS: Final = tuple(f"{WORKGROUP_SIZE}[{axis}]" for axis in range(3))
_MOST_DISTRIBUTED_TILE: Final = 1 << 20
_BYTE: Final = 8


def distribute_spaces(workload: Workload, setting: Setting) -> Sequence[Space]:
    """Return the configurations of an elementwise op that is alone in its function."""
    loops = read_loops(workload, setting.device)
    if ops_beside(workload, loops):
        raise UndecidedError(f"other ops are beside {workload.problem}")
    return [DistributeSpace(workload, setting, loops.sizes)]


class DistributeSpace(Space):
    """The tiles of a workgroup and its number of threads, which are independent of each other."""

    def __init__(self, workload: Workload, setting: Setting, sizes: Sizes) -> None:
        device, self._pipeline = setting.device, setting.pipeline
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
        total, most = product_of(threads), device.threads
        rules.sufficient(
            total <= most, f"a workgroup must have at most {most} threads, not {{}}", total
        )
        subgroup_size = rules.knob(SUBGROUP_SIZE, 0, max(device.subgroup_sizes))
        text = f"a subgroup must have {device.subgroup_size} threads, not {{}}"
        rules.limit_search(subgroup_size == device.subgroup_size, text, subgroup_size)
        if workload.root.results and workload.root.name != TOPK:
            rules.propose_nothing("other pipelines make vectors of tensors")
        self.constraints = rules.build(workload.problem, str(self._pipeline))

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        lowering, info = configuration.lowering_config, configuration.translation_info
        if not str(lowering).startswith(f"{_LOWERING_CONFIG}<"):
            raise MismatchError(f"'{names.LOWERING_CONFIG}' is {lowering}")
        if info is None or len(info.workgroup_size) != len(_THREADS):
            raise MissingEntryError("'workgroup_size' does not have three sizes")
        assignment = dict(zip(_THREADS, info.workgroup_size, strict=True))
        assignment[SUBGROUP_SIZE] = info.subgroup_size
        self._entries.read_entries("", named_parameters(lowering), assignment)
        return assignment

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        try:
            with self._pipeline.context:
                levels = self._entries.entries[_LEVELS].write(assignment)
                return iree_codegen.CompilationInfoAttr.get(
                    mlir.Attribute.parse(f"{_LOWERING_CONFIG}<{_LEVELS} = {levels}>"),
                    iree_codegen.TranslationInfoAttr.get(
                        self._pipeline,
                        None,
                        [assignment[name] for name in _THREADS],
                        assignment[SUBGROUP_SIZE],
                    ),
                )
        except (ValueError, mlir.MLIRError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None


GATHER: Final = "iree_linalg_ext.gather"
TOPK: Final = "iree_linalg_ext.topk"
SCATTER: Final = "iree_linalg_ext.scatter"
ARG_COMPARE: Final = "iree_linalg_ext.arg_compare"


def indexed_spaces(name: str, workload: Workload, setting: Setting) -> Sequence[Space]:
    """Return the configurations of an op with indexed accesses that is alone in its function."""
    root = workload.root
    if root.name != name:
        raise UndecidedError(f"no constraints are known for {root.name}")
    for op in function_ops(workload.function).computing:
        if op != root and op.name != names.FILL:
            raise UndecidedError(f"{op.name} is beside {root.name}")
    # The loops are the dimensions of the result of a gather, of the values that a scatter writes, and of those that
    # the other ops select from.
    type_ = list(root.operands)[-1 if name == GATHER else 0].type
    sizes, element = shape(type_), element_type(type_)
    is_known = isinstance(element, mlir.IntegerType | mlir.FloatType) and element.width >= _BYTE
    if not sizes or None in sizes or not is_known:
        raise UndecidedError(f"an operand is of type {type_}")
    assert isinstance(element, mlir.IntegerType | mlir.FloatType)
    check_element_types([str(element)], setting.device)
    if name == GATHER:
        return [DistributeSpace(workload, setting, sizes)]
    if name == SCATTER:
        scattered = RootLoops(sizes, tuple(range(len(sizes))), (), element.width)
        # The compiler itself chooses numbers of threads that differ from those that the tiles need.
        make = partial(_define_threads, setting, scattered, grade=Grade.HEURISTIC)
        return [GpuSpace(frozenset({WORKGROUP, THREAD}), make)]
    # Elements are selected along a dimension.
    dimension = mlir.IntegerAttr(root.attributes["dimension"]).value
    rows = tuple(loop for loop in range(len(sizes)) if loop != dimension)
    if name == TOPK:
        return [DistributeSpace(workload, setting, tuple(sizes[loop] for loop in rows))]
    loops = RootLoops(sizes, rows, (dimension,), element.width, finds_places=True)
    return [lanes_space(workload, loops, setting)]
