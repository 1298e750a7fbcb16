"""The database and its SQLite schema: records trials, finds them again, and merges with others."""

from __future__ import annotations

import json
import sqlite3
import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field, fields
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Final

from tuninglink.devices import PROTOCOL_VERSION
from tuninglink.errors import Diagnostic, Severity
from tuninglink.files import meant
from tuninglink.iree import Spills
from tuninglink.mlir import error, note
from tuninglink.plain_data import HIDDEN, named, written
from tuninglink.programs import Failure, FailureKind, FatalError
from tuninglink.spaces import current_names

SCREEN: Final = "screen"
RACE: Final = "race"
FINAL: Final = "final"
_STAGES: Final = (SCREEN, RACE, FINAL)
"""The stages of trials, from the cheapest figures to the best."""

RIGHT: Final = "right"
NOT_CHECKED: Final = "not checked"
"""Results of configurations that did not fail."""


@dataclass(frozen=True)
class ProblemRecord:
    """A problem.

    Attributes:
        key: the hash of the stripped dispatch and its target.
        description: the problem in words.
        program: the function of the dispatch, or the program, as MLIR text.
    """

    key: str
    kind: str
    description: str
    program: str


@dataclass(frozen=True)
class EnvironmentRecord:
    """The conditions of a measurement, apart from the problem and the configuration.

    Attributes:
        target: the target architecture, such as `gfx942`.
        sku: the target product, such as `mi300x`; empty if unknown.
        driver: the driver of the runtime, with the version of the vendor's driver.
        flags: the flags of the compiler, in order, separated by spaces.
        cores: the number of threads of a CPU device; 0 for other devices.
        protocol: the version of the measurement protocol.
    """

    target: str
    sku: str
    device: str
    driver: str
    compiler: str
    runtime: str
    flags: str = ""
    cores: int = 0
    protocol: int = PROTOCOL_VERSION


@dataclass(frozen=True)
class ConfigurationRecord:
    """A configuration.

    Attributes:
        key: its unique key, such as a hash of the texts.
        pipeline: the pipeline, as MLIR writes it.
        knobs: the values of the knobs; empty if no space contains the configuration.
        attribute: the `#iree_codegen.compilation_info`, as MLIR writes it; empty where only the knobs are known.
        decomposition: the `decomposition_config` of an attention, or nothing.
    """

    key: str
    pipeline: str
    knobs: Mapping[str, int] = field(hash=False)
    attribute: str = ""
    decomposition: str = ""


@dataclass(frozen=True)
class Trial:
    """One attempt with a configuration.

    Attributes:
        stage: the step of the tuner: `screen`, `race` or `final`.
        origin: where the candidate came from: `default`, `space` or `spec`.
        samples: microseconds per iteration, one value for each batch; empty if the trial failed.
        batch: the iterations of a sample.
        caches: `warm` or `cold`.
        clocks_mhz: the measured clocks of the device.
        failure: the reason for missing samples; None if there are samples.
        time: the end of the trial, in ISO 8601.
        spills: the spills of the code, where its metadata has them: on AMD.
    """

    problem: ProblemRecord = field(metadata=HIDDEN)
    environment: EnvironmentRecord
    configuration: ConfigurationRecord
    stage: str
    origin: str
    samples: tuple[float, ...] = field(default=(), metadata=named("samples_us"))
    batch: int = 0
    caches: str = "warm"
    clocks_mhz: tuple[int, ...] = ()
    failure: Failure | None = None
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="microseconds"))
    spills: Spills | None = None

    @written("problem")
    def problem_key(self) -> str:
        """Return the key of the problem."""
        return self.problem.key

    @property
    def median(self) -> float | None:
        """The median of the samples in microseconds, None if the trial failed."""
        return statistics.median(self.samples) if self.samples else None


# --- The database: records trials, finds them again, and merges with others ----------------------

