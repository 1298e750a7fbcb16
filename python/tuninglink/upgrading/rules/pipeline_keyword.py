from __future__ import annotations

import re

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule
from tuninglink.upgrading.trees import Leaf


@attribute_rule(
    "iree_codegen.translation_info",
    since=(3, 0),
    before="#iree_codegen.translation_info<None workgroup_size = [64]>",
    after="#iree_codegen.translation_info<pipeline = None workgroup_size = [64]>",
    evidence=("iree#19107",),
)
def pipeline_keyword(site: AttributeSite) -> None:
    """`translation_info<X …>` became `translation_info<pipeline = X …>`."""
    first = site.node.fields[0] if site.node.fields else None
    if first is None or first.key is not None or not isinstance(first.value, Leaf):
        return
    if re.fullmatch(r"[A-Za-z]\w*", first.value.text):
        first.key, first.equals = "pipeline", " = "
        site.changed("the pipeline is written 'pipeline = ...'")
