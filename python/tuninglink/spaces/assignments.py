"""Validation of assignments: a value for every knob, or for some."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from typing import Final

from tuninglink.mlir.diagnostics import error
from tuninglink.solver.answers import AssignmentError

MOST_BITS: Final = 4096
"""Numbers that take more are not written out: Python refuses to."""


def read_assignment(
    given: Mapping[str, object], names: Collection[str], pipeline: str
) -> dict[str, int]:
    """Return an assignment of all knobs with Python's own integers.

    Args:
        given: the values by knob; integer types of other libraries are accepted.
        names: the knobs.
        pipeline: the pipeline that the knobs configure.

    Raises:
        AssignmentError: a knob is missing, unknown, or has a value that is not an integer.
    """
    read = read_partial_assignment(given, names, pipeline)
    missing = [name for name in names if name not in read]
    if missing:
        raise AssignmentError(error(f"there is no value for knob '{', '.join(missing)}'"))
    return read


def read_partial_assignment(
    given: Mapping[str, object], names: Collection[str], pipeline: str
) -> dict[str, int]:
    """Return an assignment of some knobs, as `read_assignment` does.

    Raises:
        AssignmentError: a knob is unknown, or has a value that is not an integer.
    """
    for name in given:
        if name not in names:
            known = ", ".join(names) or "it has none"
            message = f"pipeline {pipeline} has no knob '{name}'; its knobs: {known}"
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
