"""The spaces of our own for GPUs."""

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
from tuninglink.spaces.configuration import with_defaults
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
    """A form of configurations: what constraints on it say, and the template in which their knobs stand."""

    constraints: ConstraintSet
    template: KnobTemplate


@dataclass(frozen=True)
class Outline:
    """What tells at a glance that a configuration is of another form.

    Attributes:
        names: the names of the entries of the lowering config, aside from those that all configurations have.
        first: the entries that are read first, in order.
    """

    names: frozenset[str]
    first: Mapping[str, Slot] = field(default_factory=dict)

    def expect(self, configuration: Configuration) -> None:
        """Checks a configuration.

        Raises:
            MismatchError: it is of another form; the template of the form would say the same.
        """
        entries = DictionarySlot(self.first, self.names | _ALWAYS)
        entries.read_entries("", configuration.entries, {})


_ALWAYS = frozenset(
    {PROMOTED_OPERANDS, PROMOTION_TYPES, WORKGROUP_SIZE, SUBGROUP_SIZE, PIPELINE_OPTIONS}
)


class GpuSpace(Space):
    """The configurations of one form, whose constraints are written down when somebody asks for them.

    Args:
        outline: what configurations look like.
        make: makes the form; it must not look at the IR, which may have changed by then.
    """

    def __init__(self, outline: Outline, make: Callable[[], Form]) -> None:
        self._outline = outline
        self._make = make

    @cached_property
    def _form(self) -> Form:
        made = self._make()
        entries = made.template.entries
        assert entries.entries.keys() | (entries.others or ()) == self._outline.names | _ALWAYS
        return made

    @property
    def provider(self) -> str:
        """The provider."""
        return PROVIDER

    @property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made when it is asked for
        """Which of the configurations are valid."""
        return self._form.constraints

    @property
    def template(self) -> KnobTemplate:
        """Where the knobs stand."""
        return self._form.template

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Reads the knobs off a configuration."""
        configuration = with_defaults(configuration)
        self._outline.expect(configuration)
        return self.template.read(configuration)

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        """Returns the knobs that are 0 in a configuration and stand for all of a loop."""
        entries = configuration.entries
        return frozenset(
            knob
            for name, slot in self.template.entries.entries.items()
            if name in entries
            for knob in zero_knobs(slot, entries[name])
        )

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes a configuration."""
        return self.template.write(assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Writes the configuration of the parts of an attention; None for other operations."""
        return self.template.write_decomposition(assignment)
