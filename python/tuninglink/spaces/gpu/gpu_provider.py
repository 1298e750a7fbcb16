"""The provider of Tuninglink's constraints on configurations for GPUs.

A GPU that cannot convert the 8-bit floats of an op has no valid configuration for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree import (
    NO_BANK_CONFLICT_REDUCTION,
    PIPELINE_OPTIONS,
    SPIRV_BACKENDS,
    STAGES,
    TILE_AND_FUSE,
    USE_IGEMM,
    VECTOR_DISTRIBUTE,
    WORKGROUP,
    OpKind,
    element_type,
    read_executable_target,
    read_integers,
)
from tuninglink.mlir import entries_of, error, visit
from tuninglink.solver import AssignmentError, Assumptions, UndecidedError
from tuninglink.spaces.gpu.gpu_rules import PROVIDER, Gpu, GpuRules, Setting, read_device
from tuninglink.spaces.gpu.gpu_space import GpuSpace, SharedSpace, Variant
from tuninglink.spaces.gpu.tile_and_fuse import (
    is_scaled,
    scaled_spaces,
    tile_and_fuse_spaces,
    tiled_convolution_spaces,
)
from tuninglink.spaces.gpu.vector_distribute import (
    attention_lanes_spaces,
    attention_spaces,
    direct_convolution_spaces,
    vector_distribute_spaces,
)
from tuninglink.spaces.gpu.without_intrinsics import (
    ARG_COMPARE,
    GATHER,
    SCATTER,
    TOPK,
    distribute_spaces,
    indexed_spaces,
    lanes_spaces,
    threads_spaces,
)
from tuninglink.spaces.model import Problem, Provider, Space, Workload

if TYPE_CHECKING:
    from tuninglink.spaces.model import Configuration, Workload


_BYTES: Final = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
_OF_AMD: Final = "FNUZ"
"""The suffix of the types that no NVIDIA GPU supports."""
_CONVERTING: Final = 89
"""The first NVIDIA compute capability with conversions of the other types."""


class UnsupportedSpace(Space):
    """A space without a valid configuration."""

    def __init__(self, problem: Problem, pipeline: str, reason: str) -> None:
        rules = GpuRules()
        rules.necessary(False, reason)  # noqa: FBT003 - that is the rule
        self.constraints = rules.build(problem, pipeline)

    def assignment(self, _: Configuration) -> Mapping[str, int]:
        return {}

    def compilation_info(self, _: Mapping[str, int]) -> mlir.Attribute:
        raise AssignmentError(error("no configuration is valid"))


DISTRIBUTE = "#iree_gpu.pipeline<Distribute>"

_SHARING: Final = frozenset(
    {OpKind.CONTRACTION, OpKind.REDUCTION, OpKind.ELEMENTWISE, OpKind.ATTENTION}
)
"""The kinds whose forms read sizes only from the problem. For other kinds, the IR is read."""

_MOST_FAMILIES: Final = 64
_MOST_VARIANTS: Final = 64
_MOST_FAILURES: Final = 8


@dataclass
class _Family:
    """The spaces of the workloads of a family in a pipeline, and how often none could be made for all sizes."""

    variants: list[Variant] = field(default_factory=list)
    failures: int = 0


@dataclass(eq=False, repr=False)
class GpuProvider(Provider):
    """Derives the requirements of GPU code generation from the shapes and from the target's limits and intrinsics.

    It covers the configurations of the compiler's own constraints, and others. If it refutes a configuration that both
    cover, the compiler's constraints reject the configuration, too, or the configuration does not compile.
    """

    name: ClassVar[str] = PROVIDER
    pipelines: ClassVar[frozenset[str] | None] = frozenset(
        {TILE_AND_FUSE, VECTOR_DISTRIBUTE, DISTRIBUTE}
    )

    _known: tuple[mlir.Attribute, Gpu] | None = field(default=None, init=False)
    _families: dict[tuple[Hashable, str], _Family] = field(default_factory=dict, init=False)

    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return the spaces, those that differ only in sizes with rules that are built once, with the sizes as parameters."""
        sizes = workload.static_sizes
        if workload.family is None or sizes is None or workload.problem.kind not in _SHARING:
            return self._own_spaces(pipeline, workload)
        key = (workload.family, pipeline)
        if key not in self._families and len(self._families) == _MOST_FAMILIES:
            self._families.clear()
        family = self._families.setdefault(key, _Family())
        values = {f"size {loop}": size for loop, size in enumerate(sizes)}
        # Rules branch on sizes, so they are rebuilt for sizes that do not satisfy their assumptions. A variant whose
        # assumptions hold moves to the front.
        family.variants = [variant for variant in family.variants if not variant[0].is_fixed]
        fitting = (variant for variant in family.variants if variant[0].hold(values))
        if variant := next(fitting, None):
            family.variants.remove(variant)
        elif family.failures >= _MOST_FAILURES or len(family.variants) == _MOST_VARIANTS:
            return self._own_spaces(pipeline, workload)
        else:
            # Make spaces with parameters for sizes. If there are none, the reason names the sizes of this workload.
            assumptions = Assumptions(values)
            parameters: Any = map(assumptions.parameter, values)
            problem = workload.problem.resized(parameters)
            try:
                spaces = self._own_spaces(pipeline, replace(workload, problem=problem))
            except UndecidedError:
                spaces = ()
            gpu_spaces: Sequence[GpuSpace] = [
                space for space in spaces if isinstance(space, GpuSpace)
            ]
            if not spaces or assumptions.is_fixed or len(gpu_spaces) != len(spaces):
                family.failures += 1
                return self._own_spaces(pipeline, workload)
            variant = assumptions, gpu_spaces
        family.variants.insert(0, variant)
        assumptions, gpu_spaces = variant
        own = cache(lambda: self._own_spaces(pipeline, workload))
        return [
            SharedSpace(assumptions, space, values, own, index)
            for index, space in enumerate(gpu_spaces)
        ]

    def _own_spaces(self, pipeline: str, workload: Workload) -> Sequence[Space]:
        # Check that the target's backend builds a pipeline.
        target = read_executable_target(workload.target) if workload.target is not None else None
        if target is not None and target.backend in SPIRV_BACKENDS:
            raise UndecidedError(f"{target.backend} does not build {pipeline}")
        if pipeline != DISTRIBUTE and not workload.root.results:
            raise UndecidedError(f"{workload.problem} computes in buffers, not in tensors")
        # The target GPU is read again if it differs from the previous one. Attributes cannot be compared with None.
        previous = self._known if workload.target is not None else None
        if previous is None or previous[0] != workload.target:
            device = read_device(workload)
            assert workload.target is not None
            self._known = previous = workload.target, device
        device = previous[1]
        attribute = mlir.Attribute.parse(pipeline, workload.root.context)
        setting = Setting(workload.problem, device, attribute)
        if is_scaled(workload.root):
            if pipeline != TILE_AND_FUSE:
                raise UndecidedError("products of scaled operands are known in TileAndFuse alone")
            return scaled_spaces(workload, setting)
        # Narrow float types of the body of the root op that the GPU cannot convert.
        body: list[mlir.Operation] = []
        visit(workload.root, body.append)
        types = dict.fromkeys(
            str(element_type(value.type))
            for operation in body
            if operation != workload.root and not operation.name.endswith(".yield")
            for value in (*operation.operands, *operation.results)
        )
        supported = {type_ for intrinsic in device.intrinsics for type_ in intrinsic.element_types}
        capability = re.match(r"sm_(\d+)", device.architecture)
        for type_ in filter(_BYTES.__contains__, types):
            if capability is not None:
                is_missing = type_.endswith(_OF_AMD) or int(capability[1]) < _CONVERTING
            else:
                is_missing = device.is_amd and type_ not in supported
            if is_missing:
                reason = f"{device.architecture} cannot convert {type_}"
                return [UnsupportedSpace(workload.problem, pipeline, reason)]
        result: list[Space] = []
        reasons: list[str] = []
        for make in _SPACES[pipeline].get(workload.problem.kind, ()):
            try:
                result += make(workload, setting)
            except UndecidedError as failure:
                reasons.append(failure.reason)
        if reasons and not result:
            raise UndecidedError("; ".join(dict.fromkeys(reasons)))
        return result


