from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.enumerators import gpu_enumerators, unknown
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.trees import Leaf

if TYPE_CHECKING:
    from collections.abc import Iterator

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