_SPILLS_OF_TRIAL: Final = "(SELECT numbers FROM spills WHERE trial = t.id)"
_SELECT: Final = f"""
SELECT p.key, p.kind, p.description, p.program,
  e.target, e.sku, e.device, e.driver, e.compiler, e.runtime, e.flags, e.cores, e.protocol,
  c.key, c.pipeline, c.knobs, c.attribute, c.decomposition,
  t.stage, t.origin, t.samples, t.batch, t.caches, t.clocks, t.failure, t.message, t.time,
  {_SPILLS_OF_TRIAL}, t.id
FROM trial t LEFT JOIN problem p ON p.id = t.problem LEFT JOIN environment e ON e.id = t.environment
  LEFT JOIN configuration c ON c.id = t.configuration
WHERE t.id > ?"""  # noqa: S608 - of our own names

_MOST_READ_ALONE: Final = 100_000
"""How many trials are read one by one after a damaged part."""

PATIENCE_SECONDS: Final = 30.0
"""The time limit of waiting for another process's transaction. A tuner's transactions write one trial."""


class Database(AbstractContextManager["Database"]):
    """Trials in an SQLite file. Trials are only added, and are durable as soon as they are recorded.

    Several processes may use one file. An object may only be used by the thread that created it. All methods raise a
    `DatabaseError` if the file cannot be read or written; then nothing was added.

    Args:
        path: the file; created if it does not exist. None for a database in memory.
        read_only: whether nothing will be recorded.
        warn: called with a remark before waiting for another process that has locked the file, and with an error about
            trials that cannot be read, which are left out. By default, such an error is raised.

    Raises:
        DatabaseError: the file cannot be opened, belongs to another program, is of a newer version, or stays locked.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        read_only: bool = False,
        warn: Callable[[Diagnostic], None] | None = None,
    ) -> None:
        self._warn = warn
        path = Path(path) if path else None
        self._name = str(path or ":memory:")
        if read_only and path is not None and not path.is_file():
            hint = meant(path, FileNotFoundError())
            raise database_error(f"there is no database '{path}'{hint}")
        with translated(self._name):
            try:
                # Half a second is not worth a remark.
                seconds = 0.5 if warn else PATIENCE_SECONDS
                self._connection = _connect(path, seconds, read_only=read_only)
            except sqlite3.OperationalError as failure:
                if warn is None or _code(failure) != sqlite3.SQLITE_BUSY:
                    raise
                locked = f"database '{path}' is locked by another process"
                message = f"{locked}; waiting for up to {PATIENCE_SECONDS:.0f} s"
                warn(Diagnostic(Severity.REMARK, message))
                self._connection = _connect(path, PATIENCE_SECONDS, read_only=read_only)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def record(self, trial: Trial) -> None:
        """Add a trial. It is durable when the function returns, even if the process ends."""
        self.record_all([trial])

    def record_all(self, trials: Iterable[Trial]) -> int:
        """Add trials, all or none, and return the number of new ones."""
        count = 0
        with translated(self._name), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for trial in trials:
                problem, environment = astuple(trial.problem), astuple(trial.environment)
                knobs = json.dumps(dict(trial.configuration.knobs), separators=(",", ":"))
                configuration = asdict(trial.configuration) | {"knobs": knobs}
                failure = trial.failure
                result = (
                    *(trial.stage, trial.origin, json.dumps(trial.samples), trial.batch),
                    *(trial.caches, json.dumps(trial.clocks_mhz)),
                    *((failure.kind.value, failure.message) if failure else (None, None)),
                    trial.time,
                )
                # A hash of the whole trial identifies it, so that merges add no duplicates.
                whole = (trial.problem.key, environment, trial.configuration.key, result)
                row = self._insert(
                    "trial",
                    sha256(json.dumps(whole).encode()).hexdigest(),
                    self._identity("problem", *problem),
                    self._identity("environment", *environment),
                    self._identity("configuration", *configuration.values()),
                    *result,
                )
                if row is not None and trial.spills is not None:
                    numbers = row, json.dumps(asdict(trial.spills))
                    self._connection.execute("INSERT INTO spills VALUES (?, ?)", numbers)
                count += row is not None
        return count

    def merge(self, path: Path) -> int:
        """Add the trials of another database, and return the number of new ones."""
        with Database(path, read_only=True, warn=self._warn) as other:
            return self.record_all(other.all_trials())

    def trials(self, problem_key: str, environment: EnvironmentRecord | None = None) -> list[Trial]:
        """Return the trials of a problem, in one environment or in all, in the order in which they were recorded."""
        if environment is None:
            return list(self._select("AND p.key = ?", problem_key))
        condition = " ".join(f"AND e.{column} = ?" for column in _ENVIRONMENT_COLUMNS)
        return list(self._select(f"AND p.key = ? {condition}", problem_key, *astuple(environment)))

    def all_trials(self) -> Iterator[Trial]:
        """Yield all trials in the order in which they were recorded."""
        return self._select("")

    def values(self, column: str) -> list[str]:
        """Return the distinct values of a field of problems or environments."""
        table = "environment" if column in _ENVIRONMENT_COLUMNS else "problem"
        query = f"SELECT DISTINCT {column} FROM {table} ORDER BY 1"  # noqa: S608 - of our own names
        with translated(self._name):
            return [str(value) for (value,) in self._connection.execute(query)]

    def ranked(self, kind: str, target: str) -> list[tuple[Trial, ...]]:
        """Return `ranked_among` of the trials of a kind of problems, in environments with a target."""
        return ranked_among(self._select("AND p.kind = ? AND e.target = ?", kind, target))

    # --- Reading and writing ---------------------------------------------------------------------------------

    def _select(self, condition: str, *values: object) -> Iterator[Trial]:
        """Yield trials, and report those that cannot be read once all others were yielded."""
        execute, query = self._connection.execute, f"{_SELECT} {condition} ORDER BY t.id"
        last = damaged = 0
        numbers = [0]
        with translated(self._name):
            for number in numbers:
                try:
                    for row in execute(query, (number, *values)):
                        last = row[-1]
                        if trial := _trial(row):
                            yield trial
                        else:
                            damaged += 1
                except sqlite3.DatabaseError as failure:
                    if _code(failure) == sqlite3.SQLITE_BUSY or self._warn is None:
                        raise
                    damaged += 1
                    if len(numbers) > 1:
                        continue
                    # Read what follows the damaged page, one by one. The damage may be in the spills.
                    query = query.replace(_SPILLS_OF_TRIAL, "NULL").replace("t.id >", "t.id =")
                    with suppress(sqlite3.DatabaseError):
                        (highest,) = execute("SELECT max(id) FROM trial").fetchone()
                        end = min(int(highest or 0), last + _MOST_READ_ALONE)
                        numbers += range(last + 1, end + 1)
        if damaged:
            damage = database_error(
                f"database '{self._name}' is damaged: not all of its trials can be read",
                "the others are used; 'tuninglink database merge NEW FILE' saves them",
            )
            if self._warn is None:
                raise damage
            self._warn(damage.diagnostics[0])

    def _identity(self, table: str, *values: object) -> int:
        """Return the number of a record; add the record if it is new."""
        unique = _RECORDS[table][1]
        places = ", ".join("?" * len(unique))
        query = f"SELECT id FROM {table} WHERE ({', '.join(unique)}) = ({places})"  # noqa: S608 - of our own names
        row = self._connection.execute(query, values[: len(unique)]).fetchone()
        return int(row[0]) if row else self._insert(table, *values) or 0

    def _insert(self, table: str, *values: object) -> int | None:
        """Add a row, and return its number; None if it is not new."""
        places = ", ".join("?" * len(values))
        insert = f"INSERT OR IGNORE INTO {table} VALUES (NULL, {places}) RETURNING id"  # noqa: S608 - as above
        row = self._connection.execute(insert, values).fetchone()
        return int(row[0]) if row else None


def best_of(trials: Sequence[Trial]) -> tuple[Trial | None, Trial | None]:
    """Return the latest stages of the compiler's own choice and of the fastest configuration, from trials of one problem.

    A configuration whose results were found wrong, or never compared, is not the fastest; the compiler's choice may be it.
    """
    results, ranked = results_of(trials), [*chain.from_iterable(ranked_among(trials))]
    default = next((trial for trial in ranked if trial.origin == "default"), None)
    best = next((trial for trial in ranked if results[trial.configuration.key] == RIGHT), None)
    return default, best


def results_of(trials: Iterable[Trial]) -> dict[str, str]:
    """Return the recorded verdicts on configurations' results by key, from trials of one problem.

    A verdict is `RIGHT`, `NOT_CHECKED`, or the kind of a failure.
    """
    results: dict[str, str] = {}
    failures: dict[str, str] = {}
    for trial in trials:
        key = trial.configuration.key
        if trial.failure is not None:
            failures[key] = trial.failure.kind.value
        elif trial.stage != SCREEN or trial.origin == "default":  # the outputs were compared
            results[key] = RIGHT
        else:
            results.setdefault(key, NOT_CHECKED)
    return results | failures


def grouped_trials(
    trials: Iterable[Trial], key: Callable[[Trial], Hashable] | None = None
) -> list[list[Trial]]:
    """Return the trials by a key: by default, those of each problem in each environment."""
    groups: dict[Hashable, list[Trial]] = {}
    for trial in trials:
        group = key(trial) if key else (trial.problem.key, trial.environment)
        groups.setdefault(group, []).append(trial)
    return list(groups.values())


def ranked_among(trials: Iterable[Trial]) -> list[tuple[Trial, ...]]:
    """Return the measured trials of each problem in each environment, the fastest first.

    Each configuration is represented by its trial of the latest stage, and omitted if any of its trials failed.
    """
    ranked = []
    for group in grouped_trials(trials):
        failed = {trial.configuration.key for trial in group if trial.failure}
        by_stage = sorted(group, key=lambda trial: _STAGES.index(trial.stage))
        latest = {trial.configuration.key: trial for trial in by_stage if trial.samples}
        measured = [trial for key, trial in latest.items() if key not in failed]
        if measured:
            ranked.append(tuple(sorted(measured, key=lambda trial: trial.median or 0.0)))
    return ranked


def _trial(row: Sequence[Any]) -> Trial | None:
    """Return the trial in a row; None if the row is damaged."""
    problem, environment, (key, pipeline, knobs, *attributes) = row[:4], row[4:13], row[13:18]
    stage, origin, samples, batch, caches, clocks, failure, message, time, spills = row[18:28]
    texts = (*problem, *environment[:7], key, pipeline, *attributes, origin, caches, time)
    try:
        times, clocks_mhz = tuple(json.loads(samples)), tuple(json.loads(clocks))
        numbers = (*environment[7:], batch, *times, *clocks_mhz)
        is_valid = stage in _STAGES and all(isinstance(text, str) for text in texts)
        if not is_valid or not all(isinstance(number, int | float) for number in numbers):
            return None
        return Trial(
            ProblemRecord(*problem),
            EnvironmentRecord(*environment),
            ConfigurationRecord(key, pipeline, current_names(json.loads(knobs)), *attributes),
            *(stage, origin, times, batch, caches, clocks_mhz),
            None if failure is None else Failure(FailureKind(failure), message),
            *(time, read_spills(json.loads(spills or "null"))),
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def read_spills(numbers: Any) -> Spills | None:
    """Return spills of JSON, or raise an error of Python if it has another structure."""
    if numbers is None:
        return None
    if not all(isinstance(number, int) and number >= 0 for number in numbers.values()):
        raise ValueError("'spills' is not made of numbers")
    return Spills(**numbers)


# --- The tables of a database, the check that a file is a database, and database errors as one diagnostic


class DatabaseError(FatalError):
    """An error of opening, reading or writing a database."""


def database_error(message: str, remedy: str = "") -> DatabaseError:
    return DatabaseError(error(message, notes=[note(remedy)] if remedy else []))


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Convert SQLite's errors to `DatabaseError`."""
    try:
        yield
    except sqlite3.Error as failure:
        code = getattr(failure, "sqlite_errorcode", 0)
        words = _WORDS.get(_code(failure), (f"fails: {failure}", ""))
        message, remedy = _WORDS.get(code, words)
        raise database_error(f"database '{name}' {message}", remedy) from None


