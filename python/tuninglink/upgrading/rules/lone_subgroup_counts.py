from __future__ import annotations

from tuninglink.upgrading.compilation_info import remove_subgroup_counts, subgroup_counts
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule


@attribute_rule(
    "iree_gpu.lowering_config",
    since=(3, 8),
    before="#iree_gpu.lowering_config<{subgroup = [2, 4, 0], subgroup_m_count = 2, workgroup = [64, 128, 0]}>",
    after="#iree_gpu.lowering_config<{subgroup = [2, 4, 0], workgroup = [64, 128, 0]}>",
    evidence=("iree#21912",),
)
def lone_subgroup_counts(site: AttributeSite) -> None:
    """Subgroup counts in a separately annotated lowering config have no effect.

    TileAndFuse, which reads `subgroup` tile sizes, always ignored them. For other pipelines, the entry is excluded.
    """
    levels = site.levels
    if levels is None or subgroup_counts(levels) is None:
        return
    if levels.find("subgroup") is None:
        raise Refusal(
            "subgroup counts in a lowering config that is annotated without its pipeline, which determined "
            "how the compiler distributed them"
        )
    remove_subgroup_counts(levels)
    site.changed(
        "subgroup counts removed: the lowering config has the 'subgroup' tile sizes of TileAndFuse, which "
        "always ignored the counts"
    )
