"""What can be wrong with the file of a database, as one diagnostic."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from collections.abc import Iterator


class DatabaseError(TuninglinkError):
    """A database cannot be opened, read or written."""


def database_error(message: str, remedy: str = "") -> DatabaseError:
    """Return an error with one diagnostic."""
    return DatabaseError(error(message, notes=[note(remedy)] if remedy else []))


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Raise SQLite's errors as ours.

    Args:
        name: what the database is called.

    Raises:
        DatabaseError: SQLite raised an error.
    """
    try:
        yield
    except sqlite3.Error as failure:
        message, remedy = _WORDS.get(_code(failure), (f"fails: {failure}", ""))
        raise database_error(f"database '{name}' {message}", remedy) from None


def is_locked(failure: sqlite3.Error) -> bool:
    """Return whether an operation failed because another process has locked the file."""
    return _code(failure) == sqlite3.SQLITE_BUSY


def _code(failure: sqlite3.Error) -> int:
    code: int = getattr(failure, "sqlite_errorcode", 0)
    return code & 0xFF  # without the extension


_KEPT = "what was recorded before is kept; make room and run the same command again"
_WORDS = {
    sqlite3.SQLITE_NOTADB: ("is no SQLite database", "name another file"),
    sqlite3.SQLITE_READONLY: (
        "cannot be written: it is read-only",
        "copy it, or name another file",
    ),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "check the path and its permissions"),
    sqlite3.SQLITE_PERM: ("cannot be opened: permission denied", "check its permissions"),
    sqlite3.SQLITE_FULL: ("cannot be written: the disk is full", _KEPT),
    sqlite3.SQLITE_IOERR: ("cannot be read or written: input/output error", _KEPT),
    sqlite3.SQLITE_BUSY: ("is locked by another process", "wait until the other one ends"),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged",
        "restore a copy; `sqlite3 FILE .recover` saves what can be read",
    ),
}
