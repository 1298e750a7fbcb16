"""Products that subgroups multiply as cooperative matrices: the pipeline CooperativeMatrixVectorize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import (
    PIPELINE_DEPTH,
    REDUCTION,
    STORE_STAGE,
    SUBGROUP,
    WORKGROUP,
)
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import all_of, any_of, negation, number, select
from tuninglink.spaces.configuration import integer
from tuninglink.spaces.gpu.contractions import Contraction, static_sizes
from tuninglink.spaces.gpu.gpu_rules import Number, clip, product
from tuninglink.spaces.slots import IntegerSlot, OptionSlot, Slot
from tuninglink.spaces.spirv.promoted_products import (
    BYTE,
    copied_bits,
    matrix_product,
    ops_around,
)
from tuninglink.spaces.spirv.spirv_space import SpirvRules, SpirvSpace, divisors

if TYPE_CHECKING:
    from tuninglink.spaces.spirv import SpirvGpu
    from tuninglink.spaces.workload import Workload

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
    """Return the configurations in CooperativeMatrixVectorize.

    Raises:
        UndecidedError: the root op is not a product of matrices, or the target has no cooperative matrices for it.
    """
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
    """Return whether a value is a part of a tensor whose elements are not contiguous."""
    owner = value.owner
    strides = None if isinstance(owner, mlir.Block) else owner.attributes.get("static_strides")
    return isinstance(strides, mlir.DenseI64ArrayAttr) and any(stride != 1 for stride in strides)


class _CooperativeRules(SpirvRules):
    """The rules of the pipeline CooperativeMatrixVectorize.

    Args:
        workload: the root op.
        contraction: the product.
        matrices: the sizes of the cooperative matrices.
        device: the target GPU.
        pipeline: the pipeline to configure.
    """

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
            rules.look_up(index, [sizes[position] for sizes in self._matrices])
            for position in range(3)
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
        step = self._tiles[contraction.k] = self.tile(REDUCTION, contraction.k)
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
        self.unroll_matrices(product(counts))

    def _require_divisor(self, loop: int, tile: Number) -> None:
        size = self.sizes[loop]
        message = f"a tile must divide {size} ({size} % {{}} == 0)"
        self.rules.necessary(any_of(size % tile == 0, tile > size), message, tile)
        self.rules.sufficient(tile <= size, f"a tile must be at most {size}, not {{}}", tile)
        self.propose(tile, f"the tile of loop {loop}", divisors(size, size))

    def unroll_matrices(self, count: Number) -> None:
        """Propose few products of matrices in a step."""
        self.rules.not_chosen(
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
        rules.not_chosen(
            any_of(*(self.subgroup_size == size for size in gpu.subgroup_sizes)),
            f"a subgroup should have {' or '.join(map(str, gpu.subgroup_sizes))} threads, not {{}}",
            self.subgroup_size,
        )
        size = select(self.subgroup_size == 0, gpu.subgroup_size, self.subgroup_size)
        columns = self._tiles[contraction.n] / self._subtiles[contraction.n]
        rows = self._tiles[contraction.m] / self._subtiles[contraction.m]
        message = "a workgroup must have the subgroups that its tiles have, along {axis} ({} == {})"
        for axis, count, needed in (("x", x, size * columns), ("y", y, rows), ("z", z, number(1))):
            rules.compilers(count == needed, message.replace("{axis}", axis), count, needed)
        rules.not_chosen(
            rows * columns <= _MOST_SUBGROUPS,
            f"a workgroup should have at most {_MOST_SUBGROUPS} subgroups ({{}})",
            rows * columns,
        )

    def limit_memory(self) -> None:
        """Limit the copies of the operands, and of a result that another op reads."""
        rules, contraction = self.rules, self._contraction
        self._depth = rules.knob(PIPELINE_DEPTH, 0, _MOST_DEPTH)
        stage = rules.knob(STORE_STAGE, 0, 1)
        rules.not_chosen(stage == 0, "store_stage should be 0, not {}", stage)
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
            product(self.threads) > max(self.device.gpu.subgroup_sizes),
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
        """Return the stages of the software pipeline."""
        return {name: IntegerSlot(name) for name in (PIPELINE_DEPTH, STORE_STAGE)}
