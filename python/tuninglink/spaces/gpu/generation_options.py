"""Options of code generation for GPUs: knobs that are independent of the tiles, and therefore not part of any space.

No constraint relates them to other knobs, so they would multiply every space. The tuner varies them one by one on the
best configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree import (
    NO_BANK_CONFLICT_REDUCTION,
    PIPELINE_OPTIONS,
    STAGES,
    TILE_AND_FUSE,
    USE_IGEMM,
    VECTOR_DISTRIBUTE,
    WORKGROUP,
    OpKind,
    read_executable_target,
    read_integers,
)
from tuninglink.mlir import entries_of

if TYPE_CHECKING:
    from tuninglink.spaces.model import Workload


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
