"""The intrinsics of configurations, and the configurations that are foreign to a target.

A configuration is foreign only if it certainly fails: its pipeline cannot be built for the backend, or the target
lacks its instructions.

Source: runs of `iree-compile` 3.13 with each pipeline on each backend ("failed to build pass pipeline", "cannot be
converted to LLVM IR"), and with intrinsics that the target does not list ("no intrinsic matching MFMA size on given
chipset", "Cannot select"), for which the compiler may crash. `test/compiler/test_foreign.py` repeats these runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree.known_targets import BACKENDS
from tuninglink.iree.lowering_configs import TILE_AND_FUSE
from tuninglink.mlir.diagnostics import thread_context

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target

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
    types: tuple[str, ...], context: mlir.Context, names: Iterable[str] | None = None
) -> Iterator[str]:
    """Yield the intrinsics, except for virtual ones, with these element types.

    Args:
        types: the element types of both operands, or of both operands and the result.
        context: any context.
        names: the intrinsics to choose from; None for all.
    """
    intrinsics = iree_gpu.MMAIntrinsic.__members__
    for name in intrinsics if names is None else names:
        intrinsic = intrinsics.get(name)
        kind = intrinsic and iree_gpu.MMAAttr.get(int(intrinsic), ctx=context)
        if kind and element_types(kind)[: len(types)] == types:
            yield name


def is_virtual(name: str) -> bool:
    """Return whether an intrinsic is virtual, made of several instructions."""
    return name in iree_gpu.VirtualMMAIntrinsic.__members__


def instruction_set(name: str) -> str:
    """Return the instruction set of an intrinsic: `MFMA`, `WMMAR3`, `WMMAR4`, `WMMA` or `NV`.

    The instruction set of a virtual intrinsic is the one of its underlying instructions.
    """
    first = name.partition("_")[0]
    return "MFMA" if first.endswith("MFMA") else first


def generation(name: str) -> str:
    """Return the only AMD GPU generation with an intrinsic; empty if several have it, or for an NVIDIA intrinsic."""
    first = instruction_set(name)
    if first.startswith("WMMA"):
        return first
    if first != "MFMA":
        return ""
    if "FNUZ" in name:
        return "CDNA 3"
    return "CDNA 4" if name in _CDNA_4 or "_F8" in name else ""


def is_nvidia(name: str) -> bool:
    """Return whether an intrinsic is for NVIDIA GPUs. All others are for AMD GPUs."""
    return instruction_set(name) == _NVIDIA


_GPUS: Final = frozenset({"rocm", "cuda", "vulkan", "metal"})

_ACCEPTED_BY: Final = {
    TILE_AND_FUSE: frozenset({"rocm", "cuda"}),
    "#iree_gpu.spirv_pipeline<BaseDistribute>": _GPUS,
    "#iree_cpu.pipeline<DoubleTilingExpert>": frozenset({"llvm-cpu"}),
    "#iree_codegen.vmvx_pipeline": frozenset({"vmvx"}),
    "#iree_gpu.lowering_config<{}>": _GPUS,
    "#iree_cpu.lowering_config<distribution = [1]>": frozenset({"llvm-cpu", "vmvx"}),
}
"""An attribute of each class that is specific to some backends, and these backends."""


@cache
def _backends() -> Mapping[mlir.TypeID, frozenset[str]]:
    """Return the backends of each attribute class."""
    with thread_context():
        return {
            mlir.Attribute.parse(text).typeid: backends for text, backends in _ACCEPTED_BY.items()
        }


def foreign_reason(configuration: mlir.Attribute, target: Target) -> str:
    """Return the reason why a configuration is foreign to a target; empty if it is not known to be foreign.

    Args:
        configuration: a `compilation_info`, a `translation_info` or a `lowering_config`.
        target: the target.
    """
    if isinstance(configuration, iree_codegen.CompilationInfoAttr):
        parts = (configuration.translation_info, configuration.lowering_config)
        return next(filter(None, (foreign_reason(part, target) for part in parts)), "")
    if isinstance(configuration, iree_codegen.TranslationInfoAttr):
        pipeline = configuration.pass_pipeline
        return (
            ""
            if _is_accepted(pipeline, target)
            else f"'{pipeline}' is not a pipeline of {target.backend}"
        )
    if not _is_accepted(configuration, target):
        name = str(configuration).partition("<")[0]
        return f"'{name}' is not a lowering config of {target.backend}"
    if isinstance(configuration, iree_gpu.LoweringConfigAttr):
        return _foreign_intrinsic_reason(configuration, target)
    return ""


def _is_accepted(attribute: mlir.Attribute, target: Target) -> bool:
    if target.backend not in BACKENDS:
        return True
    return target.backend in _backends().get(attribute.typeid, BACKENDS)


def _foreign_intrinsic_reason(configuration: iree_gpu.LoweringConfigAttr, target: Target) -> str:
    kind = configuration.mma_kind
    name = intrinsic_name(kind)
    if kind is None or name is None or _has_intrinsic(name, target):
        return ""
    reason = f"'{name}' is not an intrinsic of {target}"
    if not target.intrinsics:
        return reason
    types = element_types(kind)
    alternatives = intrinsics_multiplying(types, configuration.context, target.intrinsics)
    alternative = next(alternatives, "")
    remedy = f"there is '{alternative}'" if alternative else "it has none"
    return f"{reason}; for {'·'.join(types[:2])}→{types[2]} {remedy}"


def _has_intrinsic(intrinsic: str, target: Target) -> bool:
    """Return whether a target has the instructions of an intrinsic, or may have them."""
    if target.intrinsics and is_virtual(intrinsic):
        # A target lists only some of the virtual intrinsics that its instructions implement.
        return instruction_set(intrinsic) in map(instruction_set, target.intrinsics)
    if target.intrinsics:
        return intrinsic in target.intrinsics
    if target.backend in ("rocm", "cuda"):
        return is_nvidia(intrinsic) == (target.backend == "cuda")
    return True


def backends_of(configuration: mlir.Attribute) -> frozenset[str]:
    """Return the backends that accept the classes and the intrinsic of a configuration."""
    if isinstance(configuration, iree_codegen.CompilationInfoAttr):
        parts = (configuration.translation_info, configuration.lowering_config)
        return backends_of(parts[0]) & backends_of(parts[1])
    if isinstance(configuration, iree_codegen.TranslationInfoAttr):
        return backends_of(configuration.pass_pipeline)
    taken = _backends().get(configuration.typeid, frozenset(BACKENDS))
    if isinstance(configuration, iree_gpu.LoweringConfigAttr):
        name = intrinsic_name(configuration.mma_kind)
        if name is not None:
            return taken - {"rocm" if is_nvidia(name) else "cuda"}
    return taken


def generation_of(configuration: mlir.Attribute) -> str:
    """Return the only AMD GPU generation with the intrinsic of a configuration; empty if several have it."""
    if isinstance(configuration, iree_codegen.CompilationInfoAttr):
        configuration = configuration.lowering_config
    if not isinstance(configuration, iree_gpu.LoweringConfigAttr):
        return ""
    name = intrinsic_name(configuration.mma_kind)
    return generation(name) if name is not None else ""
