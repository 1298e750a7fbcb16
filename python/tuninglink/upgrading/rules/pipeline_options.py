from __future__ import annotations

from typing import Final

from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.trees import Field, Leaf, Node

_STRATEGY: Final = "reorder_workgroups_strategy"
_NAMES: Final = frozenset(
    {
        "prefetch_shared_memory",
        "no_reduce_shared_memory_bank_conflicts",
        "no_reorder_workgroups",
        "reorder_workgroups",
    }
)
_STRATEGIES: Final = {"none": "None", "transpose": "Transpose", "swizzle": "Swizzle"}


@attribute_rule(
    "translation_info.options",
    since=(2, 9),
    before="#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
    '{prefetch_shared_memory, reorder_workgroups = "transpose"}>',
    after="#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
    "{gpu_pipeline_options = #iree_gpu.pipeline_options<"
    "prefetch_shared_memory = true, reorder_workgroups_strategy = Transpose>}>",
    evidence=("iree#17340", "iree#17645", "iree#18458"),
)
def pipeline_options(site: AttributeSite) -> None:
    """Unit attributes among the options became fields of `gpu_pipeline_options`."""
    fields = [field for field in site.node.fields if field.name in _NAMES]
    if not fields:
        return
    moved = [_option(field) for field in fields]
    options = site.node.node("gpu_pipeline_options")
    if options is None:
        options = Node("#iree_gpu.pipeline_options", "<")
        first = fields.pop(0)
        first.key, first.equals, first.value = "gpu_pipeline_options", " = ", options
    for field in fields:
        site.node.remove_field(field)
    for name, value in moved:
        if options.find(name) is None:
            options.add(name, value)
    named = ", ".join(f"'{name}'" for name, _ in moved)
    site.changed(f"{named} moved into 'gpu_pipeline_options'")


def _option(field: Field) -> tuple[str, str]:
    """Return the present option for an old one."""
    name, value = field.name or "", field.value
    text = value.text.strip('"') if isinstance(value, Leaf) and field.key is not None else ""
    if name == "no_reorder_workgroups":
        return _STRATEGY, "None"
    if name == "reorder_workgroups":
        strategy = _STRATEGIES.get(text.lower())
        if strategy is None:
            raise Refusal(f"unknown strategy to reorder workgroups '{text}'")
        return _STRATEGY, strategy
    return name, text if text in {"true", "false"} else "true"
