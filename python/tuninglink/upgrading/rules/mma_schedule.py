from __future__ import annotations

from tuninglink.upgrading.compilation_info import SUBGROUP_COUNTS, CompilationInfo, options_of
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.rules.pipeline_attributes import attribute_for
from tuninglink.upgrading.trees import as_node


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(2, 9),
    before="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{reduction = [0, 0, 32], workgroup = [64, 128, 0]}>, "
    "translation_info = <pipeline = LLVMGPUVectorDistribute, {mma_schedule = #iree_gpu.mma_schedule<"
    "intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 2, "
    "subgroup_n_count = 2>}>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, reduction = [0, 0, 32], "
    "workgroup = [64, 128, 0], subgroup_m_count = 2, subgroup_n_count = 2}>, "
    "translation_info = <pipeline = LLVMGPUVectorDistribute>>",
    evidence=("iree#17195", "iree#18984"),
)
def mma_schedule(site: AttributeSite) -> None:
    """`mma_schedule` left the translation info. The intrinsic and the subgroup counts are in the lowering config.

    Tile counts, formerly part of it, follow from the rest.
    """
    info = CompilationInfo.of(site.node)
    options = options_of(info.translation) if info is not None else None
    schedule = options.node("mma_schedule") if options is not None else None
    if info is None or options is None or schedule is None:
        return
    levels, pipeline = info.levels, info.pipeline or ""
    if levels is None:
        attribute_for(pipeline)  # the pipeline may be gone, which is the better reason
        raise Refusal(
            f"an 'mma_schedule' with the pipeline '{pipeline}': its lowering config has "
            "no place for the intrinsic"
        )
    # Move the intrinsic and the subgroup counts.
    intrinsic = schedule.value("intrinsic")
    if intrinsic is not None and levels.find("mma_kind") is None:
        levels.insert(0, "mma_kind", intrinsic.copy())
    for name in SUBGROUP_COUNTS:
        count = schedule.value(name)
        if count is not None and levels.find(name) is None:
            levels.add(name, count.copy())
    # Remove the schedule, and options that become empty.
    options.remove("mma_schedule")
    if not options.fields:
        fields = info.translation.fields
        info.translation.remove_field(
            next(field for field in fields if as_node(field.value) is options)
        )
    site.changed("intrinsic and subgroup counts moved from 'mma_schedule' into the lowering config")
