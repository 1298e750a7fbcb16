from __future__ import annotations

from typing import Final

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule
from tuninglink.upgrading.trees import Leaf

_PREFIXES: Final = {"#iree_gpu.mfma_layout": "MFMA_", "#iree_gpu.wmma_layout": "WMMA_"}


@attribute_rule(
    "iree_gpu.mfma_layout",
    "iree_gpu.wmma_layout",
    since=(2, 9),
    before="#iree_gpu.mfma_layout<F16_16x16x16_F32>",
    after="#iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>",
    evidence=(
        "iree@bc987188c017ce9c6c0d7d9101f6fe8e1ea38f66:compiler/src/iree/compiler/Codegen/Dialect/GPU/IR/IREEGPUAttrs.td",
    ),
)
def mma_layouts(site: AttributeSite) -> None:
    """`mfma_layout` and `wmma_layout` became `mma_layout`. The kind is part of the enumerator."""
    node, prefix = site.node, _PREFIXES[site.node.head]
    intrinsic = node.positional()
    if intrinsic is None or not isinstance(intrinsic.value, Leaf):
        return
    site.changed(f"'{node.head}' is '#iree_gpu.mma_layout'")
    node.head = "#iree_gpu.mma_layout"
    if not intrinsic.value.text.startswith(prefix):
        intrinsic.value = Leaf(prefix + intrinsic.value.text)
