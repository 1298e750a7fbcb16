"""Recorded tables and exported trials, as trials."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from tuninglink.errors import reason_for_user
from tuninglink.tuning.database.exporting import FORMAT, VERSION
from tuninglink.tuning.database.records import (
    ConfigurationRecord,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
)
from tuninglink.tuning.database.schema import database_error
from tuninglink.tuning.database.tables import (
    RecordedTable,
    RecordedTrial,
    load_table,
    problem_of_table,
)
from tuninglink.tuning.results import Failure, FailureKind


def read_trials(path: Path) -> list[Trial]:
    """Read the trials of a recorded table or of an export.

    Raises:
        TuninglinkError: the file cannot be read, or is neither.
    """
    data = _data(path)
    if isinstance(data, dict) and data.get("format") == FORMAT:
        try:
            return list(_exported(data))
        except (KeyError, TypeError, ValueError) as failure:
            reason = reason_for_user(failure)
            raise database_error(
                f"'{path}' is not an export of version {VERSION}: {reason}"
            ) from None
    return list(_recorded(load_table(path)))


def _data(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # reading it as a table says what is wrong


def _exported(data: Mapping[str, Any]) -> Iterator[Trial]:
    if data["version"] != VERSION:
        raise ValueError(f"version {data['version']}")
    problems = {problem["key"]: ProblemRecord(**problem) for problem in data["problems"]}
    for row in data["trials"]:
        failure = row["failure"]
        yield Trial(
            problem=problems[row["problem"]],
            environment=EnvironmentRecord(**row["environment"]),
            configuration=ConfigurationRecord(**row["configuration"]),
            stage=row["stage"],
            origin=row["origin"],
            samples=tuple(row["samples_us"]),
            batch=row["batch"],
            caches=row["caches"],
            clocks_mhz=tuple(row["clocks_mhz"]),
            failure=Failure(FailureKind(failure["kind"]), failure["message"]) if failure else None,
            time=row["time"],
        )


def _recorded(table: RecordedTable) -> Iterator[Trial]:
    """Yield the trials of a table. It has no samples, drivers and flags: those are empty."""
    facts = problem_of_table(table)
    key = _hash(table.program, table.target)
    problem = ProblemRecord(key, facts.kind, str(facts), table.program)
    environment = EnvironmentRecord(table.target, "", table.device, "", table.compiler, "")
    default = ConfigurationRecord(
        _hash(key, "default"),
        table.default.pipeline if table.default else "",
        table.default.knobs if table.default else {},
    )
    samples = (table.default_us,)
    yield Trial(problem, environment, default, "screen", "default", samples, time=table.date)
    for trial in table.trials:
        yield _recorded_trial(problem, environment, trial, table.date)


def _recorded_trial(
    problem: ProblemRecord, environment: EnvironmentRecord, trial: RecordedTrial, date: str
) -> Trial:
    candidate = trial.candidate
    kinds = {kind.value for kind in FailureKind}
    kind = trial.failure if trial.failure in kinds else FailureKind.RUN.value
    failed = trial.microseconds is None
    return Trial(
        problem,
        environment,
        ConfigurationRecord(_hash(candidate.key), candidate.pipeline, candidate.knobs),
        "screen",
        "space",
        () if trial.microseconds is None else (trial.microseconds,),
        failure=Failure(FailureKind(kind), trial.failure or "recorded as failed")
        if failed
        else None,
        time=date,
    )


def _hash(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()
