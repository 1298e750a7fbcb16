"""The intrinsic and the subgroups belong to the operation, not to the function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.configuration import Configuration, remove_options
from tuninglink.upgrading.rule import AttributeRule, Refusal
from tuninglink.upgrading.rules.pipelines import attribute_for, refusal_of

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_COUNTS: Final = ("subgroup_m_count", "subgroup_n_count")


def _rewrite(node: Node, context: AttributeContext) -> None:
    configuration = Configuration.of(node)
    if configuration is None or configuration.options is None:
        return
    options = configuration.options
    schedule = options.node("mma_schedule")
    if schedule is None:
        return
    levels = configuration.levels
    name = configuration.pipeline or ""
    if levels is None and attribute_for(name) is None:
        raise refusal_of(name)
    if levels is None:
        raise Refusal(
            f"an 'mma_schedule' with the pipeline '{name}': its lowering config has "
            "no place for the intrinsic"
        )
    intrinsic = schedule.value("intrinsic")
    if intrinsic is not None and levels.find("mma_kind") is None:
        node_copy = intrinsic.copy()
        levels.insert(0, "mma_kind", node_copy)
    for name in _COUNTS:
        count = schedule.value(name)
        if count is not None and levels.find(name) is None:
            levels.add(name, count.copy())
    options.remove("mma_schedule")
    if not options.fields:
        remove_options(configuration.translation)
    context.changed(
        "intrinsic and subgroup counts moved from 'mma_schedule' into the lowering config"
    )


RULE = AttributeRule(
    name="mma-schedule",
    version=(2, 9),
    summary="`mma_schedule` left the translation info; intrinsic and subgroup counts are in the lowering "
    "config. Tile counts, which it once had too, follow from the rest.",
    before="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{reduction = [0, 0, 32], workgroup = [64, 128, 0]}>, "
    "translation_info = <pipeline = LLVMGPUVectorDistribute, {mma_schedule = #iree_gpu.mma_schedule<"
    "intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 2, "
    "subgroup_n_count = 2>}>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, reduction = [0, 0, 32], "
    "workgroup = [64, 128, 0], subgroup_m_count = 2, subgroup_n_count = 2}>, "
    "translation_info = <pipeline = LLVMGPUVectorDistribute>>",
    evidence=(
        "https://github.com/iree-org/iree/pull/17195",
        "https://github.com/iree-org/iree/pull/18984",
    ),
    kinds=frozenset({"iree_codegen.compilation_info"}),
    rewrite=_rewrite,
)
