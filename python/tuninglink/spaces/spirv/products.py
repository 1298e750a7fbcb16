"""Products of matrices: MatmulPromoteVectorize copies operands, CooperativeMatrixVectorize has cooperative matrices."""

from __future__ import annotations

from collections.abc import Mapping
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
from tuninglink.spaces.gpu import Number, clip, look_up, product_of, read_contraction, static_sizes
from tuninglink.spaces.model import OptionSlot, Slot, integer
from tuninglink.spaces.spirv.spirv_space import (
    THREADS_KNOBS,
    VECTOR_BITS,
    SpirvRules,
    divisors,
)

if TYPE_CHECKING:
    from tuninglink.spaces.model import Workload
    from tuninglink.spaces.spirv.spirv_space import SpirvGpu


_BYTE: Final = 8
_LOOP_COUNTS: Final = (3, 4)
"""The numbers of loops of a product of matrices, and of a batch of them."""


class _ProductRules(SpirvRules):
    """The rules of a product of matrices, or a batch of them, whose last loops are m, n and k."""

    options = (PIPELINE_DEPTH, STORE_STAGE)

    def __init__(self, workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute) -> None:
        contraction = read_contraction(workload)
        count = len(static_sizes(workload))
        matrix_loops = (count - 3, count - 2, count - 1)
        is_plain = count in _LOOP_COUNTS and contraction.matrix_loops == matrix_loops
        if not is_plain or contraction.outer_k:
            message = f"{workload.problem} is not a product of matrices over b, m, n and k"
            raise UndecidedError(message)
        if 1 in (contraction.size(contraction.m), contraction.size(contraction.n)):
            raise UndecidedError(f"{workload.problem} is a product with a vector")
        super().__init__(workload, device, pipeline)
        self.contraction = contraction
        # The number of other ops, which may be erased before the rules are built.
        operations = function_ops(workload.function).computing
        self.others = sum(op != workload.root and op.name != names.FILL for op in operations)
        self.tiles: dict[int, Number] = {}

    def copied_bits(self, tiles: Mapping[int, Number]) -> Number:
        """Return the size of copies of the tiles of both operands."""
        lhs, rhs = (
            product_of(tiles[loop] for loop in operand.loops) * operand.bits
            for operand in (self.contraction.lhs, self.contraction.rhs)
        )
        return lhs + rhs

    def fits(self, bits: Number) -> Number:
        """Return the condition that copies fit into shared memory."""
        return bits <= self.device.gpu.memory * _BYTE


_MOST_PROMOTED_DEPTH: Final = 4
_MOST_STEP: Final = 64
_MOST_PIECE: Final = 32
_MOST_TILE: Final = 256


