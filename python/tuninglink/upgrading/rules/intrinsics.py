"""Intrinsics are named result first, as the instructions are, and by architecture where it matters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tuninglink.upgrading import known
from tuninglink.upgrading.rule import AttributeRule, Refusal
from tuninglink.upgrading.trees import Leaf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_OLD: Final = re.compile(
    r"(?P<kind>V?MFMA|WMMA|NV_WMMA|NV_MMA_SYNC)_(?P<operands>[A-Z]\w*?)_(?P<shape>\d+x\d+x\d+)_(?P<result>\w+)"
)
_VIRTUAL: Final = "#iree_gpu.virtual_mma_layout"
_PLAIN: Final = "#iree_gpu.mma_layout"


def _rewrite(node: Node, context: AttributeContext) -> None:
    field = node.positional()
    if field is None or not isinstance(field.value, Leaf):
        return
    name = field.value.text
    is_virtual = node.head == _VIRTUAL
    if name in (known.virtual_mma_intrinsics() if is_virtual else known.mma_intrinsics()):
        return
    for candidate in _candidates(name):
        head = None
        if candidate in known.mma_intrinsics():
            head = _PLAIN
        elif candidate in known.virtual_mma_intrinsics():
            head = _VIRTUAL
        if head is not None:
            context.changed(f"intrinsic '{name}' is '{candidate}'")
            field.value = Leaf(candidate)
            node.head = head if node.head or head != _PLAIN else ""
            return
    names = known.mma_intrinsics() | known.virtual_mma_intrinsics()
    nearest = next(_candidates(name), name)
    raise Refusal(known.unknown("intrinsic", nearest, names).replace(nearest, name, 1))


def _candidates(name: str) -> Iterator[str]:
    """Yields what an old name may be called today, the likeliest first."""
    turned = name
    match = _OLD.fullmatch(name)
    if match:
        kind, operands, shape, result = match.group("kind", "operands", "shape", "result")
        turned = f"{kind}_{result}_{shape}_{operands}"
        yield turned
    # There was no RDNA4 when `WMMA` had no number.
    if turned.startswith("WMMA_"):
        yield "WMMAR3" + turned.removeprefix("WMMA")
    yield name


RULE = AttributeRule(
    name="intrinsic-names",
    version=(3, 3),
    summary="Intrinsics are named `KIND_RESULT_MxNxK_OPERANDS`, and WMMA by architecture.",
    before="#iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>",
    after="#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>",
    evidence=(
        "https://github.com/iree-org/iree/pull/18127",
        "https://github.com/iree-org/iree/pull/20048",
    ),
    kinds=frozenset({"iree_gpu.mma_layout", "iree_gpu.virtual_mma_layout"}),
    rewrite=_rewrite,
)
