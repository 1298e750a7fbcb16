"""Knob templates: configurations in which knobs stand for what is chosen, to read values off and to write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeVar

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error
from tuninglink.solver.answers import AssignmentError
from tuninglink.spaces.configuration import (
    PIPELINE_OPTIONS,
    SUBGROUP_SIZE,
    WORKGROUP_SIZE,
    MismatchError,
    MissingEntryError,
    dictionary_of,
    integer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tuninglink.spaces.configuration import Configuration

_Expected = TypeVar("_Expected", bound=mlir.Attribute)


class Slot(ABC):
    """A place in a template: a knob, a constant, or slots inside of it."""

    @abstractmethod
    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Reads an attribute of a configuration, and adds the values of knobs to an assignment.

        Args:
            path: the name of the slot in messages.
            actual: the attribute.
            assignment: gets the values.

        Raises:
            MismatchError: the attribute is not one that the template allows here.
        """

    @abstractmethod
    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Returns the attribute that an assignment gives, in the current context.

        Raises:
            ValueError: a knob has a value that means nothing.
        """


@dataclass(frozen=True)
class IntegerSlot(Slot):
    """An integer knob.

    Attributes:
        name: the knob.
        zero: the value that a zero stands for, such as the size of a loop; None if zero is a value like others.
    """

    name: str
    zero: int | None = None

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Reads an integer."""
        value = _expect(path, actual, mlir.IntegerAttr).value
        value = value if value or self.zero is None else self.zero
        if assignment.setdefault(self.name, value) != value:
            raise MismatchError(f"'{path}' differs, as it is {_text(actual)}")

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes an integer."""
        return integer(assignment[self.name])


@dataclass(frozen=True)
class OptionSlot(Slot):
    """A knob that chooses among attributes; its value is the index of one.

    Attributes:
        name: the knob.
        options: the attributes.
    """

    name: str
    options: tuple[mlir.Attribute, ...]

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Reads one of the attributes."""
        found = [index for index, each in enumerate(self.options) if _are_equal(each, actual)]
        if not found:
            raise _unexpected(path, actual)
        assignment[self.name] = found[0]

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes one of the attributes."""
        index = assignment[self.name]
        if not 0 <= index < len(self.options):
            raise ValueError(f"'{self.name}' has no option {index}")
        return self.options[index]


@dataclass(frozen=True)
class ImpliedSlot(OptionSlot):
    """An attribute that follows from a knob that is read before."""

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Accepts the attribute that belongs to the value of the knob."""
        wanted = self.options[assignment[self.name]]
        if not _are_equal(wanted, actual):
            raise _unexpected(path, actual)


@dataclass(frozen=True)
class ConstantSlot(Slot):
    """An attribute that is the same in all configurations of the template."""

    attribute: mlir.Attribute

    def read(self, path: str, actual: mlir.Attribute, _: dict[str, int]) -> None:
        """Accepts the attribute."""
        if not _are_equal(self.attribute, actual):
            raise _unexpected(path, actual)

    def write(self, _: Mapping[str, int]) -> mlir.Attribute:
        """Writes the attribute."""
        return self.attribute


@dataclass(frozen=True)
class IgnoredSlot(Slot):
    """An attribute that code generation does not look at.

    Attributes:
        attribute: the one to write.
    """

    attribute: mlir.Attribute

    def read(self, path: str, actual: mlir.Attribute, _: dict[str, int]) -> None:
        """Accepts any attribute of the same kind."""
        _expect(path, actual, type(self.attribute))

    def write(self, _: Mapping[str, int]) -> mlir.Attribute:
        """Writes the attribute."""
        return self.attribute


@dataclass(frozen=True)
class ArraySlot(Slot):
    """An array of slots."""

    elements: tuple[Slot, ...]

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Reads an array of as many elements."""
        array = _expect(path, actual, mlir.ArrayAttr)
        if len(array) != len(self.elements):
            raise _unexpected(path, actual)
        for position, (slot, element) in enumerate(zip(self.elements, array, strict=True)):
            slot.read(f"{path}[{position}]", element, assignment)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes an array."""
        return mlir.ArrayAttr.get([each.write(assignment) for each in self.elements])


@dataclass(frozen=True)
class DictionarySlot(Slot):
    """A dictionary of slots.

    Attributes:
        entries: the slots by name, in the order in which they are read.
        others: names of further entries that make no difference; None if any may be there.
        is_lowering_config: whether it is written as a `#iree_gpu.lowering_config`.
    """

    entries: Mapping[str, Slot]
    others: frozenset[str] | None = None
    is_lowering_config: bool = False

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Reads a dictionary."""
        self.read_entries(f"{path}.", dictionary_of(actual), assignment)

    def read_entries(
        self, prefix: str, actual: Mapping[str, mlir.Attribute] | None, assignment: dict[str, int]
    ) -> None:
        """Reads the entries of a dictionary; `prefix` comes before their names in messages."""
        if actual is None:
            raise MismatchError(f"'{prefix.rstrip('.')}' is no dictionary")
        known = self.entries.keys() | (self.others if self.others is not None else actual.keys())
        for name, attribute in actual.items():
            if name not in known:
                raise MismatchError(f"it has '{prefix}{name} = {_text(attribute)}'")
        for name, slot in self.entries.items():
            if name not in actual:
                raise MissingEntryError(f"'{prefix}{name}' is missing")
            slot.read(f"{prefix}{name}", actual[name], assignment)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes a dictionary."""
        written = mlir.DictAttr.get(
            {name: slot.write(assignment) for name, slot in self.entries.items()}
        )
        return iree_gpu.LoweringConfigAttr.get(written) if self.is_lowering_config else written


