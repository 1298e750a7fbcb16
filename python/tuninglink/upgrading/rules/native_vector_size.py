"""The native vector size is the target's business."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.upgrading.rule import AttributeRule

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node


def _rewrite(node: Node, context: AttributeContext) -> None:
    if node.remove("native_vector_size"):
        context.decided("'native_vector_size' left out: nothing read it, and the target says it")


RULE = AttributeRule(
    name="native-vector-size",
    version=(3, 6),
    summary="`native_vector_size` left the lowering config.",
    before="#iree_codegen.lowering_config<tile_sizes = [[4, 4]], native_vector_size = [4]>",
    after="#iree_codegen.lowering_config<tile_sizes = [[4, 4]]>",
    evidence=("https://github.com/iree-org/iree/pull/21322",),
    kinds=frozenset({"iree_codegen.lowering_config"}),
    rewrite=_rewrite,
)
