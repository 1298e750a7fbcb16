"""Configurations as stored in the IR, templates with slots for knobs that read and write them, spaces, and providers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree import (
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
from tuninglink.mlir import entries_of, error, integer_value, integers_of, names
from tuninglink.solver import AssignmentError, Expression, evaluate, term_of

if TYPE_CHECKING:
    from tuninglink.iree import OpKind
    from tuninglink.solver import CheckAnswer, Limits
    from tuninglink.spaces.model.constraint_set import ConstraintSet
    from tuninglink.spaces.model.workload import Workload


_BITS: Final = 64

_MOST_CONFIGURATIONS: Final = 64
"""The capacity of each cache. Consecutive entries often have equal configurations."""

T = TypeVar("T")


@dataclass(frozen=True)
class Configuration:
    """The configuration of a root op, with that of its function, if any, and that of the parts of an attention."""

    lowering_config: mlir.Attribute
    translation_info: iree_codegen.TranslationInfoAttr | None
    decomposition_config: mlir.Attribute | None = None

    @property
    def pipeline(self) -> mlir.Attribute | None:
        """The pipeline that compiles the dispatch."""
        return self.translation_info.pass_pipeline if self.translation_info else None

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes by which a spec sets this configuration, by name, as MLIR prints them."""
        lowering, translation = self.lowering_config, self.translation_info
        assert translation is not None
        info = iree_codegen.CompilationInfoAttr.get(lowering, translation, ctx=lowering.context)
        attributes = {names.COMPILATION_INFO: str(info)}
        if self.decomposition_config is not None:
            attributes[names.DECOMPOSITION_CONFIG] = str(self.decomposition_config)
        return attributes

    @cached_property
    def complete(self) -> Configuration:
        """This configuration with the entries that code generation adds, without those that it does not read.

        For GPUs, the added entries are the promoted operands (none) and the kind of promotion (by all threads of a
        workgroup together). Tiles that are not a list of integers are not read.
        """
        lowering, decomposition = self.lowering_config, self.decomposition_config
        entries = dictionary_of(lowering)
        if entries is None or not isinstance(lowering, iree_gpu.LoweringConfigAttr):
            return self
        read = {name: entry for name, entry in entries.items() if is_read(name, entry)}
        is_complete = read == entries and {PROMOTED_OPERANDS, PROMOTION_TYPES} <= entries.keys()
        if decomposition is None and is_complete:
            return self
        with lowering.context:
            # The parts of a decomposition state how their operands are promoted, too.
            parts = dict(dictionary_of(decomposition) or {}) if decomposition is not None else {}
            for name, part in parts.items():
                inner = dictionary_of(part) or {}
                config = inner.get(names.LOWERING_CONFIG)
                entries = dictionary_of(config) if config is not None else None
                if entries is None:
                    break
                complete = {**inner, names.LOWERING_CONFIG: _with_promotion(entries)}
                parts[name] = mlir.DictAttr.get(complete)
            else:
                decomposition = mlir.DictAttr.get(parts) if decomposition is not None else None
            return Configuration(_with_promotion(read), self.translation_info, decomposition)

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
                # Missing options are off.
                given = dictionary_of(info.configuration) if info.configuration is not None else {}
                result = (given or {}).get(PIPELINE_OPTIONS)
                options = result if isinstance(result, iree_gpu.PipelineOptionsAttr) else None
                no_padding = options and options.no_reduce_shared_memory_bank_conflicts
                entries[PIPELINE_OPTIONS] = mlir.DictAttr.get(
                    {
                        NO_BANK_CONFLICT_REDUCTION: mlir.BoolAttr.get(bool(no_padding)),
                        STAGES: integer((options and options.prefetch_num_stages) or 0),
                        USE_IGEMM: mlir.BoolAttr.get(
                            bool(options and options.use_igemm_convolution)
                        ),
                    }
                )
        return entries


