"""Configurations as the IR holds them, and what they say about knobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PIPELINE_OPTIONS = "gpu_pipeline_options"


@dataclass(frozen=True)
class Configuration:
    """What configures a root op.

    Attributes:
        lowering_config: how the op is tiled and distributed.
        translation_info: pipeline, workgroup size and the like, None if the function has none.
        decomposition_config: what an attention hands on to its parts, if it does.
    """

    lowering_config: mlir.Attribute
    translation_info: iree_codegen.TranslationInfoAttr | None
    decomposition_config: mlir.Attribute | None = None

    @property
    def pipeline(self) -> mlir.Attribute | None:
        """The pipeline that compiles the dispatch."""
        return self.translation_info.pass_pipeline if self.translation_info else None


def read_configuration(root: mlir.Operation, function: mlir.Operation) -> Configuration | None:
    """Returns the configuration of a root op, None if it has none.

    A `compilation_info` on the op decides, since the compiler puts it in place of what is there.
    """
    attributes = root.attributes
    decomposition = attributes.get(names.DECOMPOSITION_CONFIG)
    info = attributes.get(names.COMPILATION_INFO)
    if isinstance(info, iree_codegen.CompilationInfoAttr):
        return Configuration(
            info.lowering_config, _translation_info(info.translation_info), decomposition
        )
    lowering = attributes.get(names.LOWERING_CONFIG)
    if lowering is None:
        return None
    translation = function.attributes.get(names.TRANSLATION_INFO)
    return Configuration(lowering, _translation_info(translation), decomposition)


def _translation_info(
    attribute: mlir.Attribute | None,
) -> iree_codegen.TranslationInfoAttr | None:
    return attribute if isinstance(attribute, iree_codegen.TranslationInfoAttr) else None


class MismatchError(Exception):
    """A configuration is not of the form that constraints speak of.

    Attributes:
        is_missing: whether it lacks something that they need; else it has something else than they fix.
    """

    def __init__(self, message: str, *, is_missing: bool) -> None:
        super().__init__(message)
        self.is_missing = is_missing


def read_knobs(template: mlir.DictAttr, configuration: Configuration) -> dict[str, int]:
    """Returns the values that a configuration gives to the knobs in a template.

    Args:
        template: a configuration for GPUs in which knobs stand for what is to be chosen.
        configuration: one without knobs.

    Raises:
        MismatchError: it is not of the template's form.
    """
    matching = _Matching()
    entries = _entries(configuration)
    for name, wanted in _items(template):
        matching.match(name, wanted, entries.get(name))
    return matching.assignment


class _Matching:
    """Matches a configuration with a template, part by part, in the order in which the compiler does."""

    def __init__(self) -> None:
        self.assignment: dict[str, int] = {}

    def match(self, path: str, template: mlir.Attribute, actual: object) -> None:
        """Matches one part; `path` is what people call it."""
        if actual is None:
            raise MismatchError(f"'{path}' is missing", is_missing=True)
        if isinstance(template, iree_codegen.IntKnobAttr | iree_codegen.OneOfKnobAttr):
            matches = self._match_knob(template, actual)
        elif isinstance(template, mlir.DictAttr | iree_gpu.LoweringConfigAttr):
            matches = self._match_dictionary(path, template, actual)
        elif isinstance(template, mlir.ArrayAttr):
            matches = self._match_array(path, template, actual)
        else:
            matches = _plain(template) == _plain(actual)
        if not matches:
            raise MismatchError(f"'{path}' is {_text(actual)}", is_missing=False)

    def _match_knob(
        self, template: iree_codegen.IntKnobAttr | iree_codegen.OneOfKnobAttr, actual: object
    ) -> bool:
        value = _plain(actual)
        if isinstance(template, iree_codegen.IntKnobAttr):
            if type(value) is int:
                self.assignment[template.name] = value
            return type(value) is int
        options = [_plain(each) for each in template.options]
        if value in options:
            self.assignment[template.name] = options.index(value)
        return value in options

    def _match_dictionary(
        self, path: str, template: mlir.DictAttr | iree_gpu.LoweringConfigAttr, actual: object
    ) -> bool:
        inner = _dictionary(actual)
        if inner is None:
            return False
        for name, wanted in _items(template):
            self.match(f"{path}.{name}", wanted, inner.get(name))
        return True

    def _match_array(self, path: str, template: mlir.ArrayAttr, actual: object) -> bool:
        elements = list(actual) if isinstance(actual, mlir.ArrayAttr | list) else None
        if elements is None or len(elements) != len(template):
            return False
        for position, (wanted, element) in enumerate(zip(template, elements, strict=True)):
            self.match(f"{path}[{position}]", wanted, element)
        return True


def _entries(configuration: Configuration) -> dict[str, object]:
    """Returns all that configures a root op for a GPU, under the names that templates use."""
    entries: dict[str, object] = {}
    if isinstance(configuration.lowering_config, iree_gpu.LoweringConfigAttr):
        entries |= dict(_items(configuration.lowering_config))
    if configuration.decomposition_config is not None:
        entries[names.DECOMPOSITION_CONFIG] = configuration.decomposition_config
    info = configuration.translation_info
    if info is not None:
        if info.workgroup_size:
            entries["workgroup_size"] = list(info.workgroup_size)
        entries["subgroup_size"] = info.subgroup_size
        entries[_PIPELINE_OPTIONS] = _pipeline_options(info)
    return entries


def _pipeline_options(info: iree_codegen.TranslationInfoAttr) -> dict[str, object]:
    """Returns the pipeline's options; those that are not given are off."""
    given = info.configuration
    options = dict(_items(given)) if isinstance(given, mlir.DictAttr) else {}
    found = options.get(_PIPELINE_OPTIONS)
    attribute = found if isinstance(found, iree_gpu.PipelineOptionsAttr) else None
    return {
        "no_reduce_shared_memory_bank_conflicts": bool(
            attribute and attribute.no_reduce_shared_memory_bank_conflicts
        ),
        "prefetch_num_stages": (attribute and attribute.prefetch_num_stages) or 0,
        "use_igemm_convolution": bool(attribute and attribute.use_igemm_convolution),
    }


def _items(
    attribute: mlir.DictAttr | iree_gpu.LoweringConfigAttr,
) -> Iterator[tuple[str, mlir.Attribute]]:
    dictionary = attribute if isinstance(attribute, mlir.DictAttr) else attribute.attributes
    assert isinstance(dictionary, mlir.DictAttr)
    for index in range(len(dictionary)):
        entry = dictionary[index]
        yield entry.name, entry.attr


def _dictionary(value: object) -> Mapping[str, object] | None:
    if isinstance(value, dict):
        return value
    if isinstance(value, mlir.DictAttr | iree_gpu.LoweringConfigAttr):
        return dict(_items(value))
    return None


def _plain(value: object) -> object:
    """Returns something that equals the same value of another width, or read by the bindings."""
    if isinstance(value, mlir.BoolAttr | mlir.IntegerAttr):
        return value.value
    return value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
