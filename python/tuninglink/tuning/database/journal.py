"""The journal of results: the tuner's view of the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.candidates import Candidate, CandidateOrigin
from tuninglink.tuning.database.database import (
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
    from tuninglink.tuning.candidates import CandidateSpaces, TunableTask
    from tuninglink.tuning.deciding import RaceResult, TuningSettings
    from tuninglink.tuning.devices import DeviceDescription
    from tuninglink.tuning.programs import TuningTask


SCREEN: Final = "screen"
RACE: Final = "race"
FINAL: Final = "final"
"""The stages of trials."""


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
        result: dict[str, TrialResult] = {}
        for trial in self._trials(prepared.task):
            if trial.stage == SCREEN and trial.origin != CandidateOrigin.DEFAULT.value:
                candidate = _candidate(prepared.spaces, trial)
                result[trial.configuration.key] = TrialResult(
                    candidate, trial.median, trial.failure, 0.0, spills=trial.spills
                )
            elif trial.failure is not None and trial.configuration.key in result:
                measured = result[trial.configuration.key]  # it failed in a race
                failed = replace(measured, microseconds=None, failure=trial.failure)
                result[trial.configuration.key] = failed
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
        return _recorded(*races[-1]) if races else None

    def prior(self, prepared: TunableTask) -> PriorData:
        """Return the records of the same task in other environments, and of similar tasks.

        Raises:
            DatabaseError: the database cannot be read.
        """
        task = prepared.task
        problem, environment = prepared.spaces.problem, self._environment(task)
        return PriorData.read(self.database, problem, task.key, environment)

    def record(self, prepared: TunableTask, result: TrialResult) -> None:
        """Record the result of a candidate. Failures caused by the machine are omitted, so that they are retried.

        Raises:
            DatabaseError: it cannot be written.
        """
        if result.failure is not None and result.failure.is_external:
            return
        timing = result.timing
        trial = self._trial(prepared, result.candidate, SCREEN)
        if timing is not None:
            trial = replace(
                trial,
                samples=timing.samples,
                batch=timing.batch,
                clocks_mhz=timing.clocks_mhz,
            )
        self.database.record(replace(trial, failure=result.failure, spills=result.spills))

    def record_default(self, prepared: TunableTask, microseconds: float) -> None:
        """Record the time of the compiler's choice, unless this environment has one.

        Raises:
            DatabaseError: it cannot be written.
        """
        default = prepared.spaces.default
        is_recorded = any(
            trial.stage == SCREEN and trial.configuration.key == default.key
            for trial in self._trials(prepared.task)
        )
        if default.origin is CandidateOrigin.DEFAULT and not is_recorded:
            trial = self._trial(prepared, default, SCREEN)
            self.database.record(replace(trial, samples=(microseconds,)))

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

        Raises:
            DatabaseError: it cannot be written.
        """
        trials = list(self._race_trials(prepared, finalists, race))
        if judgement is not None and judgement.correctness is Correctness.WRONG:
            default = self._trial(prepared, prepared.spaces.default, RACE)
            trials.append(replace(default, failure=Failure(FailureKind.WRONG, judgement.reason)))
        self.database.record_all(trials)

    def _race_trials(
        self, prepared: TunableTask, finalists: Sequence[TrialResult], race: RaceResult
    ) -> Iterator[Trial]:
        default = self._trial(prepared, prepared.spaces.default, RACE)
        for position, finalist in enumerate(finalists):
            trial = self._trial(prepared, finalist.candidate, RACE)
            timing, failure = race.timings.get(position), race.failures.get(position)
            if failure is not None and failure.is_external:
                failure = None
            if timing is not None or failure is not None:
                samples = timing.samples if timing is not None else ()
                yield replace(trial, samples=samples, failure=failure)
        if race.default is not None:
            yield replace(default, samples=race.default.samples, batch=race.default.batch)
        if race.winner is None or not race.confirmation:
            return
        pairs = [sample for rounds in race.confirmation for sample in rounds.samples]
        batches = race.confirmation[0].batches
        winner = self._trial(prepared, finalists[race.winner].candidate, FINAL)
        yield replace(
            winner,
            configuration=default.configuration,
            origin=default.origin,
            batch=batches[0],
            samples=tuple(pair[0] for pair in pairs),
        )
        yield replace(winner, batch=batches[1], samples=tuple(pair[1] for pair in pairs))

    def _trials(self, task: TuningTask) -> list[Trial]:
        caches = self._caches(task)
        trials = self.database.trials(task.key, self._environment(task))
        return [trial for trial in trials if trial.caches == caches]

    def _trial(self, prepared: TunableTask, candidate: Candidate, stage: str) -> Trial:
        task, problem = prepared.task, prepared.spaces.problem
        return Trial(
            ProblemRecord(task.key, problem.kind, str(problem), prepared.spaces.program),
            self._environment(task),
            ConfigurationRecord(
                candidate.key,
                candidate.pipeline,
                candidate.knobs,
                candidate.configuration,
                candidate.decomposition,
            ),
            stage,
            candidate.origin.value,
            caches=self._caches(task),
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


def _recorded(default: Trial, winner: Trial) -> RecordedRace:
    """Return a race from the records of its confirmation."""
    rounds = tuple(zip(default.samples, winner.samples, strict=False))
    # Rounds are recorded by block, and the blocks of a confirmation have equal lengths.
    bounds = [len(rounds) * position // BLOCKS for position in range(BLOCKS + 1)]
    blocks = [rounds[first:end] for first, end in pairwise(bounds)]
    return RecordedRace(winner.configuration.key, tuple(block for block in blocks if block))


def _candidate(spaces: CandidateSpaces, trial: Trial) -> Candidate:
    """Return the candidate of a trial, or a plain record of it if no space contains it any more."""
    given = {candidate.key: candidate for candidate in spaces.given}
    if trial.configuration.key in given:
        return given[trial.configuration.key]
    candidate = spaces.candidate(trial.configuration.pipeline, trial.configuration.knobs)
    return candidate or spaces.default