def configuration_from(attributes: Mapping[str, Any]) -> Configuration:
    """Return the configuration that the attributes of an entry set, by name."""
    info = attributes[names.COMPILATION_INFO]
    decomposition = attributes.get(names.DECOMPOSITION_CONFIG)
    return Configuration(info.lowering_config, info.translation_info, decomposition)


def read_configuration(root: mlir.Operation, function: mlir.Operation) -> Configuration | None:
    """Return the configuration of a root op, None if it has none.

    A `compilation_info` on the op takes precedence, since the compiler replaces the other attributes with it.
    """
    attributes = root.attributes
    info = attributes.get(names.COMPILATION_INFO)
    lowering: mlir.Attribute | None
    translation: mlir.Attribute | None
    if isinstance(info, iree_codegen.CompilationInfoAttr):
        lowering, translation = info.lowering_config, info.translation_info
    else:
        lowering = attributes.get(names.LOWERING_CONFIG)
        translation = function.attributes.get(names.TRANSLATION_INFO)
    if lowering is None:
        return None
    if not isinstance(translation, iree_codegen.TranslationInfoAttr):
        translation = None
    return Configuration(lowering, translation, attributes.get(names.DECOMPOSITION_CONFIG))


class MismatchError(Exception):
    """A configuration does not have the form that the constraints cover."""


class MissingEntryError(MismatchError):
    """A configuration lacks an entry that constraints cover; the compiler's own verifier rejects it."""


class UncompilableError(MismatchError):
    """No configuration of this form compiles; determined by compiling samples. The entry is the one to change, if any."""

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


class NearMismatchError(MismatchError):
    """A configuration of another form that fails, too, if the covered one with these knobs breaks a necessary rule."""

    def __init__(self, message: str, assignment: Mapping[str, int]) -> None:
        super().__init__(message)
        self.assignment = assignment


def cached_reading(function: Callable[[Configuration], T]) -> Callable[[Configuration], T]:
    """Return a function of configurations whose results, mismatches and failed lookups are cached."""
    results: dict[Configuration, T | MismatchError | KeyError] = {}

    def read(configuration: Configuration) -> T:
        if configuration not in results:
            if len(results) >= _MOST_CONFIGURATIONS:
                results.clear()
            try:
                results[configuration] = function(configuration)
            except (MismatchError, KeyError) as failure:
                results[configuration] = failure
        result = results[configuration]
        if isinstance(result, MismatchError | KeyError):
            raise result.with_traceback(None)
        return result

    return read


def promotion_types(operands: int) -> mlir.ArrayAttr:
    """Return the default kind of promotion of a number of operands: by all threads of the workgroup together."""
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


def _with_promotion(entries: Mapping[str, mlir.Attribute]) -> mlir.Attribute:
    operands = entries.get(PROMOTED_OPERANDS, mlir.ArrayAttr.get([]))
    count = len(operands) if isinstance(operands, mlir.ArrayAttr) else 0
    default = {PROMOTED_OPERANDS: operands, PROMOTION_TYPES: promotion_types(count)}
    return iree_gpu.LoweringConfigAttr.get(mlir.DictAttr.get({**default, **entries}))


# --- The slots of knob templates: attributes of a configuration with placeholders for knobs ------

_Expected = TypeVar("_Expected", bound=mlir.Attribute)


class Slot(ABC):
    """A place in a template: a knob, a constant, or nested slots."""

    @abstractmethod
    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read an attribute of a configuration, named `path` in messages, and add the values of knobs to an assignment.

        Raises:
            MismatchError: the template does not allow the attribute here.
        """

    def read_missing(self, path: str, assignment: dict[str, int]) -> None:  # noqa: ARG002
        """Read a configuration without the attribute; see `read`."""
        raise MissingEntryError(f"'{path}' is missing")

    @abstractmethod
    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Return the attribute for an assignment, in the current context.

        Raises:
            ValueError: a knob has an invalid value.
        """


