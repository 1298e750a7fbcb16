"""Pipelines: their names, and those that are gone."""

from __future__ import annotations

import re
from typing import Final

from tuninglink.iree.release import CPU_PIPELINES, gpu_enumerators, unknown
from tuninglink.upgrading.compilation_info import (
    TILE_SIZES_CONFIG,
    CompilationInfo,
    integer,
    integers,
    options_of,
)
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.rules.lowering_configs import split_sizes
from tuninglink.upgrading.trees import Leaf, Node


@attribute_rule(
    "iree_codegen.translation_info",
    since=(3, 0),
    before="#iree_codegen.translation_info<None workgroup_size = [64]>",
    after="#iree_codegen.translation_info<pipeline = None workgroup_size = [64]>",
    evidence=("iree#19107",),
)
def pipeline_keyword(site: AttributeSite) -> None:
    """`translation_info<X …>` became `translation_info<pipeline = X …>`."""
    first = site.node.fields[0] if site.node.fields else None
    if first is None or first.key is not None or not isinstance(first.value, Leaf):
        return
    if re.fullmatch(r"[A-Za-z]\w*", first.value.text):
        first.key, first.equals = "pipeline", " = "
        site.changed("the pipeline is written 'pipeline = ...'")


@attribute_rule(
    "iree_codegen.translation_info",
    since=(2, 9),
    before="#iree_codegen.translation_info<LLVMGPUDistribute pipeline_depth = 0 store_stage = 1>",
    after="#iree_codegen.translation_info<LLVMGPUDistribute>",
    evidence=(
        "iree@5c32ba2dc41be222ff3d8e264cd9fd73e690880c:compiler/src/iree/compiler/Codegen/Dialect/Codegen/IR/IREECodegenAttrs.td",
        "iree#16665",
    ),
)
def software_pipelining(site: AttributeSite) -> None:
    """`pipeline_depth` and `store_stage` left the translation info with the pipelines that read them."""
    gone = [f"'{name}'" for name in ("pipeline_depth", "store_stage") if site.node.remove(name)]
    if gone:
        site.decided(f"{' and '.join(gone)} removed: today's pipelines ignore it")


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


_ALONE: Final = {
    "None": "#iree_codegen.no_pipeline",
    "TransformDialectCodegen": "#iree_codegen.transform_dialect_codegen",
    "VMVXDefault": "#iree_codegen.vmvx_pipeline",
    "Mmt4dTilingExpert": "#iree_cpu.pipeline<Mmt4dTilingExpert>",
}

_GONE: Final = {
    "LLVMGPUMatmulSimt": "since 3.1 TileAndFuse replaces it, and this configuration lacks the tile sizes of its "
    "levels (https://github.com/iree-org/iree/pull/19335)",
    "LLVMGPUMatmulTensorCore": "since 3.7 no pipeline lowers to warp-level WMMA by these tile sizes",
    "LLVMGPUMatmulTensorCoreMmaSync": "since 3.7 no pipeline lowers to mma.sync by these tile sizes",
    "LLVMGPUPackUnPack": "since 3.4 TileAndFuse does packing, and it tiles by other levels",
    "LLVMGPUPadAndVectorDistribute": "since 3.6; VectorDistribute does not pad, and TileAndFuse, which does, tiles "
    "by other levels (https://github.com/iree-org/iree/pull/21095)",
    "LLVMGPUTransposeSharedMem": "since 3.10 TileAndFuse replaces it, which tiles by other levels "
    "(https://github.com/iree-org/iree/pull/21661)",
    "LLVMGPUWarpReduction": "since 3.7 VectorDistribute replaces it, which needs a layout of threads that "
    "these tile sizes do not determine (https://github.com/iree-org/iree/pull/21821)",
    "CPUDoubleTilingPadExpert": "no pipeline pads by these tile sizes",
    "Custom": "it denotes a pipeline outside of the compiler",
}


@attribute_rule(
    "iree_codegen.translation_info",
    since=(3, 12),
    before="#iree_codegen.translation_info<pipeline = LLVMGPUTileAndFuse>",
    after="#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>>",
    evidence=("iree#23816", "iree#23851", "iree#23864", "iree#24398"),
)
def pipeline_attributes(site: AttributeSite) -> None:
    """The enumerators of pipelines became attributes of the dialects that own them."""
    field = site.node.find("pipeline")
    if field is None or field.key is None or not isinstance(field.value, Leaf):
        return
    name = field.value.text
    if name.startswith("#"):
        return
    if name == "CPUDoubleTilingPeelingExpert":
        field.value = Leaf("#iree_cpu.pipeline<DoubleTilingExpert>")
        options = options_of(site.node)
        if options is None:
            site.node.add(None, "{enable_loop_peeling}")
        elif options.find("enable_loop_peeling") is None:
            options.add(None, "enable_loop_peeling")
        site.changed(f"pipeline '{name}' is 'DoubleTilingExpert' with 'enable_loop_peeling'")
        return
    attribute = attribute_for(name)
    field.value = Leaf(attribute)
    site.changed(f"pipeline '{name}' is '{attribute}'")


def attribute_for(name: str) -> str:
    """Return the attribute that replaces an enumerator.

    Raises:
        Refusal: there is none.
    """
    families = (
        ("LLVMGPU", "iree_gpu.pipeline", gpu_enumerators("LoweringPipeline")),
        ("SPIRV", "iree_gpu.spirv_pipeline", gpu_enumerators("SPIRVLoweringPipeline")),
        ("CPU", "iree_cpu.pipeline", CPU_PIPELINES),
    )
    for prefix, mnemonic, enumerators in families:
        rest = name.removeprefix(prefix)
        if rest != name and rest in enumerators:
            return f"#{mnemonic}<{rest}>"
    if name in _ALONE:
        return _ALONE[name]
    if name in _GONE:
        raise Refusal(f"the pipeline '{name}' is gone: {_GONE[name]}")
    present = {
        prefix + enumerator for prefix, _, enumerators in families for enumerator in enumerators
    }
    raise Refusal(unknown("pipeline", name, present | _ALONE.keys() | _GONE.keys()))
