"""The provider of Tuninglink's constraints on configurations for Vulkan and Metal: the space of each pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, ClassVar, Final, NamedTuple

from iree.compiler import ir as mlir

from tuninglink.iree import (
    PIPELINE_DEPTH,
    REDUCTION_LEVEL,
    SPIRV_BACKENDS,
    SPIRV_LEVELS,
    STORE_STAGE,
    SUBGROUP,
    THREAD,
    WORKGROUP,
    OpKind,
    StructuredOp,
    function_ops,
    read_executable_target,
)
from tuninglink.mlir import names, visit
from tuninglink.solver import Grade, UndecidedError, all_of, any_of, negation, number, select
from tuninglink.spaces.gpu import (
    Contraction,
    Number,
    RootLoops,
    clip,
    look_up,
    product_of,
    read_contraction,
    read_loops,
    static_sizes,
)
from tuninglink.spaces.model import OptionSlot, Provider, Space, Workload, integer
from tuninglink.spaces.spirv.spirv_space import (
    PROVIDER,
    THREADS_KNOBS,
    VECTOR_BITS,
    SpirvGpu,
    SpirvRules,
    SpirvSpace,
    divisors,
    read_spirv_device,
)

_VECTORIZING: Final = "#iree_gpu.spirv_pipeline<BaseVectorize>"

_INDEX: Final = "linalg.index"

_DISTRIBUTED: Final = 3
"""The dimensions of a workgroup: the innermost parallel loops with a tile of a thread are distributed over them."""

_MOST_PIECE: Final = 32
"""The largest tile of a thread along a loop, or of a step of a reduction, that is proposed."""

_MOST_TILE: Final = 1024
"""The largest tile of a workgroup along a loop that is proposed."""

_USEFUL: Final = range(8, 257)
"""The useful tiles: for a size without a divisor among these, other tiles are proposed, too, though code for them has no vectors."""

_MOST_THREAD_RESULTS: Final = 4
"""The maximum number of results of a thread in a reduction: larger vectors are not legalized."""

_MOST_VECTORS: Final = 1 << 9
"""The maximum number of vectors for a thread's results: on a busy machine, 384 took half a minute to compile, 768 over
a minute.
"""

_NIBBLE: Final = 4
"""The width of elements of which two share a byte."""

_WORK: Final = 8
"""The number of results of a thread from which a workgroup should have at least half a subgroup of threads."""


class _ThreadTiles(NamedTuple):
    """What the rules of BaseVectorize and of BaseDistribute depend on.

    The innermost loops of the operands are `contiguous`; other ops compute the operands from values of `converted` types.
    """

    loops: RootLoops
    contiguous: Iterable[tuple[int, str]]
    converted: Iterable[str]
    reads_nibbles: bool
    has_vectors: bool
    makes_vectors: bool


def _thread_tiles_space(
    workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute
) -> SpirvSpace:
    """Return the configurations in BaseVectorize, or in BaseDistribute."""
    loops, sizes = read_loops(workload, device.gpu), static_sizes(workload)
    root = workload.root
    op = StructuredOp(root)
    innermost = (indices[-1] if indices else None for indices in op.operand_loops)
    accesses = zip(innermost, op.element_types, strict=False)
    contiguous = dict.fromkeys((loop, type_) for loop, type_ in accesses if loop is not None)
    owners = (operand.owner for operand in root.operands)
    producers = [
        StructuredOp(each.operation) for each in owners if not isinstance(each, mlir.Block)
    ]
    converted = dict.fromkeys(
        element_type
        for producer in producers
        if producer.kind is OpKind.ELEMENTWISE
        for element_type in producer.element_types[: producer.first_output]
    )
    # BaseVectorize vectorizes ops that access operands by permutations of loops, and do not compute with indices.
    is_permuted = all(
        None not in indices and len(set(indices)) == len(indices) for indices in op.operand_loops
    )
    body = [each.name for region in root.regions for block in region for each in block]
    given = _ThreadTiles(
        *(loops, contiguous, converted),
        reads_nibbles=_reads_nibbles(workload),
        has_vectors=is_permuted and op.kind is not OpKind.CONVOLUTION and _INDEX not in body,
        makes_vectors=str(pipeline) == _VECTORIZING,
    )
    rules = SpirvRules(workload.problem, sizes, device, pipeline)
    return SpirvSpace(rules, lambda rules: _tile_threads(rules, given))


def _tile_threads(rules: SpirvRules, given: _ThreadTiles) -> None:
    loops, sizes = given.loops, rules.sizes
    if given.has_vectors and not given.makes_vectors:
        rules.propose_nothing("BaseVectorize makes vectors")
    # The tiles of a workgroup and of a thread for parallel loops, and of a step for reductions.
    tiles: dict[int, Number] = {}
    pieces: dict[int, Number] = {}
    steps: dict[int, Number] = {}
    for loop in loops.parallel:
        size = sizes[loop]
        tile, taken = rules.tile(WORKGROUP, loop), rules.tile(THREAD, loop, low=0)
        piece = select(any_of(taken == 0, taken > tile), tile, taken)
        tiles[loop], pieces[loop] = tile, piece
        values = divisors(size, _MOST_TILE)
        if size > _USEFUL.stop and not any(value in _USEFUL for value in values):
            powers = (1 << power for power in range(_MOST_TILE.bit_length()))
            values = sorted({*values, *powers})
        rules.propose(tile, f"workgroup[{loop}]", values)
        parts = {part for value in values for part in divisors(value, _MOST_PIECE)}
        rules.propose(taken, f"thread[{loop}]", sorted(parts))
        divides = all_of(taken <= tile, tile % piece == 0)
        message = f"thread[{loop}] should divide workgroup[{loop}] ({{}} % {{}} == 0)"
        rules.limit_search(divides, message, tile, taken)
    for loop in loops.reductions:
        steps[loop] = rules.tile(REDUCTION_LEVEL, loop)
        rules.propose(steps[loop], f"reduction[{loop}]", divisors(sizes[loop], _MOST_PIECE))
    # Limit the work of a thread, and propose as many threads as the tiles have.
    rules.add_workgroup()
    results = product_of([1, *pieces.values()])
    if given.makes_vectors:
        # Limit the vectors of a thread, which are unrolled.
        rules.unroll(product_of([results, *steps.values()]))
        vectors = product_of([1, *list(pieces.values())[:-1]])
        rules.limit_compilation(vectors, "vectors of results", _MOST_VECTORS)
        if rules.problem.kind is OpKind.REDUCTION:
            message = f"a thread must have at most {_MOST_THREAD_RESULTS} results, not {{}}"
            rules.sufficient(results <= _MOST_THREAD_RESULTS, message, results)
    distributed = list(reversed(loops.parallel))
    for loop in distributed[_DISTRIBUTED:]:
        message = f"workgroup[{loop}] should be 1, not {{}}"
        rules.limit_search(tiles[loop] == 1, message, tiles[loop])
    needed = [tiles[loop] / pieces[loop] for loop in distributed[:_DISTRIBUTED]]
    needed += [1] * (_DISTRIBUTED - len(needed))
    for name, count, threads in zip(THREADS_KNOBS, rules.threads, needed, strict=True):
        message = f"{name} should be the number of threads of the tiles ({{}} == {{}})"
        rules.limit_search(count == threads, message, count, threads)
    # Few threads are not worth trying.
    elements = prod(sizes[loop] for loop in distributed[:_DISTRIBUTED])
    least = min(rules.device.gpu.subgroup_size, max(1, elements // _WORK)) // 2
    total = product_of(rules.threads)
    message = f"a workgroup should have at least {least} threads, not {{}}"
    rules.limit_search(total >= least, message, total)
    if given.makes_vectors:
        _keep_vectors_legal(rules, given, tiles, pieces, steps)


def _keep_vectors_legal(
    rules: SpirvRules,
    given: _ThreadTiles,
    tiles: Mapping[int, Number],
    pieces: Mapping[int, Number],
    steps: Mapping[int, Number],
) -> None:
    """Exclude vectors of elements in memory that are not legalized."""
    # Loops with partial tiles have no vectors.
    is_even = all_of(
        *(rules.sizes[loop] % tile == 0 for loop, tile in (*tiles.items(), *steps.items())),
        *(tile % pieces[loop] == 0 for loop, tile in tiles.items()),
    )
    taken = {**pieces, **steps}
    for loop, element_type in given.contiguous:
        is_legal = rules.device.is_legal_tile(element_type, taken[loop])
        message = f"tiles of {{}} contiguous {element_type} have vectors that are not legalized"
        rules.sufficient(is_legal, message, taken[loop])
        if rules.problem.kind is OpKind.CONTRACTION:
            rules.necessary(any_of(is_legal, negation(is_even)), message, taken[loop])
    # Determined by compiling: steps of groups are the vectors of weights that are dequantized.
    outer = [*steps.values()][:-1]
    for element_type in given.converted:
        for groups in outer:
            is_legal = rules.device.is_legal_tile(element_type, groups)
            message = f"steps of {{}} groups of converted {element_type} may not be legalized"
            rules.sufficient(is_legal, message, groups)
    if given.reads_nibbles and steps:
        # Determined by compiling: `vector<1xi8>` is not cast to `vector<2xi4>`.
        groups = product_of([1, *outer])
        message = "vectors of i4 are not legalized in a step of {} groups"
        rules.sufficient(any_of(groups > 1, negation(is_even)), message, groups)


def _reads_nibbles(workload: Workload) -> bool:
    """Return whether an op of a dispatch reads elements of four bits."""
    operations: list[mlir.Operation] = []
    visit(workload.function, operations.append)
    types = [operand.type for operation in operations for operand in operation.operands]
    elements = [type_.element_type for type_ in types if isinstance(type_, mlir.RankedTensorType)]
    return any(
        isinstance(element, mlir.IntegerType) and element.width == _NIBBLE for element in elements
    )


_MOST_RESULTS: Final = 1 << 16
"""The maximum number of results, each of which takes a workgroup; ops with more results are left to other pipelines."""


def _subgroup_space(workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute) -> SpirvSpace:
    """Return the configurations in SubgroupReduce, where all threads of a workgroup share a reduction."""
    # Threads first reduce vectors, subgroups then reduce the results of their threads with shuffles, and one subgroup
    # reduces the results of all subgroups.
    loops, problem, gpu = read_loops(workload, device.gpu), workload.problem, device.gpu
    if loops.reuses_sums:
        raise UndecidedError(f"{problem} does not combine its results by one operation")
    if not loops.reductions or max(loops.parallel, default=-1) > min(loops.reductions):
        raise UndecidedError(f"the last loops of {problem} are not its reductions")
    sizes, reads_nibbles = static_sizes(workload), _reads_nibbles(workload)

    def write(rules: SpirvRules) -> None:
        # A workgroup computes one result at a time.
        if prod(sizes[loop] for loop in loops.parallel) > _MOST_RESULTS:
            rules.propose_nothing("there are enough results for one thread each")
        for loop in loops.parallel:
            tile = rules.tile(WORKGROUP, loop)
            rules.sufficient(tile == 1, f"workgroup[{loop}] must be 1, not {{}}", tile)
        steps: dict[int, Number] = {}
        for loop in loops.reductions:
            size = sizes[loop]
            step = steps[loop] = rules.tile(REDUCTION_LEVEL, loop)
            message = f"reduction[{loop}] must divide {size} ({{}})"
            rules.sufficient(size % step == 0, message, step)
            rules.propose(step, f"reduction[{loop}]", divisors(size, size))
        rules.add_workgroup()
        x, y, z = rules.threads
        rules.follow_compiler(all_of(y == 1, z == 1), "y and z must have one thread ({}, {})", y, z)
        # Whole subgroups along x, whose results one subgroup combines.
        threads = select(rules.subgroup_size == 0, gpu.subgroup_size, rules.subgroup_size)
        message = "a workgroup must have whole subgroups ({} % {} == 0)"
        rules.follow_compiler(x % threads == 0, message, x, threads)
        message = "a subgroup must be able to combine the results of all subgroups ({} <= {} * {})"
        rules.follow_compiler(x <= threads * threads, message, x, threads, threads)
        # Threads take equal parts of a step.
        step = product_of(steps.values())
        most = max(1, VECTOR_BITS // loops.bits)
        # Determined by compiling: `vector<1xi8>` is not cast to `vector<2xi4>`.
        least = 2 if reads_nibbles else 1
        is_equal = all_of(step % x == 0, step >= x * least, step <= x * most)
        message = (
            f"threads must have equal parts of a step, of {least} to {most} elements ({{}} / {{}})"
        )
        rules.sufficient(is_equal, message, step, x)
        *outer, inner = loops.reductions
        is_one = product_of([1, *(steps[loop] for loop in outer)]) == 1
        message = "outer reductions should be tiled only if the innermost is not"
        rules.limit_search(any_of(steps[inner] == sizes[inner], is_one), message)

    return SpirvSpace(SpirvRules(problem, sizes, device, pipeline), write)


# --- Products of matrices: MatmulPromoteVectorize copies operands, CooperativeMatrixVectorize has cooperative matrices

_LOOP_COUNTS: Final = (3, 4)
"""The numbers of loops of a product of matrices, and of a batch of them."""


def _read_product(workload: Workload) -> tuple[Contraction, int]:
    """Read a product of matrices, or a batch of them, whose last loops are m, n and k, and the number of other ops."""
    contraction = read_contraction(workload)
    count = len(static_sizes(workload))
    matrix_loops = (count - 3, count - 2, count - 1)
    is_plain = count in _LOOP_COUNTS and contraction.matrix_loops == matrix_loops
    if not is_plain or contraction.outer_k:
        raise UndecidedError(f"{workload.problem} is not a product of matrices over b, m, n and k")
    if 1 in (contraction.size(contraction.m), contraction.size(contraction.n)):
        raise UndecidedError(f"{workload.problem} is a product with a vector")
    operations = function_ops(workload.function).computing
    return contraction, sum(op != workload.root and op.name != names.FILL for op in operations)


def _copied_bits(contraction: Contraction, tiles: Mapping[int, Number]) -> Number:
    """Return the size of copies of the tiles of both operands."""
    lhs, rhs = (
        product_of(tiles[loop] for loop in operand.loops) * operand.bits
        for operand in contraction.operands
    )
    return lhs + rhs


_MOST_PROMOTED_DEPTH: Final = 4
_MOST_PROMOTED_STEP: Final = 64
_MOST_PROMOTED_TILE: Final = 256


def _promoted_space(workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute) -> SpirvSpace:
    """Return the configurations in MatmulPromoteVectorize."""
    contraction, others = _read_product(workload)
    for operand in contraction.operands:
        if not device.has_vectors(operand.element_type):
            raise UndecidedError(f"copies of {operand.element_type} may not be legalized")
    sizes = static_sizes(workload)
    m, n, k = contraction.matrix_loops

    def write(rules: SpirvRules) -> None:
        # The tiles of a workgroup; those of k are steps.
        tiles: dict[int, Number] = {}
        for loop in (*contraction.outer, m, n):
            tiles[loop] = rules.tile(WORKGROUP, loop)
            values = (
                [1] if loop in contraction.outer else divisors(sizes[loop], _MOST_PROMOTED_TILE)
            )
            rules.propose(tiles[loop], f"workgroup[{loop}]", values)
        tiles[k] = rules.tile(REDUCTION_LEVEL, k, level=WORKGROUP)
        rules.propose(tiles[k], f"reduction[{k}]", divisors(sizes[k], _MOST_PROMOTED_STEP))
        for loop, tile in tiles.items():
            size = sizes[loop]
            message = f"tiles must divide {size} ({size} % {{}} == 0)"
            rules.sufficient(size % tile == 0, message, tile)
        # Distribute n over x and m over y, and limit the work of a thread.
        rules.add_workgroup()
        x, y, z = rules.threads
        # `tileParallelDims` maps loops to the dimensions in order, and skips those with one thread.
        message = "x must have several threads where y has ({}, {})"
        rules.necessary(any_of(x > 1, y == 1), message, x, y)
        rules.sufficient(x > 1, "x must have several threads, not {}", x)
        rules.limit_search(z == 1, "z should have one thread, not {}", z)
        least, total = device.gpu.subgroup_size, product_of(rules.threads)
        message = f"a workgroup should have at least {least} threads, not {{}}"
        rules.limit_search(total >= least, message, total)
        work = tiles[k]
        for loop, name, count in zip((n, m), THREADS_KNOBS, (x, y), strict=False):
            tile = tiles[loop]
            piece = (tile + count - 1) / count
            work = work * piece
            message = f"{name} should divide workgroup[{loop}] into at most {_MOST_PIECE} ({{}} % {{}} == 0)"
            rules.limit_search(
                all_of(tile % count == 0, piece <= _MOST_PIECE), message, tile, count
            )
        rules.unroll(product_of([work, *(tiles[loop] for loop in contraction.outer)]))
        # Limit the copies of the operands, of which several stages are kept.
        depth = rules.option(PIPELINE_DEPTH, _MOST_PROMOTED_DEPTH)
        stage = rules.option(STORE_STAGE, 1)
        rules.limit_search(depth > 0, "a depth of 0 is a depth of 1")
        depth = select(depth == 0, 1, depth)
        bits = _copied_bits(contraction, tiles) * select(stage == 1, depth, depth + 1)
        rules.limit_copies(Grade.SUFFICIENT, bits)
        if others:
            # Other ops read the result through shared memory if the threads do not share it evenly.
            is_even = all_of(tiles[n] % x == 0, tiles[m] % y == 0, z == 1)
            result = select(is_even, 0, tiles[m] * tiles[n] * contraction.result.bits)
            rules.limit_copies(Grade.SUFFICIENT, bits + result, " for operands and results")
            return
        # Operands whose rows are not whole vectors are not copied.
        rows = [
            tiles[operand.loops[-1]] % (VECTOR_BITS // operand.bits) == 0
            for operand in (*contraction.operands, contraction.result)
        ]
        whole = [sizes[loop] % tile == 0 for loop, tile in tiles.items()]
        # Stages of other numbers are not known to keep all copies.
        is_exact = all_of(*rows, *whole, tiles[k] < sizes[k], stage <= 1)
        rules.limit_copies(Grade.NECESSARY, bits, " for copies in whole vectors", is_exact)

    return SpirvSpace(SpirvRules(workload.problem, sizes, device, pipeline), write)


_MATRIX: Final = "matrix"
_MOST_DEPTH: Final = 2
_MOST_OTHERS: Final = 1
"""The maximum number of other ops around the product; with more, the compiler reports `unhandled multiple
matmul/generic cases`.
"""

_MOST_SUBGROUPS: Final = 16
_MOST_MATRICES: Final = 128
"""The maximum proposed number of matrix products in a step of a subgroup; the compiler's heuristics choose up to 16."""


