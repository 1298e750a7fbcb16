"""The provider of Tuninglink's constraints on configurations for Vulkan and Metal, and the pipeline SubgroupReduce.

In SubgroupReduce, all threads of a workgroup share a reduction. Threads first reduce vectors, subgroups then reduce the
results of their threads with shuffles, and one subgroup reduces the results of all subgroups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import ClassVar, Final

from iree.compiler import ir as mlir

from tuninglink.iree import (
    REDUCTION_LEVEL,
    SPIRV_BACKENDS,
    SPIRV_LEVELS,
    THREAD,
    WORKGROUP,
    OpKind,
    StructuredOp,
    read_executable_target,
)
from tuninglink.mlir import visit
from tuninglink.solver import UndecidedError, all_of, any_of, negation, select
from tuninglink.spaces.gpu import Number, product_of, read_loops
from tuninglink.spaces.model import Provider, Space, Workload
from tuninglink.spaces.spirv.products import CooperativeRules, PromotedRules
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


class _ThreadTileRules(SpirvRules):
    """The rules of the pipelines BaseVectorize and BaseDistribute."""

    def __init__(self, workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute) -> None:
        self._loops = read_loops(workload, device.gpu)
        super().__init__(workload, device, pipeline)
        op = StructuredOp(workload.root)
        accesses = list(zip(op.operand_loops, op.element_types, strict=False))
        self._contiguous = dict.fromkeys(
            (loops[-1], element_type)
            for loops, element_type in accesses
            if loops and loops[-1] is not None
        )
        # The element types of the values from which other ops compute the operands.
        owners = (operand.owner for operand in workload.root.operands)
        producers = [
            StructuredOp(each.operation) for each in owners if not isinstance(each, mlir.Block)
        ]
        self._converted = dict.fromkeys(
            element_type
            for producer in producers
            if producer.kind is OpKind.ELEMENTWISE
            for element_type in producer.element_types[: producer.first_output]
        )
        self._reads_nibbles = _reads_nibbles(workload)
        self._makes_vectors = str(pipeline) == _VECTORIZING
        self._tiles: dict[int, Number] = {}
        self._pieces: dict[int, Number] = {}
        self._steps: dict[int, Number] = {}
        # BaseVectorize vectorizes ops that access operands by permutations of loops, and do not compute with indices.
        is_permuted = all(
            None not in loops and len(set(loops)) == len(loops) for loops in op.operand_loops
        )
        body = [op.name for region in workload.root.regions for block in region for op in block]
        has_vectors = is_permuted and op.kind is not OpKind.CONVOLUTION and _INDEX not in body
        if has_vectors and not self._makes_vectors:
            self.rules.propose_nothing("BaseVectorize makes vectors")

    def tile_loops(self) -> None:
        """Add the tiles of a workgroup and of a thread for parallel loops, and of a step for reductions."""
        for loop in self._loops.parallel:
            tile = self._tiles[loop] = self.tile(WORKGROUP, loop)
            given = self.tile(THREAD, loop, low=0)
            piece = self._pieces[loop] = select(any_of(given == 0, given > tile), tile, given)
            size = self.sizes[loop]
            values = divisors(size, _MOST_TILE)
            if size > _USEFUL.stop and not any(value in _USEFUL for value in values):
                values = sorted(
                    {*values, *(1 << power for power in range(_MOST_TILE.bit_length()))}
                )
            self.propose(tile, f"workgroup[{loop}]", values)
            pieces = {piece for value in values for piece in divisors(value, _MOST_PIECE)}
            self.propose(given, f"thread[{loop}]", sorted(pieces))
            self.rules.limit_search(
                all_of(given <= tile, tile % piece == 0),
                f"thread[{loop}] should divide workgroup[{loop}] ({{}} % {{}} == 0)",
                tile,
                given,
            )
        for loop in self._loops.reductions:
            step = self.tile(REDUCTION_LEVEL, loop)
            self.propose(step, f"reduction[{loop}]", divisors(self.sizes[loop], _MOST_PIECE))
            self._steps[loop] = step

    def arrange_threads(self) -> None:
        """Limit the work of a thread, and propose as many threads as the tiles have."""
        self.add_workgroup()
        results = product_of([1, *self._pieces.values()])
        if self._makes_vectors:
            # Limit the vectors of a thread, which are unrolled.
            self.unroll(product_of([results, *self._steps.values()]))
            vectors = product_of([1, *list(self._pieces.values())[:-1]])
            self.rules.limit_compilation(vectors, "vectors of results", _MOST_VECTORS)
            if self.problem.kind is OpKind.REDUCTION:
                message = f"a thread must have at most {_MOST_THREAD_RESULTS} results, not {{}}"
                self.rules.sufficient(results <= _MOST_THREAD_RESULTS, message, results)
        distributed = list(reversed(self._loops.parallel))
        for loop in distributed[_DISTRIBUTED:]:
            tile = self._tiles[loop]
            self.rules.limit_search(tile == 1, f"workgroup[{loop}] should be 1, not {{}}", tile)
        for position, (name, count) in enumerate(zip(THREADS_KNOBS, self.threads, strict=True)):
            needed: Number = 1
            if position < min(len(distributed), _DISTRIBUTED):
                loop = distributed[position]
                needed = self._tiles[loop] / self._pieces[loop]
            message = f"{name} should be the number of threads of the tiles ({{}} == {{}})"
            self.rules.limit_search(count == needed, message, count, needed)

        # Few threads are not worth trying.
        elements = prod(self.sizes[loop] for loop in distributed[:_DISTRIBUTED])
        least = min(self.device.gpu.subgroup_size, max(1, elements // _WORK)) // 2
        total = product_of(self.threads)
        self.rules.limit_search(
            total >= least, f"a workgroup should have at least {least} threads, not {{}}", total
        )

    def limit_memory(self) -> None:
        """Exclude vectors of elements in memory that are not legalized; threads do not exchange data."""
        if not self._makes_vectors:
            return
        tiles = {**self._pieces, **self._steps}
        # Loops with partial tiles have no vectors.
        is_even = all_of(
            *(
                self.sizes[loop] % tile == 0
                for loop, tile in (*self._tiles.items(), *self._steps.items())
            ),
            *(tile % self._pieces[loop] == 0 for loop, tile in self._tiles.items()),
        )
        for loop, element_type in self._contiguous:
            is_legal = self.device.is_legal_tile(element_type, tiles[loop])
            message = f"tiles of {{}} contiguous {element_type} have vectors that are not legalized"
            self.rules.sufficient(is_legal, message, tiles[loop])
            if self.problem.kind is OpKind.CONTRACTION:
                self.rules.necessary(any_of(is_legal, negation(is_even)), message, tiles[loop])
        # Determined by compiling: steps of groups are the vectors of weights that are dequantized.
        for element_type in self._converted:
            for groups in [*self._steps.values()][:-1]:
                is_legal = self.device.is_legal_tile(element_type, groups)
                message = f"steps of {{}} groups of converted {element_type} may not be legalized"
                self.rules.sufficient(is_legal, message, groups)
        if self._reads_nibbles and self._steps:
            # Determined by compiling: `vector<1xi8>` is not cast to `vector<2xi4>`.
            groups = product_of([1, *list(self._steps.values())[:-1]])
            message = "vectors of i4 are not legalized in a step of {} groups"
            self.rules.sufficient(any_of(groups > 1, negation(is_even)), message, groups)


def _reads_nibbles(workload: Workload) -> bool:
    """Return whether an op of a dispatch reads elements of four bits."""
    widths: set[int] = set()

    def add(operation: mlir.Operation) -> None:
        for operand in operation.operands:
            if isinstance(operand.type, mlir.RankedTensorType):
                element = operand.type.element_type
                widths.add(element.width if isinstance(element, mlir.IntegerType) else 0)

    visit(workload.function, add)
    return _NIBBLE in widths


_MOST_RESULTS: Final = 1 << 16
"""The maximum number of results, each of which takes a workgroup; ops with more results are left to other pipelines."""


class _SubgroupRules(SpirvRules):
    """The rules of the pipeline SubgroupReduce."""

    def __init__(self, workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute) -> None:
        loops = self._loops = read_loops(workload, device.gpu)
        if loops.reuses_sums:
            message = f"{workload.problem} does not combine its results by one operation"
            raise UndecidedError(message)
        if not loops.reductions or max(loops.parallel, default=-1) > min(loops.reductions):
            raise UndecidedError(f"the last loops of {workload.problem} are not its reductions")
        super().__init__(workload, device, pipeline)
        self._reads_nibbles = _reads_nibbles(workload)
        self._steps: dict[int, Number] = {}

    def tile_loops(self) -> None:
        """Add the tiles of steps; a workgroup computes one result at a time."""
        if prod(self.sizes[loop] for loop in self._loops.parallel) > _MOST_RESULTS:
            self.rules.propose_nothing("there are enough results for one thread each")
        for loop in self._loops.parallel:
            tile = self.tile(WORKGROUP, loop)
            self.rules.sufficient(tile == 1, f"workgroup[{loop}] must be 1, not {{}}", tile)
        for loop in self._loops.reductions:
            size = self.sizes[loop]
            step = self._steps[loop] = self.tile(REDUCTION_LEVEL, loop)
            message = f"reduction[{loop}] must divide {size} ({{}})"
            self.rules.sufficient(size % step == 0, message, step)
            self.propose(step, f"reduction[{loop}]", divisors(size, size))

    def arrange_threads(self) -> None:
        """Give all threads equal parts of a step."""
        self.add_workgroup()
        rules, gpu = self.rules, self.device.gpu
        x, y, z = self.threads
        rules.follow_compiler(all_of(y == 1, z == 1), "y and z must have one thread ({}, {})", y, z)
        # Whole subgroups along x, whose results one subgroup combines.
        size = select(self.subgroup_size == 0, gpu.subgroup_size, self.subgroup_size)
        rules.follow_compiler(
            x % size == 0, "a workgroup must have whole subgroups ({} % {} == 0)", x, size
        )
        rules.follow_compiler(
            x <= size * size,
            "a subgroup must be able to combine the results of all subgroups ({} <= {} * {})",
            x,
            size,
            size,
        )
        # Threads take equal parts of a step.
        step = product_of(self._steps.values())
        most = max(1, VECTOR_BITS // self._loops.bits)
        # Determined by compiling: `vector<1xi8>` is not cast to `vector<2xi4>`.
        least = 2 if self._reads_nibbles else 1
        rules.sufficient(
            all_of(step % x == 0, step >= x * least, step <= x * most),
            f"threads must have equal parts of a step, of {least} to {most} elements ({{}} / {{}})",
            step,
            x,
        )
        loop = self._loops.reductions[-1]
        outer = product_of([1, *(step for other, step in self._steps.items() if other != loop)])
        rules.limit_search(
            any_of(self._steps[loop] == self.sizes[loop], outer == 1),
            "outer reductions should be tiled only if the innermost is not",
        )

    def limit_memory(self) -> None:
        """Add nothing: subgroups exchange one number each."""


class SpirvProvider(Provider):
    """Derives the requirements of SPIR-V code generation from the shapes and from the target's limits and matrices."""

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset(SPIRV_LEVELS)

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return a space for each form of configurations in a pipeline.

        Raises:
            UndecidedError: the operation, its sizes or the target are not supported; the message gives the reason.
        """
        target = read_executable_target(workload.target) if workload.target is not None else None
        if target is None or target.backend not in SPIRV_BACKENDS:
            raise UndecidedError(f"the target does not build {pipeline}")
        if not workload.root.results:
            raise UndecidedError(f"{workload.problem} computes in buffers, not in tensors")
        rules, kinds = _RULES[pipeline]
        if workload.problem.kind not in kinds:
            return []
        attribute = mlir.Attribute.parse(pipeline, workload.root.context)
        return [SpirvSpace(rules(workload, read_spirv_device(workload), attribute))]


_NESTS: Final = (OpKind.CONTRACTION, OpKind.CONVOLUTION, OpKind.REDUCTION, OpKind.ELEMENTWISE)

_RULES: Final[
    Mapping[
        str, tuple[Callable[[Workload, SpirvGpu, mlir.Attribute], SpirvRules], Sequence[OpKind]]
    ]
] = {
    _VECTORIZING: (_ThreadTileRules, _NESTS),
    "#iree_gpu.spirv_pipeline<BaseDistribute>": (_ThreadTileRules, _NESTS),
    "#iree_gpu.spirv_pipeline<MatmulPromoteVectorize>": (PromotedRules, (OpKind.CONTRACTION,)),
    "#iree_gpu.spirv_pipeline<CooperativeMatrixVectorize>": (
        CooperativeRules,
        (OpKind.CONTRACTION,),
    ),
    "#iree_gpu.spirv_pipeline<SubgroupReduce>": (
        _SubgroupRules,
        (OpKind.CONTRACTION, OpKind.REDUCTION),
    ),
}
"""The rules of the pipelines, and the kinds of root ops that they cover."""
