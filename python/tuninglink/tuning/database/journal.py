"""The journal of results: the tuner's view of the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tuninglink.tuning.candidates import Candidate, CandidateOrigin
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
from tuninglink.tuning.database.prior_data import PriorData
from tuninglink.tuning.deciding import BLOCKS, TrialResult
from tuninglink.tuning.devices import Caches
from tuninglink.tuning.programs import Correctness, Failure, FailureKind, OutputVerdict

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import TunableTask
    from tuninglink.tuning.deciding import RaceResult, TuningSettings
    from tuninglink.tuning.devices import DeviceDescription
    from tuninglink.tuning.programs import TuningTask


@dataclass(frozen=True)
class RecordedRace:
    """A race finished by an earlier run.

    Attributes:
        winner: the key of the confirmed configuration.
        blocks: the times of the default and of the winner, by block and round.
    """

    winner: str
    blocks: tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True)
class Journal:
    """Records trials, and looks up those of earlier runs.

    Its methods raise a `DatabaseError` if the database cannot be read or written.

    Attributes:
        database: the database.
        device: the measuring device.
        settings: the settings of tuning.
        flags: the compiler flags.
    """

    database: Database
    device: DeviceDescription
    settings: TuningSettings
    flags: Sequence[str]
    _compiler: str = field(default_factory=lambda: metadata.version("iree-base-compiler"))

    def known(self, prepared: TunableTask) -> Mapping[str, TrialResult]:
        """Return the results of a task's candidates in this environment, by their keys."""
        spaces = prepared.spaces
        given = {candidate.key: candidate for candidate in spaces.given}
        result: dict[str, TrialResult] = {}
        for trial in self._trials(prepared.task):
            key, configuration = trial.configuration.key, trial.configuration
            if trial.stage == SCREEN and trial.origin != CandidateOrigin.DEFAULT.value:
                candidate = given.get(key)
                if candidate is None:
                    candidate = spaces.candidate(configuration.pipeline, configuration.knobs)
                result[key] = TrialResult(
                    candidate or spaces.default,  # a record, if no space contains it any more
                    trial.median,
                    trial.failure,
                    0.0,
                    spills=trial.spills,
                )
            elif trial.failure is not None and key in result:
                # It failed in a race.
                result[key] = replace(result[key], microseconds=None, failure=trial.failure)
        return result

    def race(self, prepared: TunableTask, winner: str | None = None) -> RecordedRace | None:
        """Return the last finished race of a task against its default in this environment.

        Args:
            prepared: the task.
            winner: the key of the configuration that was confirmed; None for any.
        """
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
        # Rounds are recorded by block, and the blocks of a confirmation have equal lengths.
        bounds = [len(rounds) * position // BLOCKS for position in range(BLOCKS + 1)]
        blocks = (rounds[first:end] for first, end in pairwise(bounds))
        return RecordedRace(best.configuration.key, tuple(filter(None, blocks)))

    def prior(self, prepared: TunableTask) -> PriorData:
        """Return the records of the same task in other environments, and of similar tasks."""
        task = prepared.task
        problem, environment = prepared.spaces.problem, self._environment(task)
        return PriorData.read(self.database, problem, task.key, environment)

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
        """Record a race.

        Args:
            prepared: the task.
            finalists: the finalists.
            race: the result of the race.
            judgement: the verdict of the reference on the compiler's choice; None without one.
        """
        default = prepared.spaces.default
        trials = []
        for position, finalist in enumerate(finalists):
            timing, failure = race.timings.get(position), race.failures.get(position)
            if failure is not None and failure.is_external:
                failure = None
            if timing is not None or failure is not None:
                samples = timing.samples if timing is not None else ()
                trials.append(
                    self._trial(
                        prepared, finalist.candidate, RACE, samples=samples, failure=failure
                    )
                )
        if race.default is not None:
            samples, batch = race.default.samples, race.default.batch
            trials.append(self._trial(prepared, default, RACE, samples=samples, batch=batch))
        # The confirmation: the default, then the winner.
        if race.winner is not None and race.confirmation:
            pairs = [sample for rounds in race.confirmation for sample in rounds.samples]
            pair = default, finalists[race.winner].candidate
            for number, candidate in enumerate(pair):
                batch = race.confirmation[0].batches[number]
                samples = tuple(times[number] for times in pairs)
                trials.append(self._trial(prepared, candidate, FINAL, samples=samples, batch=batch))
        if judgement is not None and judgement.correctness is Correctness.WRONG:
            wrong = Failure(FailureKind.WRONG, judgement.reason)
            trials.append(self._trial(prepared, default, RACE, failure=wrong))
        self.database.record_all(trials)

    def _trials(self, task: TuningTask) -> list[Trial]:
        caches = self._caches(task)
        trials = self.database.trials(task.key, self._environment(task))
        return [trial for trial in trials if trial.caches == caches]

    def _trial(
        self, prepared: TunableTask, candidate: Candidate, stage: str, **result: Any
    ) -> Trial:
        task, problem = prepared.task, prepared.spaces.problem
        configuration = ConfigurationRecord(
            candidate.key,
            candidate.pipeline,
            candidate.knobs,
            candidate.configuration,
            candidate.decomposition,
        )
        return Trial(
            ProblemRecord(task.key, problem.kind, str(problem), prepared.spaces.program),
            self._environment(task),
            configuration,
            stage,
            candidate.origin.value,
            caches=self._caches(task),
            **result,
        )

    def _caches(self, task: TuningTask) -> str:
        """Return the state of the caches in which a task is measured."""
        caches = self.settings.caches
        if caches is Caches.PROGRAM and task.layout.program_sets == 1:
            caches = Caches.WARM
        return caches.value

    def _environment(self, task: TuningTask) -> EnvironmentRecord:
        device, target = self.device, task.target
        return EnvironmentRecord(
            target=target.architecture or target.family,
            sku=target.sku or "",
            device=device.name,
            driver=" ".join(filter(None, (device.driver, device.driver_version))),
            compiler=self._compiler,
            runtime=device.runtime,
            flags=" ".join(self.flags),
            cores=device.cores,
        )
