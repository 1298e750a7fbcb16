"""The intrinsics that configurations name: which they are, and what they multiply."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_gpu

if TYPE_CHECKING:
    from collections.abc import Iterable

_NVIDIA = "NV"

_CDNA_4 = frozenset(
    {
        *("MFMA_F32_16x16x32_F16", "MFMA_F32_32x32x16_F16"),
        *("MFMA_F32_16x16x32_BF16", "MFMA_F32_32x32x16_BF16"),
        *("MFMA_I32_16x16x64_I8", "MFMA_I32_32x32x32_I8"),
    }
)
"""The intrinsics that `iree-compile` 3.13 lists for gfx950 and not for gfx942, those of 8-bit floats aside."""


def intrinsic_name(attribute: mlir.Attribute | None) -> str | None:
    """Returns the name of the intrinsic in an `mma_layout` or a `virtual_mma_layout`, None for anything else."""
    if not isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr):
        return None
    return _intrinsic_name(str(attribute))


@lru_cache(maxsize=256)
def _intrinsic_name(text: str) -> str | None:
    """Returns the name of the intrinsic in an attribute as MLIR writes it, which belongs to no context."""
    with mlir.Context() as context:
        attribute = mlir.Attribute.parse(text)
        assert isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
        kind = type(attribute)
        intrinsics: Iterable[iree_gpu.MMAIntrinsic | iree_gpu.VirtualMMAIntrinsic] = (
            iree_gpu.MMAIntrinsic if kind is iree_gpu.MMAAttr else iree_gpu.VirtualMMAIntrinsic
        )
        named = (
            (intrinsic.name, kind.get(int(intrinsic), col_major=attribute.col_major, ctx=context))
            for intrinsic in intrinsics
        )
        return next((name for name, each in named if each == attribute), None)


def element_types(attribute: mlir.Attribute) -> tuple[str, str, str]:
    """Returns the element types of the operands and the result of an intrinsic, as MLIR writes them."""
    assert isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
    lhs, rhs, result = map(str, attribute.abc_element_types)
    return lhs, rhs, result


def intrinsics_multiplying(
    names: Iterable[str], types: tuple[str, str, str], context: mlir.Context
) -> list[str]:
    """Returns those of the intrinsics `names`, virtual ones aside, with these element types."""
    multiplying = []
    for name in names:
        each = iree_gpu.MMAIntrinsic.__members__.get(name)
        if each and element_types(iree_gpu.MMAAttr.get(int(each), ctx=context)) == types:
            multiplying.append(name)
    return multiplying


def is_virtual(name: str) -> bool:
    """Tells whether an intrinsic stands for several instructions."""
    return name in iree_gpu.VirtualMMAIntrinsic.__members__


def instruction_set(name: str) -> str:
    """Returns the instructions that an intrinsic belongs to: `MFMA`, `WMMAR3`, `WMMAR4`, `WMMA` or `NV`.

    A virtual intrinsic belongs to those that it stands for.
    """
    first = name.partition("_")[0]
    return "MFMA" if first.endswith("MFMA") else first


def generation(name: str) -> str:
    """Returns the only generation of AMD's GPUs that has an intrinsic; nothing if several have it, or one of NVIDIA's."""
    first = instruction_set(name)
    if first.startswith("WMMA"):
        return first
    if first != "MFMA":
        return ""
    if "FNUZ" in name:
        return "CDNA 3"
    return "CDNA 4" if name in _CDNA_4 or "_F8" in name else ""


def is_nvidia(name: str) -> bool:
    """Tells whether an intrinsic is one of NVIDIA's; the others are AMD's."""
    return instruction_set(name) == _NVIDIA
