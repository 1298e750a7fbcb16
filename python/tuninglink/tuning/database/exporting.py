"""Export of databases as JSON or CSV: the whole content, recorded tables, or results in T4, a community schema.

T4 is the results schema that Kernel Tuner writes (`kernel_tuner/schema/T4/1.0.0`); times are in milliseconds there.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tuninglink.files import make_directory, write_file
from tuninglink.plain_data import FLAT, to_json
from tuninglink.tuning.candidates import Candidate
from tuninglink.tuning.database.database import NOT_CHECKED, RIGHT, results_of
from tuninglink.tuning.database.records import (
    EXPORT_FORMAT,
    EXPORT_VERSION,
    ConfigurationRecord,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
)
from tuninglink.tuning.database.tables import (
    RecordedTable,
    RecordedTrial,
    recorded_candidate,
)
from tuninglink.tuning.results import FailureKind

Object = dict[str, Any]

T4_VERSION: Final = "1.0.0"

_INVALIDITY: Final = {
    FailureKind.COMPILE: "compile",
    FailureKind.COMPILE_CRASH: "compile",
    FailureKind.COMPILE_TIMEOUT: "timeout",
    FailureKind.TIMEOUT: "timeout",
    FailureKind.LOAD: "runtime",
    FailureKind.RUN: "runtime",
    FailureKind.CRASH: "runtime",
    FailureKind.WRONG: "correctness",
    FailureKind.OUT_OF_BOUNDS: "correctness",
    FailureKind.SLOWER: "constraints",
}


@dataclass(frozen=True)
class ExportedTrial:
    """A trial with its result.

    Attributes:
        trial: the trial.
        result: the correctness of the results of its configuration.
    """

    trial: Trial = field(metadata=FLAT)
    result: str


@dataclass(frozen=True)
class DatabaseExport:
    """Trials with all their data, as a JSON document.

    Attributes:
        problems: the problems, each once.
        trials: the trials.
        format: the kind of the document.
        version: the version of its form.
    """

    format: str = field(default=EXPORT_FORMAT, init=False)
    version: int = field(default=EXPORT_VERSION, init=False)
    problems: tuple[ProblemRecord, ...]
    trials: tuple[ExportedTrial, ...]


def export(trials: Iterable[Trial]) -> DatabaseExport:
    """Return trials with all their data."""
    trials = list(trials)
    results = _results(trials)
    problems = {trial.problem.key: trial.problem for trial in trials}
    exported = tuple(ExportedTrial(trial, results[_key(trial)]) for trial in trials)
    return DatabaseExport(tuple(problems.values()), exported)


def to_t4(trials: Iterable[Trial]) -> Object:
    """Return trials as T4 results. Values without a place in T4 are parameters of the configuration.

    The correctness is 1 where results were compared and right.
    """
    trials = list(trials)
    results = _results(trials)
    return {
        "schema_version": T4_VERSION,
        "results": [_t4(trial, results[_key(trial)]) for trial in trials],
    }


def to_csv(trials: Iterable[Trial]) -> str:
    """Return trials as comma-separated values: a line for each trial, and a column for each knob of any trial."""
    trials = list(trials)
    results = _results(trials)
    knobs = sorted({knob for trial in trials for knob in trial.configuration.knobs})
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_COLUMNS, *map(_knob_column, knobs)], lineterminator="\n")
    writer.writeheader()
    for trial in trials:
        values = trial.configuration.knobs.items()
        row = {_knob_column(knob): value for knob, value in values}
        writer.writerow({**_row(trial, results[_key(trial)]), **row})
    return text.getvalue()


_COLUMNS: Final = (
    *(
        "problem",
        "kind",
        "target",
        "sku",
        "device",
        "driver",
        "compiler",
        "runtime",
        "flags",
        "cores",
    ),
    *("stage", "origin", "result", "pipeline", "median_us", "samples", "batch", "caches"),
    *("failure", "message", "time", "configuration"),
)


def _row(trial: Trial, result: str) -> Object:
    environment, failure, median = trial.environment, trial.failure, trial.median
    return {
        "problem": trial.problem.description,
        "kind": trial.problem.kind,
        "target": environment.target,
        "sku": environment.sku,
        "device": environment.device,
        "driver": environment.driver,
        "compiler": environment.compiler,
        "runtime": environment.runtime,
        "flags": environment.flags,
        "cores": environment.cores,
        "stage": trial.stage,
        "origin": trial.origin,
        "result": result,
        "pipeline": trial.configuration.pipeline,
        "median_us": "" if median is None else round(median, 3),
        "samples": len(trial.samples),
        "batch": trial.batch,
        "caches": trial.caches,
        "failure": failure.kind.value if failure else "",
        "message": failure.message if failure else "",
        "time": trial.time,
        "configuration": trial.configuration.attribute,
    }


def _knob_column(knob: str) -> str:
    return f"knob {knob}"


def to_tables(
    trials: Iterable[Trial],
) -> dict[tuple[ProblemRecord, EnvironmentRecord], RecordedTable | None]:
    """Return the first measurements of each candidate, as a table for each problem and environment.

    Races and confirmations are left out, since they measure few candidates, with more samples.

    Returns:
        The tables; None where the compiler's choice, or every candidate with knobs, has no known time.
    """
    groups: dict[tuple[ProblemRecord, EnvironmentRecord], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.problem, trial.environment), []).append(trial)
    return {key: _table(*key, group) for key, group in groups.items()}


def write_tables(trials: Iterable[Trial], directory: Path) -> list[str]:
    """Write a file for each problem and environment, named after the problem; return the omitted ones.

    Raises:
        TuninglinkError: a file cannot be written.
    """
    place = make_directory(directory)
    taken: Counter[str] = Counter()
    omissions = []
    for (problem, _), table in to_tables(trials).items():
        if table is None:
            omissions.append(
                f"'{problem.description}' is left out: no time is known of the default, or of any candidate"
            )
            continue
        name = problem.description.replace(" ", "_")
        taken[name] += 1
        number = f"_{taken[name]}" if taken[name] > 1 else ""
        write_file(place / f"{name}{number}.json", to_json(table))
    return omissions


def _table(
    problem: ProblemRecord, environment: EnvironmentRecord, trials: Sequence[Trial]
) -> RecordedTable | None:
    screened = [trial for trial in trials if trial.stage == "screen"]
    defaults = [trial for trial in (*screened, *trials) if trial.origin == "default"]
    times = [default.median for default in defaults if default.median is not None]
    candidates = [trial for trial in screened if trial.origin != "default"]
    if not times or not any(
        candidate.median and candidate.configuration.knobs for candidate in candidates
    ):
        return None
    configuration = defaults[0].configuration
    results = results_of(trials)
    return RecordedTable(
        target=environment.target,
        device=environment.device,
        compiler=environment.compiler,
        date=defaults[0].time.partition("T")[0],
        program=problem.program,
        default_us=round(times[0], 3),
        trials=tuple(
            _recorded(trial, results[trial.configuration.key])
            for trial in candidates
            if trial.configuration.knobs
        ),
        default=_candidate(configuration) if configuration.knobs else None,
    )


def _recorded(trial: Trial, result: str) -> RecordedTrial:
    """Return a trial of a table; a candidate that failed later has no time."""
    candidate, median = _candidate(trial.configuration), trial.median
    if median is None or result not in (RIGHT, NOT_CHECKED):
        return RecordedTrial(candidate, None, trial.failure.kind.value if trial.failure else result)
    return RecordedTrial(candidate, round(median, 3), None)


def _candidate(configuration: ConfigurationRecord) -> Candidate:
    return recorded_candidate(configuration.pipeline, configuration.knobs)


def _key(trial: Trial) -> tuple[str, EnvironmentRecord, str]:
    return trial.problem.key, trial.environment, trial.configuration.key


def _results(trials: Sequence[Trial]) -> dict[tuple[str, EnvironmentRecord, str], str]:
    """Return the recorded verdicts on the results of each configuration."""
    groups: dict[tuple[str, EnvironmentRecord], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.problem.key, trial.environment), []).append(trial)
    return {
        (*group, configuration): result
        for group, own in groups.items()
        for configuration, result in results_of(own).items()
    }


def _t4(trial: Trial, result: str) -> Object:
    failure = trial.failure
    is_wrong = result in (FailureKind.WRONG.value, FailureKind.OUT_OF_BOUNDS.value)
    invalidity = "correctness" if is_wrong else "correct"
    milliseconds = [sample / 1000 for sample in trial.samples]
    median = trial.median
    measurements = (
        [] if median is None else [{"name": "time", "value": median / 1000, "unit": "ms"}]
    )
    return {
        "timestamp": trial.time,
        "configuration": {
            "problem": trial.problem.description,
            "device": trial.environment.device,
            "pipeline": trial.configuration.pipeline,
            **trial.configuration.knobs,
        },
        "objectives": ["time"],
        "times": {"runtimes": milliseconds},
        "invalidity": _INVALIDITY[failure.kind] if failure else invalidity,
        "correctness": int(result == RIGHT),
        "measurements": measurements,
    }
