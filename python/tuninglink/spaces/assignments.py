"""Assignments as they are given: a value for each knob, or for some."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

from tuninglink.mlir.diagnostics import error
from tuninglink.solver.answers import AssignmentError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MOST_BITS: Final = 4096
"""Numbers that take more are not written out: Python refuses to."""


def read_assignment(
    given: Mapping[str, object], names: Collection[str], pipeline: str
) -> dict[str, int]:
    """Returns an assignment of all knobs with Python's own integers.

    Args:
        given: the values by knob, which may be integers of another library.
        names: the knobs.
        pipeline: what the knobs configure.

    Raises:
        AssignmentError: a knob is missing, unknown, or has a value that is no integer.
    """
    read = read_partial_assignment(given, names, pipeline)
    missing = [name for name in names if name not in read]
    if missing:
        raise AssignmentError(error(f"there is no value for knob '{', '.join(missing)}'"))
    return read


def read_partial_assignment(
    given: Mapping[str, object], names: Collection[str], pipeline: str
) -> dict[str, int]:
    """Returns an assignment of some knobs, as `read_assignment` does.

    Raises:
        AssignmentError: a knob is unknown, or has a value that is no integer.
    """
    for name in given:
        if name not in names:
            known = ", ".join(names) or "it has none"
            message = f"pipeline {pipeline} has no knob '{name}'; its knobs: {known}"
            raise AssignmentError(error(message))
    return {name: _integer(name, value) for name, value in given.items()}


def _integer(name: str, value: object) -> int:
    """Returns the value of a knob, which may be an integer of another library."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise AssignmentError(error(f"the value of knob '{name}' is no integer: {value!r}"))
    if number.bit_length() > MOST_BITS:
        raise AssignmentError(error(f"the value of knob '{name}' has more than {MOST_BITS} bits"))
    return number
