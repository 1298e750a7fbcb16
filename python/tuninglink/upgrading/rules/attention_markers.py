from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.compilation_info import levels_of
from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule

if TYPE_CHECKING:
    from tuninglink.upgrading.trees import Node

_MARKERS: Final = {"qk_attrs": "attention_qk_matmul", "pv_attrs": "attention_pv_matmul"}

_SHAPE: Final = re.compile(r"(?P<kind>V?MFMA)_\w+?_(?P<mn>\d+x\d+)x(?P<k>\d+)_(?P<types>\w+)")
_REUSES: Final = frozenset({("MFMA", "16x16", "16"), ("MFMA", "32x32", "8")})
_REUSES_F8: Final = frozenset({("VMFMA", "16x16", "32"), ("VMFMA", "32x32", "16")})
"""Intrinsics that accept the result of another one of the same shape as right-hand side, without a change of
layout."""


@attribute_rule(
    "decomposition_config",
    since=(3, 11),
    before="{qk_attrs = {attention_qk_matmul, lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16>}>}, "
    "pv_attrs = {attention_pv_matmul, lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>}>}}",
    after="{qk_attrs = {lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>}>}, "
    "pv_attrs = {lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>}>}}",
    evidence=("iree#18505", "iree#23633", "iree#23757"),
)
def attention_markers(site: AttributeSite) -> None:
    """The marks `attention_qk_matmul` and `attention_pv_matmul` are gone.

    If they made the compiler transpose both products, the intrinsics get `col_major = true`.
    """
    products = [site.node.node(name) for name in _MARKERS]
    removed = [
        marker
        for product, marker in zip(products, _MARKERS.values(), strict=True)
        if product is not None and product.remove(marker)
    ]
    if not removed:
        return
    site.changed(
        f"the marks {', '.join(map(repr, removed))} are removed, as the compiler no longer reads them"
    )
    first, second = map(_intrinsic, products)
    if first is None or second is None or not _reuses(first, second):
        return
    for kind in (first, second):
        if kind.find("col_major") is None:
            kind.add("col_major", "true")
    site.changed(
        "both intrinsics are 'col_major = true', as the compiler then chose by itself for marked products"
    )


def _intrinsic(product: Node | None) -> Node | None:
    levels = levels_of(product.node("lowering_config")) if product is not None else None
    return levels.node("mma_kind") if levels is not None else None


def _reuses(first: Node, second: Node) -> bool:
    """Return whether the second product can reuse the layout of the first one's result, both transposed."""
    result, operand = _SHAPE.search(first.render()), _SHAPE.search(second.render())
    if result is None or operand is None or result["mn"] != operand["mn"]:
        return False
    shape = (operand["kind"], operand["mn"], operand["k"])
    return shape in _REUSES or (shape in _REUSES_F8 and operand["types"].startswith("F8"))
