"""What each pipeline for CPUs makes of a configuration, as observed by compiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tuninglink.iree.cpu_configurations import CpuLevel


@dataclass(frozen=True)
class CpuPipeline:
    """A pipeline.

    Attributes:
        needs_distribution: whether it cannot be built without a `distribution` level.
        separates: whether the compiler's verifier keeps parallel and reduction levels apart.
        decomposes: whether it makes convolutions over one dimension of those that have a name.
        natural: the levels in which a negative size ends the compilation.
        checks_vectors: whether the sizes of vectors are known from the tiles.
        vectorizes: whether there are vectors at all.
    """

    needs_distribution: bool = False
    separates: bool = False
    decomposes: bool = False
    natural: tuple[CpuLevel, ...] = (CpuLevel.DISTRIBUTION, CpuLevel.VECTOR_COMMON_PARALLEL)
    checks_vectors: bool = False
    vectorizes: bool = True


PIPELINES: Final = {
    "#iree_cpu.pipeline<DoubleTilingExpert>": CpuPipeline(
        needs_distribution=True,
        separates=True,
        natural=(
            CpuLevel.DISTRIBUTION,
            CpuLevel.CACHE_REDUCTION,
            CpuLevel.VECTOR_COMMON_PARALLEL,
            CpuLevel.VECTOR_REDUCTION,
        ),
        checks_vectors=True,
    ),
    "#iree_cpu.pipeline<ConvTileAndDecomposeExpert>": CpuPipeline(
        decomposes=True, checks_vectors=True
    ),
    "#iree_cpu.pipeline<Mmt4dTilingExpert>": CpuPipeline(),
    "#iree_cpu.pipeline<BufferOpsTileAndVectorize>": CpuPipeline(),
    "#iree_cpu.pipeline<DataTiling>": CpuPipeline(),
    "#iree_cpu.pipeline<LinalgExtTileAndVectorize>": CpuPipeline(),
    "#iree_cpu.pipeline<Default>": CpuPipeline(natural=(CpuLevel.DISTRIBUTION,), vectorizes=False),
}
"""The pipelines, as MLIR writes them."""
