"""Translation infos: sizes of workgroups, and options of pipelines."""

from __future__ import annotations

from typing import Final

from tuninglink.upgrading.compilation_info import enumerator, integer, integers
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.trees import Field, Leaf, Node


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(2, 9),
    before="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[4, 4]]>, "
    "translation_info = <LLVMGPUDistribute>, workgroup_size = [16, 4, 1], subgroup_size = 64>",
    after="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[4, 4]]>, "
    "translation_info = <LLVMGPUDistribute workgroup_size = [16, 4, 1] subgroup_size = 64>>",
    evidence=("iree#16665",),
)
def workgroup_sizes(site: AttributeSite) -> None:
    """`workgroup_size` and `subgroup_size` moved from the compilation info into the translation info."""
    translation = site.node.node("translation_info")
    if translation is None:
        return
    for name in ("workgroup_size", "subgroup_size"):
        moved = site.node.remove(name)
        if moved is None or moved.key is None:
            continue
        if translation.find(name) is None:
            sizes = integers(moved.value)
            value = Leaf(f"[{', '.join(map(str, sizes))}]") if sizes else moved.value
            _place(translation, Field(value, name, lead=" "))
        site.changed(f"'{name}' moved from the compilation info into the translation info")


def _place(translation: Node, field: Field) -> None:
    """Add a field at its place in the assembly format: after the other names, before the options."""
    position = len(translation.fields)
    if position > 1 and translation.fields[-1].key is None:
        position -= 1  # the options
    if position:
        previous = translation.fields[position - 1]
        field.trail, field.comma = previous.trail, previous.comma
        previous.trail, previous.comma = "", ""
    else:
        field.lead = ""
    translation.fields.insert(position, field)


_ATTRIBUTE: Final = '"amdgpu-waves-per-eu"'


@attribute_rule(
    "translation_info.options",
    since=(2, 9),
    before='#iree_codegen.translation_info<LLVMGPUVectorDistribute, {"waves-per-eu" = 2 : i64}>',
    after="#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
    '{llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>',
    evidence=("iree#16573", "iree#17308"),
)
def waves_per_eu(site: AttributeSite) -> None:
    """The option `"waves-per-eu"` became the function attribute `"amdgpu-waves-per-eu"`."""
    node = site.node
    for name in ("waves-per-eu", "waves_per_eu"):
        field, count = node.find(name), integer(node.value(name))
        if field is None or count is None:
            continue
        attributes = node.node("llvm_func_attrs")
        if attributes is None:
            attributes = Node("", "{")
            field.key, field.value = "llvm_func_attrs", attributes
        else:
            node.remove_field(field)
        if attributes.find(_ATTRIBUTE.strip('"')) is None:
            attributes.add(_ATTRIBUTE, f'"{count}"')
        site.changed(f"'{name} = {count}' is the function attribute {_ATTRIBUTE}")


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


@attribute_rule(
    "iree_gpu.pipeline_options",
    since=(3, 0),
    before="#iree_gpu.pipeline_options<reorder_workgroups_strategy = Transpose>",
    after="#iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>",
    evidence=("iree#19039", "iree#19094"),
)
def reorder_workgroups(site: AttributeSite) -> None:
    """`reorder_workgroups_strategy` takes an attribute, and `Swizzle` is gone."""
    field = site.node.find(_STRATEGY)
    if field is None or field.key is None:
        return
    name = enumerator(field.value)
    if name == "Swizzle":
        site.node.remove_field(field)
        site.decided(
            "the compiler does not swizzle workgroups any longer: the strategy is gone, and the compiler's default applies"
        )
    elif isinstance(field.value, Leaf) and name in {"None", "Transpose"}:
        field.value = Leaf(f"<{name}>")
        site.changed(f"'{_STRATEGY} = {name}' is '<{name}>'")


_STAGES: Final = {"true": "2", "false": "0"}


@attribute_rule(
    "iree_gpu.pipeline_options",
    since=(3, 10),
    before="#iree_gpu.pipeline_options<prefetch_shared_memory = true>",
    after="#iree_gpu.pipeline_options<prefetch_num_stages = 2>",
    evidence=("iree#22818",),
)
def prefetch_num_stages(site: AttributeSite) -> None:
    """`prefetch_shared_memory` became `prefetch_num_stages`: 2 for true, 0 for false."""
    field = site.node.find("prefetch_shared_memory")
    if field is None or field.key is None or not isinstance(field.value, Leaf):
        return
    old, stages = field.value.text, _STAGES.get(field.value.text)
    if stages is None:
        return
    if site.node.find("prefetch_num_stages") is not None:
        site.node.remove_field(field)
    else:
        field.key, field.value = "prefetch_num_stages", Leaf(stages)
        site.changed(f"'prefetch_shared_memory = {old}' is 'prefetch_num_stages = {stages}'")


_OLD: Final = "denormal-fp-math-f32"
_NEW: Final = "iree_codegen.denormal_fp_math_f32"
_MODES: Final = {
    "preserve-sign": '"preserve-sign"',
    "positive-zero": '"positive-zero"',
    "ieee": "none",
}


@attribute_rule(
    "translation_info.options",
    since=(3, 8),
    before="#iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute, "
    '{llvm_func_attrs = {"denormal-fp-math-f32" = "preserve-sign"}}>',
    after="#iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute, "
    '{iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>',
    evidence=("iree#21840", "iree#21940", "llvm#174293"),
)
def denormals(site: AttributeSite) -> None:
    """The mode for denormals is an option.

    The function attribute `denormal-fp-math-f32` has no effect since LLVM removed it.
    """
    attributes = site.node.node("llvm_func_attrs")
    # Present specs may still have it, without effect. These are not changed.
    if attributes is None or not site.was_old:
        return
    value = attributes.value(_OLD)
    if not isinstance(value, Leaf):
        return
    modes = set(value.text.strip('"').split(","))
    mode = _MODES.get(modes.pop()) if len(modes) == 1 else None
    if mode is None:
        site.decided(f"'{_OLD} = {value.text}' stays, but has no effect and no counterpart")
        return
    attributes.remove(_OLD)
    if not attributes.fields:
        site.node.remove("llvm_func_attrs")
    if site.node.find(_NEW) is None:
        site.node.add(_NEW, f"#iree_codegen.denormal_fp_math<{mode}>")
    site.changed(f"'{_OLD} = {value.text}', which no longer has an effect, is '{_NEW}'")
