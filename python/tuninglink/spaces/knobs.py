"""Knobs: what a configuration chooses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IntegerKnob:
    """A knob whose value is an integer.

    Attributes:
        name: what assertions, assignments and people call it.
        low: the least value, or None if nothing but the assertions bounds it.
        high: the greatest value, or None.
    """

    name: str
    low: int | None = None
    high: int | None = None

    def describe(self, value: int) -> str:
        """Returns `value` as people read it."""
        return f"{self.name} = {value}"


@dataclass(frozen=True)
class OneOfKnob:
    """A knob that chooses among options; its value is the index of one.

    Attributes:
        name: what assertions, assignments and people call it.
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
        """Returns the option that `value` stands for as people read it."""
        if 0 <= value < len(self.options):
            return f"{self.name} = {value} ({self.options[value]})"
        return f"{self.name} = {value} (not an option)"


Knob = IntegerKnob | OneOfKnob
