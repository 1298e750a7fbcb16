"""Trials in files: those of an exported database, and recorded tables.

A recorded table has the trials of one problem, for judging searches without a device.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.files import load_json, make_directory, write_file
from tuninglink.iree import find_root_ops
from tuninglink.mlir import error, first_error
from tuninglink.plain_data import FLAT, HIDDEN, to_json, written
from tuninglink.spaces import current_names
from tuninglink.spaces.model import read_workload
from tuninglink.tuning.candidates import Candidate, SearchProblem
from tuninglink.tuning.database.database import (
    EXPORT_FORMAT,
    EXPORT_VERSION,
    NOT_CHECKED,
    RIGHT,
    ConfigurationRecord,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
    database_error,
    exported_trials,
    grouped_trials,
    results_of,
)
from tuninglink.tuning.devices import COMPUTE_UNITS, compute_units
from tuninglink.tuning.programs import Failure, FailureKind

VERSION: Final = 1
"""The version of the form of recorded tables."""


def recorded_candidate(pipeline: str, knobs: Mapping[str, int]) -> Candidate:
    """Return a candidate of a table, which keeps only its pipeline and knobs."""
    return Candidate(pipeline, knobs, json.dumps([pipeline, dict(knobs)], sort_keys=True))


@dataclass(frozen=True)
class RecordedTrial:
    """A trial of a table."""

    candidate: Candidate = field(metadata=FLAT)
    microseconds: float | None
    failure: str | None


@dataclass(frozen=True)
class DefaultTrial:
    """The compiler's choice in a table."""

    candidate: Candidate | None = field(metadata=FLAT)
    microseconds: float


@dataclass(frozen=True)
class RecordedTable:
    """The trials of one problem on one device.

    Attributes:
        target: the architecture that was compiled for.
        device: where it ran.
        compiler: the version of the compiler.
        date: the date of the measurements.
        program: the program, as MLIR text.
        default_us: the time of the compiler's own choice.
        trials: the trials, in chronological order.
        default: the compiler's own choice; None if it is unknown or in no space.
        version: the version of the form.
    """

    target: str
    device: str
    compiler: str
    date: str
    program: str
    default_us: float = field(metadata=HIDDEN)
    trials: tuple[RecordedTrial, ...]
    default: Candidate | None = field(default=None, metadata=HIDDEN)
    version: int = field(default=VERSION, init=False)

    @property
    def best_us(self) -> float:
        """The best time of a trial."""
        return min(trial.microseconds for trial in self.trials if trial.microseconds is not None)

    @written("default")
    def default_trial(self) -> DefaultTrial:
        """Return the compiler's choice with its time."""
        return DefaultTrial(self.default, self.default_us)


def load_table(path: Path) -> RecordedTable:
    """Read a recorded table.

    Raises:
        TuninglinkError: the file cannot be read, or is not a recorded table.
    """
    try:
        data = load_json(path.read_bytes(), str(path))
        if data["version"] != VERSION:
            raise ValueError(f"version {data['version']}")
        default = data["default"]
        trials = tuple(
            RecordedTrial(
                _candidate_of_table(trial["pipeline"], trial["knobs"]),
                trial.get("microseconds"),
                trial.get("failure"),
            )
            for trial in data["trials"]
        )
        return RecordedTable(
            target=data["target"],
            device=data["device"],
            compiler=data["compiler"],
            date=data["date"],
            program=data["program"],
            default_us=float(default["microseconds"]),
            trials=trials,
            default=_candidate_of_table(default["pipeline"], default["knobs"])
            if default.get("knobs") is not None
            else None,
        )
    except OSError as failure:
        raise TuninglinkError(error(f"cannot read '{path}': {failure.strerror}")) from None
    except (LookupError, TypeError, AttributeError, ValueError) as failure:
        reason = reason_for_user(failure)
        message = f"'{path}' is not a recorded table of version {VERSION}: {reason}"
        raise TuninglinkError(error(message)) from None


def _candidate_of_table(pipeline: str, knobs: Mapping[str, int]) -> Candidate:
    return replace(recorded_candidate(pipeline, knobs), knobs=current_names(knobs))


