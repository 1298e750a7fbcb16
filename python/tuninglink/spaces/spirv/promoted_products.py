"""Products whose operands a workgroup copies to shared memory: the pipeline MatmulPromoteVectorize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tuninglink.iree.lowering_configs import PIPELINE_DEPTH, REDUCTION, STORE_STAGE, WORKGROUP
from tuninglink.iree.root_ops import function_ops
from tuninglink.mlir import names
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import all_of, any_of, negation, select
from tuninglink.spaces.gpu.contractions import Contraction, read_contraction, static_sizes
from tuninglink.spaces.gpu.gpu_rules import Number, product
from tuninglink.spaces.slots import IntegerSlot, Slot
from tuninglink.spaces.spirv.spirv_space import (
    THREADS_KNOBS,
    VECTOR_BITS,
    SpirvRules,
    SpirvSpace,
    divisors,
)

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.spaces.spirv import SpirvGpu
    from tuninglink.spaces.workload import Workload

BYTE: Final = 8

_MOST_DEPTH: Final = 4
_MOST_STEP: Final = 64
_MOST_PIECE: Final = 32
_MOST_TILE: Final = 256
_LOOP_COUNTS: Final = (3, 4)
"""The numbers of loops of a product of matrices, and of a batch of them."""


def matrix_product(workload: Workload) -> Contraction:
    """Read a product of matrices, or a batch of them, whose last loops are m, n and k.

    Raises:
        UndecidedError: the root op is another contraction.
    """
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
        product(tiles[loop] for loop in operand.loops) * operand.bits
        for operand in (contraction.lhs, contraction.rhs)
    )
    return lhs + rhs


def promoted_spaces(
    workload: Workload, device: SpirvGpu, pipeline: mlir.Attribute
) -> Sequence[SpirvSpace]:
    """Return the configurations in MatmulPromoteVectorize.

    Raises:
        UndecidedError: the root op is not a product of matrices.
    """
    contraction = matrix_product(workload)
    for operand in (contraction.lhs, contraction.rhs):
        if not device.has_vectors(operand.element_type):
            raise UndecidedError(f"copies of {operand.element_type} may not be legalized")
    return [SpirvSpace(_PromotedRules(workload, contraction, device, pipeline))]


class _PromotedRules(SpirvRules):
    """The rules of the pipeline MatmulPromoteVectorize.

    Args:
        workload: the root op.
        contraction: the product.
        device: the target GPU.
        pipeline: the pipeline to configure.
    """

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
        step = self._tiles[k] = self.tile(REDUCTION, k, level=WORKGROUP)
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
        rules.not_chosen(z == 1, "z should have one thread, not {}", z)
        total = product(self.threads)
        rules.not_chosen(
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
            rules.not_chosen(
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
        self._depth = rules.knob(PIPELINE_DEPTH, 0, _MOST_DEPTH)
        self._stage = rules.knob(STORE_STAGE, 0, 1)
        rules.not_chosen(self._depth > 0, "a depth of 0 is a depth of 1")
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
        """Return the stages of the software pipeline."""
        return {name: IntegerSlot(name) for name in (PIPELINE_DEPTH, STORE_STAGE)}
