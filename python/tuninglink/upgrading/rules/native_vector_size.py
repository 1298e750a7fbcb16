from __future__ import annotations

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule


@attribute_rule(
    "iree_codegen.lowering_config",
    since=(3, 6),
    before="#iree_codegen.lowering_config<tile_sizes = [[4, 4]], native_vector_size = [4]>",
    after="#iree_codegen.lowering_config<tile_sizes = [[4, 4]]>",
    evidence=("iree#21322",),
)
def native_vector_size(site: AttributeSite) -> None:
    """`native_vector_size` left the lowering config."""
    if site.node.remove("native_vector_size"):
        site.decided("'native_vector_size' removed: it was ignored, and the target determines it")