@dataclass(frozen=True)
class IntegerSlot(Slot):
    """An integer knob.

    A `zero` may stand for another value, such as the size of a loop. This value may depend on parameters, whose values
    the assignment has.
    """

    name: str
    zero: int | Expression | None = None

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        value = _expect(path, actual, mlir.IntegerAttr).value
        if not value and self.zero is not None:
            value = evaluate(term_of(self.zero), assignment)
        if assignment.setdefault(self.name, value) != value:
            raise MismatchError(f"'{path}' differs, as it is {_text(actual)}")

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        return integer(assignment[self.name])


@dataclass(frozen=True)
class OptionSlot(Slot):
    """A knob that chooses among attributes; its value is the index of one."""

    name: str
    options: tuple[mlir.Attribute, ...]

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        indexes = [index for index, each in enumerate(self.options) if _are_equal(each, actual)]
        if not indexes:
            raise _unexpected(path, actual)
        assignment[self.name] = indexes[0]

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        index = assignment[self.name]
        if not 0 <= index < len(self.options):
            raise ValueError(f"'{self.name}' has no option {index}")
        return self.options[index]


@dataclass(frozen=True)
class ImpliedSlot(OptionSlot):
    """An attribute that follows from a knob that is read earlier."""

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        expected = self.options[assignment[self.name]]
        if not _are_equal(expected, actual):
            raise _unexpected(path, actual)


@dataclass(frozen=True)
class ConstantSlot(Slot):
    """An attribute that is the same in all configurations of the template; if it `is_ignored`, any of its kind is read."""

    attribute: mlir.Attribute
    is_ignored: bool = False

    def read(self, path: str, actual: mlir.Attribute, _: dict[str, int]) -> None:
        if self.is_ignored:
            _expect(path, actual, type(self.attribute))
        elif not _are_equal(self.attribute, actual):
            raise _unexpected(path, actual)

    def write(self, _: Mapping[str, int]) -> mlir.Attribute:
        return self.attribute


@dataclass(frozen=True)
class ArraySlot(Slot):
    """An array of slots."""

    elements: tuple[Slot, ...]

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        array = _expect(path, actual, mlir.ArrayAttr)
        if len(array) != len(self.elements):
            raise _unexpected(path, actual)
        for position, (slot, element) in enumerate(zip(self.elements, array, strict=True)):
            slot.read(f"{path}[{position}]", element, assignment)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        return mlir.ArrayAttr.get([element.write(assignment) for element in self.elements])


@dataclass(frozen=True)
class DictionarySlot(Slot):
    """A dictionary of slots.

    Attributes:
        entries: the slots by name, in the order in which they are read.
        others: names of further entries that have no effect; None if any are allowed.
        is_lowering_config: whether it is written as a `#iree_gpu.lowering_config`.
    """

    entries: Mapping[str, Slot]
    others: frozenset[str] | None = None
    is_lowering_config: bool = False

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        self.read_entries(f"{path}.", dictionary_of(actual), assignment)

    def read_entries(
        self, prefix: str, actual: Mapping[str, mlir.Attribute] | None, assignment: dict[str, int]
    ) -> None:
        """Read the entries of a dictionary; `prefix` comes before their names in messages."""
        if actual is None:
            raise MismatchError(f"'{prefix.rstrip('.')}' is not a dictionary")
        allowed = self.entries.keys() | (self.others if self.others is not None else actual.keys())
        for name, attribute in actual.items():
            if name not in allowed:
                raise MismatchError(f"it has '{prefix}{name} = {_text(attribute)}'")
        for name, slot in self.entries.items():
            if name in actual:
                slot.read(f"{prefix}{name}", actual[name], assignment)
            else:
                slot.read_missing(f"{prefix}{name}", assignment)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        written = mlir.DictAttr.get(
            {name: slot.write(assignment) for name, slot in self.entries.items()}
        )
        return iree_gpu.LoweringConfigAttr.get(written) if self.is_lowering_config else written


@dataclass(frozen=True)
class WorkgroupSlot(Slot):
    """The size of a workgroup: a knob for the number of its threads, which any arrangement may have unless it `is_flat`."""

    name: str
    is_flat: bool = True

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        sizes = integers_of(_expect(path, actual, mlir.ArrayAttr))
        if self.is_flat and prod(sizes) != sizes[0]:
            raise MismatchError(f"'{path}' is {sizes}")
        assignment[self.name] = prod(sizes)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        return mlir.ArrayAttr.get([integer(each) for each in (assignment[self.name], 1, 1)])


