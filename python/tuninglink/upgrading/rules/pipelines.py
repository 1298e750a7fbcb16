"""Pipelines are attributes of the dialects that own them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading import known
from tuninglink.upgrading.rule import AttributeRule, Refusal
from tuninglink.upgrading.trees import Leaf, Node

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext

_ALONE: Final = {
    "None": "#iree_codegen.no_pipeline",
    "TransformDialectCodegen": "#iree_codegen.transform_dialect_codegen",
    "VMVXDefault": "#iree_codegen.vmvx_pipeline",
}

_GONE: Final = {
    "LLVMGPUMatmulSimt": "since 3.1 TileAndFuse is in its place, and this configuration has nothing that says how "
    "to tile by its levels (https://github.com/iree-org/iree/pull/19335)",
    "LLVMGPUMatmulTensorCore": "since 3.7 nothing lowers to warp-level WMMA by these tile sizes",
    "LLVMGPUMatmulTensorCoreMmaSync": "since 3.7 nothing lowers to mma.sync by these tile sizes",
    "LLVMGPUPackUnPack": "since 3.4 packing is done by TileAndFuse, which tiles by other levels",
    "LLVMGPUPadAndVectorDistribute": "since 3.6; VectorDistribute does not pad, and TileAndFuse, which does, tiles "
    "by other levels (https://github.com/iree-org/iree/pull/21095)",
    "LLVMGPUTransposeSharedMem": "since 3.10 TileAndFuse is in its place, which tiles by other levels "
    "(https://github.com/iree-org/iree/pull/21661)",
    "LLVMGPUWarpReduction": "since 3.7 VectorDistribute is in its place, which needs a layout of threads that "
    "these tile sizes do not hold (https://github.com/iree-org/iree/pull/21821)",
    "CPUDoubleTilingPadExpert": "no pipeline pads by these tile sizes any more",
    "Custom": "it stands for a pipeline outside of the compiler",
}


def _rewrite(node: Node, context: AttributeContext) -> None:
    value = node.value("pipeline")
    if not isinstance(value, Leaf) or value.text.startswith("#"):
        return
    name = value.text
    field = node.find("pipeline")
    assert field is not None
    if name == "CPUDoubleTilingPeelingExpert":
        field.value = Leaf("#iree_cpu.pipeline<DoubleTilingExpert>")
        _peel(node)
        context.changed(f"pipeline '{name}' is 'DoubleTilingExpert' with 'enable_loop_peeling'")
        return
    attribute = attribute_for(name)
    if attribute is None:
        raise refusal_of(name)
    field.value = Leaf(attribute)
    context.changed(f"pipeline '{name}' is '{attribute}'")


def attribute_for(name: str) -> str | None:
    """Returns the attribute that replaces an enumerator, None if there is none."""
    if name in _ALONE:
        return _ALONE[name]
    if name == "Mmt4dTilingExpert":
        return "#iree_cpu.pipeline<Mmt4dTilingExpert>"
    for prefix, mnemonic, names in _families():
        rest = name.removeprefix(prefix)
        if rest != name and rest in names:
            return f"#{mnemonic}<{rest}>"
    return None


def refusal_of(name: str) -> Refusal:
    """Returns why an enumerator has no attribute."""
    if name in _GONE:
        return Refusal(f"the pipeline '{name}' is gone: {_GONE[name]}")
    return Refusal(known.unknown("pipeline", name, _old_names()))


def _families() -> tuple[tuple[str, str, frozenset[str]], ...]:
    return (
        ("LLVMGPU", "iree_gpu.pipeline", known.gpu_pipelines()),
        ("SPIRV", "iree_gpu.spirv_pipeline", known.spirv_pipelines()),
        ("CPU", "iree_cpu.pipeline", frozenset(known.CPU_PIPELINES)),
    )


def _old_names() -> set[str]:
    named = {prefix + each for prefix, _, names in _families() for each in names}
    return named | set(_ALONE) | set(_GONE) | {"Mmt4dTilingExpert"}


def _peel(node: Node) -> None:
    options = next(
        (
            each.value
            for each in node.fields
            if isinstance(each.value, Node) and each.key is None and each.value.bracket == "{"
        ),
        None,
    )
    if options is None:
        node.add(None, "{enable_loop_peeling}")
    elif options.find("enable_loop_peeling") is None:
        options.add(None, "enable_loop_peeling")


RULE = AttributeRule(
    name="pipeline-attributes",
    version=(3, 12),
    summary="The enumerators of pipelines became attributes of the dialects that own them.",
    before="#iree_codegen.translation_info<pipeline = LLVMGPUTileAndFuse>",
    after="#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>>",
    evidence=(
        "https://github.com/iree-org/iree/pull/23816",
        "https://github.com/iree-org/iree/pull/23851",
        "https://github.com/iree-org/iree/pull/23864",
        "https://github.com/iree-org/iree/pull/24398",
    ),
    kinds=frozenset({"iree_codegen.translation_info"}),
    rewrite=_rewrite,
)
