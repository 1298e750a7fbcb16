"""Subgroup counts in a lowering config that stands apart from its pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import AttributeRule, Refusal
from tuninglink.upgrading.trees import as_node

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_COUNTS: Final = ("subgroup_m_count", "subgroup_n_count")


def _rewrite(node: Node, context: AttributeContext) -> None:
    field = node.positional()
    levels = as_node(field.value) if field is not None else None
    if levels is None or not any(levels.find(name) for name in _COUNTS):
        return
    if levels.find("subgroup") is None:
        raise Refusal(
            "subgroup counts in a lowering config that is annotated without its pipeline: how the compiler "
            "distributed them depended on that"
        )
    for name in _COUNTS:
        levels.remove(name)
    context.changed(
        "subgroup counts left out: the lowering config has 'subgroup' tile sizes, as TileAndFuse reads them, and "
        "that never read the counts"
    )


RULE = AttributeRule(
    name="lone-subgroup-counts",
    version=(3, 8),
    summary="Subgroup counts in a lowering config that is annotated by itself: TileAndFuse, which is told by "
    "`subgroup` tile sizes, never read them; for other pipelines the entry is kept out.",
    before="#iree_gpu.lowering_config<{subgroup = [2, 4, 0], subgroup_m_count = 2, workgroup = [64, 128, 0]}>",
    after="#iree_gpu.lowering_config<{subgroup = [2, 4, 0], workgroup = [64, 128, 0]}>",
    evidence=("https://github.com/iree-org/iree/pull/21912",),
    kinds=frozenset({"iree_gpu.lowering_config"}),
    rewrite=_rewrite,
)
