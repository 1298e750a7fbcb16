"""Options of code generation for GPUs: knobs that are independent of the tiles, and therefore not part of any space.

No constraint relates them to other knobs, so they would multiply every space. The tuner varies them one by one on the
best configurations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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


_DIES: Final = {"gfx942": (8, 38), "gfx950": (8, 32)}
"""The numbers of dies and of compute units per die, by architecture (CDNA 3 and 4 ISA guides, MI300X and MI350X)."""


@dataclass(frozen=True)
class CodeOption(ABC):
    """An option of code generation.

    Attributes:
        name: its name in configurations.
        values: the values by their texts in configurations. An absent option has the value 0.
    """

    name: str
    values: Mapping[str, int] = field(hash=False)

    @abstractmethod
    def write(self, configuration: _Parts, value: int) -> None:
        """Set the option in a configuration; the value 0 removes it. The context is current."""

    @abstractmethod
    def read(self, configuration: _Parts) -> int:
        """Return the value in a configuration; 0 for one that is not among `values`."""


@dataclass
class _Parts:
    """The parts of a configuration."""

    lowering: dict[str, mlir.Attribute]
    options: dict[str, Any]
    others: dict[str, mlir.Attribute]


class _FunctionAttribute(CodeOption):
    """An attribute of the LLVM function."""

    def write(self, configuration: _Parts, value: int) -> None:
        attributes = dict(entries_of(configuration.others.get(FUNCTION_ATTRIBUTES)))
        attributes.pop(self.name, None)
        if value:
            attributes[self.name] = mlir.StringAttr.get(_text_of(self, value))
        configuration.others.pop(FUNCTION_ATTRIBUTES, None)
        if attributes:
            configuration.others[FUNCTION_ATTRIBUTES] = mlir.DictAttr.get(attributes)

    def read(self, configuration: _Parts) -> int:
        attribute = entries_of(configuration.others.get(FUNCTION_ATTRIBUTES)).get(self.name)
        text = attribute.value if isinstance(attribute, mlir.StringAttr) else ""
        return self.values.get(text, 0)


class _Denormals(CodeOption):
    """The mode for denormals, which can eliminate the code for denormals in exponentials."""

    def write(self, configuration: _Parts, value: int) -> None:
        configuration.others.pop(self.name, None)
        if value:
            text = f'#iree_codegen.denormal_fp_math<"{_text_of(self, value)}">'
            configuration.others[self.name] = mlir.Attribute.parse(text)

    def read(self, configuration: _Parts) -> int:
        attribute = configuration.others.get(self.name)
        return int(attribute is not None and any(text in str(attribute) for text in self.values))


class _PipelineOption(CodeOption):
    """An entry of the pipeline's options: a switch, or the order of workgroups."""

    def write(self, configuration: _Parts, value: int) -> None:
        configuration.options.pop(self.name, None)
        if self.name == REORDERING and value:
            text = f"#iree_gpu.reorder_workgroups_strategy<{_text_of(self, value)}>"
            configuration.options[self.name] = mlir.Attribute.parse(text)
        elif value or self.name != REORDERING:
            configuration.options[self.name] = bool(value)

    def read(self, configuration: _Parts) -> int:
        value = configuration.options.get(self.name)
        if self.name == REORDERING:
            return int(value is not None and any(text in str(value) for text in self.values))
        return int(bool(value))


class _ConditionalReordering(CodeOption):
    """The order of workgroups in TileAndFuse, which is transposed if that order loads fewer tiles."""

    def write(self, configuration: _Parts, value: int) -> None:
        configuration.lowering.pop(self.name, None)
        tiles = read_integers(configuration.lowering.get(WORKGROUP, mlir.ArrayAttr.get([]))) or ()
        is_of_two_loops = sum(tile != 0 for tile in tiles) == 2  # noqa: PLR2004 - code generation fails on others
        if value and is_of_two_loops:
            configuration.lowering[self.name] = mlir.Attribute.parse(_text_of(self, value))

    def read(self, configuration: _Parts) -> int:
        value = configuration.lowering.get(self.name)
        return self.values.get(str(value), 0)


def code_options(workload: Workload, pipeline: str) -> tuple[CodeOption, ...]:
    """Return the options that change the code of a dispatch in a pipeline; determined by compiling for gfx942.

    Args:
        workload: the dispatch.
        pipeline: the pipeline, as MLIR prints it.
    """
    target = read_executable_target(workload.target) if workload.target is not None else None
    if target is None or not target.gpu or pipeline not in (TILE_AND_FUSE, VECTOR_DISTRIBUTE):
        return ()
    architecture = target.gpu.architecture
    options: list[CodeOption] = []
    if architecture.startswith("gfx"):
        options.append(_FunctionAttribute(WAVES, {"1": 1, "2": 2, "4": 4}))
    if workload.problem.kind is OpKind.ATTENTION:
        options.append(_Denormals(DENORMALS, {"preserve-sign": 1}))
    options.append(_PipelineOption(NO_BANK_CONFLICT_REDUCTION, {"true": 1}))
    if pipeline == VECTOR_DISTRIBUTE:
        options.append(_PipelineOption(REORDERING, {"Transpose": 1}))
    elif architecture in _DIES:
        dies, units = _DIES[architecture]
        text = f"#iree_gpu.conditional_transpose<{dies}, {units}>"
        options.append(_ConditionalReordering(CONDITIONAL_REORDERING, {text: 1}))
    return tuple(options)


def with_options(
    info: mlir.Attribute, options: Sequence[CodeOption], values: Mapping[str, int]
) -> mlir.Attribute:
    """Return a `#iree_codegen.compilation_info` with values of options.

    Args:
        info: the configuration, for a GPU.
        options: the options.
        values: their values by name; options without a value stay unchanged.
    """
    assert isinstance(info, iree_codegen.CompilationInfoAttr)
    translation: Any = info.translation_info
    parts = _parts(info.lowering_config, translation)
    with info.context:
        for option in options:
            if option.name in values:
                option.write(parts, values[option.name])
        configuration = {
            PIPELINE_OPTIONS: iree_gpu.PipelineOptionsAttr.get(**parts.options),
            **parts.others,
        }
        return iree_codegen.CompilationInfoAttr.get(
            iree_gpu.LoweringConfigAttr.get(mlir.DictAttr.get(parts.lowering)),
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
    parts = _parts(lowering, translation)
    values = {option.name: option.read(parts) for option in options}
    return {name: value for name, value in values.items() if value}


def _parts(lowering: mlir.Attribute, translation: iree_codegen.TranslationInfoAttr) -> _Parts:
    others = dict(entries_of(translation.configuration))
    options: Any = others.pop(PIPELINE_OPTIONS, None)
    names = (STAGES, NO_BANK_CONFLICT_REDUCTION, USE_IGEMM, REORDERING)
    given = {name: getattr(options, name) for name in names} if options is not None else {}
    return _Parts(
        dict(entries_of(getattr(lowering, "attributes", None))),
        {name: value for name, value in given.items() if value is not None},
        others,
    )


def _text_of(option: CodeOption, value: int) -> str:
    return next(text for text, number in option.values.items() if number == value)
