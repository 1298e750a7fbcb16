"""Intrinsics: their names, and their place in a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tuninglink.iree.release import gpu_enumerators, unknown
from tuninglink.upgrading.compilation_info import SUBGROUP_COUNTS, CompilationInfo, options_of
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.rules.pipelines import attribute_for
from tuninglink.upgrading.trees import Leaf, as_node

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
