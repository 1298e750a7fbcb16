"""Lowering configs: the entries of `#iree_gpu.lowering_config`, and `#iree_cpu.lowering_config`.

The entries for GPUs have the same meaning on any GPU. The bindings have no class for the attribute for CPUs.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree.targets import BACKENDS
from tuninglink.mlir import entries_of, integers_of, named_parameters, thread_context

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target


WORKGROUP: Final = "workgroup"
REDUCTION_LEVEL: Final = "reduction"
PARTIAL_REDUCTION: Final = "partial_reduction"
SERIAL: Final = "serial"
SUBGROUP: Final = "subgroup"
THREAD: Final = "thread"
LANE: Final = "lane"
PADDING: Final = "padding"
PADDING_CONV: Final = "padding_conv"
SUBGROUP_BASIS: Final = "subgroup_basis"
LANE_BASIS: Final = "lane_basis"
MMA_KIND: Final = "mma_kind"
PROMOTED_OPERANDS: Final = "promote_operands"
PROMOTION_TYPES: Final = "promotion_types"
CONVERTS: Final = "convert_acc_gemm"
"""The entry that starts an accumulation at zero and adds the given initial values afterwards."""

TILES: Final[tuple[str, ...]] = (
    *(WORKGROUP, REDUCTION_LEVEL, THREAD, SUBGROUP, LANE, SERIAL, PARTIAL_REDUCTION),
)
"""The entries with a tile size for each loop."""

_LISTS: Final = frozenset({*TILES, PADDING, PROMOTED_OPERANDS})
"""The entries that are ignored if they are not lists of integers."""

TENSOR_UKERNELS_FLAG: Final = "--iree-rocm-enable-tensor-ukernels"

_UKERNEL_FORMS: Final = ("large_{0}", "medium_{0}_expanded", "large_{0}_expanded")
TENSOR_UKERNELS: Final = {
    architecture: tuple(
        f"pingpong_{form.format(type_)}"
        for type_, forms in (
            ("f16", _UKERNEL_FORMS),
            ("bf16", _UKERNEL_FORMS),
            (eight_bits, (*_UKERNEL_FORMS[1:], *packed)),
        )
        for form in forms
    )
    for architecture, eight_bits, packed in (
        ("gfx942", "f8E4M3FNUZ", ("dt_medium_{0}", "dt_large_{0}", "dt_large_f16")),
        ("gfx950", "f8E4M3FN", ("dt_large_{0}", "dt_medium_f4E2M1FN")),
    )
}
"""The microkernels that the flag adds, by architecture."""

DIRECT_LOAD: Final = "use_global_load_dma"
"""The type of promotion by loads from global memory straight into shared memory."""

DIRECTLY_LOADING: Final = ("gfx950", "gfx1250")
"""The architectures with loads straight into shared memory. For others, the compiler generates code without them."""

REDUCING: Final = frozenset({REDUCTION_LEVEL, PARTIAL_REDUCTION, SERIAL})
"""Those entries that tile reductions, which are the last loops of contractions."""

BASES: Final = (SUBGROUP_BASIS, LANE_BASIS)

ENTRIES: Final = (
    *TILES,
    *BASES,
    *(MMA_KIND, PROMOTED_OPERANDS, PROMOTION_TYPES),
    *(PADDING, PADDING_CONV, CONVERTS),
    *("workgroup_reordering_strategy", "lowering_strategy"),
)
"""The entries of a `#iree_gpu.lowering_config` that code generation reads.

Source: `IREEGPUAttrs.cpp` and `GPULoweringConfigUtils.cpp`; a test finds each in the installed library.
"""

TILE_AND_FUSE: Final = "#iree_gpu.pipeline<TileAndFuse>"
VECTOR_DISTRIBUTE: Final = "#iree_gpu.pipeline<VectorDistribute>"

PIPELINE_DEPTH: Final = "pipeline_depth"
STORE_STAGE: Final = "store_stage"

SPIRV_LEVELS: Final[Mapping[str, Sequence[str]]] = {
    "#iree_gpu.spirv_pipeline<BaseDistribute>": (WORKGROUP, THREAD, REDUCTION_LEVEL),
    "#iree_gpu.spirv_pipeline<BaseVectorize>": (WORKGROUP, THREAD, REDUCTION_LEVEL, "window"),
    "#iree_gpu.spirv_pipeline<MatmulPromoteVectorize>": (WORKGROUP,),
    "#iree_gpu.spirv_pipeline<CooperativeMatrixVectorize>": (
        *(WORKGROUP, SUBGROUP, REDUCTION_LEVEL),
        "matrix",
    ),
    "#iree_gpu.spirv_pipeline<SubgroupReduce>": (WORKGROUP, REDUCTION_LEVEL),
}
"""The meanings of the levels of tile sizes in the pipelines for SPIR-V."""

WORKGROUP_SIZE: Final = "workgroup_size"
SUBGROUP_SIZE: Final = "subgroup_size"
PIPELINE_OPTIONS: Final = "gpu_pipeline_options"
STAGES: Final = "prefetch_num_stages"
NO_BANK_CONFLICT_REDUCTION: Final = "no_reduce_shared_memory_bank_conflicts"
USE_IGEMM: Final = "use_igemm_convolution"

AMD_SUBGROUP_SIZES: Final[tuple[int, int]] = (32, 64)
"""The subgroup sizes of AMD's code generation. Others fail with `invalid subgroup size`."""


