from __future__ import annotations

from typing import Final

from tuninglink.upgrading.compilation_info import (
    TILE_SIZES_CONFIG,
    VECTOR_DISTRIBUTE,
    CompilationInfo,
)
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule

_RANKS: Final = {
    3: ("a matmul", 1),
    4: ("a batched or broadcast matmul", 1),
    5: ("a contraction", 1),
    6: ("a contraction", 1),
    7: ("a 2-d convolution", 3),
}
"""The assumed operation by number of loops, and its number of trailing reductions."""


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(2, 9),
    before="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 128, 32]]>, "
    "translation_info = #iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{promote_operands = [0, 1], reduction = [0, 0, 32], workgroup = [64, 128, 0]}>, "
    "translation_info = #iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute>>",
    evidence=("iree#18651",),
)
def tile_levels(site: AttributeSite) -> None:
    """VectorDistribute requires a GPU lowering config.

    It contains `workgroup` and `reduction` sizes, and the promoted operands.
    """
    info = CompilationInfo.of(site.node)
    if info is None or info.pipeline not in VECTOR_DISTRIBUTE:
        return
    if info.lowering.head != TILE_SIZES_CONFIG:
        return
    levels = info.tile_sizes
    if len(levels) != 1:
        raise Refusal(
            f"tile sizes on {len(levels)} levels: VectorDistribute had one level, so their meaning is "
            "unknown"
        )
    sizes = levels[0]
    if sizes is None:
        raise Refusal("tile sizes with interchange or scalable sizes have no counterpart on a GPU")
    workgroup, reduction = split_sizes(sizes, site)
    info.tile_by_levels(workgroup=workgroup, reduction=reduction)
    site.changed(
        f"tile sizes {sizes} are workgroup {workgroup} and reduction {reduction}; both operands are "
        "promoted, as the pipeline then always did"
    )


def split_sizes(sizes: list[int], site: AttributeSite) -> tuple[list[int], list[int]]:
    """Split tile sizes into those of a workgroup and those of the reductions.

    Raises:
        Refusal: the operation has fewer loops, or its reductions are unknown.
    """
    reductions = _reductions(len(sizes), site)
    workgroup = [0 if loop in reductions else size for loop, size in enumerate(sizes)]
    return workgroup, [size if loop in reductions else 0 for loop, size in enumerate(sizes)]


def _reductions(loops: int, site: AttributeSite) -> tuple[int, ...]:
    """Return the reductions of an operation with a number of tile sizes."""
    space = site.find_space()
    if space is not None:
        if space.loops < loops:
            raise Refusal(
                f"{loops} tile sizes for an operation with {space.loops} loops: they never fit"
            )
        return space.reductions
    if loops not in _RANKS:
        raise Refusal(
            f"the matcher does not show which of the {loops} loops are reductions, and tile sizes on a "
            "GPU depend on that"
        )
    assumed, count = _RANKS[loops]
    site.decided(
        f"the matcher does not show the operation; with {loops} tile sizes it is assumed to be {assumed}"
    )
    return tuple(range(loops - count, loops))