_Make = Callable[["Workload", "Setting"], "Sequence[Space]"]

_SPACES: Final[Mapping[str, Mapping[OpKind, Sequence[_Make]]]] = {
    TILE_AND_FUSE: {
        OpKind.CONTRACTION: (tile_and_fuse_spaces, threads_spaces),
        OpKind.CONVOLUTION: (tile_and_fuse_spaces, tiled_convolution_spaces, threads_spaces),
        OpKind.REDUCTION: (threads_spaces,),
        OpKind.ELEMENTWISE: (threads_spaces,),
        OpKind.OTHER: (partial(indexed_spaces, SCATTER),),
    },
    VECTOR_DISTRIBUTE: {
        OpKind.CONTRACTION: (vector_distribute_spaces, lanes_spaces),
        OpKind.CONVOLUTION: (direct_convolution_spaces,),
        OpKind.REDUCTION: (lanes_spaces,),
        OpKind.ATTENTION: (attention_spaces, attention_lanes_spaces),
        OpKind.OTHER: (partial(indexed_spaces, ARG_COMPARE),),
    },
    DISTRIBUTE: {
        OpKind.ELEMENTWISE: (distribute_spaces,),
        OpKind.OTHER: (partial(indexed_spaces, GATHER), partial(indexed_spaces, TOPK)),
    },
}
"""The functions that make the spaces of each kind of root op."""


