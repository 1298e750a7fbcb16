"""How denormals are treated is an option of its own: the string attribute no longer reaches the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import AttributeRule
from tuninglink.upgrading.trees import Leaf

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_OLD: Final = "denormal-fp-math-f32"
_NEW: Final = "iree_codegen.denormal_fp_math_f32"
_MODES: Final = {
    "preserve-sign": '"preserve-sign"',
    "positive-zero": '"positive-zero"',
    "ieee": "none",
}


def _rewrite(node: Node, context: AttributeContext) -> None:
    attributes = node.node("llvm_func_attrs")
    # Specs of today still have it, to no effect; those come back as they are.
    if attributes is None or not context.was_old:
        return
    value = attributes.value(_OLD)
    if not isinstance(value, Leaf):
        return
    modes = set(value.text.strip('"').split(","))
    mode = _MODES.get(modes.pop()) if len(modes) == 1 else None
    if mode is None:
        context.decided(f"'{_OLD} = {value.text}' stays, but has no effect and no counterpart")
        return
    attributes.remove(_OLD)
    if not attributes.fields:
        node.remove("llvm_func_attrs")
    if node.find(_NEW) is None:
        node.add(_NEW, f"#iree_codegen.denormal_fp_math<{mode}>")
    context.changed(f"'{_OLD} = {value.text}', which has no effect any more, is '{_NEW}'")


RULE = AttributeRule(
    name="denormals",
    version=(3, 8),
    summary="The mode for denormals is an option; the function attribute `denormal-fp-math-f32` has had no "
    "effect since LLVM gave it up.",
    before="#iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute, "
    '{llvm_func_attrs = {"denormal-fp-math-f32" = "preserve-sign"}}>',
    after="#iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute, "
    '{iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>',
    evidence=(
        "https://github.com/iree-org/iree/pull/21840",
        "https://github.com/iree-org/iree/pull/21940",
        "https://github.com/llvm/llvm-project/pull/174293",
    ),
    kinds=frozenset({"translation_info.options"}),
    rewrite=_rewrite,
)
