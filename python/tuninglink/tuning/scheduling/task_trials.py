"""The trials of one task: its search, its turns and its progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.candidates import CandidateOrigin
from tuninglink.tuning.deciding.contestants import FINALISTS
from tuninglink.tuning.results.task_result import Ending, TrialResult
from tuninglink.tuning.scheduling.budget import Budget
from tuninglink.tuning.scheduling.exploration import Alternating, Exploration, Overlapping, Schedule
from tuninglink.tuning.search import Search, search_named

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import Candidate
    from tuninglink.tuning.candidates.preparation import TunableTask
    from tuninglink.tuning.results import Failure
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner


_GAIN: Final = 0.01
"""The least gain over the best time that counts."""

_LEAST_TRIALS: Final = 200
_PART: Final = 0.5
"""A task has converged after this many trials, and this fraction of all its trials, without a gain."""


@dataclass
class Progress:
    """The best time of a task over its trials.

    Attributes:
        best_us: the best time so far, at first the default's.
        trials: the number of tried candidates.
        seconds: the time spent on them.
    """

    best_us: float
    trials: int = 0
    seconds: float = 0.0
    _gained_at: int = 0
    _gained_us: float = 0.0
    _curve: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._gained_us = self.best_us
        self._curve.append((0.0, self.best_us))

    def add(self, microseconds: float | None) -> None:
        """Add the time of a candidate; None for a failure."""
        self.trials += 1
        self.best_us = min(self.best_us, microseconds or math.inf)
        self._curve.append((self.seconds, self.best_us))
        if self.best_us < self._gained_us * (1 - _GAIN):
            self._gained_us, self._gained_at = self.best_us, self.trials

    def withdraw(self, best_us: float) -> None:
        """Replace the best time, which belongs to a wrong result."""
        self.best_us = self._gained_us = best_us
        self._curve[-1] = (self.seconds, best_us)

    @property
    def has_converged(self) -> bool:
        """Whether the last gain is so old that a further gain is unlikely.

        On three recorded curves of 1,631, 1,810 and 854 trials, stopping here loses nothing.
        """
        return self.trials - self._gained_at >= max(_LEAST_TRIALS, _PART * self.trials)

    def best_after(self, trials: float) -> float:
        """Return the best time after a number of trials, at least that before the first one."""
        return self._curve[max(0, int(trials))][1]

    def seconds_after(self, trials: int) -> float:
        """Return the time spent on a number of trials."""
        return self._curve[trials][0]


FIRST_TRIALS: Final = 8
"""The trials before which a task counts as new."""

_COMPILE_FACTOR: Final = 10.0
_LEAST_COMPILE_SECONDS: Final = 5.0
"""The time limit for compiling a candidate: a multiple of the default's time, but at least this number of seconds."""

_LEAST_BATCH: Final = 8
"""The batch size where measurements wait for compilations."""

_IMAGES: Final = 2 * FINALISTS
"""The number of trials that keep their images: the best ones, as spares for failures in the race."""


