"""A lowering config is named, because there are several kinds of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.upgrading.configuration import TILE_SIZES_CONFIG
from tuninglink.upgrading.rule import AttributeRule

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node


def _rewrite(node: Node, context: AttributeContext) -> None:
    if not node.head and node.bracket == "<":
        node.head = TILE_SIZES_CONFIG
        context.changed("the lowering config is written with its name")


RULE = AttributeRule(
    name="elided-lowering-config",
    version=(2, 9),
    summary="`lowering_config = <…>` in a compilation info needs its name.",
    before="#iree_codegen.compilation_info<lowering_config = <tile_sizes = [[4]]>, "
    "translation_info = <CPUDefault>>",
    after="#iree_codegen.compilation_info<lowering_config = "
    "#iree_codegen.lowering_config<tile_sizes = [[4]]>, translation_info = <CPUDefault>>",
    evidence=(
        (
            "https://github.com/iree-org/iree/blob/004152ecc3865e995638b2119b5d01e3049599ea/"
            "compiler/src/iree/compiler/Codegen/Dialect/Codegen/IR/IREECodegenAttrs.td"
        ),
    ),
    kinds=frozenset({"iree_codegen.lowering_config"}),
    rewrite=_rewrite,
)