def _cooperative_space(
    workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute
) -> SpirvSpace:
    """Return the configurations in CooperativeMatrixVectorize, whose tiles are of whole matrices."""
    # `verifySPIRVCooperativeMatrixVectorizePassPipeline` requires that, and the number of subgroups, though only of
    # named ops.
    contraction, others = _read_product(workload)
    types = contraction.element_types
    matrices = [extents for extents, each in device.matrices if each == types]
    if not matrices:
        raise UndecidedError(f"no cooperative matrix of the target multiplies {'x'.join(types)}")
    if any(map(_is_strided, workload.root.operands)):
        raise UndecidedError(
            "an operand is loaded with strides, and copies of it may not be legalized"
        )
    if contraction.lhs.inputs or contraction.rhs.inputs:
        raise UndecidedError("another op computes an operand")
    if others > _MOST_OTHERS:
        raise UndecidedError("several other ops are in the function")
    sizes, gpu = static_sizes(workload), device.gpu
    m, n, k = contraction.matrix_loops

    def write(rules: SpirvRules) -> None:
        tiles: dict[int, Number] = {}
        subtiles: dict[int, Number] = {}
        for loop in contraction.outer:
            tiles[loop] = number(1)
            rules.fix(WORKGROUP, loop, 1)
            rules.fix(SUBGROUP, loop, 1)
        # A choice of matrices fixes the units of the inner loops.
        index = rules.choice(_MATRIX, map(list, matrices))
        with pipeline.context:
            ones = [1] * len(contraction.outer)
            options = (mlir.ArrayAttr.get([*map(integer, (*ones, *each))]) for each in matrices)
            rules.levels[_MATRIX] = OptionSlot(_MATRIX, tuple(options))
        units = {
            loop: look_up(index, [each[position] for each in matrices])
            for position, loop in enumerate(contraction.matrix_loops)
        }
        for loop in (m, n):
            tile, subtile = rules.tile(WORKGROUP, loop), rules.tile(SUBGROUP, loop)
            tiles[loop], subtiles[loop] = tile, subtile
            _require_divisor(rules, loop, tile)
            rules.sufficient(
                all_of(subtile % units[loop] == 0, tile % subtile == 0),
                f"subgroup[{loop}] must be whole matrices, and divide workgroup[{loop}] ({{}}, {{}}, {{}})",
                *(units[loop], subtile, tile),
            )
        # The reduction takes whole matrices, too.
        size, unit = sizes[k], units[k]
        step = tiles[k] = subtiles[k] = rules.tile(REDUCTION_LEVEL, k)
        _require_divisor(rules, k, step)
        is_whole = any_of(step % unit == 0, all_of(step > size, size % unit == 0))
        message = f"reduction[{k}] must be whole matrices ({{}} % {{}} == 0)"
        rules.necessary(is_whole, message, step, unit)
        # Propose few products of matrices in a step.
        count = product_of([subtiles[loop] / unit for loop, unit in units.items()])
        message = (
            f"a subgroup should have at most {_MOST_MATRICES} products of matrices in a step ({{}})"
        )
        rules.limit_search(count <= _MOST_MATRICES, message, count)
        # Distribute subgroups along n over x and along m over y.
        rules.add_workgroup(has_subgroup_size=True)
        x, y, z = rules.threads
        rules.limit_search(
            any_of(*(rules.subgroup_size == size for size in gpu.subgroup_sizes)),
            f"a subgroup should have {' or '.join(map(str, gpu.subgroup_sizes))} threads, not {{}}",
            rules.subgroup_size,
        )
        threads = select(rules.subgroup_size == 0, gpu.subgroup_size, rules.subgroup_size)
        columns, rows = tiles[n] / subtiles[n], tiles[m] / subtiles[m]
        for axis, given, needed in (
            ("x", x, threads * columns),
            ("y", y, rows),
            ("z", z, number(1)),
        ):
            message = f"a workgroup must have the subgroups that its tiles have, along {axis} ({{}} == {{}})"
            rules.follow_compiler(given == needed, message, given, needed)
        message = f"a workgroup should have at most {_MOST_SUBGROUPS} subgroups ({{}})"
        rules.limit_search(rows * columns <= _MOST_SUBGROUPS, message, rows * columns)
        # Limit the copies of the operands, and of a result that another op reads.
        depth = rules.option(PIPELINE_DEPTH, _MOST_DEPTH)
        stage = rules.option(STORE_STAGE, 1)
        rules.limit_search(stage == 0, "store_stage should be 0, not {}", stage)
        stages = select(depth == 0, 1, depth + 1)
        bits = _copied_bits(contraction, tiles) * stages
        if others:
            needed = bits + tiles[m] * tiles[n] * contraction.result.bits
            rules.limit_copies(Grade.SUFFICIENT, needed, " for operands and results")
        rules.limit_copies(Grade.SUFFICIENT, bits)
        # A single subgroup copies nothing, nor does a workgroup with all of a matrix.
        is_copied = all_of(product_of(rules.threads) > max(gpu.subgroup_sizes), step < size)
        least = _copied_bits(
            contraction, {loop: clip(tile, sizes[loop]) for loop, tile in tiles.items()}
        )
        rules.limit_copies(Grade.NECESSARY, least * stages, " for several subgroups", is_copied)

    return SpirvSpace(SpirvRules(workload.problem, sizes, device, pipeline), write)