def zero_knobs(slot: Slot, actual: mlir.Attribute | None) -> Iterator[str]:
    """Yield the integer knobs that are zero in an attribute, or missing, where a zero stands for another value."""
    if isinstance(slot, IntegerSlot):
        is_zero = actual is None or (isinstance(actual, mlir.IntegerAttr) and actual.value == 0)
        if is_zero and slot.zero is not None:
            yield slot.name
    elif isinstance(slot, ArraySlot):
        parts = [*actual] if isinstance(actual, mlir.ArrayAttr) else []
        for position, element in enumerate(slot.elements):
            yield from zero_knobs(element, parts[position] if position < len(parts) else None)


def option_slots(slot: Slot) -> Iterator[OptionSlot]:
    """Yield the knobs that choose among attributes, in order."""
    if isinstance(slot, OptionSlot):
        yield slot
    elif isinstance(slot, ArraySlot):
        for element in slot.elements:
            yield from option_slots(element)
    elif isinstance(slot, DictionarySlot):
        for entry in slot.entries.values():
            yield from option_slots(entry)


def _expect(path: str, actual: mlir.Attribute, kind: type[_Expected]) -> _Expected:
    if not isinstance(actual, kind):
        raise _unexpected(path, actual)
    return actual


def _unexpected(path: str, actual: mlir.Attribute) -> MismatchError:
    return MismatchError(f"'{path}' is {_text(actual)}")


def _are_equal(one: mlir.Attribute, other: mlir.Attribute) -> bool:
    if isinstance(one, mlir.IntegerAttr) and isinstance(other, mlir.IntegerAttr):
        return bool(one.value == other.value)
    return bool(one == other)


def _text(attribute: mlir.Attribute) -> str:
    return str(attribute.value if isinstance(attribute, mlir.IntegerAttr) else attribute)


# --- Knob templates: configurations with placeholders for knobs, for reading and writing values --

