"""Configurations of attention."""

from __future__ import annotations

import re
from typing import Final

from tuninglink.upgrading.compilation_info import levels_of, set_subgroup_basis, subgroup_counts
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.trees import Node

_BATCHES: Final = 2
"""The assumed number of batch loops of an attention, if the matcher does not show its loops."""


@attribute_rule(
    "decomposition_config",
    since=(3, 8),
    before="{qk_attrs = {lowering_config = #iree_gpu.lowering_config<{subgroup_m_count = 4, "
    "subgroup_n_count = 1}>}}",
    after="{qk_attrs = {lowering_config = #iree_gpu.lowering_config<{subgroup_basis = "
    "[[1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]}>}}",
    evidence=("iree#21912",),
)
def attention_basis(site: AttributeSite) -> None:
    """Subgroup counts in a `decomposition_config` became a `subgroup_basis` over the attention's loops."""
    for name in ("qk_attrs", "pv_attrs"):
        attributes = site.node.node(name)
        levels = levels_of(attributes.node("lowering_config")) if attributes is not None else None
        counts = subgroup_counts(levels)
        if levels is None or counts is None:
            continue
        is_first = name == "qk_attrs"
        rank, rows, columns, loops = _loops(site, is_first=is_first)
        m_count, n_count = counts
        if not m_count or not n_count:
            raise Refusal("subgroup counts of an attention are not numbers")
        if is_first and n_count != 1:
            raise Refusal(
                "subgroups along the keys of an attention: the compiler never distributed them there"
            )
        basis = [1] * rank
        basis[rows] = m_count
        if n_count != 1:
            basis[columns] = n_count
        text = set_subgroup_basis(levels, basis, loops)
        site.changed(f"{m_count} x {n_count} subgroups are 'subgroup_basis = {text}'")


def _loops(site: AttributeSite, *, is_first: bool) -> tuple[int, int, int, tuple[int, ...]]:
    """Return the number of loops, the loops of rows and of columns, and the loops of the product."""
    space = site.find_space()
    if space is None or not space.is_attention or not space.query_rows:
        *batches, m, n, k1, k2 = range(_BATCHES + 4)
        site.decided("the loops of the attention are assumed to be two batches, M, N, K1, K2")
        loops = (*batches, m, k1, k2) if is_first else (*batches, m, n, k2)
        return _BATCHES + 4, m, n, loops
    if space.is_assumed:
        site.decided("the loops of the attention are assumed to be batches, M, N, K1, K2")
    loops = space.query_key if is_first else space.probability_value
    columns = [loop for loop in space.probability_value if loop not in space.query_key]
    return space.loops, space.query_rows[-1], columns[-1] if columns else -1, loops


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
