"""The slots of knob templates: attributes of a configuration with placeholders for knobs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_gpu

from tuninglink.mlir.attributes import integers_of
from tuninglink.solver import evaluate
from tuninglink.solver.expressions import Expression, term_of
from tuninglink.spaces.configuration import (
    MismatchError,
    MissingEntryError,
    dictionary_of,
    integer,
)

_Expected = TypeVar("_Expected", bound=mlir.Attribute)


class Slot(ABC):
    """A place in a template: a knob, a constant, or nested slots."""

    @abstractmethod
    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read an attribute of a configuration, and add the values of knobs to an assignment.

        Args:
            path: the name of the slot in messages.
            actual: the attribute.
            assignment: receives the values.

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

    Attributes:
        name: the knob.
        zero: the value that a zero stands for, such as the size of a loop; None if zero is an ordinary value. It may
            depend on parameters, whose values the assignment has.
    """

    name: str
    zero: int | Expression | None = None

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read an integer."""
        value = _expect(path, actual, mlir.IntegerAttr).value
        if not value and self.zero is not None:
            value = evaluate(term_of(self.zero), assignment)
        if assignment.setdefault(self.name, value) != value:
            raise MismatchError(f"'{path}' differs, as it is {_text(actual)}")

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Write an integer."""
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
        """Read one of the attributes."""
        indexes = [index for index, each in enumerate(self.options) if _are_equal(each, actual)]
        if not indexes:
            raise _unexpected(path, actual)
        assignment[self.name] = indexes[0]

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Write one of the attributes."""
        index = assignment[self.name]
        if not 0 <= index < len(self.options):
            raise ValueError(f"'{self.name}' has no option {index}")
        return self.options[index]


@dataclass(frozen=True)
class ImpliedSlot(OptionSlot):
    """An attribute that follows from a knob that is read earlier."""

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Accept the attribute that belongs to the value of the knob."""
        expected = self.options[assignment[self.name]]
        if not _are_equal(expected, actual):
            raise _unexpected(path, actual)


@dataclass(frozen=True)
class ConstantSlot(Slot):
    """An attribute that is the same in all configurations of the template."""

    attribute: mlir.Attribute

    def read(self, path: str, actual: mlir.Attribute, _: dict[str, int]) -> None:
        """Accept the attribute."""
        if not _are_equal(self.attribute, actual):
            raise _unexpected(path, actual)

    def write(self, _: Mapping[str, int]) -> mlir.Attribute:
        """Write the attribute."""
        return self.attribute


@dataclass(frozen=True)
class IgnoredSlot(Slot):
    """An attribute that code generation ignores.

    Attributes:
        attribute: the attribute to write.
    """

    attribute: mlir.Attribute

    def read(self, path: str, actual: mlir.Attribute, _: dict[str, int]) -> None:
        """Accept any attribute of the same kind."""
        _expect(path, actual, type(self.attribute))

    def write(self, _: Mapping[str, int]) -> mlir.Attribute:
        """Write the attribute."""
        return self.attribute


@dataclass(frozen=True)
class ArraySlot(Slot):
    """An array of slots."""

    elements: tuple[Slot, ...]

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read an array of the same length."""
        array = _expect(path, actual, mlir.ArrayAttr)
        if len(array) != len(self.elements):
            raise _unexpected(path, actual)
        for position, (slot, element) in enumerate(zip(self.elements, array, strict=True)):
            slot.read(f"{path}[{position}]", element, assignment)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Write an array."""
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
        """Read a dictionary."""
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
        """Write a dictionary."""
        written = mlir.DictAttr.get(
            {name: slot.write(assignment) for name, slot in self.entries.items()}
        )
        return iree_gpu.LoweringConfigAttr.get(written) if self.is_lowering_config else written


@dataclass(frozen=True)
class WorkgroupSlot(Slot):
    """The size of a workgroup: a knob for the number of its threads.

    Attributes:
        name: the knob.
        is_flat: whether a workgroup has one dimension; otherwise any arrangement of its threads is accepted.
    """

    name: str
    is_flat: bool = True

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read the sizes of the dimensions."""
        sizes = integers_of(_expect(path, actual, mlir.ArrayAttr))
        if self.is_flat and prod(sizes) != sizes[0]:
            raise MismatchError(f"'{path}' is {sizes}")
        assignment[self.name] = prod(sizes)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Write a workgroup of one dimension."""
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
    """Return whether attributes are equal, or integers of equal value but different widths."""
    if isinstance(one, mlir.IntegerAttr) and isinstance(other, mlir.IntegerAttr):
        return bool(one.value == other.value)
    return bool(one == other)


def _text(attribute: mlir.Attribute) -> str:
    return str(attribute.value if isinstance(attribute, mlir.IntegerAttr) else attribute)
