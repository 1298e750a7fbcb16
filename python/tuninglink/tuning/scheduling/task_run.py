"""One task while it is tuned, in turns: its search, its trials, and how they progress."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.candidates.candidate import CandidateOrigin
from tuninglink.tuning.deciding.contestants import Contestant
from tuninglink.tuning.results.failures import Failure
from tuninglink.tuning.results.task_result import Ending, TaskOutcome, TaskResult, TrialResult
from tuninglink.tuning.scheduling.budget import Budget
from tuninglink.tuning.scheduling.exploration import Alternating, Exploration, Overlapping, Schedule
from tuninglink.tuning.scheduling.prices import least_race_seconds, task_race_seconds
from tuninglink.tuning.scheduling.progress import Progress
from tuninglink.tuning.scheduling.task_race import TaskRace
from tuninglink.tuning.scheduling.task_tuner import FINALISTS, best_trials, contestant
from tuninglink.tuning.scheduling.timeline import Stage
from tuninglink.tuning.search import search_named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.tuning.candidates.tunable import TunableTask
    from tuninglink.tuning.deciding.defaults import MeasuredTask
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner
    from tuninglink.tuning.search import Search

_COMPILE_FACTOR: Final = 10.0
_LEAST_COMPILE_SECONDS: Final = 5.0
"""A candidate may compile this many times as long as the default, and at least so many seconds."""

_LEAST_BATCH: Final = 8
"""Candidates that are compiled at once where measuring has to wait for that."""

_IMAGES: Final = 2 * FINALISTS
"""How many trials of a task keep their images: the best ones, of which some may fail in the race."""

_RACING: Final = 0.3
"""The part of the time of a task that is tuned alone which is kept for the race."""

_LEAST_PRICE: Final = 0.5
"""A race begins if this part of its price is left."""

_RESERVED: Final = 3
"""Time is kept for so many finalists; more of them race if there is time."""


class TaskRun:
    """A task that is tuned in turns, and decided in the end.

    Args:
        tuner: compiles and measures.
        prepared: the task.
        measured: the compiler's choice.

    Attributes:
        prepared: the task.
        measured: the compiler's choice.
        default_us: its time now.
        progress: how the best time falls.
        trials: all trials, in order. The best ones have their images.

    Raises:
        DeviceError: the device is gone.
        DatabaseError: a result cannot be kept.
    """

    def __init__(self, tuner: TaskTuner, prepared: TunableTask, measured: MeasuredTask) -> None:
        self._tuner = tuner
        self.prepared = prepared
        self.measured = measured
        self.default_us = self._measure_default()
        self.progress = Progress(self.default_us)
        self.trials: list[TrialResult] = []
        self._budget = Budget()
        self._winners: set[str] = set()
        self._since = 0.0
        journal = tuner.journal
        if journal:
            journal.record_default(prepared, self.default_us)
        seconds = max(_LEAST_COMPILE_SECONDS, _COMPILE_FACTOR * measured.compile_seconds)
        self._exploration = Exploration(
            prepared.template,
            tuner.compiler,
            tuner.devices,
            self._search(),
            self._schedule(),
            compile_seconds=min(seconds, tuner.settings.timeout),
            default_us=self.default_us,
            known=journal.known(prepared) if journal else {},
            report=self._report,
            timeline=tuner.timeline,
        )
        if tuner.references and not tuner.is_local:
            tuner.references.begin(
                prepared.task
            )  # where the processors measure, it waits for the race
        tuner.listener.begun(prepared, measured.share, self.default_us)

    # --- Exploring -------------------------------------------------------------------------------------------

    def explore(
        self,
        budget: Budget,
        seconds: float = math.inf,
        meanwhile: Callable[[], bool] = lambda: False,
    ) -> None:
        """Tries candidates for one turn, which ends with the budget, or after some time between two batches.

        Args:
            budget: the time, and the trials of all turns.
            seconds: the time after which no further batch begins.
            meanwhile: see `Exploration.run`.

        Raises:
            DeviceError: the device is gone.
            DatabaseError: a result cannot be kept.
        """
        self._budget, self._since = budget, time.monotonic()
        end = self._since + seconds

        def is_done() -> bool:
            return self.progress.has_converged or (
                time.monotonic() > end and self._exploration.is_between_batches
            )

        self._exploration.run(budget, is_done, meanwhile)
        self._spend()

    def ending(self, budget: Budget) -> Ending | None:
        """Returns why no more candidates are tried; None if more might be.

        Args:
            budget: what limits the trials of all turns.
        """
        if self._exploration.is_exhausted:
            if not self.trials:
                return Ending.NO_CANDIDATES
            failed = all(each.failure is not None for each in self.trials)
            return Ending.ALL_FAILED if failed else Ending.EXHAUSTED
        if self.progress.has_converged:
            return Ending.CONVERGED
        if budget.trials is not None and len(self.trials) >= budget.trials:
            return Ending.TRIALS
        return None

    def _search(self) -> Search:
        """Returns a search that knows what was recorded of this task elsewhere and of similar ones."""
        tuner, spaces = self._tuner, self.prepared.spaces
        prior = tuner.journal.prior(self.prepared) if tuner.journal else None
        if prior:
            self._winners = {each.key for each in prior.winners_elsewhere(spaces)}
        return search_named(tuner.settings.search)(
            spaces,
            tuner.settings.seed,
            self.default_us,
            [(each, None) for each in prior.winners(spaces)] if prior else [],
            prior.measured() if prior else [],
        )

    def _schedule(self) -> Schedule:
        jobs = self._tuner.compiler.jobs
        if self._tuner.is_local:
            return Alternating(max(_LEAST_BATCH, jobs))
        return Overlapping(2 * jobs)

    def _measure_default(self) -> float:
        with self._tuner.timeline.stage(Stage.DEFAULTS):
            microseconds = self._tuner.devices.measure_default(self.measured.benchmark)
        return self.measured.default_us if isinstance(microseconds, Failure) else microseconds

    def _report(self, trial: TrialResult) -> None:
        tuner, prepared = self._tuner, self.prepared
        is_new = trial.seconds > 0
        is_given = trial.candidate.origin is CandidateOrigin.SPEC
        trial = replace(trial, always_races=is_given or trial.candidate.key in self._winners)
        self._spend()
        self.progress.add(trial.microseconds)
        self.trials.append(trial)
        self._drop_image()
        if is_new and tuner.journal:
            tuner.journal.record(prepared, trial)
        tuner.listener.tried(prepared, trial, self._budget)
        if is_new and trial.failure:
            tuner.keep_failure(prepared, trial.candidate, trial.failure)

    def _spend(self) -> None:
        """Counts the time of this turn that was not counted yet."""
        now = time.monotonic()
        self.progress.seconds += now - self._since
        self._since = now

    def _drop_image(self) -> None:
        """Drops the image of the slowest of the trials that have one, if they are too many."""
        kept = [
            position
            for position, each in enumerate(self.trials)
            if each.benchmark is not None and not each.always_races
        ]
        if len(kept) > _IMAGES:
            slowest = max(kept, key=lambda each: self.trials[each].microseconds or float("inf"))
            self.trials[slowest] = replace(self.trials[slowest], benchmark=None)

    # --- Deciding --------------------------------------------------------------------------------------------

    @property
    def race_seconds(self) -> float:
        """The time to keep for the race: the price for a few of the best, or for one such as the default at first."""
        if len(self.trials) < _RESERVED:
            return least_race_seconds(self.measured)
        return self._race_seconds(best_trials(self.trials, self.default_us)[:_RESERVED])

    def _race_seconds(self, ranked: Sequence[TrialResult]) -> float:
        """Returns the price of a race of some of the best candidates."""
        benchmark = self.measured.benchmark
        finalists = [contestant(each, benchmark, self.default_us) for each in ranked]
        return task_race_seconds(Contestant(benchmark, self.default_us), finalists)

    def decide(self, budget: Budget) -> TaskResult | TaskRace:
        """Returns the result, or the race of the best candidates, which gives it.

        Args:
            budget: the time for it.

        Raises:
            TuninglinkError: the spec does not give what was measured in an earlier run.
        """
        self._exploration.close()
        tuner = self._tuner
        over = Ending.INTERRUPTED if budget.is_stopped else Ending.BUDGET
        result = TaskResult(
            self.prepared,
            self.measured.share,
            self.default_us,
            tuple(self.trials),
            TaskOutcome.DEFAULT,
            ending=self.ending(budget) or over,
        )
        recorded = tuner.recorded(result)
        if recorded is not None:
            return recorded
        ranked = best_trials(self.trials, self.default_us)
        if not ranked:
            return result
        places = min(len(ranked), FINALISTS)
        while places > 1 and self._race_seconds(ranked[:places]) > budget.remaining:
            places -= 1
        if budget.remaining < _LEAST_PRICE * self._race_seconds(ranked[:places]):
            reason = "the budget was over before the race"
            return replace(result, verdict=TaskOutcome.UNDECIDED, reason=reason)
        return tuner.race(result, self.measured.benchmark, ranked, budget, places)


def tune_task(
    tuner: TaskTuner, prepared: TunableTask, measured: MeasuredTask, budget: Budget
) -> TaskResult:
    """Tunes a task alone.

    Args:
        tuner: compiles and measures.
        prepared: the task.
        measured: the compiler's choice.
        budget: the time for both trials and race.

    Raises:
        DeviceError: the device is gone.
        DatabaseError: a result cannot be kept.
        TuninglinkError: the spec does not give what was measured.
    """
    run = TaskRun(tuner, prepared, measured)
    run.explore(budget.part(1 - _RACING))
    decided = run.decide(budget)
    return decided.run() if isinstance(decided, TaskRace) else decided
