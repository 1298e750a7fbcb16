"""The spaces of our own for GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.spaces.providers import Space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iree.compiler import ir as mlir

    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.gpu.forms import Form


class GpuSpace(Space):
    """The configurations of one form.

    Args:
        constraints: which of them are valid.
        form: where their knobs stand.
    """

    def __init__(self, constraints: ConstraintSet, form: Form) -> None:
        self.constraints = constraints
        self.form = form

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Reads the knobs off a configuration."""
        return self.form.read(configuration)

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Writes a configuration."""
        return self.form.write(assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Writes what an attention hands on to its parts beside that; None for other operations."""
        return self.form.write_decomposition(assignment)
