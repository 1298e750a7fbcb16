"""A GPU lowering config holds a dictionary, in braces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.upgrading.rule import AttributeRule
from tuninglink.upgrading.trees import Field, Node, as_node

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext


def _rewrite(node: Node, context: AttributeContext) -> None:
    if not node.fields or any(each.key is None for each in node.fields):
        return
    if any(as_node(each.value) is None and each.value.render() == "" for each in node.fields):
        return
    node.fields = [Field(Node("", "{", node.fields, node.tail))]
    node.tail = ""
    context.changed("the fields of the GPU lowering config stand in braces")


RULE = AttributeRule(
    name="lowering-config-braces",
    version=(2, 9),
    summary="The fields of a GPU lowering config stand in braces.",
    before="#iree_gpu.lowering_config<workgroup = [64, 64, 0]>",
    after="#iree_gpu.lowering_config<{workgroup = [64, 64, 0]}>",
    evidence=("https://github.com/iree-org/iree/pull/18651",),
    kinds=frozenset({"iree_gpu.lowering_config"}),
    rewrite=_rewrite,
)