@dataclass(frozen=True)
class Basis:
    """The distribution of subgroups, or of the lanes of a subgroup, over loops."""

    counts: tuple[int, ...]
    mapping: tuple[int, ...]


def read_basis(attribute: mlir.Attribute | None) -> Basis | None:
    """Return a `subgroup_basis` or a `lane_basis`; None for an attribute that is not two lists of integers."""
    parts = map(read_integers, attribute if isinstance(attribute, mlir.ArrayAttr) else ())
    match [*parts]:
        case [tuple(counts), tuple(mapping)]:
            return Basis(counts, mapping)
    return None


def read_integers(attribute: mlir.Attribute | None) -> tuple[int, ...] | None:
    """Return a list of integers; None for any other attribute."""
    if isinstance(attribute, mlir.ArrayAttr) and all(
        isinstance(element, mlir.IntegerAttr) for element in attribute
    ):
        return tuple(mlir.IntegerAttr(element).value for element in attribute)
    return None


def is_tiling(attribute: mlir.Attribute | None) -> bool:
    """Return whether a tiling level tiles at least one loop."""
    return any(read_integers(attribute) or ())


def is_read(name: str, value: mlir.Attribute) -> bool:
    """Return whether code generation reads an entry of a `#iree_gpu.lowering_config`; it ignores lists of other kinds."""
    return name in ENTRIES and (name not in _LISTS or read_integers(value) is not None)


def shared_reductions(
    level: str, knobs: Mapping[str, mlir.Attribute], parallel: Sequence[bool]
) -> tuple[int, ...]:
    """Return the reductions that TileAndFuse distributes over threads, which then add to one result concurrently.

    The loops of these levels become `scf.forall` (`applyTileAndFuseToEachRoot`), whose iterations are unordered. The
    loops of the op are `parallel` or not.
    """
    sizes = read_integers(knobs[level]) if level in knobs else None
    # The loops of a partial reduction are parallel.
    if level not in (THREAD, SUBGROUP) or sizes is None or PARTIAL_REDUCTION in knobs:
        return ()
    steps = (read_integers(knobs[REDUCTION_LEVEL]) if REDUCTION_LEVEL in knobs else None) or ()
    return tuple(
        loop
        for loop, (size, is_parallel) in enumerate(zip(sizes, parallel, strict=False))
        if size and not is_parallel and not 0 < (steps[loop] if loop < len(steps) else 0) <= size
    )


def uses_igemm(translation_info: mlir.Attribute | None) -> bool:
    """Return whether a `translation_info` lowers convolutions to contractions (implicit GEMM)."""
    if not isinstance(translation_info, iree_codegen.TranslationInfoAttr):
        return False
    options = entries_of(translation_info.configuration).get(PIPELINE_OPTIONS)
    return isinstance(options, iree_gpu.PipelineOptionsAttr) and bool(options.use_igemm_convolution)


CPU_CONFIGURATION: Final = "#iree_cpu.lowering_config<"
"""The start of an attribute for CPUs."""


class CpuLevel(Enum):
    """A tiling level, as the compiler spells it, from the outermost to the innermost."""

    DISTRIBUTION = "distribution"
    CACHE_PARALLEL = "cache_parallel"
    CACHE_REDUCTION = "cache_reduction"
    VECTOR_COMMON_PARALLEL = "vector_common_parallel"
    VECTOR_REDUCTION = "vector_reduction"
    VECTOR_INNER_PARALLEL = "vector_inner_parallel"


@dataclass(frozen=True)
class Tiling:
    """The tiling of one level.

    Attributes:
        sizes: the tile size of each loop, 0 for a loop that is not tiled.
        scalable: the loops whose tile size is a multiple of the vector scale, which is known at run time.
        interchange: the order of the loops; empty for the default order.
    """

    sizes: tuple[int, ...]
    scalable: frozenset[int] = frozenset()
    interchange: tuple[int, ...] = ()


