"""Hints about slow layouts that no flag or configuration can compensate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree.convolution_layouts import layout
from tuninglink.iree.op_kinds import OpKind, Role

if TYPE_CHECKING:
    from tuninglink.iree.structured_op import StructuredOp
    from tuninglink.iree.targets import Target

_OPERANDS: Final = 3


def layout_hint(op: StructuredOp, target: Target | None) -> str:
    """Return a hint for a program whose convolution has a slow layout; empty for others.

    The backend for CPUs generates fast code for convolutions only if the channels of the image and the output channels
    of the filter come last. With im2col, other layouts are two to three times slower.
    """
    is_convolution = op.kind is OpKind.CONVOLUTION and not op.loops[Role.DEPTH]
    if not is_convolution or target is None or target.backend != "llvm-cpu":
        return ""
    image, _, filter_ = layout(op.maps[:_OPERANDS]).partition("_")
    if not image or (image.endswith("c") and filter_.endswith("cf")):
        return ""
    return (
        "image and filter are fast with their channels last, NHWC and HWCF: change the layout in the model, or try "
        "'--iree-global-opt-use-im2col-for-convs'"
    )