def _code(failure: sqlite3.Error) -> int:
    if str(failure).startswith("Could not decode"):  # by Python, which gives no code
        return sqlite3.SQLITE_CORRUPT
    code: int = getattr(failure, "sqlite_errorcode", 0)
    return code & 0xFF  # without the extension


_KEPT: Final = "earlier records are kept; free some space and run the same command again"
_WORDS: Final = {
    sqlite3.SQLITE_NOTADB: ("is not an SQLite database", "name another file"),
    sqlite3.SQLITE_READONLY: (
        "cannot be written: it is read-only",
        "copy it, or name another file",
    ),
    sqlite3.SQLITE_READONLY_ROLLBACK: (
        "was left in the middle of a transaction",
        "'tuninglink database merge FILE FILE' undoes it",
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

_ENVIRONMENT_COLUMNS: Final = tuple(field.name for field in fields(EnvironmentRecord))
_RECORDS: Final = {
    "problem": (ProblemRecord, ("key",)),
    "environment": (EnvironmentRecord, _ENVIRONMENT_COLUMNS),
    "configuration": (ConfigurationRecord, ("key",)),
}
"""The tables of records, whose columns are the fields, with the columns that identify a record."""

_TABLES: Final = (
    *(
        f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, "
        + "".join(
            f"{column.name} {'INTEGER' if column.type == 'int' else 'TEXT'} NOT NULL, "
            for column in fields(record)
        )
        + f"UNIQUE ({', '.join(unique)})) STRICT"
        for table, (record, unique) in _RECORDS.items()
    ),
    """
CREATE TABLE trial (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, problem INTEGER NOT NULL REFERENCES problem,
  environment INTEGER NOT NULL REFERENCES environment,
  configuration INTEGER NOT NULL REFERENCES configuration,
  stage TEXT NOT NULL, origin TEXT NOT NULL, samples TEXT NOT NULL, batch INTEGER NOT NULL,
  caches TEXT NOT NULL, clocks TEXT NOT NULL, failure TEXT, message TEXT, time TEXT NOT NULL
) STRICT
""",
    "CREATE INDEX trial_of_problem ON trial (problem, environment)",
    *(
        f"CREATE TRIGGER keep_{table}_on_{action} BEFORE {action} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'records are never changed'); END"
        for table in (*_RECORDS, "trial")
        for action in ("UPDATE", "DELETE")
    ),
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
"""The statements that make an empty file a database."""

_SPILLS: Final = (
    "TABLE IF NOT EXISTS spills (trial INTEGER PRIMARY KEY, numbers TEXT NOT NULL) STRICT"
)
"""A table that older databases lack, and that older programs do not touch."""


def _connect(path: Path | None, seconds: float, *, read_only: bool) -> sqlite3.Connection:
    """Return a connection that waits for the first locks for `seconds`, and for others up to `PATIENCE_SECONDS`."""
    address = (
        f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}" if path else ":memory:"
    )
    connection = sqlite3.connect(
        address, timeout=seconds, isolation_level=None, uri=path is not None
    )
    try:
        has_tables = _has_tables(connection, path, is_required=read_only)
        if not read_only:
            connection.execute("PRAGMA foreign_keys = ON")
            while not has_tables:  # switch an empty file to write-ahead logging
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    break
                except sqlite3.OperationalError as failure:
                    if _code(failure) != sqlite3.SQLITE_BUSY:
                        raise
                    # SQLite waits for other processes in a transaction, but fails at once in this pragma.
                    with connection:
                        connection.execute("BEGIN IMMEDIATE")
            # Create the tables. A file that cannot be written shows it here, not with the first trial.
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                if not _has_tables(connection, path):
                    for statement in _TABLES:
                        connection.execute(statement)
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'spills'").fetchone():
            connection.execute(f"CREATE {'TEMP ' if read_only else ''}{_SPILLS}")
        connection.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE_SECONDS:.0f}")
    except BaseException:
        connection.close()
        raise
    return connection


def _has_tables(
    connection: sqlite3.Connection, path: Path | None, *, is_required: bool = False
) -> bool:
    """Return whether a file has Tuninglink's tables; False if it is empty, which may be an error."""
    # Before the mark: tables that another process makes between the two queries come with our mark.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if mark != APPLICATION_ID and (tables or mark or is_required):
        raise database_error(f"database '{path}' belongs to another program", "name another file")
    if mark == APPLICATION_ID and version > VERSION:
        raise database_error(
            f"database '{path}' is of version {version}, and this program supports {VERSION}",
            "use the program that wrote it, or a newer one",
        )
    return bool(mark == APPLICATION_ID)