@dataclass(frozen=True)
class WorkgroupSlot(Slot):
    """The size of a workgroup: a knob for the number of its threads.

    Attributes:
        name: the knob.
        is_flat: whether a workgroup has one dimension; else any arrangement of as many threads will do.
    """

    name: str
    is_flat: bool = True

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Reads the sizes of the dimensions."""
        sizes = _integers(_expect(path, actual, mlir.ArrayAttr))
        if self.is_flat and prod(sizes) != sizes[0]:
            raise MismatchError(f"'{path}' is {sizes}")
        assignment[self.name] = prod(sizes)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes a workgroup of one dimension."""
        return mlir.ArrayAttr.get([integer(each) for each in (assignment[self.name], 1, 1)])


@dataclass(frozen=True)
class KnobTemplate:
    """The form of configurations for GPUs, with slots for knobs.

    Attributes:
        pipeline: the pipeline.
        entries: the entries of a configuration, under the names that `Configuration.entries` gives them.
    """

    pipeline: mlir.Attribute
    entries: DictionarySlot

    def read(self, configuration: Configuration) -> dict[str, int]:
        """Returns the values that a configuration gives to the knobs.

        Raises:
            MismatchError: the configuration is not of the template's form.
        """
        assignment: dict[str, int] = {}
        self.entries.read_entries("", configuration.entries, assignment)
        return assignment

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Returns the `#iree_codegen.compilation_info` that gives the knobs these values.

        Raises:
            AssignmentError: the values make no configuration.
        """
        context = self.pipeline.context
        try:
            with context:
                return self._compilation_info(assignment)
        except (ValueError, IndexError, mlir.MLIRError) as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None

    def write_decomposition(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Returns the `decomposition_config` that belongs to it, None if the template has none."""
        slot = self.entries.entries.get(names.DECOMPOSITION_CONFIG)
        with self.pipeline.context:
            return slot.write(assignment) if slot is not None else None

    def _compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        slots = self.entries.entries
        lowering = {name: each for name, each in slots.items() if name not in _OUTSIDE}
        sizes = _integers(slots[WORKGROUP_SIZE].write(assignment))
        (subgroup_size,) = _integers(slots[SUBGROUP_SIZE].write(assignment))
        if min(*sizes, subgroup_size) < 1:
            raise ValueError("a workgroup and a subgroup have threads")
        options = dictionary_of(slots[PIPELINE_OPTIONS].write(assignment)) or {}
        given: dict[str, Any] = {
            name: each.value
            for name, each in options.items()
            if isinstance(each, mlir.IntegerAttr | mlir.BoolAttr)
        }
        return iree_codegen.CompilationInfoAttr.get(
            DictionarySlot(lowering, is_lowering_config=True).write(assignment),
            iree_codegen.TranslationInfoAttr.get(
                self.pipeline,
                None,
                sizes,
                subgroup_size,
                mlir.DictAttr.get({PIPELINE_OPTIONS: iree_gpu.PipelineOptionsAttr.get(**given)}),
            ),
        )


_OUTSIDE: Final = frozenset(
    {WORKGROUP_SIZE, SUBGROUP_SIZE, PIPELINE_OPTIONS, names.DECOMPOSITION_CONFIG}
)
"""The entries that are not in the lowering config."""


def template_slot(attribute: mlir.Attribute) -> Slot:
    """Returns the slot for a part of a template of the compiler's, in which attributes stand for knobs."""
    if isinstance(attribute, iree_codegen.IntKnobAttr):
        return IntegerSlot(attribute.name)
    if isinstance(attribute, iree_codegen.OneOfKnobAttr):
        return OptionSlot(attribute.name, tuple(attribute.options))
    if isinstance(attribute, mlir.ArrayAttr):
        return ArraySlot(tuple(map(template_slot, attribute)))
    entries = dictionary_of(attribute)
    if entries is None:
        return ConstantSlot(attribute)
    slots = {name: template_slot(each) for name, each in entries.items()}
    return DictionarySlot(slots)


def option_slots(slot: Slot) -> Iterator[OptionSlot]:
    """Yields the knobs that choose among attributes, in order."""
    if isinstance(slot, OptionSlot):
        yield slot
    elif isinstance(slot, ArraySlot):
        for each in slot.elements:
            yield from option_slots(each)
    elif isinstance(slot, DictionarySlot):
        for each in slot.entries.values():
            yield from option_slots(each)


def _expect(path: str, actual: mlir.Attribute, kind: type[_Expected]) -> _Expected:
    if not isinstance(actual, kind):
        raise _unexpected(path, actual)
    return actual


def _unexpected(path: str, actual: mlir.Attribute) -> MismatchError:
    return MismatchError(f"'{path}' is {_text(actual)}")


def _are_equal(one: mlir.Attribute, other: mlir.Attribute) -> bool:
    """Tells whether attributes are the same, or integers of the same value and different widths."""
    if isinstance(one, mlir.IntegerAttr) and isinstance(other, mlir.IntegerAttr):
        return bool(one.value == other.value)
    return bool(one == other)


def _integers(attribute: mlir.Attribute) -> list[int]:
    values = attribute if isinstance(attribute, mlir.ArrayAttr) else [attribute]
    return [int(each.value) for each in values if isinstance(each, mlir.IntegerAttr)]


def _text(attribute: mlir.Attribute) -> str:
    return str(attribute.value if isinstance(attribute, mlir.IntegerAttr) else attribute)
