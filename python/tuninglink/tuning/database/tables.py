"""Trials in files: those of an exported database, and recorded tables.

A recorded table has the trials of one problem, for judging searches without a device.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.files import load_json
from tuninglink.iree.dispatches import find_root_ops
from tuninglink.mlir.diagnostics import error, first_error
from tuninglink.plain_data import FLAT, HIDDEN, written
from tuninglink.spaces.former_names import current_names
from tuninglink.spaces.workload import read_workload
from tuninglink.tuning.candidates import Candidate, SearchProblem
from tuninglink.tuning.database.records import (
    EXPORT_FORMAT,
    EXPORT_VERSION,
    ConfigurationRecord,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
    exported_trials,
)
from tuninglink.tuning.database.schema import database_error
from tuninglink.tuning.devices.hardware import COMPUTE_UNITS, compute_units
from tuninglink.tuning.results import Failure, FailureKind

VERSION: Final = 1
"""The version of the form of recorded tables."""


def recorded_candidate(pipeline: str, knobs: Mapping[str, int]) -> Candidate:
    """Return a candidate of a table, which keeps only its pipeline and knobs."""
    return Candidate(pipeline, knobs, json.dumps([pipeline, dict(knobs)], sort_keys=True))


@dataclass(frozen=True)
class RecordedTrial:
    """A trial of a table.

    Attributes:
        candidate: the tried candidate.
        microseconds: its time, None if it failed.
        failure: the kind of failure, None if there is a time.
    """

    candidate: Candidate = field(metadata=FLAT)
    microseconds: float | None
    failure: str | None


@dataclass(frozen=True)
class DefaultTrial:
    """The compiler's choice in a table.

    Attributes:
        candidate: its configuration; None if unknown.
        microseconds: its time.
    """

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
        return _table(load_json(path.read_bytes(), str(path)))
    except OSError as failure:
        raise TuninglinkError(error(f"cannot read '{path}': {failure.strerror}")) from None
    except (LookupError, TypeError, AttributeError, ValueError) as failure:
        reason = reason_for_user(failure)
        message = f"'{path}' is not a recorded table of version {VERSION}: {reason}"
        raise TuninglinkError(error(message)) from None


def _table(data: Mapping[str, Any]) -> RecordedTable:
    if data["version"] != VERSION:
        raise ValueError(f"version {data['version']}")
    default = data["default"]
    trials = tuple(
        RecordedTrial(
            _candidate(trial["pipeline"], trial["knobs"]),
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
        default=_candidate(default["pipeline"], default["knobs"])
        if default.get("knobs") is not None
        else None,
    )


def _candidate(pipeline: str, knobs: Mapping[str, int]) -> Candidate:
    """Return a candidate of a table; the key stays that of the names in the table."""
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
    problem = read_workload(*result[0]).problem
    return SearchProblem.of(problem, {COMPUTE_UNITS: compute_units(device)})


def read_trials(path: Path) -> list[Trial]:
    """Read the trials of a recorded table or of an export.

    Raises:
        TuninglinkError: the file cannot be read, or is neither a recorded table nor an export.
    """
    data = _data(path)
    if isinstance(data, dict) and data.get("format") == EXPORT_FORMAT:
        try:
            return list(exported_trials(data))
        except (LookupError, TypeError, AttributeError, ValueError) as failure:
            reason = reason_for_user(failure)
            raise database_error(
                f"'{path}' is not an export of version {EXPORT_VERSION}: {reason}"
            ) from None
    return list(_recorded(load_table(path)))


def _data(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None  # reading it as a table reports the fault


def _recorded(table: RecordedTable) -> Iterator[Trial]:
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
