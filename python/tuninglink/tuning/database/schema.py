"""The tables of a database, the check that a file is a database, and database errors as one diagnostic."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tuninglink.files import meant
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.results import FatalError


class DatabaseError(FatalError):
    """An error of opening, reading or writing a database."""


def database_error(message: str, remedy: str = "") -> DatabaseError:
    """Return an error with one diagnostic."""
    return DatabaseError(error(message, notes=[note(remedy)] if remedy else []))


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Convert SQLite's errors to `DatabaseError`.

    Args:
        name: the name of the database.

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
    if str(failure).startswith("Could not decode"):  # by Python, which gives no code
        return sqlite3.SQLITE_CORRUPT
    code: int = getattr(failure, "sqlite_errorcode", 0)
    return code & 0xFF  # without the extension


_KEPT = "earlier records are kept; free some space and run the same command again"
_WORDS = {
    sqlite3.SQLITE_NOTADB: ("is not an SQLite database", "name another file"),
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


APPLICATION_ID: Final = 0x54554E4C
"""`TUNL` in ASCII: marks the file as ours."""

VERSION: Final = 1
"""The version of the tables."""

PATIENCE_SECONDS: Final = 30.0
"""The time limit of waiting for another process's transaction. A tuner's transactions write one trial."""

_SILENT_SECONDS: Final = 0.5
"""The time after which waiting is reported."""

_TABLES: Final = """
CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  description TEXT NOT NULL,
  program TEXT NOT NULL
) STRICT;
CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  target TEXT NOT NULL,
  sku TEXT NOT NULL,
  device TEXT NOT NULL,
  driver TEXT NOT NULL,
  compiler TEXT NOT NULL,
  runtime TEXT NOT NULL,
  flags TEXT NOT NULL,
  cores INTEGER NOT NULL,
  protocol INTEGER NOT NULL,
  UNIQUE (target, sku, device, driver, compiler, runtime, flags, cores, protocol)
) STRICT;
CREATE TABLE configuration (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  pipeline TEXT NOT NULL,
  knobs TEXT NOT NULL,
  attribute TEXT NOT NULL,
  decomposition TEXT NOT NULL
) STRICT;
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  problem INTEGER NOT NULL REFERENCES problem,
  environment INTEGER NOT NULL REFERENCES environment,
  configuration INTEGER NOT NULL REFERENCES configuration,
  stage TEXT NOT NULL,
  origin TEXT NOT NULL,
  samples TEXT NOT NULL,
  batch INTEGER NOT NULL,
  caches TEXT NOT NULL,
  clocks TEXT NOT NULL,
  failure TEXT,
  message TEXT,
  time TEXT NOT NULL
) STRICT;
CREATE INDEX trial_of_problem ON trial (problem, environment);
"""

_APPEND_ONLY: Final = """
CREATE TRIGGER keep_{table}_on_{action} BEFORE {action} ON {table}
BEGIN SELECT RAISE(ABORT, 'records are never changed'); END;
"""


def open_connection(
    path: Path | None, *, read_only: bool = False, on_wait: Callable[[], None] | None = None
) -> sqlite3.Connection:
    """Open the file of a database; a missing or empty file becomes a database.

    Args:
        path: the file; None for a database in memory.
        read_only: whether nothing will be written. Then the file must exist.
        on_wait: called if another process has locked the file, before waiting for it.

    Raises:
        DatabaseError: the file cannot be opened, is not a database, has a newer version, or stays locked.
    """
    name = str(path) if path else ":memory:"
    if read_only and path is not None and not path.is_file():
        hint = meant(path, FileNotFoundError())
        raise database_error(f"there is no database '{name}'{hint}")
    with translated(name):
        if on_wait is not None:
            try:
                return _connect(path, name, _SILENT_SECONDS, read_only=read_only)
            except sqlite3.OperationalError as failure:
                if not is_locked(failure):
                    raise
                on_wait()
        return _connect(path, name, PATIENCE_SECONDS, read_only=read_only)


def _connect(
    path: Path | None, name: str, seconds: float, *, read_only: bool
) -> sqlite3.Connection:
    """Return a connection that waits for the first locks for `seconds`, and for others up to `PATIENCE_SECONDS`."""
    address = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}" if path else name
    connection = sqlite3.connect(
        address, timeout=seconds, isolation_level=None, uri=path is not None
    )
    try:
        if not read_only:
            connection.execute("PRAGMA foreign_keys = ON")
            _create(connection, name)
        _check(connection, name)
        connection.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE_SECONDS:.0f}")
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection, name: str) -> None:
    """Create the tables in an empty file. Several processes may do so at the same time."""
    if _has_tables(connection, name):
        _check(connection, name)
        # A file that cannot be written shows it here, not with the first trial.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        return
    _log_ahead(connection)
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _has_tables(connection, name):
            for statement in _statements():
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch an empty file to write-ahead logging."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as failure:
            if not is_locked(failure):
                raise
            # SQLite waits for other processes in a transaction, but fails at once in this pragma.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        else:
            return


def _statements() -> list[str]:
    tables = [word for word in _TABLES.split(";\n") if word.strip()]
    triggers = [
        _APPEND_ONLY.format(table=table, action=action)
        for table in ("problem", "environment", "configuration", "trial")
        for action in ("UPDATE", "DELETE")
    ]
    return tables + triggers


def _check(connection: sqlite3.Connection, name: str) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise database_error(f"database '{name}' belongs to another program", "name another file")
    version = _pragma(connection, "user_version")
    if version > VERSION:
        raise database_error(
            f"database '{name}' is of version {version}, and this program supports {VERSION}",
            "use the program that wrote it, or a newer one",
        )


def _has_tables(connection: sqlite3.Connection, name: str) -> bool:
    """Return whether a file has Tuninglink's tables; False if it is empty.

    Raises:
        DatabaseError: the file belongs to another program.
    """
    # Before the mark: tables that another process makes between the two queries come with our mark.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    mark = _pragma(connection, "application_id")
    if mark != APPLICATION_ID and (tables or mark):
        raise database_error(f"database '{name}' belongs to another program", "name another file")
    return mark == APPLICATION_ID


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)
