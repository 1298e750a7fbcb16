"""Configurations as stored in the IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, TypeVar

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree.lowering_configs import (
    NO_BANK_CONFLICT_REDUCTION,
    PIPELINE_OPTIONS,
    PROMOTED_OPERANDS,
    PROMOTION_TYPES,
    STAGES,
    SUBGROUP_SIZE,
    USE_IGEMM,
    WORKGROUP_SIZE,
    is_read,
)
from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of

_BITS: Final = 64

_MOST_CONFIGURATIONS: Final = 64
"""The capacity of each cache. Consecutive entries often have equal configurations."""

T = TypeVar("T")


@dataclass(frozen=True)
class Configuration:
    """The configuration of a root op.

    Attributes:
        lowering_config: how the op is tiled and distributed.
        translation_info: the pipeline, the workgroup size and further settings, None if the function has none.
        decomposition_config: the configuration of the parts of an attention, if present.
    """

    lowering_config: mlir.Attribute
    translation_info: iree_codegen.TranslationInfoAttr | None
    decomposition_config: mlir.Attribute | None = None

    @property
    def pipeline(self) -> mlir.Attribute | None:
        """The pipeline that compiles the dispatch."""
        return self.translation_info.pass_pipeline if self.translation_info else None

    @cached_property
    def complete(self) -> Configuration:
        """This configuration with the default entries; see `with_defaults`."""
        return _completed(self)

    @cached_property
    def entries(self) -> Mapping[str, mlir.Attribute]:
        """All entries that configure a root op for a GPU, by their names in the compiler's templates."""
        lowering = self.lowering_config
        entries = dict(dictionary_of(lowering) or {})
        with lowering.context:
            if self.decomposition_config is not None:
                entries[names.DECOMPOSITION_CONFIG] = self.decomposition_config
            info = self.translation_info
            if info is not None:
                if info.workgroup_size:
                    sizes = [integer(each) for each in info.workgroup_size]
                    entries[WORKGROUP_SIZE] = mlir.ArrayAttr.get(sizes)
                entries[SUBGROUP_SIZE] = integer(info.subgroup_size)
                entries[PIPELINE_OPTIONS] = _pipeline_options(info)
        return entries


def read_configuration(root: mlir.Operation, function: mlir.Operation) -> Configuration | None:
    """Return the configuration of a root op, None if it has none.

    A `compilation_info` on the op takes precedence, since the compiler replaces the other attributes with it.
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
    """A configuration does not have the form that the constraints cover."""


class MissingEntryError(MismatchError):
    """A configuration lacks an entry that constraints cover; the compiler's own verifier rejects it."""


class InvalidFormError(MismatchError):
    """No configuration of this form compiles; determined by compiling samples.

    Args:
        message: the fault.
        entry: the entry to change; empty for the configuration as a whole.
    """

    def __init__(self, message: str, entry: str = "") -> None:
        super().__init__(message)
        self.knobs = (entry,) if entry else ()


class StrayTileError(MismatchError):
    """A configuration has tiles of loops, or threads, that constraints do not cover.

    Args:
        message: the fault.
        entry: the entry with them.
        covered: the entry without them.
        narrowed: the knobs of other tiles of these loops, with their maximum sizes.
    """

    def __init__(
        self, message: str, entry: str, covered: mlir.Attribute, narrowed: Mapping[str, int]
    ) -> None:
        super().__init__(message)
        self.entry = entry
        self.covered = covered
        self.narrowed = narrowed


class NearFormError(MismatchError):
    """A configuration differs from the covered form, but has all requirements of a covered configuration.

    Args:
        message: the difference.
        assignment: the knobs of the covered configuration. If it breaks a necessary rule, code generation fails for
            this configuration, too.
    """

    def __init__(self, message: str, assignment: Mapping[str, int]) -> None:
        super().__init__(message)
        self.assignment = assignment


class CachedReading(Generic[T]):
    """A function of configurations whose results and raised mismatches are cached.

    Args:
        function: the function.
    """

    def __init__(self, function: Callable[[Configuration], T]) -> None:
        self._function = function
        self._results: dict[Configuration, T] = {}
        self._mismatches: dict[Configuration, MismatchError] = {}

    def __call__(self, configuration: Configuration) -> T:
        """Return the result for a configuration.

        Raises:
            MismatchError: the function raises it.
        """
        if configuration in self._results:
            return self._results[configuration]
        if configuration not in self._mismatches:
            if len(self._results) + len(self._mismatches) >= _MOST_CONFIGURATIONS:
                self._results.clear()
                self._mismatches.clear()
            try:
                result = self._results[configuration] = self._function(configuration)
            except MismatchError as mismatch:
                self._mismatches[configuration] = mismatch
            else:
                return result
        raise self._mismatches[configuration].with_traceback(None)


