"""Properties of the pipelines for CPUs, observed by compiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tuninglink.iree.cpu_configurations import CpuLevel


@dataclass(frozen=True)
class CpuPipeline:
    """The properties of a pipeline.

    Attributes:
        levels: the levels by which it tiles a root op, from the outermost to the innermost.
        unused: the levels that it does not read.
        mixes_levels: whether it compiles where a level tiles loops of the other kind.
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
        natural=tuple(each for each in _TWICE if each is not CpuLevel.CACHE_PARALLEL),
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
