"""Opening databases of trials."""

from __future__ import annotations

from pathlib import Path

from tuninglink.cli import process
from tuninglink.mlir.diagnostics import Diagnostic, Severity
from tuninglink.tuning.database import Database
from tuninglink.tuning.database.schema import PATIENCE_SECONDS


def open_database(path: str, *, read_only: bool = False) -> Database:
    """Open a database of trials, with a remark if another process has locked it.

    Args:
        path: the file.
        read_only: whether nothing will be recorded.

    Raises:
        DatabaseError: the file cannot be opened, belongs to another program, is of a newer version, or stays locked.
    """

    def report() -> None:
        message = f"database '{path}' is locked by another process; waiting for up to {PATIENCE_SECONDS:.0f} s"
        process.show(Diagnostic(Severity.REMARK, message))

    return Database(Path(path), read_only=read_only, on_wait=report)