# --- Options of code generation: knobs that are independent of the tiles, and not part of any space ----
#
# No constraint relates them to other knobs, so they would multiply every space. The tuner varies them one by one on the
# best configurations.

FUNCTION_ATTRIBUTES: Final = "llvm_func_attrs"
WAVES: Final = "amdgpu-waves-per-eu"
DENORMALS: Final = "iree_codegen.denormal_fp_math_f32"
REORDERING: Final = "reorder_workgroups_strategy"
CONDITIONAL_REORDERING: Final = "workgroup_reordering_strategy"

_LOWERING: Final = "lowering_config"
_OTHERS: Final = "configuration"


_DIES: Final = {"gfx942": (8, 38), "gfx950": (8, 32)}
"""The numbers of dies and of compute units per die, by architecture (CDNA 3 and 4 ISA guides, MI300X and MI350X)."""


@dataclass(frozen=True)
class CodeOption:
    """An option of code generation, by its name and its place in configurations.

    The values are by their texts, for which the attribute has a place. An absent option has the value 0.
    """

    name: str
    values: Mapping[str, int] = field(hash=False)
    place: str
    attribute: str = "{}"


_Parts = dict[str, dict[str, Any]]
"""The entries of a configuration by place: of the lowering config, the pipeline's options, the function, and others."""


def code_options(workload: Workload, pipeline: str) -> tuple[CodeOption, ...]:
    """Return the options that change the code of a dispatch in a pipeline; determined by compiling for gfx942."""
    target = read_executable_target(workload.target) if workload.target is not None else None
    if target is None or not target.gpu or pipeline not in (TILE_AND_FUSE, VECTOR_DISTRIBUTE):
        return ()
    architecture = target.gpu.architecture
    options = []
    if architecture.startswith("gfx"):
        waves = {"1": 1, "2": 2, "4": 4}
        options.append(CodeOption(WAVES, waves, FUNCTION_ATTRIBUTES, '"{}"'))
    if workload.problem.kind is OpKind.ATTENTION:
        # This mode can eliminate the code for denormals in exponentials.
        mode = '#iree_codegen.denormal_fp_math<"{}">'
        options.append(CodeOption(DENORMALS, {"preserve-sign": 1}, _OTHERS, mode))
    options.append(CodeOption(NO_BANK_CONFLICT_REDUCTION, {"true": 1}, PIPELINE_OPTIONS))
    if pipeline == VECTOR_DISTRIBUTE:
        order = "#iree_gpu.reorder_workgroups_strategy<{}>"
        options.append(CodeOption(REORDERING, {"Transpose": 1}, PIPELINE_OPTIONS, order))
    elif architecture in _DIES:
        # The order of workgroups is transposed if that order loads fewer tiles.
        dies, units = _DIES[architecture]
        text = f"#iree_gpu.conditional_transpose<{dies}, {units}>"
        options.append(CodeOption(CONDITIONAL_REORDERING, {text: 1}, _LOWERING))
    return tuple(options)


