from __future__ import annotations

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule
from tuninglink.upgrading.trees import Field, Node


@attribute_rule(
    "iree_gpu.lowering_config",
    since=(2, 9),
    before="#iree_gpu.lowering_config<workgroup = [64, 64, 0]>",
    after="#iree_gpu.lowering_config<{workgroup = [64, 64, 0]}>",
    evidence=("iree#18651",),
)
def lowering_config_braces(site: AttributeSite) -> None:
    """The fields of a GPU lowering config are in braces."""
    node = site.node
    is_bare = all(field.key is not None and field.value.render() for field in node.fields)
    if node.fields and is_bare:
        node.fields, node.tail = [Field(Node("", "{", node.fields, node.tail))], ""
        site.changed("the fields of the GPU lowering config are in braces")
