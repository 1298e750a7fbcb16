from __future__ import annotations

from typing import Final

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule
from tuninglink.upgrading.trees import Leaf

_STAGES: Final = {"true": "2", "false": "0"}


@attribute_rule(
    "iree_gpu.pipeline_options",
    since=(3, 10),
    before="#iree_gpu.pipeline_options<prefetch_shared_memory = true>",
    after="#iree_gpu.pipeline_options<prefetch_num_stages = 2>",
    evidence=("iree#22818",),
)
def prefetch_num_stages(site: AttributeSite) -> None:
    """`prefetch_shared_memory` became `prefetch_num_stages`: 2 for true, 0 for false."""
    field = site.node.find("prefetch_shared_memory")
    if field is None or field.key is None or not isinstance(field.value, Leaf):
        return
    old, stages = field.value.text, _STAGES.get(field.value.text)
    if stages is None:
        return
    if site.node.find("prefetch_num_stages") is not None:
        site.node.remove_field(field)
    else:
        field.key, field.value = "prefetch_num_stages", Leaf(stages)
        site.changed(f"'prefetch_shared_memory = {old}' is 'prefetch_num_stages = {stages}'")