def with_options(
    info: mlir.Attribute, options: Sequence[CodeOption], values: Mapping[str, int]
) -> mlir.Attribute:
    """Return a `#iree_codegen.compilation_info` with values of options; options without a value stay unchanged."""
    assert isinstance(info, iree_codegen.CompilationInfoAttr)
    translation: Any = info.translation_info
    parts = _parts(info.lowering_config, translation)
    with info.context:
        for option in [option for option in options if option.name in values]:
            # The value 0 removes an option, or switches it off.
            entries, value = parts[option.place], values[option.name]
            entries.pop(option.name, None)
            # Code generation reorders workgroups only for two tiled loops; it fails on other numbers.
            tiles = entries.get(WORKGROUP, mlir.ArrayAttr.get([]))
            tiled = sum(tile != 0 for tile in read_integers(tiles) or ())
            if option.name == NO_BANK_CONFLICT_REDUCTION:
                entries[option.name] = bool(value)
            elif value and (option.name != CONDITIONAL_REORDERING or tiled == 2):  # noqa: PLR2004
                text = next(text for text, number in option.values.items() if number == value)
                entries[option.name] = mlir.Attribute.parse(option.attribute.format(text))
        pipeline_options = iree_gpu.PipelineOptionsAttr.get(**parts[PIPELINE_OPTIONS])
        configuration = {PIPELINE_OPTIONS: pipeline_options, **parts[_OTHERS]}
        if attributes := parts[FUNCTION_ATTRIBUTES]:
            configuration[FUNCTION_ATTRIBUTES] = mlir.DictAttr.get(attributes)
        return iree_codegen.CompilationInfoAttr.get(
            iree_gpu.LoweringConfigAttr.get(mlir.DictAttr.get(parts[_LOWERING])),
            iree_codegen.TranslationInfoAttr.get(
                translation.pass_pipeline,
                None,
                list(translation.workgroup_size),
                translation.subgroup_size,
                mlir.DictAttr.get(configuration),
            ),
        )


def read_options(
    lowering: mlir.Attribute,
    translation: iree_codegen.TranslationInfoAttr,
    options: Sequence[CodeOption],
) -> dict[str, int]:
    """Return the options that a configuration sets, by name."""
    if not options:
        return {}
    parts, values = _parts(lowering, translation), dict[str, int]()
    for option in options:
        given = parts[option.place].get(option.name)
        by_text = {option.attribute.format(text): value for text, value in option.values.items()}
        values[option.name] = int(given) if isinstance(given, bool) else by_text.get(str(given), 0)
    return {name: value for name, value in values.items() if value}


def _parts(lowering: mlir.Attribute, translation: iree_codegen.TranslationInfoAttr) -> _Parts:
    others = dict(entries_of(translation.configuration))
    options: Any = others.pop(PIPELINE_OPTIONS, None)
    names = (STAGES, NO_BANK_CONFLICT_REDUCTION, USE_IGEMM, REORDERING)
    given = {name: getattr(options, name) for name in names} if options is not None else {}
    return {
        _LOWERING: dict(entries_of(getattr(lowering, "attributes", None))),
        PIPELINE_OPTIONS: {name: value for name, value in given.items() if value is not None},
        FUNCTION_ATTRIBUTES: dict(entries_of(others.pop(FUNCTION_ATTRIBUTES, None))),
        _OTHERS: others,
    }
