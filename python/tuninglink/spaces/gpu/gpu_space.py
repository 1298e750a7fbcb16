"""Tuninglink's spaces for GPUs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tuninglink.iree.gpu_configurations import (
    PIPELINE_OPTIONS,
    PROMOTED_OPERANDS,
    PROMOTION_TYPES,
    SUBGROUP_SIZE,
    WORKGROUP_SIZE,
)
from tuninglink.spaces.configuration import CachedReading, with_defaults
from tuninglink.spaces.gpu.gpu_rules import PROVIDER
from tuninglink.spaces.providers import Space
from tuninglink.spaces.slots import DictionarySlot, zero_knobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from iree.compiler import ir as mlir

    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.knob_templates import KnobTemplate
    from tuninglink.spaces.slots import Slot


@dataclass(frozen=True)
class Form:
    """A form of configurations: its constraints, and the template with their knobs."""

    constraints: ConstraintSet
    template: KnobTemplate


@dataclass(frozen=True)
class Outline:
    """A quick test that a configuration has another form.

    Attributes:
        names: the names of the entries of the lowering config, without those that all configurations have.
        first: the entries that are read first, in order.
    """

    names: frozenset[str]
    first: Mapping[str, Slot] = field(default_factory=dict)

    def expect(self, configuration: Configuration) -> None:
        """Check a configuration.

        Raises:
            MismatchError: it has another form; the template of the form would raise the same error.
        """
        entries = DictionarySlot(self.first, self.names | _ALWAYS)
        entries.read_entries("", configuration.entries, {})


_ALWAYS = frozenset(
    {PROMOTED_OPERANDS, PROMOTION_TYPES, WORKGROUP_SIZE, SUBGROUP_SIZE, PIPELINE_OPTIONS}
)


class GpuSpace(Space):
    """The configurations of one form, whose constraints are built on first access.

    Args:
        outline: the outline of the form.
        make: creates the form; it must not read the IR, which may have changed since.
    """

    def __init__(self, outline: Outline, make: Callable[[], Form]) -> None:
        self._outline = outline
        self._expect = CachedReading(outline.expect)
        self._untiled = CachedReading(self._find_untiled)
        self._make = make

    @cached_property
    def _form(self) -> Form:
        made = self._make()
        entries = made.template.entries
        assert entries.entries.keys() | (entries.others or ()) == self._outline.names | _ALWAYS
        return made

    def build(self) -> Form:
        """Return the form, which is built on first access."""
        return self._form

    def expect(self, configuration: Configuration) -> None:
        """Check that a configuration has the outline of the form.

        Raises:
            MismatchError: it has another form.
        """
        self._expect(with_defaults(configuration))

    @property
    def provider(self) -> str:
        """The provider."""
        return PROVIDER

    @property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        """The constraints on valid configurations."""
        return self._form.constraints

    @property
    def template(self) -> KnobTemplate:
        """The template with the positions of the knobs."""
        return self._form.template

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Read the values of the knobs from a configuration."""
        return self.assignment_for(configuration, {})

    def assignment_for(
        self, configuration: Configuration, parameters: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Read the values of the knobs from a configuration, for values of the parameters."""
        configuration = with_defaults(configuration)
        self._expect(configuration)
        return self.template.read(configuration, parameters)

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        """Return the knobs that are 0 in a configuration, which means the whole loop."""
        return self._untiled(configuration)

    def _find_untiled(self, configuration: Configuration) -> frozenset[str]:
        entries = configuration.entries
        return frozenset(
            knob
            for name, slot in self.template.entries.entries.items()
            if name in entries
            for knob in zero_knobs(slot, entries[name])
        )

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Write a configuration."""
        return self.template.write(assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Write the configuration of the parts of an attention; None for other operations."""
        return self.template.write_decomposition(assignment)
