"""Matmuls without intrinsics are tiled by TileAndFuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.configuration import GPU_CONFIG, TILE_SIZES_CONFIG, Configuration
from tuninglink.upgrading.rule import AttributeRule, Refusal
from tuninglink.upgrading.rules.tile_levels import reductions_of
from tuninglink.upgrading.trees import Field, Leaf, Node, as_node, int_list, integer, integers

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext

_OLD: Final = "LLVMGPUMatmulSimt"
_NEW: Final = "LLVMGPUTileAndFuse"
_DIMENSIONS: Final = 3
"""Of a workgroup: x, y and z."""


def _rewrite(node: Node, context: AttributeContext) -> None:
    configuration = Configuration.of(node)
    if configuration is None or configuration.pipeline != _OLD:
        return
    lowering, translation = configuration.lowering, configuration.translation
    sizes = _sizes(lowering)
    reductions = reductions_of(len(sizes), context)
    threads = _threads(translation)
    workgroup = [0 if loop in reductions else size for loop, size in enumerate(sizes)]
    reduction = [size if loop in reductions else 0 for loop, size in enumerate(sizes)]
    thread = _thread_tile(workgroup, threads)
    levels = Node("", "{")
    levels.add("promote_operands", int_list([0, 1]))
    levels.add("reduction", int_list(reduction))
    levels.add("thread", int_list(thread))
    levels.add("workgroup", int_list(workgroup))
    lowering.head, lowering.fields, lowering.tail = GPU_CONFIG, [Field(levels)], ""
    pipeline = translation.find("pipeline")
    assert pipeline is not None
    pipeline.value = Leaf(_NEW)
    context.decided(
        f"pipeline '{_OLD}' is '{_NEW}' with the same tiles: workgroup {workgroup}, reduction {reduction}, "
        f"thread {thread}, both operands promoted"
    )


def _sizes(lowering: Node) -> list[int]:
    outer = as_node(lowering.value("tile_sizes"))
    levels = [integers(each.value) for each in outer.fields] if outer is not None else []
    sizes = levels[0] if len(levels) == 1 else None
    if sizes is None or lowering.head != TILE_SIZES_CONFIG:
        raise Refusal(f"the pipeline '{_OLD}' is gone, and had one list of tile sizes")
    return sizes


def _threads(translation: Node) -> list[int]:
    """Returns the number of threads along x, y and z."""
    threads = integers(translation.value("workgroup_size")) or []
    if not threads or integer(translation.value("subgroup_size")) is None:
        raise Refusal(
            f"the pipeline '{_OLD}' needed no subgroup size, and TileAndFuse, which replaced it, does "
            "(https://github.com/iree-org/iree/pull/19335); the spec does not say it"
        )
    return (threads + [1] * _DIMENSIONS)[:_DIMENSIONS]


def _thread_tile(workgroup: list[int], threads: list[int]) -> list[int]:
    """Divides a workgroup's tile among its threads: the innermost loop along x, the next along y."""
    tile = list(workgroup)
    parallel = [loop for loop, size in enumerate(workgroup) if size]
    rest = list(threads)
    for loop in reversed(parallel):
        along = rest.pop(0) if rest else 1
        if tile[loop] % along:
            raise Refusal(f"{along} threads do not divide the workgroup tile {workgroup}")
        tile[loop] //= along
    if any(each != 1 for each in rest):
        raise Refusal(f"more dimensions of threads, {threads}, than tiled loops, {workgroup}")
    return tile


RULE = AttributeRule(
    name="simt-matmuls",
    version=(3, 1),
    summary="`LLVMGPUMatmulSimt` was replaced by TileAndFuse, which is told the tiles of threads that the old "
    "pipeline computed from the size of the workgroup.",
    before="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[32, 128, 32]]>, translation_info = "
    "<pipeline = LLVMGPUMatmulSimt workgroup_size = [32, 8, 1] subgroup_size = 32>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{promote_operands = [0, 1], reduction = [0, 0, 32], thread = [4, 4, 0], workgroup = [32, 128, 0]}>, "
    "translation_info = <pipeline = LLVMGPUTileAndFuse workgroup_size = [32, 8, 1] subgroup_size = 32>>",
    evidence=("https://github.com/iree-org/iree/pull/19335",),
    kinds=frozenset({"iree_codegen.compilation_info"}),
    rewrite=_rewrite,
)
