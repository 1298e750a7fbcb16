"""What a GPU pipeline is told stands in one attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import AttributeRule, Refusal
from tuninglink.upgrading.trees import Field, Leaf, Node

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext

_SWITCHES: Final = ("prefetch_shared_memory", "no_reduce_shared_memory_bank_conflicts")
_STRATEGY: Final = "reorder_workgroups_strategy"
_NAMES: Final = (*_SWITCHES, "no_reorder_workgroups", "reorder_workgroups")
_STRATEGIES: Final = {"none": "None", "transpose": "Transpose", "swizzle": "Swizzle"}


def _rewrite(node: Node, context: AttributeContext) -> None:
    found = [each for each in node.fields if each.name in _NAMES]
    if not found:
        return
    moved = [_option(each) for each in found]
    existing = node.node("gpu_pipeline_options")
    if existing is None:
        first = found.pop(0)
        existing = Node("#iree_gpu.pipeline_options", "<")
        first.key, first.equals, first.value = "gpu_pipeline_options", " = ", existing
    for each in found:
        node.remove_field(each)
    for name, value in moved:
        if existing.find(name) is None:
            existing.add(name, value)
    named = ", ".join(f"'{name}'" for name, _ in moved)
    context.changed(f"{named} moved into 'gpu_pipeline_options'")


def _option(field: Field) -> tuple[str, str]:
    """Returns the option that an old one becomes."""
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


RULE = AttributeRule(
    name="pipeline-options",
    version=(2, 9),
    summary="Unit attributes among the options became fields of `gpu_pipeline_options`.",
    before="#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
    '{prefetch_shared_memory, reorder_workgroups = "transpose"}>',
    after="#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
    "{gpu_pipeline_options = #iree_gpu.pipeline_options<"
    "prefetch_shared_memory = true, reorder_workgroups_strategy = Transpose>}>",
    evidence=(
        "https://github.com/iree-org/iree/pull/17340",
        "https://github.com/iree-org/iree/pull/17645",
        "https://github.com/iree-org/iree/pull/18458",
    ),
    kinds=frozenset({"translation_info.options"}),
    rewrite=_rewrite,
)
