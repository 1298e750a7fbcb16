from __future__ import annotations

from typing import Final

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule
from tuninglink.upgrading.trees import Leaf, enumerator

_STRATEGY: Final = "reorder_workgroups_strategy"


@attribute_rule(
    "iree_gpu.pipeline_options",
    since=(3, 0),
    before="#iree_gpu.pipeline_options<reorder_workgroups_strategy = Transpose>",
    after="#iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>",
    evidence=("iree#19039", "iree#19094"),
)
def reorder_workgroups(site: AttributeSite) -> None:
    """`reorder_workgroups_strategy` takes an attribute, and `Swizzle` is gone."""
    field = site.node.find(_STRATEGY)
    if field is None or field.key is None:
        return
    name = enumerator(field.value)
    if name == "Swizzle":
        site.node.remove_field(field)
        site.decided(
            "the compiler does not swizzle workgroups any longer: the strategy is gone, and the compiler's default applies"
        )
    elif isinstance(field.value, Leaf) and name in {"None", "Transpose"}:
        field.value = Leaf(f"<{name}>")
        site.changed(f"'{_STRATEGY} = {name}' is '<{name}>'")
