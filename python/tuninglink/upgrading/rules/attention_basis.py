"""The two products of an attention have their subgroups distributed over the attention's loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import AttributeRule, Refusal
from tuninglink.upgrading.trees import Leaf, as_node, integer

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_COUNTS: Final = ("subgroup_m_count", "subgroup_n_count")
_BATCHES: Final = 2
"""How many loops over batches an attention has, where nothing says it."""


def _rewrite(node: Node, context: AttributeContext) -> None:
    for name in ("qk_attrs", "pv_attrs"):
        attributes = node.node(name)
        config = attributes.node("lowering_config") if attributes is not None else None
        field = config.positional() if config is not None else None
        levels = as_node(field.value) if field is not None else None
        if levels is not None and any(levels.find(each) for each in _COUNTS):
            _distribute(levels, context, is_first=name == "qk_attrs")


def _distribute(levels: Node, context: AttributeContext, *, is_first: bool) -> None:
    rank, rows, columns, loops = _loops(context, is_first=is_first)
    counts = [integer(levels.value(name)) if levels.find(name) else 1 for name in _COUNTS]
    m_count, n_count = counts
    if not m_count or not n_count:
        raise Refusal("subgroup counts of an attention that are no numbers")
    basis = [1] * rank
    basis[rows] = m_count
    if n_count != 1:
        if is_first:
            raise Refusal(
                "subgroups over the keys of an attention: the compiler never distributed them so"
            )
        basis[columns] = n_count
    text = f"[{basis}, {list(loops)}]"
    first, *others = [name for name in _COUNTS if levels.find(name)]
    field = levels.find(first)
    assert field is not None
    field.key, field.value = "subgroup_basis", Leaf(text)
    for name in others:
        levels.remove(name)
    context.changed(f"{m_count} x {n_count} subgroups are 'subgroup_basis = {text}'")


def _loops(context: AttributeContext, *, is_first: bool) -> tuple[int, int, int, tuple[int, ...]]:
    """Returns how many loops there are, that of the rows and of the columns, and those of the product."""
    problem = context.problem
    if problem is None or not problem.is_attention or not problem.query_rows:
        *batches, m, n, k1, k2 = range(_BATCHES + 4)
        context.decided("the loops of the attention are taken for two batches, M, N, K1, K2")
        loops = (*batches, m, k1, k2) if is_first else (*batches, m, n, k2)
        return _BATCHES + 4, m, n, loops
    if problem.is_assumed:
        context.decided("the loops of the attention are taken for batches, M, N, K1, K2")
    loops = problem.query_key if is_first else problem.probability_value
    columns = [each for each in problem.probability_value if each not in problem.query_key]
    return problem.loops, problem.query_rows[-1], columns[-1] if columns else -1, loops


RULE = AttributeRule(
    name="attention-basis",
    version=(3, 8),
    summary="Subgroup counts in a `decomposition_config` became a `subgroup_basis` over the attention's loops.",
    before="{qk_attrs = {lowering_config = #iree_gpu.lowering_config<{subgroup_m_count = 4, "
    "subgroup_n_count = 1}>}}",
    after="{qk_attrs = {lowering_config = #iree_gpu.lowering_config<{subgroup_basis = "
    "[[1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]}>}}",
    evidence=("https://github.com/iree-org/iree/pull/21912",),
    kinds=frozenset({"decomposition_config"}),
    rewrite=_rewrite,
)
