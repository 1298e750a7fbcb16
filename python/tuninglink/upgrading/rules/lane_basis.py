from __future__ import annotations

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule


@attribute_rule(
    "iree_gpu.lowering_config",
    since=(3, 7),
    before="#iree_gpu.lowering_config<{thread = [0, 8], thread_basis = [[1, 64], [0, 1]]}>",
    after="#iree_gpu.lowering_config<{thread = [0, 8], lane_basis = [[1, 64], [0, 1]]}>",
    evidence=("iree#21412",),
)
def lane_basis(site: AttributeSite) -> None:
    """`thread_basis` in a lowering config became `lane_basis`. Today's pipelines ignore the old name."""
    field = site.levels.find("thread_basis") if site.levels is not None else None
    if field is not None and field.key is not None:
        field.key = "lane_basis"
        site.changed("'thread_basis' is 'lane_basis'")
