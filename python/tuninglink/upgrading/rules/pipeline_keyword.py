"""The pipeline of a translation info has a keyword."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import AttributeRule
from tuninglink.upgrading.trees import Leaf

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_ENUMERATOR: Final = re.compile(r"[A-Za-z]\w*")


def _rewrite(node: Node, context: AttributeContext) -> None:
    first = node.fields[0] if node.fields else None
    if first is None or first.key is not None or not isinstance(first.value, Leaf):
        return
    if _ENUMERATOR.fullmatch(first.value.text):
        first.key, first.equals = "pipeline", " = "
        context.changed("the pipeline is written 'pipeline = ...'")


RULE = AttributeRule(
    name="pipeline-keyword",
    version=(3, 0),
    summary="`translation_info<X …>` became `translation_info<pipeline = X …>`.",
    before="#iree_codegen.translation_info<None workgroup_size = [64]>",
    after="#iree_codegen.translation_info<pipeline = None workgroup_size = [64]>",
    evidence=("https://github.com/iree-org/iree/pull/19107",),
    kinds=frozenset({"iree_codegen.translation_info"}),
    rewrite=_rewrite,
)