def read_cpu_configuration(attribute: mlir.Attribute) -> Mapping[str, Tiling | None] | None:
    """Return the tiling of each level in a `#iree_cpu.lowering_config`, or None for another attribute.

    The value is None for a level that is not a tiling.
    """
    parameters = named_parameters(attribute, CPU_CONFIGURATION)
    if parameters is None:
        return None
    tilings: dict[str, Tiling | None] = {}
    for name, level in parameters.items():
        tilings[name] = None
        entries = entries_of(level)
        sizes, order = entries.get("sizes", level), entries.get("interchange")
        is_order = order is None or isinstance(order, mlir.ArrayAttr)
        if not isinstance(sizes, mlir.ArrayAttr) or not is_order:
            continue
        numbers: list[int] = []
        scalable: set[int] = set()
        for position, element in enumerate(sizes):
            size: object = element
            if isinstance(element, mlir.ArrayAttr) and len(element) == 1:
                scalable.add(position)
                size = element[0]
            if isinstance(size, mlir.IntegerAttr):
                numbers.append(int(size.value))
        if len(numbers) == len(sizes):
            tilings[name] = Tiling(tuple(numbers), frozenset(scalable), tuple(integers_of(order)))
    return tilings


def cpu_lowering_config(
    levels: Mapping[CpuLevel, Sequence[int]],
    context: mlir.Context,
    scalable: Container[object] = (),
) -> mlir.Attribute:
    """Return a `#iree_cpu.lowering_config` with the tile sizes of each loop, by level.

    The tiles of the pairs of a level and a loop in `scalable` are multiples of the vector scale.

    Raises:
        MLIRError: a size does not fit into 64 bits.
    """
    listed = {
        level: [[size] if (level, loop) in scalable else size for loop, size in enumerate(sizes)]
        for level, sizes in levels.items()
    }
    text = ", ".join(f"{level.value} = {sizes}" for level, sizes in listed.items())
    return mlir.Attribute.parse(f"{CPU_CONFIGURATION}{text}>", context)


_LEVELS_PREFIX = "#iree_codegen.lowering_config<"
_LEVELS: Final = "tile_sizes"


def read_tile_levels(attribute: mlir.Attribute) -> tuple[tuple[int, ...], ...] | None:
    """Return the tile sizes of each level in a `#iree_codegen.lowering_config`; None for anything else."""
    entries = named_parameters(attribute, _LEVELS_PREFIX)
    levels = None if entries is None else entries.pop(_LEVELS, None)
    if entries or not isinstance(levels, mlir.ArrayAttr):
        return None
    sizes = [read_integers(level) for level in levels]
    return None if None in sizes else tuple(level for level in sizes if level is not None)


def tile_levels_config(levels: Sequence[Sequence[int]], context: mlir.Context) -> mlir.Attribute:
    """Return a `#iree_codegen.lowering_config`, without trailing zeros in levels, which have no effect.

    Raises:
        MLIRError: a size does not fit into 64 bits.
    """
    shortened = [list(level) for level in levels]
    for level in shortened:
        while level and not level[-1]:
            level.pop()
    while shortened and not shortened[-1]:
        shortened.pop()
    return mlir.Attribute.parse(f"{_LEVELS_PREFIX}{_LEVELS} = {shortened}>", context)


# --- The intrinsics of configurations, and the configurations that are foreign to a target -------

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
        kind, options = type(attribute), {"col_major": attribute.col_major}
        intrinsics: Iterable[iree_gpu.MMAIntrinsic | iree_gpu.VirtualMMAIntrinsic] = (
            iree_gpu.MMAIntrinsic if kind is iree_gpu.MMAAttr else iree_gpu.VirtualMMAIntrinsic
        )
        matches = (
            intrinsic.name
            for intrinsic in intrinsics
            if kind.get(int(intrinsic), **options, ctx=attribute.context) == attribute
        )
        _intrinsic_names[text] = next(matches, None)
    return _intrinsic_names[text]


_intrinsic_names: Final[dict[str, str | None]] = {}
"""The names of intrinsics by the texts of their attributes."""


def element_types(attribute: mlir.Attribute) -> tuple[str, str, str]:
    """Return the element types of the operands and the result of an intrinsic, as MLIR writes them."""
    assert isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
    lhs, rhs, result = map(str, attribute.abc_element_types)
    return lhs, rhs, result


