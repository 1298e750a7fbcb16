"""The database: records trials, finds them again, and merges with others."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

from tuninglink.mlir.diagnostics import Diagnostic, Severity
from tuninglink.spaces.former_names import current_names
from tuninglink.tuning.database.records import (
    ConfigurationRecord,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
    Winner,
)
from tuninglink.tuning.database.schema import (
    PATIENCE_SECONDS,
    DatabaseError,
    database_error,
    is_locked,
    open_connection,
    translated,
)
from tuninglink.tuning.results import Failure, FailureKind

_SELECT: Final = """
SELECT t.id, p.key, p.kind, p.description, p.program,
  e.target, e.sku, e.device, e.driver, e.compiler, e.runtime, e.flags, e.cores, e.protocol,
  c.key, c.pipeline, c.knobs, c.attribute, c.decomposition,
  t.stage, t.origin, t.samples, t.batch, t.caches, t.clocks, t.failure, t.message, t.time
FROM trial t LEFT JOIN problem p ON p.id = t.problem LEFT JOIN environment e ON e.id = t.environment
  LEFT JOIN configuration c ON c.id = t.configuration
"""

_ENVIRONMENT_COLUMNS: Final = tuple(field.name for field in fields(EnvironmentRecord))
_ENVIRONMENT: Final = " AND ".join(f"e.{column} = ?" for column in _ENVIRONMENT_COLUMNS)

_MOST_READ_ALONE: Final = 100_000
"""How many trials are read one by one after a damaged part."""

_STAGES: Final = ("screen", "race", "final")
"""The stages, from the cheapest figures to the best."""

RIGHT: Final = "right"
NOT_CHECKED: Final = "not checked"
"""Results of configurations that did not fail."""


class Database:
    """Trials in an SQLite file. Trials are only added, and are durable as soon as they are recorded.

    Several processes may use one file. An object may only be used by the thread that created it.

    Args:
        path: the file; created if it does not exist. None for a database in memory.
        read_only: whether nothing will be recorded.
        on_wait: called if another process has locked the file, before waiting for it.
        on_damage: called with an error about trials that cannot be read, which are left out. By default, it is raised.

    Raises:
        DatabaseError: the file cannot be opened, belongs to another program, is of a newer version, or stays locked.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        read_only: bool = False,
        on_wait: Callable[[], None] | None = None,
        on_damage: Callable[[DatabaseError], None] | None = None,
    ) -> None:
        self._on_damage = on_damage
        self._name = str(path) if path else ":memory:"
        self._connection = open_connection(path, read_only=read_only, on_wait=on_wait)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def record(self, trial: Trial) -> None:
        """Add a trial. It is durable when the function returns, even if the process ends.

        Raises:
            DatabaseError: the file cannot be written.
        """
        self.record_all([trial])

    def record_all(self, trials: Iterable[Trial]) -> int:
        """Add trials, all or none, and return the number of new ones.

        Raises:
            DatabaseError: the file cannot be written; none was added.
        """
        with translated(self._name):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                added = sum(map(self._insert, trials))
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        return added

    def merge(self, path: Path) -> int:
        """Add the trials of another database, and return the number of new ones.

        Raises:
            DatabaseError: a file cannot be read or written; nothing was added.
        """
        with Database(path, read_only=True, on_damage=self._on_damage) as other:
            return self.record_all(other.all_trials())

    def trials(self, problem_key: str, environment: EnvironmentRecord | None = None) -> list[Trial]:
        """Return the trials of a problem, in the order in which they were recorded.

        Args:
            problem_key: the problem.
            environment: the environment of the trials; by default, all environments.

        Raises:
            DatabaseError: the file cannot be read.
        """
        if environment is None:
            return list(self._select("WHERE p.key = ?", problem_key))
        condition = f"WHERE p.key = ? AND {_ENVIRONMENT}"
        return list(self._select(condition, problem_key, *astuple(environment)))

    def all_trials(self) -> Iterator[Trial]:
        """Yield all trials in the order in which they were recorded.

        Raises:
            DatabaseError: the file cannot be read.
        """
        return self._select("")

    def values(self, column: str) -> list[str]:
        """Return the distinct values of a field of problems or environments; see `trials` for errors."""
        table = "environment" if column in _ENVIRONMENT_COLUMNS else "problem"
        query = f"SELECT DISTINCT {column} FROM {table} ORDER BY 1"  # noqa: S608 - of our own names
        with translated(self._name):
            return [str(value) for (value,) in self._connection.execute(query)]

    def ranked(self, kind: str, target: str) -> list[tuple[Trial, ...]]:
        """Return the measurements of each problem of a kind, in each environment with a target; see `ranked_among`.

        Raises:
            DatabaseError: the file cannot be read.
        """
        return ranked_among(self._select("WHERE p.kind = ? AND e.target = ?", kind, target))

    def winners(self, kind: str, target: str) -> list[Winner]:
        """Return the winner of each problem of a kind, in each environment with a target; see `winners_among`.

        Raises:
            DatabaseError: the file cannot be read.
        """
        return winners_among(self._select("WHERE p.kind = ? AND e.target = ?", kind, target))

    # --- Reading and writing ---------------------------------------------------------------------------------

    def _select(self, condition: str, *values: object) -> Iterator[Trial]:
        """Yield trials, and report those that cannot be read once all others were yielded.

        Raises:
            DatabaseError: trials cannot be read, and nothing else was to be done about them.
        """
        lost, last = 0, 0
        with translated(self._name):
            try:
                for row in self._connection.execute(f"{_SELECT} {condition} ORDER BY t.id", values):
                    last = row[0]
                    try:
                        trial = _trial(row[1:])
                    except (ValueError, TypeError, AttributeError, RecursionError):
                        lost += 1
                    else:
                        yield trial
            except sqlite3.DatabaseError as failure:
                if is_locked(failure) or self._on_damage is None:
                    raise
                # Read what follows the damaged page, one by one.
                lost += 1
                for single in self._rest(condition, values, last):
                    if single is None:
                        lost += 1
                    else:
                        yield single
        if lost:
            error_ = database_error(
                f"database '{self._name}' is damaged: not all of its trials can be read",
                "the others are used; 'tuninglink database merge NEW FILE' saves them",
            )
            if self._on_damage is None:
                raise error_
            self._on_damage(error_)

    def _rest(self, condition: str, values: Sequence[object], last: int) -> Iterator[Trial | None]:
        """Yield the trials with numbers above `last`; None for each that cannot be read."""
        with suppress(sqlite3.DatabaseError):
            (highest,) = self._connection.execute("SELECT max(id) FROM trial").fetchone()
            single = f"{_SELECT} {condition or 'WHERE 1'} AND t.id = ?"
            for number in range(last + 1, min(int(highest or 0), last + _MOST_READ_ALONE) + 1):
                try:
                    row = self._connection.execute(single, (*values, number)).fetchone()
                    if row is not None:
                        yield _trial(row[1:])
                except (
                    sqlite3.DatabaseError,
                    ValueError,
                    TypeError,
                    AttributeError,
                    RecursionError,
                ):
                    yield None

    def _insert(self, trial: Trial) -> int:
        # A hash of the whole trial identifies it, so that merges add no duplicates.
        configuration = trial.configuration
        failure = trial.failure
        knobs = json.dumps(dict(configuration.knobs), separators=(",", ":"))
        result: tuple[Any, ...] = (
            trial.stage,
            trial.origin,
            json.dumps(trial.samples),
            trial.batch,
            trial.caches,
            json.dumps(trial.clocks_mhz),
            failure.kind.value if failure else None,
            failure.message if failure else None,
            trial.time,
        )
        problem = trial.problem
        whole = (problem.key, astuple(trial.environment), configuration.key, result)
        key = sha256(json.dumps(whole).encode()).hexdigest()
        if self._connection.execute("SELECT 1 FROM trial WHERE key = ?", (key,)).fetchone():
            return 0
        # Refer to the rows of its problem, environment and configuration, which are added if new.
        identities = (
            self._identity("problem", ("key",), astuple(problem)),
            self._identity("environment", _ENVIRONMENT_COLUMNS, astuple(trial.environment)),
            self._identity(
                "configuration",
                ("key",),
                (
                    configuration.key,
                    configuration.pipeline,
                    knobs,
                    configuration.attribute,
                    configuration.decomposition,
                ),
            ),
        )
        row = (key, *identities, *result)
        places = ", ".join("?" * len(row))
        insert = f"INSERT INTO trial VALUES (NULL, {places})"  # noqa: S608 - of question marks
        self._connection.execute(insert, row)
        return 1

    def _identity(self, table: str, unique: Sequence[str], values: tuple[object, ...]) -> int:
        """Return the number of a record; add the record if it is new."""
        condition = " AND ".join(f"{column} = ?" for column in unique)
        query = f"SELECT id FROM {table} WHERE {condition}"  # noqa: S608 - of our own names
        fetchone = self._connection.execute(query, values[: len(unique)]).fetchone()
        if fetchone is None:
            places = ", ".join("?" * len(values))
            insert = f"INSERT INTO {table} VALUES (NULL, {places}) RETURNING id"  # noqa: S608
            fetchone = self._connection.execute(insert, values).fetchone()
        return int(fetchone[0])


