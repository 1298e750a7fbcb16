from __future__ import annotations

from tuninglink.upgrading.compilation_info import TILE_SIZES_CONFIG
from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule


@attribute_rule(
    "iree_codegen.lowering_config",
    since=(2, 9),
    before="#iree_codegen.compilation_info<lowering_config = <tile_sizes = [[4]]>, "
    "translation_info = <CPUDefault>>",
    after="#iree_codegen.compilation_info<lowering_config = "
    "#iree_codegen.lowering_config<tile_sizes = [[4]]>, translation_info = <CPUDefault>>",
    evidence=(
        "iree@004152ecc3865e995638b2119b5d01e3049599ea:compiler/src/iree/compiler/Codegen/Dialect/Codegen/IR/IREECodegenAttrs.td",
    ),
)
def elided_lowering_config(site: AttributeSite) -> None:
    """`lowering_config = <…>` in a compilation info requires its name."""
    if not site.node.head and site.node.bracket == "<":
        site.node.head = TILE_SIZES_CONFIG
        site.changed("the lowering config is written with its name")
