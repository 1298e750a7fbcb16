"""Knobs, the choices in a configuration, and the validation of assignments of values to them."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from tuninglink.mlir import error
from tuninglink.solver import AssignmentError


@dataclass(frozen=True)
class IntegerKnob:
    """A knob whose value is an integer; a bound is None if only the assertions bound it."""

    name: str
    low: int | None = None
    high: int | None = None

    def describe(self, value: int) -> str:
        """Return the display text of `value`."""
        return f"{self.name} = {value}"


@dataclass(frozen=True)
class OneOfKnob:
    """A knob that chooses among options, which are texts; its value is the index of one."""

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
    assignment: dict[str, int] = {}
    for name, value in given.items():
        if name not in names:
            knobs = ", ".join(names) or "it has none"
            message = f"pipeline {pipeline} has no knob '{name}'; its knobs: {knobs}"
            raise AssignmentError(error(message))
        # Integer types of other libraries are accepted.
        number = None
        with suppress(TypeError):
            number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
        if number is None:
            raise AssignmentError(error(f"the value of knob '{name}' is not an integer: {value!r}"))
        if number.bit_length() > MOST_BITS:
            message = f"the value of knob '{name}' has more than {MOST_BITS} bits"
            raise AssignmentError(error(message))
        assignment[name] = number
    return assignment


@dataclass(frozen=True)
class FixedKnob:
    """A knob, such as `workgroup[0]`, with the value that all configurations should have.

    The value is a text: a number, or an option such as `MFMA_F32_16x16x16_F16`.
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
