from __future__ import annotations

from typing import Final

from tuninglink.iree.release import HAS_ATTENTION_PROPERTIES
from tuninglink.mlir import names
from tuninglink.upgrading.rule_definition import OperationSite, operation_rule
from tuninglink.upgrading.trees import Node, parse

_PROPERTIES: Final = frozenset({"indexing_maps", "decomposition_config"})


@operation_rule(
    names.ATTENTION,
    names.ONLINE_ATTENTION,
    since=(3, 13),
    before="%r = iree_linalg_ext.attention {indexing_maps = [#q, #k, #v, #s, #o]} "
    "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o",
    after="%r = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #o]}> "
    "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o",
    evidence=("iree@v3.13.0:compiler/src/iree/compiler/Dialect/LinalgExt/IR/LinalgExtOps.td",),
)
def attention_properties(site: OperationSite) -> None:
    """The properties of attention operations are in `<{…}>`."""
    first = next(site.tokens(), None)
    if not HAS_ATTENTION_PROPERTIES or first is None or first.text != "{":
        return
    attributes = parse(site.source, first.start, first.end)
    assert isinstance(attributes, Node)
    properties = Node("", "{")
    for field in [item for item in attributes.fields if item.name in _PROPERTIES]:
        attributes.remove_field(field)
        properties.add(field.key, field.value)
    if not properties.fields:
        return
    rest = f" {attributes.render()}" if attributes.fields else ""
    site.edits.replace(first.start, first.end, f"<{properties.render()}>{rest}")
    site.changed(f"the indexing maps of '{site.mark.text}' are in '<{{...}}>'")
