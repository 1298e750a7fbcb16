"""How many waves share an execution unit is a function attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import AttributeRule
from tuninglink.upgrading.trees import Node, integer

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext

_NAMES: Final = ("waves-per-eu", "waves_per_eu")
_ATTRIBUTE: Final = '"amdgpu-waves-per-eu"'


def _rewrite(node: Node, context: AttributeContext) -> None:
    for name in _NAMES:
        field = node.find(name)
        count = integer(field.value) if field is not None and field.key is not None else None
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
        context.changed(f"'{name} = {count}' is the function attribute {_ATTRIBUTE}")


RULE = AttributeRule(
    name="waves-per-eu",
    version=(2, 9),
    summary='The option `"waves-per-eu"` became the function attribute `"amdgpu-waves-per-eu"`.',
    before='#iree_codegen.translation_info<LLVMGPUVectorDistribute, {"waves-per-eu" = 2 : i64}>',
    after="#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
    '{llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>',
    evidence=(
        "https://github.com/iree-org/iree/pull/16573",
        "https://github.com/iree-org/iree/pull/17308",
    ),
    kinds=frozenset({"translation_info.options"}),
    rewrite=_rewrite,
)
