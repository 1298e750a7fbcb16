"""Prefetching has a number of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import AttributeRule
from tuninglink.upgrading.trees import Leaf

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_STAGES: Final = {"true": "2", "false": "0"}


def _rewrite(node: Node, context: AttributeContext) -> None:
    field = node.find("prefetch_shared_memory")
    if field is None or field.key is None or not isinstance(field.value, Leaf):
        return
    stages = _STAGES.get(field.value.text)
    if stages is None:
        return
    if node.find("prefetch_num_stages") is not None:
        node.remove_field(field)
    else:
        context.changed(
            f"'prefetch_shared_memory = {field.value.text}' is 'prefetch_num_stages = {stages}'"
        )
        field.key, field.value = "prefetch_num_stages", Leaf(stages)


RULE = AttributeRule(
    name="prefetch-num-stages",
    version=(3, 10),
    summary="`prefetch_shared_memory` became `prefetch_num_stages`: 2 for true, 0 for false.",
    before="#iree_gpu.pipeline_options<prefetch_shared_memory = true>",
    after="#iree_gpu.pipeline_options<prefetch_num_stages = 2>",
    evidence=("https://github.com/iree-org/iree/pull/22818",),
    kinds=frozenset({"iree_gpu.pipeline_options"}),
    rewrite=_rewrite,
)
