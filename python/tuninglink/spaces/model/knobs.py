"""Knobs, the choices in a configuration, and the validation of assignments of values to them."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from tuninglink.mlir import error
from tuninglink.solver import AssignmentError


@dataclass(frozen=True)
class IntegerKnob:
    """A knob whose value is an integer.

    Attributes:
        name: its name in assertions, assignments and messages.
        low: the minimum value, or None if only the assertions bound it.
        high: the maximum value, or None.
    """

    name: str
    low: int | None = None
    high: int | None = None

    def describe(self, value: int) -> str:
        """Return the display text of `value`."""
        return f"{self.name} = {value}"


@dataclass(frozen=True)
class OneOfKnob:
    """A knob that chooses among options; its value is the index of one.

    Attributes:
        name: its name in assertions, assignments and messages.
        options: the options as text, in order.
    """

    name: str
    options: tuple[str, ...]

    @property
    def low(self) -> int:
        """The first index."""
        return 0

    @property
    def high(self) -> int:
        """The last index; less than `low` if there is nothing to choose from."""
        return len(self.options) - 1

    def describe(self, value: int) -> str:
        """Return the display text of the option with index `value`."""
        if 0 <= value < len(self.options):
            return f"{self.name} = {self.options[value]}"
        return f"{self.name} = {value} (not an option)"


Knob: TypeAlias = IntegerKnob | OneOfKnob


MOST_BITS: Final = 4096
"""The maximum number of bits of numbers that are written out: Python refuses to convert longer ones."""


def read_assignment(
    given: Mapping[str, object], names: Collection[str], pipeline: str
) -> dict[str, int]:
    """Return an assignment of all knobs with Python's own integers."""
    read = read_partial_assignment(given, names, pipeline)
    missing = [name for name in names if name not in read]
    if missing:
        raise AssignmentError(error(f"there is no value for knob '{', '.join(missing)}'"))
    return read


def read_partial_assignment(
    given: Mapping[str, object], names: Collection[str], pipeline: str
) -> dict[str, int]:
    """Return an assignment of some knobs, as `read_assignment` does."""
    for name in given:
        if name not in names:
            knobs = ", ".join(names) or "it has none"
            message = f"pipeline {pipeline} has no knob '{name}'; its knobs: {knobs}"
            raise AssignmentError(error(message))
    return {name: _integer(name, value) for name, value in given.items()}


def _integer(name: str, value: object) -> int:
    """Return the value of a knob as an `int`; integer types of other libraries are accepted."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise AssignmentError(error(f"the value of knob '{name}' is not an integer: {value!r}"))
    if number.bit_length() > MOST_BITS:
        raise AssignmentError(error(f"the value of knob '{name}' has more than {MOST_BITS} bits"))
    return number


@dataclass(frozen=True)
class FixedKnob:
    """A knob with the value that all configurations should have.

    Attributes:
        name: the name of the knob, such as `workgroup[0]`.
        value: the value as text: a number, or an option such as `MFMA_F32_16x16x16_F16`.
    """

    name: str
    value: str

    @classmethod
    def parse(cls, text: str) -> FixedKnob:
        """Read `KNOB=VALUE`. The message of a `ValueError` is the expected form."""
        name, _, value = map(str.strip, text.partition("="))
        if not (name and value):
            raise ValueError("expected KNOB=VALUE, such as workgroup[0]=64")
        return cls(name, value)


def number_text(number: int | None) -> str:
    """Return a number as text; a question mark if it is unknown or Python refuses to print it."""
    return "?" if number is None or number.bit_length() > MOST_BITS else str(number)
