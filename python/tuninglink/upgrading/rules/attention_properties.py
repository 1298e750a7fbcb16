"""The indexing maps of an attention stand in angle brackets, apart from its other attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import OperationRule
from tuninglink.upgrading.trees import Node, parse

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark

_PROPERTIES: Final = ("indexing_maps", "decomposition_config")


def _rewrite(mark: Mark, context: OperationContext) -> None:
    source = context.outline.source
    limit = source.closers.get(mark.inside, len(source.text))
    first = next(source.tokens(mark.end, limit), None)
    if first is None or first.text != "{":
        return
    others = parse(source, first.start, first.end)
    assert isinstance(others, Node)
    properties = Node("", "{")
    for field in [each for each in others.fields if each.name in _PROPERTIES]:
        others.remove_field(field)
        properties.add(field.key, field.value)
    if not properties.fields:
        return
    rest = f" {others.render()}" if others.fields else ""
    context.edits.replace(first.start, first.end, f"<{properties.render()}>{rest}")
    context.changed(f"the indexing maps of '{mark.text}' stand in '<{{...}}>'")


RULE = OperationRule(
    name="attention-properties",
    version=(3, 13),
    summary="The properties of attention operations stand in `<{…}>`.",
    before="%r = iree_linalg_ext.attention {indexing_maps = [#q, #k, #v, #s, #o]} "
    "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o",
    after="%r = iree_linalg_ext.attention <{indexing_maps = [#q, #k, #v, #s, #o]}> "
    "ins(%q, %k, %v, %s : !q, !k, !v, f16) outs(%o : !o) -> !o",
    evidence=(
        (
            "https://github.com/iree-org/iree/blob/v3.13.0/compiler/src/iree/compiler/Dialect/LinalgExt/IR/"
            "LinalgExtOps.td"
        ),
    ),
    operations=frozenset({"iree_linalg_ext.attention", "iree_linalg_ext.online_attention"}),
    rewrite=_rewrite,
)
