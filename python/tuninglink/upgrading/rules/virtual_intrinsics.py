"""A virtual intrinsic is written without keyword."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.upgrading.rule import AttributeRule

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node


def _rewrite(node: Node, context: AttributeContext) -> None:
    field = node.find("intrinsic")
    if field is not None and field.key is not None:
        field.key = None
        context.changed("the virtual intrinsic is written without 'intrinsic ='")


RULE = AttributeRule(
    name="virtual-intrinsics",
    version=(3, 7),
    summary="`virtual_mma_layout<intrinsic = X>` became `virtual_mma_layout<X>`.",
    before="#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>",
    after="#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>",
    evidence=("https://github.com/iree-org/iree/pull/21537",),
    kinds=frozenset({"iree_gpu.virtual_mma_layout"}),
    rewrite=_rewrite,
)
