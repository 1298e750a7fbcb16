"""Products whose operands a workgroup copies to shared memory: the pipeline MatmulPromoteVectorize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree import (
    PIPELINE_DEPTH,
    REDUCTION_LEVEL,
    STORE_STAGE,
    SUBGROUP,
    WORKGROUP,
    function_ops,
)
from tuninglink.mlir import names
from tuninglink.solver import UndecidedError, all_of, any_of, negation, number, select
from tuninglink.spaces.gpu import (
    Contraction,
    Number,
    clip,
    look_up,
    product_of,
    read_contraction,
    static_sizes,
)
from tuninglink.spaces.model import IntegerSlot, OptionSlot, Slot, integer
from tuninglink.spaces.spirv.spirv_space import (
    THREADS_KNOBS,
    VECTOR_BITS,
    SpirvRules,
    SpirvSpace,
    divisors,
)

if TYPE_CHECKING:
    from tuninglink.spaces.model import Workload
    from tuninglink.spaces.spirv.spirv_space import SpirvGpu


BYTE: Final = 8

_MOST_PROMOTED_DEPTH: Final = 4
_MOST_STEP: Final = 64
_MOST_PIECE: Final = 32
_MOST_TILE: Final = 256
_LOOP_COUNTS: Final = (3, 4)
"""The numbers of loops of a product of matrices, and of a batch of them."""


def matrix_product(workload: Workload) -> Contraction:
    """Read a product of matrices, or a batch of them, whose last loops are m, n and k."""
    contraction = read_contraction(workload)
    sizes = static_sizes(workload)
    count = len(sizes)
    is_plain = count in _LOOP_COUNTS and contraction.matrix_loops == (
        count - 3,
        count - 2,
        count - 1,
    )
    if not is_plain or contraction.outer_k:
        raise UndecidedError(f"{workload.problem} is not a product of matrices over b, m, n and k")
    if 1 in (contraction.size(contraction.m), contraction.size(contraction.n)):
        raise UndecidedError(f"{workload.problem} is a product with a vector")
    return contraction


def ops_around(workload: Workload) -> list[mlir.Operation]:
    """Return the other ops of a function that compute something, except for fills."""
    operations = function_ops(workload.function).computing
    return [op for op in operations if op != workload.root and op.name != names.FILL]


def copied_bits(contraction: Contraction, tiles: Mapping[int, Number]) -> Number:
    """Return the size of copies of the tiles of both operands."""
    lhs, rhs = (
        product_of(tiles[loop] for loop in operand.loops) * operand.bits
        for operand in (contraction.lhs, contraction.rhs)
    )
    return lhs + rhs


def promoted_spaces(
    workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute
) -> Sequence[SpirvSpace]:
    """Return the configurations in MatmulPromoteVectorize."""
    contraction = matrix_product(workload)
    for operand in (contraction.lhs, contraction.rhs):
        if not device.has_vectors(operand.element_type):
            raise UndecidedError(f"copies of {operand.element_type} may not be legalized")
    return [SpirvSpace(_PromotedRules(workload, contraction, device, pipeline))]


class _PromotedRules(SpirvRules):
    """The rules of the pipeline MatmulPromoteVectorize."""

    def __init__(
        self,
        workload: Workload,
        contraction: Contraction,
        device: SpirvGpu,
        pipeline: mlir.Attribute,
    ) -> None:
        super().__init__(workload.problem, static_sizes(workload), device, pipeline)
        self._contraction = contraction
        self._is_alone = not ops_around(workload)
        self._tiles: dict[int, Number] = {}

    def tile_loops(self) -> None:
        """Add the tiles of a workgroup; those of k are steps."""
        contraction = self._contraction
        for loop in (*contraction.outer, contraction.m, contraction.n):
            tile = self._tiles[loop] = self.tile(WORKGROUP, loop)
            values = [1] if loop in contraction.outer else divisors(self.sizes[loop], _MOST_TILE)
            self.propose(tile, f"workgroup[{loop}]", values)
        k = contraction.k
        step = self._tiles[k] = self.tile(REDUCTION_LEVEL, k, level=WORKGROUP)
        self.propose(step, f"reduction[{k}]", divisors(self.sizes[k], _MOST_STEP))
        for loop, tile in self._tiles.items():
            size = self.sizes[loop]
            self.rules.sufficient(
                size % tile == 0, f"tiles must divide {size} ({size} % {{}} == 0)", tile
            )

    def arrange_threads(self) -> None:
        """Distribute n over x and m over y, and limit the work of a thread."""
        self.add_workgroup()
        self.prefer_subgroup_size()
        x, y, z = self.threads
        rules, contraction = self.rules, self._contraction
        # `tileParallelDims` maps loops to the dimensions in order, and skips those with one thread.
        rules.necessary(
            any_of(x > 1, y == 1), "x must have several threads where y has ({}, {})", x, y
        )
        rules.sufficient(x > 1, "x must have several threads, not {}", x)
        rules.limit_search(z == 1, "z should have one thread, not {}", z)
        total = product_of(self.threads)
        rules.limit_search(
            total >= self.device.gpu.subgroup_size,
            f"a workgroup should have at least {self.device.gpu.subgroup_size} threads, not {{}}",
            total,
        )
        work: Number = self._tiles[contraction.k]
        for loop, name, count in zip(
            (contraction.n, contraction.m), THREADS_KNOBS, (x, y), strict=False
        ):
            tile = self._tiles[loop]
            piece = (tile + count - 1) / count
            work = work * piece
            rules.limit_search(
                all_of(tile % count == 0, piece <= _MOST_PIECE),
                f"{name} should divide workgroup[{loop}] into at most {_MOST_PIECE} ({{}} % {{}} == 0)",
                tile,
                count,
            )
        for loop in contraction.outer:
            work = work * self._tiles[loop]
        self.unroll(work)

    def limit_memory(self) -> None:
        """Limit the copies of the operands, of which several stages are kept."""
        rules, contraction = self.rules, self._contraction
        self._depth = rules.knob(PIPELINE_DEPTH, 0, _MOST_PROMOTED_DEPTH)
        self._stage = rules.knob(STORE_STAGE, 0, 1)
        rules.limit_search(self._depth > 0, "a depth of 0 is a depth of 1")
        depth = select(self._depth == 0, 1, self._depth)
        stages = select(self._stage == 1, depth, depth + 1)
        bits = copied_bits(contraction, self._tiles) * stages
        room = self.device.gpu.memory
        rules.sufficient(
            bits <= room * BYTE, f"shared memory must suffice ({{}} <= {room} bytes)", bits / BYTE
        )
        if not self._is_alone:
            # Other ops read the result through shared memory if the threads do not share it evenly.
            x, y, z = self.threads
            m, n = self._tiles[contraction.m], self._tiles[contraction.n]
            is_even = all_of(n % x == 0, m % y == 0, z == 1)
            needed = bits + select(is_even, 0, m * n * contraction.result.bits)
            rules.sufficient(
                needed <= room * BYTE,
                f"shared memory must suffice for operands and results ({{}} <= {room} bytes)",
                needed / BYTE,
            )
        if self._is_alone:
            # Operands whose rows are not whole vectors are not copied.
            rows = [
                self._tiles[operand.loops[-1]] % (VECTOR_BITS // operand.bits) == 0
                for operand in (contraction.lhs, contraction.rhs, contraction.result)
            ]
            whole = [self.sizes[loop] % tile == 0 for loop, tile in self._tiles.items()]
            k = contraction.k
            # Stages of other numbers are not known to keep all copies.
            is_known = self._stage <= 1
            is_exact = all_of(*rows, *whole, self._tiles[k] < self.sizes[k], is_known)
            rules.necessary(
                any_of(bits <= room * BYTE, negation(is_exact)),
                f"shared memory must suffice for copies in whole vectors ({{}} <= {room} bytes)",
                bits / BYTE,
            )

    def options(self) -> dict[str, Slot]:
        return {name: IntegerSlot(name) for name in (PIPELINE_DEPTH, STORE_STAGE)}


# --- Products that subgroups multiply as cooperative matrices: the pipeline CooperativeMatrixVectorize

_MATRIX: Final = "matrix"
_MOST_DEPTH: Final = 2
_MOST_OTHERS: Final = 1
"""The maximum number of other ops around the product; with more, the compiler reports `unhandled multiple
matmul/generic cases`.
"""

_MOST_SUBGROUPS: Final = 16
_MOST_MATRICES: Final = 128
"""The maximum proposed number of matrix products in a step of a subgroup; the compiler's heuristics choose up to 16."""


