"""The builder of the rules of a space for the CPU pipelines, whose knobs are the tiles of the loops.

The properties of the pipelines were observed by compiling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.iree.cpus import LARGEST_FRAME_BYTES, WORKER_STACK_BYTES
from tuninglink.iree.lowering_configs import CpuLevel
from tuninglink.solver import Grade
from tuninglink.solver.expressions import Expression, all_of, any_of, negation, number
from tuninglink.spaces.cpu.nest import Tiles
from tuninglink.spaces.set_builder import ConstraintSetBuilder

if TYPE_CHECKING:
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.cpu import Cpu
    from tuninglink.spaces.cpu.nest import LoopNest
    from tuninglink.spaces.workload import Problem


@dataclass(frozen=True)
class CpuPipeline:
    """The properties of a pipeline.

    Attributes:
        levels: the levels by which it tiles a root op, from the outermost to the innermost.
        unused: the levels that it does not read.
        mixes_levels: whether compilation succeeds if a level tiles loops of the other kind.
        natural: the levels in which a negative size aborts the compilation.
        needs_distribution: whether building the pipeline requires a `distribution` level.
        separates: whether the compiler's verifier separates parallel from reduction levels.
        decomposes_convolutions: whether it decomposes named convolutions into one-dimensional ones.
        decomposes_attention: whether it lowers an attention.
        takes_tensors: whether it compiles operations on tensors, not only on buffers.
        checks_vectors: whether the tiles determine the sizes of vectors.
        vectorizes: whether it generates vectors.
        moves: whether it packs and unpacks tensors, and the tiles determine the sizes of vectors.
        follows_layout: whether it compiles data-tiled products, whose layout fixes the vectors.
    """

    levels: tuple[CpuLevel, ...]
    unused: tuple[CpuLevel, ...] = ()
    mixes_levels: bool = False
    natural: tuple[CpuLevel, ...] = (CpuLevel.DISTRIBUTION, CpuLevel.VECTOR_COMMON_PARALLEL)
    needs_distribution: bool = False
    separates: bool = False
    decomposes_convolutions: bool = False
    decomposes_attention: bool = False
    takes_tensors: bool = True
    checks_vectors: bool = False
    vectorizes: bool = True
    moves: bool = False
    follows_layout: bool = False


_PARALLEL: Final = (CpuLevel.DISTRIBUTION, CpuLevel.VECTOR_COMMON_PARALLEL)
_ONCE: Final = (*_PARALLEL, CpuLevel.VECTOR_REDUCTION)
_TWICE: Final = (
    CpuLevel.DISTRIBUTION,
    CpuLevel.CACHE_PARALLEL,
    CpuLevel.CACHE_REDUCTION,
    CpuLevel.VECTOR_COMMON_PARALLEL,
    CpuLevel.VECTOR_REDUCTION,
)

_UNUSED: Final = (
    CpuLevel.CACHE_PARALLEL,
    CpuLevel.CACHE_REDUCTION,
    CpuLevel.VECTOR_INNER_PARALLEL,
)
"""The levels that `addConvTileAndDecomposeExpertPassPipeline` and `addCPULinalgExtTileAndVectorizePipeline` lack."""

PIPELINES: Final = {
    "#iree_cpu.pipeline<DoubleTilingExpert>": CpuPipeline(
        _TWICE,
        natural=tuple(level for level in _TWICE if level is not CpuLevel.CACHE_PARALLEL),
        needs_distribution=True,
        separates=True,
        checks_vectors=True,
    ),
    "#iree_cpu.pipeline<ConvTileAndDecomposeExpert>": CpuPipeline(
        _ONCE, _UNUSED, mixes_levels=True, decomposes_convolutions=True, checks_vectors=True
    ),
    "#iree_cpu.pipeline<LinalgExtTileAndVectorize>": CpuPipeline(
        _ONCE, _UNUSED, mixes_levels=True, decomposes_attention=True, checks_vectors=True
    ),
    "#iree_cpu.pipeline<BufferOpsTileAndVectorize>": CpuPipeline(
        _PARALLEL, takes_tensors=False, checks_vectors=True
    ),
    "#iree_cpu.pipeline<Mmt4dTilingExpert>": CpuPipeline(_ONCE, follows_layout=True),
    "#iree_cpu.pipeline<DataTiling>": CpuPipeline(_PARALLEL, moves=True),
    "#iree_cpu.pipeline<Default>": CpuPipeline(
        _PARALLEL[:1], natural=(CpuLevel.DISTRIBUTION,), vectorizes=False
    ),
}
"""The pipelines, as MLIR writes them."""


PROVIDER: Final = "tuninglink's CPU provider"
"""The provider of the sets that this module builds."""

BYTE: Final = 8

_PROVENANCE: Final = {
    Grade.NECESSARY: "the compiler refuses it otherwise",
    Grade.SUFFICIENT: "the compiler may refuse it otherwise",
    Grade.UNSAFE: "the code may crash otherwise",
    Grade.HEURISTIC: "it is not worth trying otherwise",
}


class CpuRules:
    """Collects the knobs and the rules of a space.

    Args:
        nest: the loops of the root op.
        cpu: the target CPU.
        pipeline: the pipeline to configure.

    Attributes:
        grade: the grade of subsequently added rules.
        tiles: the knobs.
        parts: the part of each loop that remains after tiling.
        loops: the numbers of the loops.
    """

    def __init__(self, nest: LoopNest, cpu: Cpu, pipeline: CpuPipeline) -> None:
        self.nest = nest
        self.cpu = cpu
        self.pipeline = pipeline
        self.grade = Grade.NECESSARY
        self._builder = ConstraintSetBuilder()
        self.tiles = Tiles(self._builder, nest, pipeline.levels)
        self.loops = range(len(nest.loops))
        self.parts = [self.tiles.part(loop) for loop in self.loops]

    @property
    def is_data_tiled(self) -> bool:
        """Whether the root op is a data-tiled product and the pipeline compiles these."""
        return self.pipeline.follows_layout and self.nest.is_data_tiled

    @property
    def checks_vectors(self) -> bool:
        """Whether the tiles determine the sizes of vectors."""
        return self.pipeline.checks_vectors or (self.pipeline.moves and self.nest.is_relayout)

    def build(self, problem: Problem, name: str, unknown: str) -> ConstraintSet:
        """Return the added rules as a set; the object must not be used afterwards."""
        return self._builder.build(problem, name, PROVIDER, unknown=unknown)

    def add(self, condition: Expression | bool, message: str, *values: Expression | int) -> None:  # noqa: FBT001
        """Add a rule; `{}` in the message stands for a value."""
        self._builder.require(
            condition, message, *values, provenance=_PROVENANCE[self.grade], grade=self.grade
        )

    def parallel(self) -> Iterator[int]:
        """Yield the numbers of the parallel loops."""
        return (loop for loop in self.loops if not self.nest.loops[loop].reduces)

    def limit_tile(self, level: CpuLevel, loop: int) -> None:
        """Require a tile not to be negative."""
        tile, name = self.tiles.tile(level, loop), self.tiles.name(level, loop)
        self.add(tile >= 0, f"{name} must not be negative ({{}} >= 0)", tile)

    def misplaced(self) -> Iterator[tuple[CpuLevel, int]]:
        """Yield the pairs of a level that the pipeline reads and a loop that the level does not apply to."""
        return (
            (level, loop)
            for level, loop in self.tiles.misplaced()
            if level not in self.pipeline.unused
        )

    def separate_levels(self) -> None:
        """Require parallel levels to tile parallel loops, and reduction levels to tile reductions.

        `verifyMultiTilingExpertPassPipelineConfig` rejects other configurations of a root op.
        """
        for level, loop in self.misplaced():
            self._expect_untiled(level, loop, self.tiles.tile(level, loop) == 0)

    def limit_misplaced_levels(self) -> None:
        """Limit tiles of the other kind of loop where the pipeline accepts them.

        Reductions are not distributed to workgroups. A reduction level may divide the part of a parallel loop.
        """
        for level, loop in self.misplaced():
            tile, size = self.tiles.tile(level, loop), self.parts[loop].size
            if level is CpuLevel.VECTOR_REDUCTION:
                self._expect_untiled(level, loop, any_of(tile <= 0, size % tile == 0))
            elif level is not CpuLevel.DISTRIBUTION:
                self._expect_untiled(level, loop, tile == 0)

    def leave_misplaced_levels(self) -> None:
        """Propose no tiles for levels that do not apply to their loops."""
        for level, loop in self.tiles.misplaced():
            self._expect_untiled(level, loop, self.tiles.tile(level, loop) == 0)

    def _expect_untiled(self, level: CpuLevel, loop: int, condition: Expression) -> None:
        other = "a reduction" if self.nest.loops[loop].reduces else "parallel"
        self.add(
            condition,
            f"{self.tiles.name(level, loop)} must be 0, as loop {loop} is {other} ({{}} == 0)",
            self.tiles.tile(level, loop),
        )

    def limit_vector(
        self,
        what: str,
        sizes: Sequence[Expression],
        bits: int,
        when: Sequence[Expression] = (),
    ) -> None:
        """Require a vector to be smaller than the compiler's limit, as `LLVMCPUVerifyVectorSizeLegalityPass` does.

        Args:
            what: the subject of the message, up to the verb.
            sizes: the number of elements along each loop.
            bits: the width of an element.
            when: the conditions under which the vector exists.
        """
        if not sizes:
            return
        limit = self.cpu.vector_limit
        # The compiler rounds up to whole bytes before it compares.
        fits = _bits(sizes, bits) <= BYTE * (limit - 1)
        message = (
            f"{what} {_shape(sizes)} elements of {bits} bits, and must be smaller than {{}} bytes"
        )
        condition = any_of(negation(all_of(*when)), fits) if when else fits
        self.add(condition, message, *sizes, limit)

    def limit_stack(
        self,
        what: str,
        sizes: Sequence[Expression],
        bits: int,
        live: int,
        when: Sequence[Expression] = (),
    ) -> None:
        """Require the vectors of a body to fit on the stack of the runtime's workers.

        Args:
            what: the op.
            sizes: the number of elements of a vector along each loop.
            bits: the width of an element.
            live: the number of vectors that are alive at once.
            when: the conditions under which the vectors exist.
        """
        fits = _bits(sizes, bits * live) <= BYTE * LARGEST_FRAME_BYTES
        message = (
            f"{live} vectors of {what} with {_shape(sizes)} elements of {bits} bits should fit into "
            f"{LARGEST_FRAME_BYTES >> 10} KiB of stack: IREE's workers have {WORKER_STACK_BYTES >> 10} KiB"
        )
        self.add(any_of(negation(all_of(*when)), fits) if when else fits, message, *sizes)


def _bits(sizes: Sequence[Expression], bits: int) -> Expression:
    total = number(bits)
    for size in sizes:
        total = total * size
    return total


def _shape(sizes: Sequence[Expression]) -> str:
    return "x".join(["{}"] * len(sizes)) or "1"
