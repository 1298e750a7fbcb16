"""The sizes of workgroup and subgroup belong to the translation info."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.upgrading.rule import AttributeRule
from tuninglink.upgrading.trees import Field, Leaf, integers

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node


def _rewrite(node: Node, context: AttributeContext) -> None:
    translation = node.node("translation_info")
    if translation is None:
        return
    for name in ("workgroup_size", "subgroup_size"):
        moved = node.remove(name)
        if moved is None or moved.key is None:
            continue
        if translation.find(name) is None:
            sizes = integers(moved.value)
            value = Leaf(f"[{', '.join(map(str, sizes))}]") if sizes else moved.value
            _place(translation, Field(value, name, lead=" "))
        context.changed(f"'{name}' moved from the compilation info into the translation info")


def _place(translation: Node, field: Field) -> None:
    """Adds a field where the assembly format wants it: behind the other names, before the options."""
    position = len(translation.fields)
    if position and translation.fields[-1].key is None and position > 1:
        position -= 1  # the options
    previous = translation.fields[position - 1] if position else None
    if previous is not None:
        field.trail, field.comma = previous.trail, previous.comma
        previous.trail, previous.comma = "", ""
    else:
        field.lead = ""
    translation.fields.insert(position, field)


RULE = AttributeRule(
    name="workgroup-sizes",
    version=(2, 9),
    summary="`workgroup_size` and `subgroup_size` moved from the compilation info into the translation info.",
    before="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[4, 4]]>, "
    "translation_info = <LLVMGPUDistribute>, workgroup_size = [16, 4, 1], subgroup_size = 64>",
    after="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[4, 4]]>, "
    "translation_info = <LLVMGPUDistribute workgroup_size = [16, 4, 1] subgroup_size = 64>>",
    evidence=("https://github.com/iree-org/iree/pull/16665",),
    kinds=frozenset({"iree_codegen.compilation_info"}),
    rewrite=_rewrite,
)
