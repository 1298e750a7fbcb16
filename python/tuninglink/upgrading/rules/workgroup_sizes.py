from __future__ import annotations

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule
from tuninglink.upgrading.trees import Field, Leaf, Node, integers


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
