"""The intrinsics of configurations: their names, element types and GPU generations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_gpu

_NVIDIA = "NV"

_CDNA_4 = frozenset(
    {
        *("MFMA_F32_16x16x32_F16", "MFMA_F32_32x32x16_F16"),
        *("MFMA_F32_16x16x32_BF16", "MFMA_F32_32x32x16_BF16"),
        *("MFMA_I32_16x16x64_I8", "MFMA_I32_32x32x32_I8"),
    }
)
"""The intrinsics that `iree-compile` 3.13 lists for gfx950 but not for gfx942, except for 8-bit floats."""


def intrinsic_name(attribute: mlir.Attribute | None) -> str | None:
    """Return the name of the intrinsic in an `mma_layout` or a `virtual_mma_layout`, or None."""
    if not isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr):
        return None
    text = str(attribute)  # valid in any context
    if text not in _intrinsic_names:
        _intrinsic_names[text] = _intrinsic_name(attribute)
    return _intrinsic_names[text]


_intrinsic_names: Final[dict[str, str | None]] = {}
"""The names of intrinsics by the texts of their attributes."""


def _intrinsic_name(attribute: iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr) -> str | None:
    kind, context = type(attribute), attribute.context
    intrinsics: Iterable[iree_gpu.MMAIntrinsic | iree_gpu.VirtualMMAIntrinsic] = (
        iree_gpu.MMAIntrinsic if kind is iree_gpu.MMAAttr else iree_gpu.VirtualMMAIntrinsic
    )
    named = (
        (intrinsic.name, kind.get(int(intrinsic), col_major=attribute.col_major, ctx=context))
        for intrinsic in intrinsics
    )
    return next((name for name, candidate in named if candidate == attribute), None)


def element_types(attribute: mlir.Attribute) -> tuple[str, str, str]:
    """Return the element types of the operands and the result of an intrinsic, as MLIR writes them."""
    assert isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
    lhs, rhs, result = map(str, attribute.abc_element_types)
    return lhs, rhs, result


def intrinsics_multiplying(
    names: Iterable[str], types: tuple[str, str, str], context: mlir.Context
) -> list[str]:
    """Return the intrinsics among `names`, except for virtual ones, with these element types."""
    multiplying = []
    for name in names:
        intrinsic = iree_gpu.MMAIntrinsic.__members__.get(name)
        if intrinsic and element_types(iree_gpu.MMAAttr.get(int(intrinsic), ctx=context)) == types:
            multiplying.append(name)
    return multiplying


def is_virtual(name: str) -> bool:
    """Return whether an intrinsic is virtual, made of several instructions."""
    return name in iree_gpu.VirtualMMAIntrinsic.__members__


def instruction_set(name: str) -> str:
    """Return the instruction set of an intrinsic: `MFMA`, `WMMAR3`, `WMMAR4`, `WMMA` or `NV`.

    That of a virtual intrinsic is the set of its instructions.
    """
    first = name.partition("_")[0]
    return "MFMA" if first.endswith("MFMA") else first


def generation(name: str) -> str:
    """Return the only AMD GPU generation that has an intrinsic; empty if several have it, or if it is NVIDIA's."""
    first = instruction_set(name)
    if first.startswith("WMMA"):
        return first
    if first != "MFMA":
        return ""
    if "FNUZ" in name:
        return "CDNA 3"
    return "CDNA 4" if name in _CDNA_4 or "_F8" in name else ""


def is_nvidia(name: str) -> bool:
    """Return whether an intrinsic is NVIDIA's. The others are AMD's."""
    return instruction_set(name) == _NVIDIA
