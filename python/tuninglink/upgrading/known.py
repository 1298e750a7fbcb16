"""The enumerators that the compiler knows today, asked of the compiler itself where it can be asked."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

CPU_PIPELINES: Final = (
    "Default",
    "DoubleTilingExpert",
    "ConvTileAndDecomposeExpert",
    "Mmt4dTilingExpert",
    "BufferOpsTileAndVectorize",
    "DataTiling",
    "LinalgExtTileAndVectorize",
)
"""The enumerators of `#iree_cpu.pipeline`, which have no bindings."""

_LONGEST: Final = 80


@cache
def mma_intrinsics() -> frozenset[str]:
    """Returns the enumerators of `#iree_gpu.mma_layout`."""
    from iree.compiler.dialects import iree_gpu  # noqa: PLC0415 - loads the compiler

    return frozenset(each.name for each in iree_gpu.MMAIntrinsic)


@cache
def virtual_mma_intrinsics() -> frozenset[str]:
    """Returns the enumerators of `#iree_gpu.virtual_mma_layout`."""
    from iree.compiler.dialects import iree_gpu  # noqa: PLC0415 - loads the compiler

    return frozenset(each.name for each in iree_gpu.VirtualMMAIntrinsic)


@cache
def gpu_pipelines() -> frozenset[str]:
    """Returns the enumerators of `#iree_gpu.pipeline`."""
    from iree.compiler.dialects import iree_gpu  # noqa: PLC0415 - loads the compiler

    return frozenset(each.name for each in iree_gpu.LoweringPipeline)


@cache
def spirv_pipelines() -> frozenset[str]:
    """Returns the enumerators of `#iree_gpu.spirv_pipeline`."""
    from iree.compiler.dialects import iree_gpu  # noqa: PLC0415 - loads the compiler

    return frozenset(each.name for each in iree_gpu.SPIRVLoweringPipeline)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Returns the message that a name is not known, with the nearest that is."""
    nearest = get_close_matches(name[:_LONGEST], sorted(known), n=1, cutoff=0.5)
    shown = name if len(name) <= _LONGEST else name[:_LONGEST] + "..."
    hint = f"; the nearest known one is '{nearest[0]}'" if nearest else ""
    return f"unknown {what} '{shown}'{hint}"