def intrinsics_multiplying(
    types: tuple[str, ...], context: mlir.Context, names: Iterable[str] | None = None
) -> Iterator[str]:
    """Yield the intrinsics among `names` or all, except for virtual ones, with these types of operands and of the result."""
    intrinsics = iree_gpu.MMAIntrinsic.__members__
    for name in intrinsics if names is None else names:
        intrinsic = intrinsics.get(name)
        kind = intrinsic and iree_gpu.MMAAttr.get(int(intrinsic), ctx=context)
        if kind and element_types(kind)[: len(types)] == types:
            yield name


def instruction_set(name: str) -> str:
    """Return the instruction set of an intrinsic: `MFMA`, `WMMAR3`, `WMMAR4` or `WMMA` of AMD GPUs, `NV` of NVIDIA GPUs.

    The instruction set of a virtual intrinsic is the one of its underlying instructions.
    """
    first = name.partition("_")[0]
    return "MFMA" if first.endswith("MFMA") else first


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
    """Return why a `compilation_info`, a `translation_info` or a `lowering_config` is foreign to a target.

    The reason is empty if the configuration is not known to be foreign.
    """
    if isinstance(configuration, iree_codegen.CompilationInfoAttr):
        parts = (configuration.translation_info, configuration.lowering_config)
        return next(filter(None, (foreign_reason(part, target) for part in parts)), "")
    pipeline = None
    if isinstance(configuration, iree_codegen.TranslationInfoAttr):
        pipeline = configuration.pass_pipeline
    accepted = _backends().get((configuration if pipeline is None else pipeline).typeid, BACKENDS)
    if target.backend in BACKENDS and target.backend not in accepted:
        if pipeline is not None:
            return f"'{pipeline}' is not a pipeline of {target.backend}"
        name = str(configuration).partition("<")[0]
        return f"'{name}' is not a lowering config of {target.backend}"
    # Find an intrinsic that the target lacks.
    if not isinstance(configuration, iree_gpu.LoweringConfigAttr):
        return ""
    kind = configuration.mma_kind
    intrinsic = intrinsic_name(kind)
    if kind is None or intrinsic is None:
        return ""
    instructions = instruction_set(intrinsic)
    has_intrinsic = True
    if target.intrinsics and intrinsic in iree_gpu.VirtualMMAIntrinsic.__members__:
        # A target lists only some of the virtual intrinsics that its instructions implement.
        has_intrinsic = instructions in map(instruction_set, target.intrinsics)
    elif target.intrinsics:
        has_intrinsic = intrinsic in target.intrinsics
    elif target.backend in ("rocm", "cuda"):
        has_intrinsic = (instructions == "NV") == (target.backend == "cuda")
    if has_intrinsic:
        return ""
    reason = f"'{intrinsic}' is not an intrinsic of {target}"
    if not target.intrinsics:
        return reason
    types = element_types(kind)
    alternatives = intrinsics_multiplying(types, configuration.context, target.intrinsics)
    alternative = next(alternatives, "")
    remedy = f"there is '{alternative}'" if alternative else "it has none"
    return f"{reason}; for {'·'.join(types[:2])}→{types[2]} {remedy}"


def backends_of(configuration: mlir.Attribute) -> frozenset[str]:
    """Return the backends that accept the classes and the intrinsic of a configuration."""
    if isinstance(configuration, iree_codegen.CompilationInfoAttr):
        parts = (configuration.translation_info, configuration.lowering_config)
        return backends_of(parts[0]) & backends_of(parts[1])
    if isinstance(configuration, iree_codegen.TranslationInfoAttr):
        return backends_of(configuration.pass_pipeline)
    backends = _backends().get(configuration.typeid, frozenset(BACKENDS))
    if isinstance(configuration, iree_gpu.LoweringConfigAttr):
        name = intrinsic_name(configuration.mma_kind)
        if name is not None:
            return backends - {"rocm" if instruction_set(name) == "NV" else "cuda"}
    return backends


def generation_of(configuration: mlir.Attribute) -> str:
    """Return the only AMD GPU generation with the intrinsic of a configuration; empty if several have it."""
    if isinstance(configuration, iree_codegen.CompilationInfoAttr):
        configuration = configuration.lowering_config
    if not isinstance(configuration, iree_gpu.LoweringConfigAttr):
        return ""
    name = intrinsic_name(configuration.mma_kind) or ""
    instructions = instruction_set(name)
    if instructions.startswith("WMMA"):
        return instructions
    if instructions != "MFMA":
        return ""
    if "FNUZ" in name:
        return "CDNA 3"
    return "CDNA 4" if name in _CDNA_4 or "_F8" in name else ""
