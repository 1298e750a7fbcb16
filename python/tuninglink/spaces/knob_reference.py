"""The reference of knobs: meaning, unit, and place in a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.iree.lowering_configs import SUBGROUP_SIZE, WORKGROUP_SIZE

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Problem

PIPELINE: Final = "pipeline"


@dataclass(frozen=True)
class KnobReference:
    """The description of a knob.

    Attributes:
        meaning: the choice that it makes.
        unit: the unit of its value; empty without a unit.
    """

    meaning: str
    unit: str = ""


_ELEMENTS: Final = "elements"
_PIECES: Final = "elements, or intrinsics"

KNOBS: Final = {
    PIPELINE: KnobReference("the pipeline that generates the code"),
    WORKGROUP_SIZE: KnobReference("threads of a workgroup, along x, y and z", "threads"),
    SUBGROUP_SIZE: KnobReference("threads of a subgroup", "threads"),
    "workgroup": KnobReference("tile of a workgroup", _ELEMENTS),
    "reduction": KnobReference(
        "tile of a step of the reduction; with an mma_kind in intrinsics", _PIECES
    ),
    "partial_reduction": KnobReference(
        "tile of a step of the reduction, kept as partial results", _ELEMENTS
    ),
    "subgroup": KnobReference("tile of a subgroup; with an mma_kind in intrinsics", _PIECES),
    "thread": KnobReference("tile of a thread", _ELEMENTS),
    "padding": KnobReference("the multiple that a loop is padded to", _ELEMENTS),
    "padding_conv": KnobReference(
        "the same for the loops of a convolution, before it becomes a matmul", _ELEMENTS
    ),
    "mma_kind": KnobReference("the matrix intrinsic"),
    "promote_operands": KnobReference("the operands that are copied to shared memory, by number"),
    "promotion_types": KnobReference("how each of them is copied"),
    "subgroup_basis": KnobReference(
        "subgroups along each loop, and the loops of these numbers", "subgroups"
    ),
    "lane_basis": KnobReference(
        "threads of a subgroup along each loop, and the loops of these numbers", "threads"
    ),
    "prefetch_num_stages": KnobReference(
        "stages of the software pipeline; 0 and 1 prefetch nothing", "stages"
    ),
    "no_reduce_shared_memory_bank_conflicts": KnobReference(
        "true leaves out the padding of shared memory"
    ),
    "reorder_workgroups_strategy": KnobReference(
        "the order of workgroups; Transpose exchanges x and y"
    ),
    "workgroup_reordering_strategy": KnobReference(
        "the order of workgroups, for a number of dies with this number of compute units"
    ),
    "amdgpu-waves-per-eu": KnobReference(
        "least number of subgroups that a SIMD unit runs at once; more of them leave each fewer registers",
        "subgroups",
    ),
    "denormal_fp_math_f32": KnobReference("preserve-sign flushes denormal numbers to zero"),
    "use_igemm_convolution": KnobReference(
        "whether a convolution becomes a matmul of gathered patches"
    ),
    "distribution": KnobReference("tile of a workgroup", _ELEMENTS),
    "cache_parallel": KnobReference("tile for the cache, parallel loops", _ELEMENTS),
    "cache_reduction": KnobReference("tile for the cache, reduction loops", _ELEMENTS),
    "vector_common_parallel": KnobReference("tile of a vector, parallel loops", _ELEMENTS),
    "vector_reduction": KnobReference("tile of a vector, reduction loops", _ELEMENTS),
    "vector_inner_parallel": KnobReference(
        "tile of a vector, parallel loops of fused ops only", _ELEMENTS
    ),
    "enable_loop_peeling": KnobReference(
        "whether the last iteration of a loop that its tile does not divide is peeled"
    ),
    "tile_sizes": KnobReference("tiles of the loops, a list for each level", _ELEMENTS),
    "window": KnobReference("tile of a window that is unrolled", _ELEMENTS),
    "matrix": KnobReference("size of a cooperative matrix", _ELEMENTS),
    "pipeline_depth": KnobReference("stages of the software pipeline", "stages"),
    "store_stage": KnobReference("the stage of the software pipeline that stores to shared memory"),
}
"""The meaning of each entry of a configuration."""


def meaning(place: str, problem: Problem | None = None) -> str:
    """Return the meaning of a knob, such as `tile of a workgroup, n = 1280`; empty for an unknown knob.

    Args:
        place: its place in a configuration, as in `knob_values`.
        problem: the problem, for the names of its loops.
    """
    entry, _, position = place.rpartition(".")[2].partition("[")
    reference = KNOBS.get(entry)
    text = reference.meaning if reference else ""
    loop = int(position.rstrip("]")) if position and entry != WORKGROUP_SIZE else None
    if not text or loop is None or problem is None or loop >= len(problem.dimensions):
        return text
    dimension = problem.dimensions[loop]
    return f"{text}: {dimension.role.value} = {dimension.size or '?'}"


def entries_of_knob(knob: str) -> tuple[str, ...]:
    """Return the entries of a configuration that may contain a knob, the most likely first."""
    return (knob.rpartition(".")[2].partition("[")[0], "tile_sizes")
