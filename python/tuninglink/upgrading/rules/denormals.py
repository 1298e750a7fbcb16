from __future__ import annotations

from typing import Final

from tuninglink.upgrading.rule_definition import AttributeSite, attribute_rule
from tuninglink.upgrading.trees import Leaf

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
