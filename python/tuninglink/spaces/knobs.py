"""Knobs: the choices in a configuration."""

from __future__ import annotations

from dataclasses import dataclass


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
            return f"{self.name} = {value} ({self.options[value]})"
        return f"{self.name} = {value} (not an option)"


Knob = IntegerKnob | OneOfKnob


@dataclass(frozen=True)
class FixedKnob:
    """A knob with the value that all configurations should have.

    Attributes:
        name: the name of the knob, in a space (`wg_0`) or in a configuration (`workgroup[0]`).
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