def with_defaults(configuration: Configuration) -> Configuration:
    """Add the missing entries that code generation adds, and remove the entries that it does not read.

    For GPUs, the added entries are the promoted operands (none) and the kind of promotion (by all threads of a
    workgroup together). Tiles that are not a list of integers are not read.
    """
    return configuration.complete


def _completed(configuration: Configuration) -> Configuration:
    lowering, decomposition = configuration.lowering_config, configuration.decomposition_config
    entries = dictionary_of(lowering)
    if entries is None or not isinstance(lowering, iree_gpu.LoweringConfigAttr):
        return configuration
    read = {name: entry for name, entry in entries.items() if is_read(name, entry)}
    is_complete = read == entries and {PROMOTED_OPERANDS, PROMOTION_TYPES} <= entries.keys()
    if decomposition is None and is_complete:
        return configuration
    with lowering.context:
        return Configuration(
            iree_gpu.LoweringConfigAttr.get(mlir.DictAttr.get(_with_promotion(read))),
            configuration.translation_info,
            None if decomposition is None else _with_promotions(decomposition),
        )


def promotion_types(operands: int) -> mlir.ArrayAttr:
    """Return the default kind of promotion of operands: by all threads of the workgroup together.

    Args:
        operands: the number of operands.
    """
    together = mlir.Attribute.parse("#iree_gpu.derived_thread_config")
    return mlir.ArrayAttr.get([together] * operands)


def dictionary_of(attribute: mlir.Attribute) -> Mapping[str, mlir.Attribute] | None:
    """Return the entries of a dictionary or of a lowering config for GPUs, None for other attributes."""
    if isinstance(attribute, iree_gpu.LoweringConfigAttr):
        attribute = attribute.attributes
    return entries_of(attribute) if isinstance(attribute, mlir.DictAttr) else None


def integer(value: int) -> mlir.IntegerAttr:
    """Return an integer attribute of 64 bits, in the current context."""
    return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(_BITS), value)


def _with_promotion(entries: Mapping[str, mlir.Attribute]) -> dict[str, mlir.Attribute]:
    operands = entries.get(PROMOTED_OPERANDS, mlir.ArrayAttr.get([]))
    count = len(operands) if isinstance(operands, mlir.ArrayAttr) else 0
    default = {PROMOTED_OPERANDS: operands, PROMOTION_TYPES: promotion_types(count)}
    return {**default, **entries}


def _with_promotions(decomposition: mlir.Attribute) -> mlir.Attribute:
    """Return a `decomposition_config` whose parts state how their operands are promoted."""
    parts = dict(dictionary_of(decomposition) or {})
    for name, part in parts.items():
        inner = dictionary_of(part) or {}
        config = inner.get(names.LOWERING_CONFIG)
        entries = dictionary_of(config) if config is not None else None
        if entries is None:
            return decomposition
        lowering = iree_gpu.LoweringConfigAttr.get(mlir.DictAttr.get(_with_promotion(entries)))
        parts[name] = mlir.DictAttr.get({**inner, names.LOWERING_CONFIG: lowering})
    return mlir.DictAttr.get(parts)


def _pipeline_options(info: iree_codegen.TranslationInfoAttr) -> mlir.DictAttr:
    """Return the pipeline's options; missing ones are off."""
    given = dictionary_of(info.configuration) if info.configuration is not None else None
    result = (given or {}).get(PIPELINE_OPTIONS)
    options = result if isinstance(result, iree_gpu.PipelineOptionsAttr) else None
    return mlir.DictAttr.get(
        {
            NO_BANK_CONFLICT_REDUCTION: mlir.BoolAttr.get(
                bool(options and options.no_reduce_shared_memory_bank_conflicts)
            ),
            STAGES: integer((options and options.prefetch_num_stages) or 0),
            USE_IGEMM: mlir.BoolAttr.get(bool(options and options.use_igemm_convolution)),
        }
    )
