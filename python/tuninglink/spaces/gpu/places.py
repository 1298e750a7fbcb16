"""The places in a configuration that hold knobs, or something that is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.spaces.configuration import MismatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

_BITS = 64


class Place(ABC):
    """A place in a configuration."""

    @abstractmethod
    def read(self, path: str, actual: mlir.Attribute | None, assignment: dict[str, int]) -> None:
        """Reads what a configuration has there, and adds the values of knobs to an assignment.

        Args:
            path: what people call the place.
            actual: what is there, None if nothing is.
            assignment: gets the values.

        Raises:
            MismatchError: it is something else than belongs there.
        """

    @abstractmethod
    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Returns what an assignment puts there, in the current context.

        Raises:
            ValueError: a knob has a value that means nothing.
        """


@dataclass(frozen=True)
class Knob(Place):
    """The value of an integer knob.

    Attributes:
        name: the knob.
        whole: what zero stands for: the whole of a dimension; None if it is a number as any other.
    """

    name: str
    whole: int | None = None

    def read(self, path: str, actual: mlir.Attribute | None, assignment: dict[str, int]) -> None:
        """Reads an integer."""
        value = _integer(path, actual)
        value = value if value or self.whole is None else self.whole
        if assignment.setdefault(self.name, value) != value:
            raise MismatchError(f"'{path}' differs, as it is {actual}", is_missing=False)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes an integer."""
        return _attribute(assignment[self.name])


@dataclass(frozen=True)
class Exactly(Place):
    """A number that is given."""

    value: int

    def read(self, path: str, actual: mlir.Attribute | None, _: dict[str, int]) -> None:
        """Takes nothing but the number."""
        if _integer(path, actual) != self.value:
            raise MismatchError(f"'{path}' is {actual}", is_missing=False)

    def write(self, _: Mapping[str, int]) -> mlir.Attribute:
        """Writes the number."""
        return _attribute(self.value)


@dataclass(frozen=True)
class Given(Place):
    """An attribute that is given.

    Attributes:
        attribute: what it is.
        is_optional: whether nothing means the same.
    """

    attribute: mlir.Attribute
    is_optional: bool = False

    def read(self, path: str, actual: mlir.Attribute | None, _: dict[str, int]) -> None:
        """Takes nothing but the attribute."""
        if actual is None and not self.is_optional:
            raise MismatchError(f"'{path}' is missing", is_missing=True)
        if actual is not None and actual != self.attribute:
            raise MismatchError(f"'{path}' is {actual}", is_missing=False)

    def write(self, _: Mapping[str, int]) -> mlir.Attribute:
        """Writes the attribute."""
        return self.attribute


@dataclass(frozen=True)
class Ignored(Place):
    """A number that makes no difference; zero is written."""

    def read(self, path: str, actual: mlir.Attribute | None, _: dict[str, int]) -> None:
        """Takes any number."""
        _integer(path, actual)

    def write(self, _: Mapping[str, int]) -> mlir.Attribute:
        """Writes zero."""
        return _attribute(0)


@dataclass(frozen=True)
class Array(Place):
    """Places in a row."""

    elements: tuple[Place, ...]

    def read(self, path: str, actual: mlir.Attribute | None, assignment: dict[str, int]) -> None:
        """Reads an array of as many elements."""
        if actual is None:
            raise MismatchError(f"'{path}' is missing", is_missing=True)
        if not isinstance(actual, mlir.ArrayAttr) or len(actual) != len(self.elements):
            raise MismatchError(f"'{path}' is {actual}", is_missing=False)
        for position, (place, element) in enumerate(zip(self.elements, actual, strict=True)):
            place.read(f"{path}[{position}]", element, assignment)

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes an array."""
        written = [each.write(assignment) for each in self.elements]
        return mlir.ArrayAttr.get([each for each in written if each is not None])


@dataclass(frozen=True)
class Choice(Place):
    """One of some attributes.

    Attributes:
        name: the knob.
        options: the attributes, in the order of its values; None is nothing at all.
    """

    name: str
    options: tuple[mlir.Attribute | None, ...]

    def read(self, path: str, actual: mlir.Attribute | None, assignment: dict[str, int]) -> None:
        """Reads one of the attributes."""
        found = self._find(actual)
        if found is None and actual is None:
            raise MismatchError(f"'{path}' is missing", is_missing=True)
        if found is None:
            raise MismatchError(f"'{path}' is {actual}", is_missing=False)
        assignment[self.name] = found

    def write(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Writes one of the attributes."""
        index = assignment[self.name]
        if not 0 <= index < len(self.options):
            raise ValueError(f"'{self.name}' has no option {index}")
        return self.options[index]

    def _find(self, actual: mlir.Attribute | None) -> int | None:
        # Attributes do not compare with None.
        for index, each in enumerate(self.options):
            if each is actual or (each is not None and actual is not None and each == actual):
                return index
        return None


@dataclass(frozen=True)
class Implied(Choice):
    """One of some attributes that a knob implies; that nothing is there means the same."""

    def read(self, path: str, actual: mlir.Attribute | None, _: dict[str, int]) -> None:
        """Takes any of the attributes, or nothing."""
        if actual is not None and self._find(actual) is None:
            raise MismatchError(f"'{path}' is {actual}", is_missing=False)


def _integer(path: str, actual: mlir.Attribute | None) -> int:
    if actual is None:
        raise MismatchError(f"'{path}' is missing", is_missing=True)
    if not isinstance(actual, mlir.IntegerAttr):
        raise MismatchError(f"'{path}' is {actual}", is_missing=False)
    return int(actual.value)


def _attribute(value: int) -> mlir.Attribute:
    return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(_BITS), value)
