from __future__ import annotations

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule


@attribute_rule(
    "iree_codegen.translation_info",
    since=(2, 9),
    before="#iree_codegen.translation_info<LLVMGPUDistribute pipeline_depth = 0 store_stage = 1>",
    after="#iree_codegen.translation_info<LLVMGPUDistribute>",
    evidence=(
        "iree@5c32ba2dc41be222ff3d8e264cd9fd73e690880c:compiler/src/iree/compiler/Codegen/Dialect/Codegen/IR/IREECodegenAttrs.td",
        "iree#16665",
    ),
)
def software_pipelining(site: AttributeSite) -> None:
    """`pipeline_depth` and `store_stage` left the translation info with the pipelines that read them."""
    gone = [f"'{name}'" for name in ("pipeline_depth", "store_stage") if site.node.remove(name)]
    if gone:
        site.decided(f"{' and '.join(gone)} removed: today's pipelines ignore it")
