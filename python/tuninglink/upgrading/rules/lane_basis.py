"""What is distributed within a subgroup is distributed over lanes, not threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.upgrading.rule import AttributeRule
from tuninglink.upgrading.trees import as_node

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node


def _rewrite(node: Node, context: AttributeContext) -> None:
    first = node.positional()
    levels = as_node(first.value) if first is not None else None
    field = levels.find("thread_basis") if levels is not None else None
    if field is not None and field.key is not None:
        field.key = "lane_basis"
        context.changed("'thread_basis' is 'lane_basis'")


RULE = AttributeRule(
    name="lane-basis",
    version=(3, 7),
    summary="`thread_basis` in a lowering config became `lane_basis`; today's pipelines do not read the old name.",
    before="#iree_gpu.lowering_config<{thread = [0, 8], thread_basis = [[1, 64], [0, 1]]}>",
    after="#iree_gpu.lowering_config<{thread = [0, 8], lane_basis = [[1, 64], [0, 1]]}>",
    evidence=("https://github.com/iree-org/iree/pull/21412",),
    kinds=frozenset({"iree_gpu.lowering_config"}),
    rewrite=_rewrite,
)
