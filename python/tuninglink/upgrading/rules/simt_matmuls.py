from __future__ import annotations

from typing import Final

from tuninglink.upgrading.compilation_info import TILE_SIZES_CONFIG, CompilationInfo
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.rules.tile_levels import split_sizes
from tuninglink.upgrading.trees import Leaf, Node, integer, integers

_OLD: Final = "LLVMGPUMatmulSimt"
_NEW: Final = "LLVMGPUTileAndFuse"
_DIMENSIONS: Final = 3
"""The dimensions of a workgroup: x, y and z."""


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(3, 1),
    before="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[32, 128, 32]]>, translation_info = "
    "<pipeline = LLVMGPUMatmulSimt workgroup_size = [32, 8, 1] subgroup_size = 32>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{promote_operands = [0, 1], reduction = [0, 0, 32], thread = [4, 4, 0], workgroup = [32, 128, 0]}>, "
    "translation_info = <pipeline = LLVMGPUTileAndFuse workgroup_size = [32, 8, 1] subgroup_size = 32>>",
    evidence=("iree#19335",),
)
def simt_matmuls(site: AttributeSite) -> None:
    """TileAndFuse replaced `LLVMGPUMatmulSimt`.

    The tile sizes of its threads are those that the old pipeline computed from the size of the workgroup.
    """
    info = CompilationInfo.of(site.node)
    if info is None or info.pipeline != _OLD:
        return
    levels = info.tile_sizes
    sizes = levels[0] if len(levels) == 1 else None
    if sizes is None or info.lowering.head != TILE_SIZES_CONFIG:
        raise Refusal(f"the pipeline '{_OLD}' is gone; it had one list of tile sizes")
    workgroup, reduction = split_sizes(sizes, site)
    thread = _thread_tile(workgroup, _threads(info.translation))
    info.tile_by_levels(workgroup=workgroup, reduction=reduction, thread=thread)
    pipeline = info.translation.find("pipeline")
    assert pipeline is not None
    pipeline.value = Leaf(_NEW)
    site.decided(
        f"pipeline '{_OLD}' is '{_NEW}' with the same tiles: workgroup {workgroup}, reduction {reduction}, "
        f"thread {thread}, both operands promoted"
    )


def _threads(translation: Node) -> list[int]:
    """Return the number of threads along x, y and z."""
    threads = integers(translation.value("workgroup_size")) or []
    if not threads or integer(translation.value("subgroup_size")) is None:
        raise Refusal(
            f"the pipeline '{_OLD}' did not need a subgroup size, and TileAndFuse, which replaced it, does "
            "(https://github.com/iree-org/iree/pull/19335); the spec does not give it"
        )
    return (threads + [1] * _DIMENSIONS)[:_DIMENSIONS]


def _thread_tile(workgroup: list[int], threads: list[int]) -> list[int]:
    """Divide a workgroup's tile among its threads: the innermost loop along x, the next along y."""
    tile, rest = list(workgroup), list(threads)
    for loop in reversed([loop for loop, size in enumerate(workgroup) if size]):
        along = rest.pop(0) if rest else 1
        if tile[loop] % along:
            raise Refusal(f"{along} threads do not divide the workgroup tile {workgroup}")
        tile[loop] //= along
    if any(threads_left != 1 for threads_left in rest):
        raise Refusal(f"more dimensions of threads, {threads}, than tiled loops, {workgroup}")
    return tile
