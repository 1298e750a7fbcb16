"""GPU pipelines are configured by named levels, not by a list of tile sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.configuration import (
    GPU_CONFIG,
    TILE_SIZES_CONFIG,
    VECTOR_DISTRIBUTE,
    Configuration,
)
from tuninglink.upgrading.rule import AttributeRule, Refusal
from tuninglink.upgrading.trees import Field, Node, as_node, int_list, integers

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext

_RANKS: Final = {
    3: ("a matmul", 1),
    4: ("a batched or broadcast matmul", 1),
    5: ("a contraction", 1),
    6: ("a contraction", 1),
    7: ("a 2-d convolution", 3),
}
"""What an operation with so many loops is taken for, and how many reductions stand at the end."""


def _rewrite(node: Node, context: AttributeContext) -> None:
    configuration = Configuration.of(node)
    if configuration is None or configuration.pipeline not in VECTOR_DISTRIBUTE:
        return
    lowering = configuration.lowering
    if lowering.head != TILE_SIZES_CONFIG:
        return
    sizes = _sizes(lowering)
    reductions = reductions_of(len(sizes), context)
    workgroup = [0 if loop in reductions else size for loop, size in enumerate(sizes)]
    reduction = [size if loop in reductions else 0 for loop, size in enumerate(sizes)]
    levels = Node("", "{")
    levels.add("promote_operands", int_list([0, 1]))
    levels.add("reduction", int_list(reduction))
    levels.add("workgroup", int_list(workgroup))
    lowering.head = GPU_CONFIG
    lowering.fields, lowering.tail = [Field(levels)], ""
    context.changed(
        f"tile sizes {sizes} are workgroup {workgroup} and reduction {reduction}; both operands are "
        "promoted, as the pipeline then always did"
    )


def _sizes(lowering: Node) -> list[int]:
    outer = as_node(lowering.value("tile_sizes"))
    levels = [each.value for each in outer.fields] if outer is not None else []
    if len(levels) != 1:
        raise Refusal(
            f"tile sizes on {len(levels)} levels: VectorDistribute had one, so there is no telling "
            "what they meant"
        )
    sizes = integers(levels[0])
    if sizes is None:
        raise Refusal("tile sizes with interchange or scalable sizes have no counterpart on a GPU")
    return sizes


def reductions_of(loops: int, context: AttributeContext) -> frozenset[int]:
    """Returns which loops of an operation with so many tile sizes are reductions.

    Raises:
        Refusal: the operation has fewer loops, or there is no telling.
    """
    problem = context.problem
    if problem is not None:
        if problem.loops < loops:
            raise Refusal(
                f"{loops} tile sizes for an operation with {problem.loops} loops: it did not fit before"
            )
        return frozenset(problem.reductions)
    if loops not in _RANKS:
        raise Refusal(
            f"the matcher does not say which of the {loops} loops are reductions, and tile sizes on a "
            "GPU depend on that"
        )
    taken_for, count = _RANKS[loops]
    context.decided(
        f"the matcher does not show the operation; with {loops} tile sizes it is taken for {taken_for}"
    )
    return frozenset(range(loops - count, loops))


RULE = AttributeRule(
    name="tile-levels",
    version=(2, 9),
    summary="VectorDistribute takes a GPU lowering config: `workgroup` and `reduction` sizes, and which "
    "operands are promoted.",
    before="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 128, 32]]>, "
    "translation_info = #iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{promote_operands = [0, 1], reduction = [0, 0, 32], workgroup = [64, 128, 0]}>, "
    "translation_info = #iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute>>",
    evidence=("https://github.com/iree-org/iree/pull/18651",),
    kinds=frozenset({"iree_codegen.compilation_info"}),
    rewrite=_rewrite,
)
