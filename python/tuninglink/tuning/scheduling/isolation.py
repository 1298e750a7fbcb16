"""Isolation of tasks: an error loses one task only."""

from __future__ import annotations

from typing import Final

from tuninglink.errors import TuninglinkError
from tuninglink.tuning.database.schema import DatabaseError
from tuninglink.tuning.devices.device import DeviceError

FATAL: Final = (DeviceError, DatabaseError)
"""The errors that end a run: the loss of the last device, and results that cannot be stored."""


def reason_of(failure: Exception) -> str:
    """Return the reason for omitting a task after an error."""
    if isinstance(failure, MemoryError):
        return "out of memory"
    if isinstance(failure, TuninglinkError) and failure.diagnostics:
        return failure.diagnostics[0].message
    text = str(failure)
    if type(failure).__module__.startswith("tuninglink."):
        return text
    return f"{type(failure).__name__}: {text}" if text else type(failure).__name__
