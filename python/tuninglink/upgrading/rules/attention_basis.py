from __future__ import annotations

from typing import Final

from tuninglink.upgrading.compilation_info import levels_of, set_subgroup_basis, subgroup_counts
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule

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