def cooperative_spaces(
    workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute
) -> Sequence[SpirvSpace]:
    """Return the configurations in CooperativeMatrixVectorize."""
    contraction = matrix_product(workload)
    types = contraction.element_types
    matrices = [matrix.sizes for matrix in device.matrices if matrix.element_types == types]
    if not matrices:
        raise UndecidedError(f"no cooperative matrix of the target multiplies {'x'.join(types)}")
    if any(map(_is_strided, workload.root.operands)):
        raise UndecidedError(
            "an operand is loaded with strides, and copies of it may not be legalized"
        )
    if contraction.lhs.inputs or contraction.rhs.inputs:
        raise UndecidedError("another op computes an operand")
    if len(ops_around(workload)) > _MOST_OTHERS:
        raise UndecidedError("several other ops are in the function")
    return [SpirvSpace(_CooperativeRules(workload, contraction, matrices, device, pipeline))]


def _is_strided(value: mlir.Value[Any]) -> bool:
    owner = value.owner
    strides = None if isinstance(owner, mlir.Block) else owner.attributes.get("static_strides")
    return isinstance(strides, mlir.DenseI64ArrayAttr) and any(stride != 1 for stride in strides)


class _CooperativeRules(SpirvRules):
    """The rules of the pipeline CooperativeMatrixVectorize."""

    def __init__(
        self,
        workload: Workload,
        contraction: Contraction,
        matrices: Sequence[tuple[int, int, int]],
        device: SpirvGpu,
        pipeline: mlir.Attribute,
    ) -> None:
        super().__init__(workload.problem, static_sizes(workload), device, pipeline)
        self._contraction = contraction
        self._matrices = tuple(matrices)
        self._others = ops_around(workload)
        self._tiles: dict[int, Number] = {}
        self._subtiles: dict[int, Number] = {}

    def tile_loops(self) -> None:
        """Add the matrix, and tiles of whole matrices.

        `verifySPIRVCooperativeMatrixVectorizePassPipeline` rejects tiles of partial matrices, though only of named ops.
        """
        contraction, rules = self._contraction, self.rules
        for loop in contraction.outer:
            self._tiles[loop] = number(1)
            self.fix(WORKGROUP, loop, 1)
            self.fix(SUBGROUP, loop, 1)
        # A choice of matrices fixes the units of the inner loops.
        index = rules.choice(_MATRIX, map(list, self._matrices))
        m, n, k = (
            look_up(index, [sizes[position] for sizes in self._matrices]) for position in range(3)
        )
        for loop, unit in ((contraction.m, m), (contraction.n, n)):
            tile = self._tiles[loop] = self.tile(WORKGROUP, loop)
            subtile = self._subtiles[loop] = self.tile(SUBGROUP, loop)
            self._require_divisor(loop, tile)
            rules.sufficient(
                all_of(subtile % unit == 0, tile % subtile == 0),
                f"subgroup[{loop}] must be whole matrices, and divide workgroup[{loop}] ({{}}, {{}}, {{}})",
                unit,
                subtile,
                tile,
            )
        # The reduction takes whole matrices, too.
        step = self._tiles[contraction.k] = self.tile(REDUCTION_LEVEL, contraction.k)
        self._require_divisor(contraction.k, step)
        size = self.sizes[contraction.k]
        rules.necessary(
            any_of(step % k == 0, all_of(step > size, size % k == 0)),
            f"reduction[{contraction.k}] must be whole matrices ({{}} % {{}} == 0)",
            step,
            k,
        )
        counts = [
            tile / unit
            for tile, unit in zip((*self._subtiles.values(), step), (m, n, k), strict=True)
        ]
        self.unroll_matrices(product_of(counts))

    def _require_divisor(self, loop: int, tile: Number) -> None:
        size = self.sizes[loop]
        message = f"a tile must divide {size} ({size} % {{}} == 0)"
        self.rules.necessary(any_of(size % tile == 0, tile > size), message, tile)
        self.rules.sufficient(tile <= size, f"a tile must be at most {size}, not {{}}", tile)
        self.propose(tile, f"the tile of loop {loop}", divisors(size, size))

    def unroll_matrices(self, count: Number) -> None:
        """Propose few products of matrices in a step."""
        self.rules.limit_search(
            count <= _MOST_MATRICES,
            f"a subgroup should have at most {_MOST_MATRICES} products of matrices in a step ({{}})",
            count,
        )

    def arrange_threads(self) -> None:
        """Distribute subgroups along n over x and along m over y.

        `verifySPIRVCooperativeMatrixVectorizePassPipeline` requires this number of subgroups, though only for named ops.
        """
        self.add_workgroup()
        gpu, rules, contraction = self.device.gpu, self.rules, self._contraction
        x, y, z = self.threads
        rules.limit_search(
            any_of(*(self.subgroup_size == size for size in gpu.subgroup_sizes)),
            f"a subgroup should have {' or '.join(map(str, gpu.subgroup_sizes))} threads, not {{}}",
            self.subgroup_size,
        )
        size = select(self.subgroup_size == 0, gpu.subgroup_size, self.subgroup_size)
        columns = self._tiles[contraction.n] / self._subtiles[contraction.n]
        rows = self._tiles[contraction.m] / self._subtiles[contraction.m]
        message = "a workgroup must have the subgroups that its tiles have, along {axis} ({} == {})"
        for axis, count, needed in (("x", x, size * columns), ("y", y, rows), ("z", z, number(1))):
            rules.follow_compiler(count == needed, message.replace("{axis}", axis), count, needed)
        rules.limit_search(
            rows * columns <= _MOST_SUBGROUPS,
            f"a workgroup should have at most {_MOST_SUBGROUPS} subgroups ({{}})",
            rows * columns,
        )

    def limit_memory(self) -> None:
        """Limit the copies of the operands, and of a result that another op reads."""
        rules, contraction = self.rules, self._contraction
        self._depth = rules.knob(PIPELINE_DEPTH, 0, _MOST_DEPTH)
        stage = rules.knob(STORE_STAGE, 0, 1)
        rules.limit_search(stage == 0, "store_stage should be 0, not {}", stage)
        room = self.device.gpu.memory
        stages = select(self._depth == 0, 1, self._depth + 1)
        bits = copied_bits(contraction, self._tiles) * stages
        m, n, k = contraction.matrix_loops
        if self._others:
            results = self._tiles[m] * self._tiles[n] * contraction.result.bits
            rules.sufficient(
                bits + results <= room * BYTE,
                f"shared memory must suffice for operands and results ({{}} <= {room} bytes)",
                (bits + results) / BYTE,
            )
        # A single subgroup copies nothing, nor does a workgroup with all of a matrix.
        is_copied = all_of(
            product_of(self.threads) > max(self.device.gpu.subgroup_sizes),
            self._tiles[k] < self.sizes[k],
        )
        rules.sufficient(
            bits <= room * BYTE, f"shared memory must suffice ({{}} <= {room} bytes)", bits / BYTE
        )
        clipped = {loop: clip(tile, self.sizes[loop]) for loop, tile in self._tiles.items()}
        least = copied_bits(contraction, clipped) * stages
        rules.necessary(
            any_of(least <= room * BYTE, negation(is_copied)),
            f"shared memory must suffice for several subgroups ({{}} <= {room} bytes)",
            least / BYTE,
        )

    def level(self, name: str) -> Slot:
        """Return the slot of a level; the last one is the matrix."""
        if name != _MATRIX:
            return super().level(name)
        outer = [1] * len(self._contraction.outer)
        options = [
            mlir.ArrayAttr.get([integer(size) for size in (*outer, *sizes)])
            for sizes in self._matrices
        ]
        return OptionSlot(_MATRIX, tuple(options))

    def options(self) -> dict[str, Slot]:
        return {name: IntegerSlot(name) for name in (PIPELINE_DEPTH, STORE_STAGE)}
