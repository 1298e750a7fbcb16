from __future__ import annotations

from typing import Final

from tuninglink.upgrading.compilation_info import options_of
from tuninglink.upgrading.enumerators import CPU_PIPELINES, gpu_enumerators, unknown
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.trees import Leaf

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