_NO_PARAMETERS: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True)
class KnobTemplate:
    """The form of configurations for GPUs: the pipeline, and the entries of `Configuration.entries` with slots for knobs."""

    pipeline: mlir.Attribute
    entries: DictionarySlot

    def read(
        self, configuration: Configuration, parameters: Mapping[str, int] = _NO_PARAMETERS
    ) -> dict[str, int]:
        """Return the values that a configuration gives to the knobs, for values of the template's parameters."""
        try:
            return dict(self._read_alone(configuration))
        except KeyError:
            return self._read(configuration.entries, parameters)

    @cached_property
    def _read_alone(self) -> Callable[[Configuration], Mapping[str, int]]:
        """Read a configuration without parameters; this raises a `KeyError` if the values depend on parameters."""
        return cached_reading(lambda read: self._read(read.entries, _NO_PARAMETERS))

    def _read(
        self, entries: Mapping[str, mlir.Attribute], parameters: Mapping[str, int]
    ) -> dict[str, int]:
        assignment = dict(parameters)
        try:
            self.entries.read_entries("", entries, assignment)
        except StrayTileError as stray:
            # The knobs of the configuration without the tiles that the form does not cover.
            try:
                near = self._read({**entries, stray.entry: stray.covered}, parameters)
            except NearMismatchError as further:
                near = dict(further.assignment)
            for knob, size in stray.narrowed.items():
                if knob in near:
                    near[knob] = min(near[knob], size)
            raise NearMismatchError(str(stray), near) from None
        return {knob: value for knob, value in assignment.items() if knob not in parameters}

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Return the `#iree_codegen.compilation_info` that gives the knobs these values."""
        try:
            with self.pipeline.context:
                slots = self.entries.entries
                lowering = {name: each for name, each in slots.items() if name not in _OUTSIDE}
                sizes = integers_of(slots[WORKGROUP_SIZE].write(assignment))
                subgroup_size = integer_value(slots[SUBGROUP_SIZE].write(assignment))
                if min(*sizes, subgroup_size) < 1:
                    raise ValueError("a workgroup and a subgroup have threads")
                options: Any = dictionary_of(slots[PIPELINE_OPTIONS].write(assignment))
                given = {name: option.value for name, option in options.items()}
                return iree_codegen.CompilationInfoAttr.get(
                    DictionarySlot(lowering, is_lowering_config=True).write(assignment),
                    iree_codegen.TranslationInfoAttr.get(
                        self.pipeline,
                        None,
                        sizes,
                        subgroup_size,
                        mlir.DictAttr.get(
                            {PIPELINE_OPTIONS: iree_gpu.PipelineOptionsAttr.get(**given)}
                        ),
                    ),
                )
        except (ValueError, IndexError, mlir.MLIRError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None


_OUTSIDE: Final = frozenset(
    {WORKGROUP_SIZE, SUBGROUP_SIZE, PIPELINE_OPTIONS, names.DECOMPOSITION_CONFIG}
)
"""The entries that are not in the lowering config."""


def template_slot(attribute: mlir.Attribute, names_of_knobs: Mapping[str, str]) -> Slot:
    """Return the slot for a part of a compiler template; the names of knobs are given by those in the template."""
    if isinstance(attribute, iree_codegen.IntKnobAttr):
        return IntegerSlot(names_of_knobs[attribute.name])
    if isinstance(attribute, iree_codegen.OneOfKnobAttr):
        return OptionSlot(names_of_knobs[attribute.name], tuple(attribute.options))
    if isinstance(attribute, mlir.ArrayAttr):
        return ArraySlot(tuple(template_slot(element, names_of_knobs) for element in attribute))
    entries = dictionary_of(attribute)
    if entries is None:
        return ConstantSlot(attribute)
    slots = {name: template_slot(entry, names_of_knobs) for name, entry in entries.items()}
    return DictionarySlot(slots)


class Space(ABC):
    """The configurations of a workload in a pipeline.

    Verification reads a configuration in all spaces, and uses the constraints of the spaces that can read it. A space
    with many rules may define `constraints` as a property that builds them on first access. They are sufficient if all
    configurations that they accept compile.
    """

    constraints: ConstraintSet
    is_sufficient: bool = True

    @property
    def provider(self) -> str:
        return self.constraints.provider

    @abstractmethod
    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Return the values of the knobs in a configuration.

        Raises:
            MismatchError: the configuration does not have the form that the constraints cover.
        """

    def untiled(self, configuration: Configuration) -> frozenset[str]:  # noqa: ARG002
        """Return the knobs that are 0 in a configuration, which means the whole loop."""
        return frozenset()

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        """Return whether the constraints accept an assignment; see `ConstraintSet.check`."""
        return self.constraints.check(assignment, limits)

    @abstractmethod
    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Return the configuration that gives the knobs these values.

        Raises:
            AssignmentError: the values do not form a configuration.
        """

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:  # noqa: ARG002
        """Return the configuration of the parts of an attention; None for other operations."""
        return None


class Provider(ABC):
    """A provider of the configuration spaces of some workloads, with a name in diagnostics.

    It supports some pipelines, as MLIR prints them, and some kinds of root ops; None stands for all.
    """

    name: ClassVar[str]
    pipelines: ClassVar[frozenset[str] | None] = None
    kinds: ClassVar[frozenset[OpKind] | None] = None

    def knows(self, pipeline: str, kind: OpKind) -> bool:
        """Return whether the provider supports workloads of a kind in a pipeline."""
        return (self.pipelines is None or pipeline in self.pipelines) and (
            self.kinds is None or kind in self.kinds
        )

    @abstractmethod
    def spaces(self, workload: Workload, pipeline: str) -> Sequence[Space]:
        """Return the spaces of a workload in a pipeline, none if there are no constraints for it.

        Raises:
            UndecidedError: the spaces cannot be determined; the message gives the reason.
        """