class PromotedRules(_ProductRules):
    """The rules of the pipeline MatmulPromoteVectorize."""

    def __init__(self, workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute) -> None:
        super().__init__(workload, device, pipeline)
        for operand in (self.contraction.lhs, self.contraction.rhs):
            if not device.has_vectors(operand.element_type):
                raise UndecidedError(f"copies of {operand.element_type} may not be legalized")

    def tile_loops(self) -> None:
        """Add the tiles of a workgroup; those of k are steps."""
        contraction = self.contraction
        for loop in (*contraction.outer, contraction.m, contraction.n):
            tile = self.tiles[loop] = self.tile(WORKGROUP, loop)
            values = [1] if loop in contraction.outer else divisors(self.sizes[loop], _MOST_TILE)
            self.propose(tile, f"workgroup[{loop}]", values)
        k = contraction.k
        step = self.tiles[k] = self.tile(REDUCTION_LEVEL, k, level=WORKGROUP)
        self.propose(step, f"reduction[{k}]", divisors(self.sizes[k], _MOST_STEP))
        for loop, tile in self.tiles.items():
            size = self.sizes[loop]
            message = f"tiles must divide {size} ({size} % {{}} == 0)"
            self.rules.sufficient(size % tile == 0, message, tile)

    def arrange_threads(self) -> None:
        """Distribute n over x and m over y, and limit the work of a thread."""
        self.add_workgroup()
        x, y, z = self.threads
        rules, contraction = self.rules, self.contraction
        # `tileParallelDims` maps loops to the dimensions in order, and skips those with one thread.
        message = "x must have several threads where y has ({}, {})"
        rules.necessary(any_of(x > 1, y == 1), message, x, y)
        rules.sufficient(x > 1, "x must have several threads, not {}", x)
        rules.limit_search(z == 1, "z should have one thread, not {}", z)
        least, total = self.device.gpu.subgroup_size, product_of(self.threads)
        message = f"a workgroup should have at least {least} threads, not {{}}"
        rules.limit_search(total >= least, message, total)
        work: Number = self.tiles[contraction.k]
        loops = zip((contraction.n, contraction.m), THREADS_KNOBS, (x, y), strict=False)
        for loop, name, count in loops:
            tile = self.tiles[loop]
            piece = (tile + count - 1) / count
            work = work * piece
            rules.limit_search(
                all_of(tile % count == 0, piece <= _MOST_PIECE),
                f"{name} should divide workgroup[{loop}] into at most {_MOST_PIECE} ({{}} % {{}} == 0)",
                tile,
                count,
            )
        self.unroll(product_of([work, *(self.tiles[loop] for loop in contraction.outer)]))

    def limit_memory(self) -> None:
        """Limit the copies of the operands, of which several stages are kept."""
        rules, contraction, room = self.rules, self.contraction, self.device.gpu.memory
        depth = rules.knob(PIPELINE_DEPTH, 0, _MOST_PROMOTED_DEPTH)
        stage = rules.knob(STORE_STAGE, 0, 1)
        rules.limit_search(depth > 0, "a depth of 0 is a depth of 1")
        depth = select(depth == 0, 1, depth)
        bits = self.copied_bits(self.tiles) * select(stage == 1, depth, depth + 1)
        message = f"shared memory must suffice ({{}} <= {room} bytes)"
        rules.sufficient(self.fits(bits), message, bits / _BYTE)
        if self.others:
            # Other ops read the result through shared memory if the threads do not share it evenly.
            x, y, z = self.threads
            m, n = self.tiles[contraction.m], self.tiles[contraction.n]
            is_even = all_of(n % x == 0, m % y == 0, z == 1)
            needed = bits + select(is_even, 0, m * n * contraction.result.bits)
            message = f"shared memory must suffice for operands and results ({{}} <= {room} bytes)"
            rules.sufficient(self.fits(needed), message, needed / _BYTE)
            return
        # Operands whose rows are not whole vectors are not copied.
        rows = [
            self.tiles[operand.loops[-1]] % (VECTOR_BITS // operand.bits) == 0
            for operand in (contraction.lhs, contraction.rhs, contraction.result)
        ]
        whole = [self.sizes[loop] % tile == 0 for loop, tile in self.tiles.items()]
        k = contraction.k
        # Stages of other numbers are not known to keep all copies.
        is_exact = all_of(*rows, *whole, self.tiles[k] < self.sizes[k], stage <= 1)
        message = f"shared memory must suffice for copies in whole vectors ({{}} <= {room} bytes)"
        rules.necessary(any_of(self.fits(bits), negation(is_exact)), message, bits / _BYTE)


_MATRIX: Final = "matrix"
_MOST_DEPTH: Final = 2
_MOST_OTHERS: Final = 1
"""The maximum number of other ops around the product; with more, the compiler reports `unhandled multiple
matmul/generic cases`.
"""

_MOST_SUBGROUPS: Final = 16
_MOST_MATRICES: Final = 128
"""The maximum proposed number of matrix products in a step of a subgroup; the compiler's heuristics choose up to 16."""


class CooperativeRules(_ProductRules):
    """The rules of the pipeline CooperativeMatrixVectorize."""

    def __init__(self, workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute) -> None:
        super().__init__(workload, device, pipeline)
        contraction = self.contraction
        types = contraction.element_types
        self._matrices = [sizes for sizes, each in device.matrices if each == types]
        if not self._matrices:
            message = f"no cooperative matrix of the target multiplies {'x'.join(types)}"
            raise UndecidedError(message)
        if any(map(_is_strided, workload.root.operands)):
            raise UndecidedError(
                "an operand is loaded with strides, and copies of it may not be legalized"
            )
        if contraction.lhs.inputs or contraction.rhs.inputs:
            raise UndecidedError("another op computes an operand")
        if self.others > _MOST_OTHERS:
            raise UndecidedError("several other ops are in the function")
        self._subtiles: dict[int, Number] = {}

    def tile_loops(self) -> None:
        """Add the matrix, and tiles of whole matrices.

        `verifySPIRVCooperativeMatrixVectorizePassPipeline` rejects tiles of partial matrices, though only of named ops.
        """
        contraction, rules = self.contraction, self.rules
        for loop in contraction.outer:
            self.tiles[loop] = number(1)
            self.fix(WORKGROUP, loop, 1)
            self.fix(SUBGROUP, loop, 1)
        # A choice of matrices fixes the units of the inner loops.
        index = rules.choice(_MATRIX, map(list, self._matrices))
        m, n, k = (
            look_up(index, [sizes[position] for sizes in self._matrices]) for position in range(3)
        )
        for loop, unit in ((contraction.m, m), (contraction.n, n)):
            tile = self.tiles[loop] = self.tile(WORKGROUP, loop)
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
        loop = contraction.k
        step = self.tiles[loop] = self.tile(REDUCTION_LEVEL, loop)
        self._require_divisor(loop, step)
        size = self.sizes[loop]
        is_whole = any_of(step % k == 0, all_of(step > size, size % k == 0))
        message = f"reduction[{loop}] must be whole matrices ({{}} % {{}} == 0)"
        rules.necessary(is_whole, message, step, k)
        # Propose few products of matrices in a step.
        steps = zip((*self._subtiles.values(), step), (m, n, k), strict=True)
        count = product_of([tile / unit for tile, unit in steps])
        message = (
            f"a subgroup should have at most {_MOST_MATRICES} products of matrices in a step ({{}})"
        )
        rules.limit_search(count <= _MOST_MATRICES, message, count)

    def _require_divisor(self, loop: int, tile: Number) -> None:
        size = self.sizes[loop]
        message = f"a tile must divide {size} ({size} % {{}} == 0)"
        self.rules.necessary(any_of(size % tile == 0, tile > size), message, tile)
        self.rules.sufficient(tile <= size, f"a tile must be at most {size}, not {{}}", tile)
        self.propose(tile, f"the tile of loop {loop}", divisors(size, size))

    def arrange_threads(self) -> None:
        """Distribute subgroups along n over x and along m over y.

        `verifySPIRVCooperativeMatrixVectorizePassPipeline` requires this number of subgroups, though only for named ops.
        """
        self.add_workgroup(has_subgroup_size=True)
        gpu, rules, contraction = self.device.gpu, self.rules, self.contraction
        x, y, z = self.threads
        rules.limit_search(
            any_of(*(self.subgroup_size == size for size in gpu.subgroup_sizes)),
            f"a subgroup should have {' or '.join(map(str, gpu.subgroup_sizes))} threads, not {{}}",
            self.subgroup_size,
        )
        size = select(self.subgroup_size == 0, gpu.subgroup_size, self.subgroup_size)
        columns = self.tiles[contraction.n] / self._subtiles[contraction.n]
        rows = self.tiles[contraction.m] / self._subtiles[contraction.m]
        message = "a workgroup must have the subgroups that its tiles have, along {axis} ({} == {})"
        for axis, count, needed in (("x", x, size * columns), ("y", y, rows), ("z", z, number(1))):
            rules.follow_compiler(count == needed, message.replace("{axis}", axis), count, needed)
        message = f"a workgroup should have at most {_MOST_SUBGROUPS} subgroups ({{}})"
        rules.limit_search(rows * columns <= _MOST_SUBGROUPS, message, rows * columns)

    def limit_memory(self) -> None:
        """Limit the copies of the operands, and of a result that another op reads."""
        rules, contraction, room = self.rules, self.contraction, self.device.gpu.memory
        depth = rules.knob(PIPELINE_DEPTH, 0, _MOST_DEPTH)
        stage = rules.knob(STORE_STAGE, 0, 1)
        rules.limit_search(stage == 0, "store_stage should be 0, not {}", stage)
        stages = select(depth == 0, 1, depth + 1)
        bits = self.copied_bits(self.tiles) * stages
        m, n, k = contraction.matrix_loops
        if self.others:
            needed = bits + self.tiles[m] * self.tiles[n] * contraction.result.bits
            message = f"shared memory must suffice for operands and results ({{}} <= {room} bytes)"
            rules.sufficient(self.fits(needed), message, needed / _BYTE)
        message = f"shared memory must suffice ({{}} <= {room} bytes)"
        rules.sufficient(self.fits(bits), message, bits / _BYTE)
        # A single subgroup copies nothing, nor does a workgroup with all of a matrix.
        is_copied = all_of(
            product_of(self.threads) > max(self.device.gpu.subgroup_sizes),
            self.tiles[k] < self.sizes[k],
        )
        clipped = {loop: clip(tile, self.sizes[loop]) for loop, tile in self.tiles.items()}
        least = self.copied_bits(clipped) * stages
        message = f"shared memory must suffice for several subgroups ({{}} <= {room} bytes)"
        rules.necessary(any_of(self.fits(least), negation(is_copied)), message, least / _BYTE)

    def level(self, name: str) -> Slot:
        """Return the slot of a level; the last one is the matrix."""
        if name != _MATRIX:
            return super().level(name)
        outer = [1] * len(self.contraction.outer)
        options = [mlir.ArrayAttr.get([*map(integer, (*outer, *each))]) for each in self._matrices]
        return OptionSlot(_MATRIX, tuple(options))


def _is_strided(value: mlir.Value[Any]) -> bool:
    owner = value.owner
    strides = None if isinstance(owner, mlir.Block) else owner.attributes.get("static_strides")
    return isinstance(strides, mlir.DenseI64ArrayAttr) and any(stride != 1 for stride in strides)
