"""Software pipelining is no longer part of a translation info."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.upgrading.rule import AttributeRule

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node


def _rewrite(node: Node, context: AttributeContext) -> None:
    gone = [name for name in ("pipeline_depth", "store_stage") if node.remove(name)]
    if gone:
        named = " and ".join(f"'{name}'" for name in gone)
        context.decided(f"{named} left out: no pipeline of today reads it")


RULE = AttributeRule(
    name="software-pipelining",
    version=(2, 9),
    summary="`pipeline_depth` and `store_stage` left the translation info with the pipelines that read them.",
    before="#iree_codegen.translation_info<LLVMGPUDistribute pipeline_depth = 0 store_stage = 1>",
    after="#iree_codegen.translation_info<LLVMGPUDistribute>",
    evidence=(
        (
            "https://github.com/iree-org/iree/blob/5c32ba2dc41be222ff3d8e264cd9fd73e690880c/"
            "compiler/src/iree/compiler/Codegen/Dialect/Codegen/IR/IREECodegenAttrs.td"
        ),
        "https://github.com/iree-org/iree/pull/16665",
    ),
    kinds=frozenset({"iree_codegen.translation_info"}),
    rewrite=_rewrite,
)
