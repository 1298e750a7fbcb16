"""Trials in files: databases as JSON or CSV, results in the schema T4, and recorded tables.

A recorded table has the trials of one problem, for judging searches without a device.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.devices import compute_units
from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.files import load_json, make_directory, write_file
from tuninglink.iree import COMPUTE_UNITS, find_root_ops
from tuninglink.mlir import error, first_error
from tuninglink.plain_data import plain, to_json
from tuninglink.programs import Failure, FailureKind
from tuninglink.spaces import current_names
from tuninglink.spaces.model import read_workload
from tuninglink.tuning.candidates import Candidate, SearchProblem
from tuninglink.tuning.database.database import (
    NOT_CHECKED,
    RIGHT,
    SCREEN,
    ConfigurationRecord,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
    database_error,
    grouped_trials,
    read_spills,
    results_of,
)

Object = dict[str, Any]

EXPORT_FORMAT: Final = "tuninglink.trials"
VERSION: Final = 1
"""The version of the form of exports and of recorded tables."""

T4_VERSION: Final = "1.0.0"


def recorded_candidate(pipeline: str, knobs: Mapping[str, int]) -> Candidate:
    """Return a candidate of a table, which keeps only its pipeline and knobs."""
    return Candidate(pipeline, knobs, json.dumps([pipeline, dict(knobs)], sort_keys=True))


def problem_of_program(program: str, device: str) -> SearchProblem:
    """Return the problem of a program, as MLIR text, on a device of this name.

    Raises:
        TuninglinkError: the program cannot be parsed, or computes nothing.
    """
    try:
        module = mlir.Module.parse(program, mlir.Context())
    except mlir.MLIRError as failure:
        message = f"the recorded program cannot be parsed: {first_error(failure)}"
        raise TuninglinkError(error(message)) from None
    result = [(root, op.function) for op in find_root_ops(module.operation) for root in op.roots]
    if not result:
        raise TuninglinkError(error("the recorded program computes nothing"))
    return SearchProblem.of(read_workload(*result[0]), {COMPUTE_UNITS: compute_units(device)})


# --- Reading -------------------------------------------------------------------------------------


def read_trials(path: Path) -> list[Trial]:
    """Read the trials of a recorded table or of an export.

    Raises:
        TuninglinkError: the file cannot be read, or is neither a recorded table nor an export.
    """
    try:
        data = load_json(path.read_bytes(), str(path))
    except OSError as failure:
        raise TuninglinkError(error(f"cannot read '{path}': {failure.strerror}")) from None
    is_export = isinstance(data, dict) and data.get("format") == EXPORT_FORMAT
    try:
        if data["version"] != VERSION:
            raise ValueError(f"version {data['version']}")
        return list(_exported_trials(data) if is_export else _trials_of_table(data))
    except (LookupError, TypeError, AttributeError, ValueError) as failure:
        form = "an export" if is_export else "a recorded table"
        reason = reason_for_user(failure)
        raise database_error(f"'{path}' is not {form} of version {VERSION}: {reason}") from None


def _exported_trials(data: Object) -> Iterator[Trial]:
    problems = {problem["key"]: ProblemRecord(**problem) for problem in data["problems"]}
    for row in data["trials"]:
        failure, configuration = row["failure"], ConfigurationRecord(**row["configuration"])
        yield Trial(
            problems[row["problem"]],
            EnvironmentRecord(**row["environment"]),
            replace(configuration, knobs=current_names(configuration.knobs)),
            *(row["stage"], row["origin"], tuple(row["samples_us"]), row["batch"], row["caches"]),
            tuple(row["clocks_mhz"]),
            Failure(FailureKind(failure["kind"]), failure["message"]) if failure else None,
            *(row["time"], read_spills(row.get("spills"))),
        )


def _trials_of_table(data: Object) -> Iterator[Trial]:
    """Yield the trials of a table, with empty drivers and flags, which a table lacks."""
    program, target, default = data["program"], data["target"], data["default"]
    facts = problem_of_program(program, data["device"])
    problem = ProblemRecord(_hash(program, target), facts.kind, str(facts), program)
    environment = EnvironmentRecord(target, "", data["device"], "", data["compiler"], "")
    knobs = default.get("knobs")
    pipeline = "" if knobs is None else default["pipeline"]
    configuration = ConfigurationRecord(
        _hash(problem.key, "default"), pipeline, current_names(knobs or {})
    )
    measured = (float(default["microseconds"]),)
    trial = Trial(problem, environment, configuration, SCREEN, "default", measured)
    trial = replace(trial, time=data["date"])
    yield trial
    kinds = {kind.value for kind in FailureKind}
    for row in data["trials"]:
        candidate = recorded_candidate(row["pipeline"], row["knobs"])
        knobs = current_names(candidate.knobs)
        configuration = ConfigurationRecord(_hash(candidate.key), candidate.pipeline, knobs)
        microseconds, reason = row.get("microseconds"), row.get("failure")
        changes: Object = {"configuration": configuration, "origin": "space"}
        if microseconds is not None:
            yield replace(trial, **changes, samples=(microseconds,))
        else:
            kind = FailureKind(reason) if reason in kinds else FailureKind.RUN
            failure = Failure(kind, reason or "recorded as failed")
            yield replace(trial, **changes, samples=(), failure=failure)


def _hash(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()


# --- Writing -------------------------------------------------------------------------------------

_COLUMNS: Final = (
    *("problem", "kind", "target", "sku", "device", "driver", "compiler", "runtime", "flags"),
    *("cores", "stage", "origin", "result", "pipeline", "median_us", "samples", "batch", "caches"),
    *("failure", "message", "time", "configuration"),
)
"""The columns of comma-separated values, before those of knobs."""

_INVALIDITY: Final = {
    **dict.fromkeys((FailureKind.COMPILE, FailureKind.COMPILE_CRASH), "compile"),
    **dict.fromkeys((FailureKind.COMPILE_TIMEOUT, FailureKind.TIMEOUT), "timeout"),
    **dict.fromkeys((FailureKind.LOAD, FailureKind.RUN, FailureKind.CRASH), "runtime"),
    **dict.fromkeys((FailureKind.WRONG, FailureKind.OUT_OF_BOUNDS), "correctness"),
    FailureKind.SLOWER: "constraints",
}


def export(trials: Iterable[Trial]) -> Object:
    """Return trials with all their data, as a JSON document."""
    trials = list(trials)
    problems = {trial.problem.key: trial.problem for trial in trials}
    return {
        "format": EXPORT_FORMAT,
        "version": VERSION,
        "problems": plain(problems.values()),
        "trials": [{**plain(trial), "result": result} for trial, result in _with_results(trials)],
    }


def to_t4(trials: Iterable[Trial]) -> Object:
    """Return trials as T4 results. Values without a place in T4 are parameters of the configuration.

    The correctness is 1 where results were compared and right.
    """
    results = []
    for trial, result in _with_results(list(trials)):
        time = {"name": "time", "value": (trial.median or 0.0) / 1000, "unit": "ms"}
        is_wrong = result in (FailureKind.WRONG.value, FailureKind.OUT_OF_BOUNDS.value)
        invalidity = "correctness" if is_wrong else "correct"
        results.append(
            {
                "timestamp": trial.time,
                "configuration": {
                    "problem": trial.problem.description,
                    "device": trial.environment.device,
                    "pipeline": trial.configuration.pipeline,
                    **trial.configuration.knobs,
                },
                "objectives": ["time"],
                "times": {"runtimes": [sample / 1000 for sample in trial.samples]},
                "invalidity": _INVALIDITY[trial.failure.kind] if trial.failure else invalidity,
                "correctness": int(result == RIGHT),
                "measurements": [time] if trial.samples else [],
            }
        )
    return {"schema_version": T4_VERSION, "results": results}


def to_csv(trials: Iterable[Trial]) -> str:
    """Return trials as comma-separated values: a line for each trial, and a column for each knob of any trial."""
    trials = list(trials)
    knobs = sorted({knob for trial in trials for knob in trial.configuration.knobs})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*_COLUMNS, *(f"knob {knob}" for knob in knobs)))
    for trial, result in _with_results(trials):
        configuration, failure = trial.configuration, trial.failure
        median = "" if trial.median is None else round(trial.median, 3)
        *conditions, _ = astuple(trial.environment)
        writer.writerow(
            (
                *(trial.problem.description, trial.problem.kind, *conditions, trial.stage),
                *(trial.origin, result, configuration.pipeline, median),
                *(len(trial.samples), trial.batch, trial.caches),
                *((failure.kind.value, failure.message) if failure else ("", "")),
                *(trial.time, configuration.attribute),
                *(configuration.knobs.get(knob, "") for knob in knobs),
            )
        )
    return text.getvalue()


def _with_results(trials: Sequence[Trial]) -> Iterator[tuple[Trial, str]]:
    """Yield trials with the recorded verdicts on the results of their configurations."""
    results = {
        (group[0].problem.key, group[0].environment, configuration): result
        for group in grouped_trials(trials)
        for configuration, result in results_of(group).items()
    }
    for trial in trials:
        yield trial, results[trial.problem.key, trial.environment, trial.configuration.key]


def write_tables(trials: Iterable[Trial], directory: Path) -> list[str]:
    """Write a file for each problem and environment, named after the problem; return the omitted ones.

    A table has the first measurements of each candidate. Races and confirmations are left out, since they measure few
    candidates, with more samples.

    Raises:
        TuninglinkError: a file cannot be written.
    """
    place = make_directory(directory)
    taken: Counter[str] = Counter()
    omissions = []
    for group in grouped_trials(trials):
        problem, environment = group[0].problem, group[0].environment
        screened = [trial for trial in group if trial.stage == SCREEN]
        defaults = [trial for trial in (*screened, *group) if trial.origin == "default"]
        times = [default.median for default in defaults if default.median is not None]
        candidates = [
            trial for trial in screened if trial.origin != "default" and trial.configuration.knobs
        ]
        if not times or not any(candidate.median for candidate in candidates):
            why = "no time is known of the default, or of any candidate"
            omissions.append(f"'{problem.description}' is left out: {why}")
            continue
        results = results_of(group)
        rows: list[Object] = []
        for trial in candidates:
            configuration, median = trial.configuration, trial.median
            result = trial.failure.kind.value if trial.failure else results[configuration.key]
            row: Object = {"pipeline": configuration.pipeline, "knobs": configuration.knobs}
            row |= {"microseconds": None, "failure": result}
            # A candidate that failed later has no time.
            if median is not None and results[configuration.key] in (RIGHT, NOT_CHECKED):
                row |= {"microseconds": round(median, 3), "failure": None}
            rows.append(row)
        choice = defaults[0].configuration
        table = {
            "target": environment.target,
            "device": environment.device,
            "compiler": environment.compiler,
            "date": defaults[0].time.partition("T")[0],
            "program": problem.program,
            "trials": rows,
            "version": VERSION,
            "default": {
                "pipeline": choice.pipeline if choice.knobs else None,
                "knobs": choice.knobs or None,
                "microseconds": round(times[0], 3),
            },
        }
        name = problem.description.replace(" ", "_")
        taken[name] += 1
        number = f"_{taken[name]}" if taken[name] > 1 else ""
        write_file(place / f"{name}{number}.json", to_json(table))
    return omissions
