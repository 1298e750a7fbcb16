"""Distinction between programs and tuning specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error
from tuninglink.mlir.walk import body
from tuninglink.specs.structure import has_entry_point

if TYPE_CHECKING:
    from iree.compiler import ir as mlir


def check_is_program(
    root: mlir.Operation, remedy: str = "give the program that it is meant for"
) -> None:
    """Check that `root` is not a tuning spec.

    A module that holds the sequences of a spec next to other ops is a program.

    Args:
        root: the user's input.
        remedy: the advice for a user who passed a spec.

    Raises:
        SpecError: `root` is a module that only contains a spec.
    """
    if is_only_a_spec(root):
        raise SpecError(error(f"expected a program, found a tuning spec; {remedy}", root))


def is_only_a_spec(root: mlir.Operation) -> bool:
    """Return whether `root` is a module that only contains a tuning spec."""
    if root.name != names.MODULE or not has_entry_point(root):
        return False
    return all(op.name == names.MODULE or op.name.startswith("transform.") for op in body(root))
