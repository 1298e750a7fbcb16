"""Configurations of products: intrinsics, their names and places; and the intrinsics and subgroups of attentions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tuninglink.iree.release import gpu_enumerators, unknown
from tuninglink.upgrading.compilation_info import (
    SUBGROUP_COUNTS,
    CompilationInfo,
    levels_of,
    options_of,
    set_subgroup_basis,
    subgroup_counts,
)
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.rules.pipelines import attribute_for
from tuninglink.upgrading.trees import Leaf, Node, as_node

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


@attribute_rule(
    "iree_gpu.virtual_mma_layout",
    since=(3, 7),
    before="#iree_gpu.virtual_mma_layout<intrinsic = VMFMA_F32_16x16x32_F16>",
    after="#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16>",
    evidence=("iree#21537",),
)
def virtual_intrinsics(site: AttributeSite) -> None:
    """`virtual_mma_layout<intrinsic = X>` became `virtual_mma_layout<X>`."""
    field = site.node.find("intrinsic")
    if field is not None and field.key is not None:
        field.key = None
        site.changed("the virtual intrinsic is written without 'intrinsic ='")


_OLD: Final = re.compile(
    r"(?P<kind>V?MFMA|WMMA|NV_WMMA|NV_MMA_SYNC)_(?P<operands>[A-Z]\w*?)_(?P<shape>\d+x\d+x\d+)_(?P<result>\w+)"
)


@attribute_rule(
    "iree_gpu.mma_layout",
    "iree_gpu.virtual_mma_layout",
    since=(3, 3),
    before="#iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>",
    after="#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>",
    evidence=("iree#18127", "iree#20048"),
)
def intrinsic_names(site: AttributeSite) -> None:
    """Intrinsics are named `KIND_RESULT_MxNxK_OPERANDS`, and those of WMMA include the architecture."""
    node, field = site.node, site.node.positional()
    if field is None or not isinstance(field.value, Leaf):
        return
    layouts = {
        "#iree_gpu.mma_layout": gpu_enumerators("MMAIntrinsic"),
        "#iree_gpu.virtual_mma_layout": gpu_enumerators("VirtualMMAIntrinsic"),
    }
    plain = next(iter(layouts))
    name = field.value.text
    if name in layouts.get(node.head, layouts[plain]):
        return
    for candidate in _candidates(name):
        head = next((head for head, union in layouts.items() if candidate in union), None)
        if head is not None:
            field.value = Leaf(candidate)
            node.head = head if node.head or head != plain else ""
            site.changed(f"intrinsic '{name}' is '{candidate}'")
            return
    union = frozenset().union(*layouts.values())
    raise Refusal(unknown("intrinsic", name, union, likely=next(_candidates(name))))


def _candidates(name: str) -> Iterator[str]:
    """Yield possible present names for an old name, the likeliest first."""
    turned = name
    match = _OLD.fullmatch(name)
    if match:
        turned = "{kind}_{result}_{shape}_{operands}".format(**match.groupdict())
        yield turned
    # `WMMA` without a number is older than RDNA4.
    if turned.startswith("WMMA_"):
        yield "WMMAR3" + turned.removeprefix("WMMA")
    yield name


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(2, 9),
    before="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{reduction = [0, 0, 32], workgroup = [64, 128, 0]}>, "
    "translation_info = <pipeline = LLVMGPUVectorDistribute, {mma_schedule = #iree_gpu.mma_schedule<"
    "intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 2, "
    "subgroup_n_count = 2>}>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, reduction = [0, 0, 32], "
    "workgroup = [64, 128, 0], subgroup_m_count = 2, subgroup_n_count = 2}>, "
    "translation_info = <pipeline = LLVMGPUVectorDistribute>>",
    evidence=("iree#17195", "iree#18984"),
)
def mma_schedule(site: AttributeSite) -> None:
    """`mma_schedule` left the translation info. The intrinsic and the subgroup counts are in the lowering config.

    Tile counts, formerly part of it, follow from the rest.
    """
    info = CompilationInfo.of(site.node)
    options = options_of(info.translation) if info is not None else None
    schedule = options.node("mma_schedule") if options is not None else None
    if info is None or options is None or schedule is None:
        return
    levels, pipeline = info.levels, info.pipeline or ""
    if levels is None:
        attribute_for(pipeline)  # the pipeline may be gone, which is the better reason
        raise Refusal(
            f"an 'mma_schedule' with the pipeline '{pipeline}': its lowering config has "
            "no place for the intrinsic"
        )
    # Move the intrinsic and the subgroup counts.
    intrinsic = schedule.value("intrinsic")
    if intrinsic is not None and levels.find("mma_kind") is None:
        levels.insert(0, "mma_kind", intrinsic.copy())
    for name in SUBGROUP_COUNTS:
        count = schedule.value(name)
        if count is not None and levels.find(name) is None:
            levels.add(name, count.copy())
    # Remove the schedule, and options that become empty.
    options.remove("mma_schedule")
    if not options.fields:
        fields = info.translation.fields
        info.translation.remove_field(
            next(field for field in fields if as_node(field.value) is options)
        )
    site.changed("intrinsic and subgroup counts moved from 'mma_schedule' into the lowering config")


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
