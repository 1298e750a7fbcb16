from __future__ import annotations

from typing import Final

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule
from tuninglink.upgrading.trees import Node, integer

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