def _require_divisor(rules: SpirvRules, loop: int, tile: Number) -> None:
    size = rules.sizes[loop]
    message = f"a tile must divide {size} ({size} % {{}} == 0)"
    rules.necessary(any_of(size % tile == 0, tile > size), message, tile)
    rules.sufficient(tile <= size, f"a tile must be at most {size}, not {{}}", tile)
    rules.propose(tile, f"the tile of loop {loop}", divisors(size, size))


def _is_strided(value: mlir.Value[Any]) -> bool:
    owner = value.owner
    strides = None if isinstance(owner, mlir.Block) else owner.attributes.get("static_strides")
    return isinstance(strides, mlir.DenseI64ArrayAttr) and any(stride != 1 for stride in strides)


class SpirvProvider(Provider):
    """Derives the requirements of SPIR-V code generation from the shapes and from the target's limits and matrices."""

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset(SPIRV_LEVELS)

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return the space of a pipeline, if it is for such ops."""
        target = read_executable_target(workload.target) if workload.target is not None else None
        if target is None or target.backend not in SPIRV_BACKENDS:
            raise UndecidedError(f"the target does not build {pipeline}")
        if not workload.root.results:
            raise UndecidedError(f"{workload.problem} computes in buffers, not in tensors")
        make, kinds = _SPACES[pipeline]
        if workload.problem.kind not in kinds:
            return []
        attribute = mlir.Attribute.parse(pipeline, workload.root.context)
        return [make(workload, read_spirv_device(workload), attribute)]


_NESTS: Final = (OpKind.CONTRACTION, OpKind.CONVOLUTION, OpKind.REDUCTION, OpKind.ELEMENTWISE)
_PRODUCTS: Final = (OpKind.CONTRACTION,)

_Make = Callable[[Workload, SpirvGpu, mlir.Attribute], SpirvSpace]

_SPACES: Final[Mapping[str, tuple[_Make, Sequence[OpKind]]]] = {
    _VECTORIZING: (_thread_tiles_space, _NESTS),
    "#iree_gpu.spirv_pipeline<BaseDistribute>": (_thread_tiles_space, _NESTS),
    "#iree_gpu.spirv_pipeline<MatmulPromoteVectorize>": (_promoted_space, _PRODUCTS),
    "#iree_gpu.spirv_pipeline<CooperativeMatrixVectorize>": (_cooperative_space, _PRODUCTS),
    "#iree_gpu.spirv_pipeline<SubgroupReduce>": (_subgroup_space, (*_PRODUCTS, OpKind.REDUCTION)),
}
"""The space of each pipeline, and the kinds of root ops that it covers."""
