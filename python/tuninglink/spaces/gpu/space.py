"""The spaces of our own for GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.spaces.configuration import with_defaults
from tuninglink.spaces.providers import Space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iree.compiler import ir as mlir

    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.templates import KnobTemplate


class GpuSpace(Space):
    """The configurations of one template.

    Args:
        constraints: which of them are valid.
        template: where their knobs stand.
    """

    def __init__(self, constraints: ConstraintSet, template: KnobTemplate) -> None:
        self.constraints = constraints
        self.template = template

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Reads the knobs off a configuration."""
        return self.template.read(with_defaults(configuration))

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes a configuration."""
        return self.template.write(assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Writes the configuration of the parts of an attention; None for other operations."""
        return self.template.write_decomposition(assignment)
