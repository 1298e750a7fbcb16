"""How workgroups are reordered is an attribute, and one way is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import AttributeRule
from tuninglink.upgrading.trees import Leaf, as_node

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_STRATEGY: Final = "reorder_workgroups_strategy"


def _rewrite(node: Node, context: AttributeContext) -> None:
    field = node.find(_STRATEGY)
    if field is None or field.key is None:
        return
    inner = as_node(field.value)
    enumerator = inner.positional() if inner is not None else None
    name = enumerator.name if enumerator is not None else None
    if isinstance(field.value, Leaf):
        name = field.value.text
    if name == "Swizzle":
        node.remove_field(field)
        context.decided(
            "workgroups are no longer swizzled: the strategy is gone, and the compiler's default applies"
        )
    elif isinstance(field.value, Leaf) and name in {"None", "Transpose"}:
        field.value = Leaf(f"<{name}>")
        context.changed(f"'{_STRATEGY} = {name}' is '<{name}>'")


RULE = AttributeRule(
    name="reorder-workgroups",
    version=(3, 0),
    summary="`reorder_workgroups_strategy` takes an attribute, and `Swizzle` is gone.",
    before="#iree_gpu.pipeline_options<reorder_workgroups_strategy = Transpose>",
    after="#iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>",
    evidence=(
        "https://github.com/iree-org/iree/pull/19039",
        "https://github.com/iree-org/iree/pull/19094",
    ),
    kinds=frozenset({"iree_gpu.pipeline_options"}),
    rewrite=_rewrite,
)
