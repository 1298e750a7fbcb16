"""The tuner's view of the database: the journal of results, and prior data of the same and of related problems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import metadata
from itertools import chain, pairwise, zip_longest
from typing import Any, Final, Self

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.compiler import Phase
from tuninglink.devices import Caches, DeviceDescription
from tuninglink.errors import TuninglinkError
from tuninglink.explaining import DispatchReport
from tuninglink.mlir import thread_context
from tuninglink.programs import (
    Correctness,
    Failure,
    FailureKind,
    OutputVerdict,
    TuningTask,
    read_program,
)
from tuninglink.tuning.candidates import (
    Candidate,
    CandidateOrigin,
    CandidateSpaces,
    SearchProblem,
    TunableTask,
    distance,
    operand_bytes,
)
from tuninglink.tuning.database.database import (
    FINAL,
    RACE,
    SCREEN,
    ConfigurationRecord,
    Database,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
)
from tuninglink.tuning.database.exchange import problem_of_program, recorded_candidate
from tuninglink.tuning.deciding import BLOCK_ROUNDS, BLOCKS, RaceResult, TrialResult, TuningSettings
from tuninglink.tuning.search import MeasuredProblem

Times = Mapping[tuple[str, str, str], float]
"""Microseconds by translation_info, lowering_config and decomposition_config."""


@dataclass(frozen=True)
class RecordedRace:
    """A race of an earlier run: the key of the winner, and the times of the default and the winner by block and round."""

    winner: str
    blocks: tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True)
class Journal:
    """Records trials, and looks up those of earlier runs.

    Its methods raise a `DatabaseError` if the database cannot be read or written.
    """

    database: Database
    device: DeviceDescription
    settings: TuningSettings
    flags: Sequence[str]
    _compiler: str = field(default_factory=lambda: metadata.version("iree-base-compiler"))

    def known(self, prepared: TunableTask) -> Mapping[str, TrialResult]:
        """Return the results of a task's candidates in this environment, by their keys."""
        spaces, result = prepared.spaces, dict[str, TrialResult]()
        given = {candidate.key: candidate for candidate in spaces.given}
        for trial in self._trials(prepared.task):
            key, configuration = trial.configuration.key, trial.configuration
            if trial.stage == SCREEN and trial.origin != CandidateOrigin.DEFAULT.value:
                candidate = given.get(key) or spaces.candidate(
                    configuration.pipeline, configuration.knobs
                )
                result[key] = TrialResult(
                    candidate or spaces.default,  # a record, if no space contains it any more
                    *(trial.median, trial.failure, 0.0),
                    spills=trial.spills,
                )
            elif trial.failure is not None and key in result:
                # It failed in a race.
                result[key] = replace(result[key], microseconds=None, failure=trial.failure)
        return result

    def race(self, prepared: TunableTask, winner: str | None = None) -> RecordedRace | None:
        """Return the last finished race of a task in this environment that confirmed a winner, by its key, or any."""
        finals = [trial for trial in self._trials(prepared.task) if trial.stage == FINAL]
        races = [
            (default, best)
            for default, best in zip(finals[::2], finals[1::2], strict=False)
            if default.configuration.key == prepared.spaces.default.key
            and winner in (None, best.configuration.key)
        ]
        if not races:
            return None
        default, best = races[-1]
        rounds = tuple(zip(default.samples, best.samples, strict=False))
        # Rounds are recorded by block, and most blocks of a confirmation have equal lengths.
        count = max(BLOCKS, len(rounds) // BLOCK_ROUNDS)
        bounds = [len(rounds) * position // count for position in range(count + 1)]
        blocks = (rounds[first:end] for first, end in pairwise(bounds))
        return RecordedRace(best.configuration.key, tuple(filter(None, blocks)))

    def prior(self, prepared: TunableTask) -> PriorData:
        """Return the records of the same task in other environments, and of similar tasks."""
        task = prepared.task
        environment, _ = self._conditions(task)
        return PriorData.read(self.database, prepared.spaces.problem, task.key, environment)

    def record(self, prepared: TunableTask, result: TrialResult) -> None:
        """Record the result of a candidate. Failures caused by the machine are omitted, so that they are retried."""
        if result.failure is not None and result.failure.is_external:
            return
        timing = result.timing
        trial = self._trial(
            prepared, result.candidate, SCREEN, failure=result.failure, spills=result.spills
        )
        if timing is not None:
            trial = replace(
                trial, samples=timing.samples, batch=timing.batch, clocks_mhz=timing.clocks_mhz
            )
        self.database.record(trial)

    def record_default(self, prepared: TunableTask, microseconds: float) -> None:
        """Record the time of the compiler's choice, unless this environment has one."""
        default = prepared.spaces.default
        is_recorded = any(
            trial.stage == SCREEN and trial.configuration.key == default.key
            for trial in self._trials(prepared.task)
        )
        if default.origin is CandidateOrigin.DEFAULT and not is_recorded:
            self.database.record(self._trial(prepared, default, SCREEN, samples=(microseconds,)))

    def record_race(
        self,
        prepared: TunableTask,
        finalists: Sequence[TrialResult],
        race: RaceResult,
        judgement: OutputVerdict | None = None,
    ) -> None:
        """Record a race, and the verdict of the reference on the compiler's choice."""
        default, trials = prepared.spaces.default, []
        for position, finalist in enumerate(finalists):
            timing, failure = race.timings.get(position), race.failures.get(position)
            result: dict[str, Any] = {"samples": timing.samples} if timing is not None else {}
            if failure is not None and not failure.is_external:
                result["failure"] = failure
            if result:
                trials.append(self._trial(prepared, finalist.candidate, RACE, **result))
        if race.default is not None:
            samples, batch = race.default.samples, race.default.batch
            trials.append(self._trial(prepared, default, RACE, samples=samples, batch=batch))
        # The confirmation: the default, then the winner.
        if race.winner is not None and race.confirmation:
            rounds = zip(
                *(pair for part in race.confirmation for pair in part.samples), strict=True
            )
            pair = default, finalists[race.winner].candidate
            batches = race.confirmation[0].batches
            for candidate, samples, batch in zip(pair, rounds, batches, strict=True):
                trials.append(self._trial(prepared, candidate, FINAL, samples=samples, batch=batch))
        if judgement is not None and judgement.correctness is Correctness.WRONG:
            wrong = Failure(FailureKind.WRONG, judgement.reason)
            trials.append(self._trial(prepared, default, RACE, failure=wrong))
        self.database.record_all(trials)

    def _trials(self, task: TuningTask) -> list[Trial]:
        environment, caches = self._conditions(task)
        trials = self.database.trials(task.key, environment)
        return [trial for trial in trials if trial.caches == caches]

    def _trial(
        self, prepared: TunableTask, candidate: Candidate, stage: str, **result: Any
    ) -> Trial:
        task, problem = prepared.task, prepared.spaces.problem
        environment, caches = self._conditions(task)
        configuration = ConfigurationRecord(
            *(candidate.key, candidate.pipeline, candidate.knobs),
            *(candidate.configuration, candidate.decomposition),
        )
        return Trial(
            ProblemRecord(task.key, problem.kind, str(problem), prepared.spaces.program),
            *(environment, configuration, stage, candidate.origin.value),
            caches=caches,
            **result,
        )

    def _conditions(self, task: TuningTask) -> tuple[EnvironmentRecord, str]:
        """Return the environment of a task, and the state of the caches in which it is measured."""
        device, target, caches = self.device, task.target, self.settings.caches
        if caches is Caches.PROGRAM and task.layout.program_sets == 1:
            caches = Caches.WARM
        environment = EnvironmentRecord(
            target=target.architecture or target.family,
            sku=target.sku or "",
            device=device.name,
            driver=" ".join(filter(None, (device.driver, device.driver_version))),
            compiler=self._compiler,
            runtime=device.runtime,
            flags=" ".join(self.flags),
            cores=device.cores,
        )
        return environment, caches.value


# --- Prior data: times of a program's dispatches, and trials of the same problem elsewhere and of related problems


@dataclass(frozen=True)
class PriorData:
    """Trials of the same problem in other environments, and of problems of its kind for its target.

    Attributes:
        same: the trials of the problem in other environments, the fastest first.
        others: the trials of each other problem by environment, the fastest first; the nearest problems first.
    """

    problem: SearchProblem
    same: tuple[Trial, ...]
    others: tuple[tuple[Trial, ...], ...]

    @classmethod
    def read(
        cls, database: Database, problem: SearchProblem, key: str, environment: EnvironmentRecord
    ) -> Self:
        """Read the prior data of a problem; measurements in the environment of tuning are none."""
        same: list[Trial] = []
        others: list[tuple[Trial, ...]] = []
        for group in database.ranked(problem.kind, environment.target):
            if group[0].problem.key != key:
                others.append(group)
            elif group[0].environment != environment:
                same += group
        same.sort(key=lambda trial: trial.median or 0.0)
        others.sort(key=lambda trials: distance(str(problem), trials[0].problem.description))
        return cls(problem, tuple(same), tuple(others))

    def winners(self, candidates: CandidateSpaces) -> list[Candidate]:
        """Return the fastest valid configurations of the same problem, then those of each other problem."""
        trials = chain(self.same, filter(None, chain.from_iterable(zip_longest(*self.others))))
        return _valid(candidates, [trial.configuration for trial in trials], most=8)

    def winners_elsewhere(self, candidates: CandidateSpaces) -> list[Candidate]:
        """Return the fastest valid configurations of the same problem in other environments."""
        return _valid(candidates, [trial.configuration for trial in self.same], most=3)

    def measured(self) -> list[MeasuredProblem]:
        """Return the problems to learn from: those with a stored program and operands of the same width."""
        result: list[MeasuredProblem] = []
        left = 3000  # trials, from which a model learns in about a second
        for group in filter(None, (self.same, *self.others)):
            times = tuple(
                (recorded_candidate(configuration.pipeline, configuration.knobs), trial.median)
                for trial in group[:left]
                if (configuration := trial.configuration).knobs and trial.median
            )
            if len(times) < 8:  # noqa: PLR2004 - they do not show which candidates of a problem are fast
                continue
            with suppress(TuninglinkError):  # older databases keep the names of programs only
                problem = problem_of_program(group[0].problem.program, group[0].environment.device)
                if operand_bytes(problem) == operand_bytes(self.problem):
                    result.append(MeasuredProblem(problem, times))
                    left -= len(times)
        return result


def _valid(
    candidates: CandidateSpaces, others: Iterable[ConfigurationRecord | Candidate], most: int
) -> list[Candidate]:
    """Return the first valid candidates with the knobs of others."""
    result: dict[str, Candidate] = {}
    for other in others:
        candidate = candidates.candidate(other.pipeline, other.knobs)
        if candidate is not None:
            result.setdefault(candidate.key, candidate)
        if len(result) == most:
            break
    return list(result.values())


@dataclass(frozen=True)
class RecordedTimes:
    """The recorded times of the dispatches of a program."""

    by_dispatch: Mapping[str, Times]
    device: str = ""

    def times(self, dispatch: DispatchReport) -> tuple[float | None, float | None]:
        if len(dispatch.operations) != 1:
            return None, None
        (operation,) = dispatch.operations
        recorded = self.by_dispatch.get(dispatch.name, {})
        time, default = (
            recorded.get((text.translation_info, text.lowering_config, text.decomposition_config))
            if text
            else None
            for text in (operation.configuration, operation.compilers_choice)
        )
        return time, default


def recorded_times(
    database: Database, program: str, flags: Sequence[str], first: Phase
) -> RecordedTimes:
    """Look up the dispatches of a program, a path; raise a `CompileError` if it does not compile.

    Process-wide flags of the compiler must already be set, and the program has gone through the `first` phase already.
    Times of several environments with the same problem are not distinguished: the latest trial counts.
    """
    times: dict[str, Times] = {}
    devices = set()
    for task in read_program(program, flags, first=first).tasks:
        own: dict[tuple[str, str, str], float] = {}
        for trial in database.trials(task.key):
            devices.add(trial.environment.device)
            attribute = trial.configuration.attribute
            info = mlir.Attribute.parse(attribute, thread_context()) if attribute else None
            if trial.median is not None and isinstance(info, iree_codegen.CompilationInfoAttr):
                parts = str(info.translation_info), str(info.lowering_config)
                own[(*parts, trial.configuration.decomposition)] = trial.median
        times |= dict.fromkeys(task.dispatches, own)
    return RecordedTimes(times, devices.pop() if len(devices) == 1 else "")


MOST_RELATED: Final = 8
"""The number of candidates of other tasks with which a task begins."""


@dataclass(frozen=True)
class RelatedTrials:
    """The best right candidates of the tasks so far, by problem.

    Tasks are related if their operations, element types and roles of loops are equal: a configuration that is correct
    for one is most likely correct for the others. Candidates remain valid unless their tiles exceed the sizes.
    """

    _fast: dict[str, tuple[SearchProblem, tuple[Candidate, ...]]] = field(default_factory=dict)

    def add(self, problem: SearchProblem, candidates: Sequence[Candidate]) -> None:
        """Add the candidates of a task, beginning with the one whose output is right."""
        self._fast[str(problem)] = problem, tuple(candidates)

    def candidates(self, problem: SearchProblem, valid: CandidateSpaces) -> list[Candidate]:
        """Return candidates of the nearest related tasks that are valid for another problem."""
        groups = sorted(
            (distance(str(problem), str(other)), number, candidates)
            for number, (other, candidates) in enumerate(self._fast.values())
            if other.roles == problem.roles
        )
        near = [candidates for far, _, candidates in groups if math.isfinite(far)][:3]
        ranked = filter(None, chain.from_iterable(zip_longest(*near)))
        return _valid(valid, ranked, MOST_RELATED)