class TaskTrials:
    """The trials of a task, in turns.

    Args:
        tuner: compiles and measures.
        prepared: the task.
        default_us: the time of the compiler's choice.
        compile_seconds: its compilation time.
        at_any_speed: whether candidates slower than the compiler's choice may win, so that all are measured as precisely.

    Attributes:
        all: all trials, in order. The best ones have their images.
        progress: the progress of the best time.

    Raises:
        DatabaseError: a result cannot be read.
    """

    def __init__(
        self,
        tuner: TaskTuner,
        prepared: TunableTask,
        default_us: float,
        compile_seconds: float,
        *,
        at_any_speed: bool = False,
    ) -> None:
        self._tuner = tuner
        self._prepared = prepared
        self._default_us = default_us
        self.all: list[TrialResult] = []
        self.progress = Progress(default_us)
        self._budget = Budget()
        self._winners: set[str] = set()
        self._since = 0.0
        seconds = max(_LEAST_COMPILE_SECONDS, _COMPILE_FACTOR * compile_seconds)
        self._exploration = Exploration(
            prepared.template,
            tuner.compiler,
            tuner.devices,
            self._search(),
            self._schedule(),
            compile_seconds=min(seconds, tuner.settings.timeout),
            default_us=math.inf if at_any_speed else default_us,
            recorded=tuner.journal.known(prepared) if tuner.journal else {},
            report=self._report,
            timeline=tuner.timeline,
        )

    def __len__(self) -> int:
        return len(self.all)

    def explore(
        self,
        budget: Budget,
        is_over: Callable[[], bool] = lambda: False,
        meanwhile: Callable[[], bool] = lambda: False,
    ) -> None:
        """Try candidates for one turn, which ends with the budget or between two batches.

        Args:
            budget: the time, and the trials of all turns.
            is_over: returns whether to start no further batch.
            meanwhile: see `Exploration.run`.

        Raises:
            DeviceError: the device is lost.
            DatabaseError: a result cannot be stored.
        """
        self._budget, self._since = budget, time.monotonic()

        def is_done() -> bool:
            return self.progress.has_converged or (
                is_over() and self._exploration.is_between_batches
            )

        self._exploration.run(budget, is_done, meanwhile)
        self._spend()

    @property
    def compiling(self) -> int:
        """The number of candidates that are being compiled."""
        return self._exploration.compiling

    def prefer(self, candidates: Sequence[Candidate]) -> None:
        """Try these candidates next."""
        self._exploration.prefer(candidates)

    def begin(self, budget: Budget) -> None:
        """Start to compile the candidates of the next turn; see `Exploration.begin`."""
        self._exploration.begin(budget)

    def ending(self, budget: Budget) -> Ending | None:
        """Return the reason for trying no further candidates; None if more may be tried.

        Args:
            budget: the limit on the trials of all turns.
        """
        if self._exploration.is_exhausted:
            if not self.all:
                return Ending.NO_CANDIDATES
            failed = all(trial.failure is not None for trial in self.all)
            return Ending.ALL_FAILED if failed else Ending.EXHAUSTED
        if self.progress.has_converged:
            return Ending.CONVERGED
        if budget.trials is not None and len(self.all) >= budget.trials:
            return Ending.TRIALS
        return None

    def reject(self, trial: TrialResult, failure: Failure) -> None:
        """Mark a measured candidate as failed.

        Raises:
            DatabaseError: the failure cannot be stored.
        """
        rejected = replace(trial, microseconds=None, failure=failure, benchmark=None, timing=None)
        self.all[self.all.index(trial)] = rejected
        if self._tuner.journal:
            self._tuner.journal.record(self._prepared, rejected)
        self._exploration.reject(trial.candidate)
        times = [other.microseconds for other in self.all if other.microseconds is not None]
        self.progress.withdraw(min([self._default_us, *times]))

    def close(self) -> None:
        """Cancel compilations and drop candidates waiting for a device."""
        self._exploration.close()

    def _search(self) -> Search:
        """Return a search seeded with records of this task in other environments and of similar tasks."""
        tuner, spaces = self._tuner, self._prepared.spaces
        prior = tuner.journal.prior(self._prepared) if tuner.journal else None
        if prior:
            self._winners = {winner.key for winner in prior.winners_elsewhere(spaces)}
        return search_named(tuner.settings.search)(
            spaces,
            tuner.settings.seed,
            self._default_us,
            [(winner, None) for winner in prior.winners(spaces)] if prior else [],
            prior.measured() if prior else [],
        )

    def _schedule(self) -> Schedule:
        jobs = self._tuner.compiler.jobs
        if self._tuner.is_local:
            return Alternating(max(_LEAST_BATCH, jobs))
        return Overlapping(2 * jobs)

    def _report(self, trial: TrialResult) -> None:
        tuner, prepared = self._tuner, self._prepared
        is_new = trial.seconds > 0
        origin = trial.candidate.origin
        is_given = origin in (CandidateOrigin.SPEC, CandidateOrigin.REWRITING)
        trial = replace(trial, always_races=is_given or trial.candidate.key in self._winners)
        self._spend()
        self.progress.add(trial.microseconds)
        self.all.append(trial)
        self._drop_image()
        if is_new and tuner.journal:
            tuner.journal.record(prepared, trial)
        tuner.listener.tried(prepared, trial, self._budget)
        if is_new and trial.failure:
            tuner.keep_failure(prepared, trial.candidate, trial.failure)

    def _spend(self) -> None:
        """Add the elapsed time of this turn to the progress."""
        now = time.monotonic()
        self.progress.seconds += now - self._since
        self._since = now

    def _drop_image(self) -> None:
        """Drop the image of the slowest trial if too many trials have one."""
        kept = [
            position
            for position, trial in enumerate(self.all)
            if trial.benchmark is not None and not trial.always_races
        ]
        if len(kept) > _IMAGES:
            slowest = max(
                kept, key=lambda position: self.all[position].microseconds or float("inf")
            )
            self.all[slowest] = replace(self.all[slowest], benchmark=None)