def winners_among(trials: Iterable[Trial]) -> list[Winner]:
    """Return the winner of each problem in each environment; the compiler's own choice may win.

    A configuration whose results were found wrong, or never compared, does not win.
    """
    winners = []
    for group in _groups(trials):
        results = results_of(group)
        ranked = _fastest_first(_latest(group))
        best = next((trial for trial in ranked if results[trial.configuration.key] == RIGHT), None)
        if best is not None:
            defaults = [trial.median for trial in ranked if trial.origin == "default"]
            winners.append(Winner(best, defaults[0] if defaults else None))
    return winners


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
        elif trial.is_compared:
            results[key] = RIGHT
        else:
            results.setdefault(key, NOT_CHECKED)
    return results | failures


def _groups(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Return the trials of each problem in each environment."""
    groups: dict[tuple[str, EnvironmentRecord], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.problem.key, trial.environment), []).append(trial)
    return list(groups.values())


def ranked_among(trials: Iterable[Trial]) -> list[tuple[Trial, ...]]:
    """Return the measured trials of each problem in each environment, the fastest first.

    Each configuration is represented by its best trial, and omitted if any of its trials failed.
    """
    latest = filter(None, map(_latest, _groups(trials)))
    return [tuple(_fastest_first(group)) for group in latest]


def _fastest_first(trials: Iterable[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: trial.median or 0.0)


def _latest(trials: Sequence[Trial]) -> list[Trial]:
    """Return the best trial of each configuration, without configurations that have a failed trial."""
    failed = {trial.configuration.key for trial in trials if trial.failure}
    ranked = sorted(trials, key=lambda trial: _STAGES.index(trial.stage))
    by_key = {trial.configuration.key: trial for trial in ranked if trial.samples}
    return [trial for key, trial in by_key.items() if key not in failed]


def _trial(row: Sequence[Any]) -> Trial:
    """Return the trial in a row.

    Raises:
        ValueError, TypeError, AttributeError, RecursionError: the row is damaged.
    """
    problem = ProblemRecord(*row[:4])
    environment = EnvironmentRecord(*row[4:13])
    configuration = ConfigurationRecord(
        row[13], row[14], current_names(json.loads(row[15])), row[16], row[17]
    )
    stage, origin, samples, batch, caches, clocks, failure, message, time = row[18:]
    texts = (*row[:11], *row[13:15], *row[16:18], origin, caches, time)
    numbers = (*row[11:13], batch, *json.loads(samples), *json.loads(clocks))
    is_sound = all(isinstance(text, str) for text in texts) and stage in _STAGES
    if not is_sound or not all(isinstance(number, int | float) for number in numbers):
        raise ValueError("a value has another type")
    return Trial(
        problem=problem,
        environment=environment,
        configuration=configuration,
        stage=stage,
        origin=origin,
        samples=tuple(json.loads(samples)),
        batch=batch,
        caches=caches,
        clocks_mhz=tuple(json.loads(clocks)),
        failure=None if failure is None else Failure(FailureKind(failure), message),
        time=time,
    )


def open_database(
    path: str, warn: Callable[[Diagnostic], None], *, read_only: bool = False
) -> Database:
    """Open a database of trials, with a remark if another process has locked it.

    Args:
        path: the file.
        warn: receives the remark, and an error about trials that cannot be read, which are left out.
        read_only: whether nothing will be recorded.

    Raises:
        DatabaseError: the file cannot be opened, belongs to another program, has a newer version, or stays locked.
    """

    def report() -> None:
        message = f"database '{path}' is locked by another process; waiting for up to {PATIENCE_SECONDS:.0f} s"
        warn(Diagnostic(Severity.REMARK, message))

    def report_damage(failure: DatabaseError) -> None:
        for diagnostic in failure.diagnostics:
            warn(diagnostic)

    return Database(Path(path), read_only=read_only, on_wait=report, on_damage=report_damage)
