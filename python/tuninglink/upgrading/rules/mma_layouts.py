"""One attribute for all intrinsics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.upgrading.rule import AttributeRule
from tuninglink.upgrading.trees import Leaf

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_PREFIXES = {"#iree_gpu.mfma_layout": "MFMA_", "#iree_gpu.wmma_layout": "WMMA_"}


def _rewrite(node: Node, context: AttributeContext) -> None:
    prefix = _PREFIXES[node.head]
    intrinsic = node.positional()
    if intrinsic is None or not isinstance(intrinsic.value, Leaf):
        return
    context.changed(f"'{node.head}' is '#iree_gpu.mma_layout'")
    node.head = "#iree_gpu.mma_layout"
    if not intrinsic.value.text.startswith(prefix):
        intrinsic.value = Leaf(prefix + intrinsic.value.text)


RULE = AttributeRule(
    name="mma-layouts",
    version=(2, 9),
    summary="`mfma_layout` and `wmma_layout` became `mma_layout`, the instruction part of the enumerator.",
    before="#iree_gpu.mfma_layout<F16_16x16x16_F32>",
    after="#iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>",
    evidence=(
        (
            "https://github.com/iree-org/iree/blob/bc987188c017ce9c6c0d7d9101f6fe8e1ea38f66/"
            "compiler/src/iree/compiler/Codegen/Dialect/GPU/IR/IREEGPUAttrs.td"
        ),
    ),
    kinds=frozenset({"iree_gpu.mfma_layout", "iree_gpu.wmma_layout"}),
    rewrite=_rewrite,
)