class RecordedPool:
    """The candidates of a recorded table, without their times, for a search that the table evaluates.

    Args:
        problem: what the program computes.
        table: the table.
    """

    given = ()

    def __init__(self, problem: SearchProblem, table: RecordedTable) -> None:
        self.problem = problem
        self.default = table.default
        self._candidates = [trial.candidate for trial in table.trials]

    def candidate(self, pipeline: str, knobs: Mapping[str, int]) -> Candidate | None:
        """Return the candidate of the table with these knobs; None if the table has none."""
        target = recorded_candidate(pipeline, knobs)
        return next(
            (candidate for candidate in self._candidates if candidate.key == target.key), None
        )

    def sample(self, n: int, seed: int) -> Sequence[Candidate]:
        """Return up to `n` candidates in random order."""
        chance = random.Random(seed)  # noqa: S311 - no secret
        return chance.sample(self._candidates, min(n, len(self._candidates)))

    def begin_sample(self, n: int, seed: int) -> bool:  # noqa: ARG002 - always the same
        """Return True, since a draw takes no time."""
        return True

    def neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        """Return the candidates of the same pipeline with one different knob, then those with two."""
        result = [
            (distance, other)
            for other in self._candidates
            if 0 < (distance := _distance(candidate, other)) <= _NEAR
        ]
        return [neighbor for _, neighbor in sorted(result, key=lambda pair: pair[0])]

    def variants(self, candidate: Candidate) -> Sequence[Candidate]:  # noqa: ARG002 - tables have no options
        """Return no candidates, since options of code generation were not recorded."""
        return ()


_NEAR: Final = 2


def _distance(one: Candidate, other: Candidate) -> int:
    if one.pipeline != other.pipeline or one.knobs.keys() != other.knobs.keys():
        return _NEAR + 1
    return sum(value != other.knobs[name] for name, value in one.knobs.items())


def problem_of_table(table: RecordedTable) -> SearchProblem:
    """Return the problem of a table's program.

    Raises:
        TuninglinkError: the program cannot be parsed, or computes nothing.
    """
    return problem_of_program(table.program, table.device)


def problem_of_program(program: str, device: str) -> SearchProblem:
    """Return the problem of a program, as MLIR text, on a device of this name."""
    try:
        module = mlir.Module.parse(program, mlir.Context())
    except mlir.MLIRError as failure:
        message = f"the recorded program cannot be parsed: {first_error(failure)}"
        raise TuninglinkError(error(message)) from None
    result = [(root, op.function) for op in find_root_ops(module.operation) for root in op.roots]
    if not result:
        raise TuninglinkError(error("the recorded program computes nothing"))
    problem = read_workload(*result[0]).problem
    return SearchProblem.of(problem, {COMPUTE_UNITS: compute_units(device)})


def read_trials(path: Path) -> list[Trial]:
    """Read the trials of a recorded table or of an export.

    Raises:
        TuninglinkError: the file cannot be read, or is neither a recorded table nor an export.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        data = None  # reading it as a table reports the fault
    if isinstance(data, dict) and data.get("format") == EXPORT_FORMAT:
        try:
            return list(exported_trials(data))
        except (LookupError, TypeError, AttributeError, ValueError) as failure:
            reason = reason_for_user(failure)
            raise database_error(
                f"'{path}' is not an export of version {EXPORT_VERSION}: {reason}"
            ) from None
    return list(_trials_of_table(load_table(path)))


def _trials_of_table(table: RecordedTable) -> Iterator[Trial]:
    """Yield the trials of a table, with empty samples, drivers and flags, which a table lacks."""
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
        candidate = trial.candidate
        kinds = {kind.value for kind in FailureKind}
        kind = trial.failure if trial.failure in kinds else FailureKind.RUN.value
        failed = trial.microseconds is None
        yield Trial(
            problem,
            environment,
            ConfigurationRecord(_hash(candidate.key), candidate.pipeline, candidate.knobs),
            "screen",
            "space",
            () if trial.microseconds is None else (trial.microseconds,),
            failure=Failure(FailureKind(kind), trial.failure or "recorded as failed")
            if failed
            else None,
            time=table.date,
        )


def _hash(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()


# --- Export of databases as JSON or CSV: the whole content, recorded tables, or results in T4, a community schema

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
    """A trial with its result."""

    trial: Trial = field(metadata=FLAT)
    result: str


@dataclass(frozen=True)
class DatabaseExport:
    """Trials with all their data, as a JSON document."""

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
    *("problem", "kind", "target", "sku", "device", "driver", "compiler", "runtime"),
    *("flags", "cores"),
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
    """
    return {
        (group[0].problem, group[0].environment): _table(group) for group in grouped_trials(trials)
    }


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


def _table(trials: Sequence[Trial]) -> RecordedTable | None:
    problem, environment = trials[0].problem, trials[0].environment
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
    return {
        (group[0].problem.key, group[0].environment, configuration): result
        for group in grouped_trials(trials)
        for configuration, result in results_of(group).items()
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
