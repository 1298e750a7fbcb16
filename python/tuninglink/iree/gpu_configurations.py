"""Configurations for GPUs: the entries of a `#iree_gpu.lowering_config`, and their meaning on any GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.mlir.attributes import entries_of

WORKGROUP: Final = "workgroup"
REDUCTION: Final = "reduction"
PARTIAL_REDUCTION: Final = "partial_reduction"
SERIAL: Final = "serial"
SUBGROUP: Final = "subgroup"
THREAD: Final = "thread"
LANE: Final = "lane"
PADDING: Final = "padding"
PADDING_CONV: Final = "padding_conv"
SUBGROUP_BASIS: Final = "subgroup_basis"
LANE_BASIS: Final = "lane_basis"
MMA_KIND: Final = "mma_kind"
PROMOTED_OPERANDS: Final = "promote_operands"
PROMOTION_TYPES: Final = "promotion_types"
CONVERTS: Final = "convert_acc_gemm"
"""The entry that starts an accumulation at zero and adds the given initial values afterwards."""

TILES: Final = (WORKGROUP, REDUCTION, THREAD, SUBGROUP, LANE, SERIAL, PARTIAL_REDUCTION)
"""The entries with a tile size for each loop."""

REDUCING: Final = frozenset({REDUCTION, PARTIAL_REDUCTION, SERIAL})
"""Those entries that tile reductions, which are the last loops of contractions."""

BASES: Final = (SUBGROUP_BASIS, LANE_BASIS)

ENTRIES: Final = (
    *TILES,
    *BASES,
    *(MMA_KIND, PROMOTED_OPERANDS, PROMOTION_TYPES),
    *(PADDING, PADDING_CONV, CONVERTS),
    *("workgroup_reordering_strategy", "lowering_strategy"),
)
"""The entries of a `#iree_gpu.lowering_config` that code generation reads.

Source: `IREEGPUAttrs.cpp` and `GPULoweringConfigUtils.cpp`; a test finds each in the installed library.
"""

WORKGROUP_SIZE: Final = "workgroup_size"
SUBGROUP_SIZE: Final = "subgroup_size"
PIPELINE_OPTIONS: Final = "gpu_pipeline_options"
STAGES: Final = "prefetch_num_stages"
NO_BANK_CONFLICT_REDUCTION: Final = "no_reduce_shared_memory_bank_conflicts"
USE_IGEMM: Final = "use_igemm_convolution"

AMD_SUBGROUP_SIZES: Final = (32, 64)
"""The subgroup sizes of AMD's code generation. Others fail with `invalid subgroup size`."""


@dataclass(frozen=True)
class Basis:
    """The distribution of subgroups, or of the lanes of one, over loops.

    Attributes:
        counts: the numbers of subgroups, or of lanes.
        mapping: for each loop the index of its count.
    """

    counts: tuple[int, ...]
    mapping: tuple[int, ...]


def read_basis(attribute: mlir.Attribute | None) -> Basis | None:
    """Return a `subgroup_basis` or a `lane_basis`; None for an attribute that is not two lists of integers."""
    parts = map(read_integers, attribute if isinstance(attribute, mlir.ArrayAttr) else ())
    match [*parts]:
        case [tuple(counts), tuple(mapping)]:
            return Basis(counts, mapping)
    return None


def read_integers(attribute: mlir.Attribute) -> tuple[int, ...] | None:
    """Return a list of integers; None for any other attribute."""
    if isinstance(attribute, mlir.ArrayAttr) and all(
        isinstance(element, mlir.IntegerAttr) for element in attribute
    ):
        return tuple(mlir.IntegerAttr(element).value for element in attribute)
    return None


def uses_igemm(translation_info: mlir.Attribute | None) -> bool:
    """Return whether a `translation_info` lowers convolutions to contractions (implicit GEMM)."""
    if not isinstance(translation_info, iree_codegen.TranslationInfoAttr):
        return False
    options = entries_of(translation_info.configuration).get(PIPELINE_OPTIONS)
    return isinstance(options, iree_gpu.PipelineOptionsAttr) and bool(options.use_igemm_convolution)
