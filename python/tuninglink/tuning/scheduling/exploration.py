"""Exploration of a task's candidates: compile, measure and feed back to the search, in resumable turns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import RLock
from typing import Final

from tuninglink.devices import BestTime, Measurement, Stage
from tuninglink.programs import WRONG_RESULTS, Benchmark, Failure
from tuninglink.tuning.candidates import Candidate, CandidateOrigin, Outcome, TunableTask
from tuninglink.tuning.deciding import FINALISTS, Budget, Ending, TrialResult
from tuninglink.tuning.scheduling.context import TuningContext
from tuninglink.tuning.search import Search

_PATIENCE: Final = 0.5
"""Interval for checking the budget while waiting, in seconds."""

_LEAST_BATCH: Final = 8
"""The batch size where measurements wait for compilations."""

_IMAGES: Final = 2 * FINALISTS
"""The number of trials that keep their images: the best ones, as spares for failures in the race."""


class Exploration:
    """Tries candidates of a task, in turns: the search chooses, the compiler builds, and the devices run them.

    Candidates compiled at the end of a turn are measured in the next one. A CPU that compiles is measured alone: there, a
    batch of candidates is compiled, then measured.

    Args:
        context: what the tasks of the run share.
        default_us: the time of the compiler's choice.
        compile_seconds: the time limit for compiling a candidate.
        at_any_speed: whether slower candidates than the compiler's choice may win.
        recorded: the results of earlier runs, by the keys of candidates.
        always_race: the keys of the candidates that race at any speed.

    Attributes:
        progress: the progress of the best time.
        is_exhausted: whether the search has run out of candidates.
    """

    def __init__(
        self,
        context: TuningContext,
        prepared: TunableTask,
        search: Search,
        default_us: float,
        compile_seconds: float,
        *,
        at_any_speed: bool = False,
        recorded: Mapping[str, TrialResult] | None = None,
        always_race: Collection[str] = (),
    ) -> None:
        self._context = context
        self._prepared = prepared
        self._default_us = default_us
        self._compile_seconds = compile_seconds
        self._recorded = recorded or {}
        self._always_race = always_race
        self._overlaps = not context.is_local
        jobs = context.compiler.jobs
        self._most = 2 * jobs if self._overlaps else max(_LEAST_BATCH, jobs)
        self._slowest_us = math.inf if at_any_speed else default_us
        self._best = BestTime(self._slowest_us)
        self._budget, self._since = Budget(), time.monotonic()
        self._deferred: list[Candidate] = []
        self._compiling: dict[Future[Outcome], Candidate] = {}
        self._pending = 0  # the chosen candidates that have no result
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = RLock()  # of what the callbacks of jobs use, from any thread
        self._ready: list[tuple[Candidate, Benchmark]] = []
        self._measuring = 0
        self._is_open = False
        self.search = search
        self.trials: list[TrialResult] = []
        self.progress = Progress(default_us)
        self.is_exhausted = False

    @property
    def compiling(self) -> int:
        return sum(not job.done() for job in self._compiling)

    def run(
        self,
        budget: Budget,
        is_over: Callable[[], bool] = lambda: False,
        meanwhile: Callable[[], bool] = lambda: False,
    ) -> None:
        """Try candidates until the budget is over, they run out, or the turn is over between two batches.

        The budget has the time of this turn, and the trials of all turns. `meanwhile` does a piece of other work while
        devices are in use, and returns whether there was any.
        """
        self._budget, self._since = budget, time.monotonic()
        try:
            while not (budget.is_over or self.progress.has_converged):
                if is_over() and (self._overlaps or not self._pending):
                    break
                self.compile_ahead(budget)
                if not self._pending:
                    if self.ending(budget) is not None:
                        break
                    continue
                if self._may_measure:
                    self._is_open = True
                    self._measure_next()
                is_idle = not (self._measuring and meanwhile())
                self._await(min(_PATIENCE, budget.remaining) if is_idle else 0.0)
        finally:
            self._is_open = False
        # Running measurements end; running compilations would disturb the next task on a CPU that is measured.
        if not self._may_measure:
            self._cancel()
            while self._compiling:
                self._await(_PATIENCE)
        while self._expects_results:
            self._await(_PATIENCE)
        self._spend()

    def close(self) -> None:
        """Cancel compilations and drop candidates waiting for a device."""
        self._cancel()
        with self._lock:
            self._ready.clear()

    def ending(self, budget: Budget) -> Ending | None:
        """Return the reason for trying no further candidates; None if more may be tried."""
        if self.is_exhausted:
            if not self.trials:
                return Ending.NO_CANDIDATES
            failed = all(trial.failure is not None for trial in self.trials)
            return Ending.ALL_FAILED if failed else Ending.EXHAUSTED
        if self.progress.has_converged:
            return Ending.CONVERGED
        if budget.trials is not None and len(self.trials) >= budget.trials:
            return Ending.TRIALS
        return None

    # --- Choosing and compiling ------------------------------------------------------------------------------

    def compile_ahead(self, budget: Budget) -> None:
        """Choose candidates and start to compile them. The budget limits the trials of all turns."""
        # Searches propose better candidates in batches: choose once half of the places are free.
        waiting = len(self._compiling) + len(self._ready)
        room = self._most - waiting
        if 2 * room < self._most or (not self._overlaps and (waiting or self._measuring)):
            return
        if budget.trials is not None:
            room = min(room, budget.trials - len(self.trials) - self._pending)
        if room <= 0 or self.is_exhausted:
            return
        # Take deferred candidates, then new ones of the search.
        timeline, is_measuring = self._context.timeline, self._measuring > 0
        candidates, self._deferred = self._deferred[:room], self._deferred[room:]
        with timeline.stage(Stage.MEASUREMENT if is_measuring else Stage.SEARCH):
            candidates += self.search.ask(room - len(candidates))
        # The search may need the pending results before it proposes more.
        self.is_exhausted = not candidates and not self._pending
        self._pending += len(candidates)
        self._is_open = self._is_open and (self._overlaps or not candidates)
        # Add recorded results, and compile the other candidates.
        for candidate in candidates:
            recorded = self._recorded.get(candidate.key)
            if recorded is not None:
                self.search.compiled(candidate, recorded.spills)
                self._add(replace(recorded, candidate=candidate))
                continue
            job = self._context.compiler.submit(
                self._prepared.template, candidate, self._compile_seconds
            )
            self._compiling[job] = candidate
            job.add_done_callback(partial(self._compiled, candidate))
        if self._measuring:
            with timeline.stage(Stage.MEASUREMENT):
                self.search.draw_ahead()

    def _cancel(self) -> None:
        for job in list(self._compiling):
            job.cancel()

    def _compiled(self, candidate: Candidate, job: Future[Outcome]) -> None:
        """Hand a compiled candidate to the devices. Called from any thread."""
        if not job.cancelled() and job.exception() is None:
            outcome = job.result()
            if not isinstance(outcome, Failure):
                with self._lock:
                    self._ready.append((candidate, outcome))
                    # Those that spill come last.
                    self._ready.sort(key=lambda one: bool(one[1].spills and one[1].spills.words))
                self._measure_next()
        self._events.put(partial(self._take_compiled, job))

    def _take_compiled(self, job: Future[Outcome]) -> None:
        candidate = self._compiling.pop(job)
        if job.cancelled():
            self._pending -= 1
            self._deferred.append(candidate)
            return
        outcome = job.result()
        if isinstance(outcome, Failure):
            self._add(TrialResult(candidate, None, outcome, time.monotonic()))
        else:
            self.search.compiled(candidate, outcome.spills)

    # --- Measuring -------------------------------------------------------------------------------------------

    @property
    def _may_measure(self) -> bool:
        return self._overlaps or not self._compiling

    @property
    def _expects_results(self) -> bool:
        with self._lock:
            return self._measuring > 0 or not self._events.empty()

    def _measure_next(self) -> None:
        """Hand compiled candidates to the devices that are free. Called from any thread."""
        devices = self._context.devices
        with self._lock:
            while self._is_open and self._ready and self._measuring < devices.at_once:
                candidate, benchmark = self._ready.pop(0)
                self._measuring += 1
                job = devices.submit(benchmark, self._best)
                job.add_done_callback(partial(self._measured, candidate, benchmark))

    def _measured(
        self, candidate: Candidate, benchmark: Benchmark, job: Future[Measurement | Failure]
    ) -> None:
        """Hand over a measured candidate, and measure the next one. Called from any thread."""
        taken = partial(self._take_measured, candidate, benchmark, job, time.monotonic())
        with self._lock:
            self._measuring -= 1
            self._events.put(taken)
        self._measure_next()

    def _take_measured(
        self,
        candidate: Candidate,
        benchmark: Benchmark,
        job: Future[Measurement | Failure],
        seconds: float,
    ) -> None:
        measured, spills = job.result(), benchmark.spills
        if isinstance(measured, Failure):
            self._add(TrialResult(candidate, None, measured, seconds, benchmark, spills=spills))
            return
        us, timing = measured.microseconds, measured.timing
        self._add(TrialResult(candidate, us, None, seconds, benchmark, timing, spills=spills))

    def _await(self, seconds: float) -> None:
        """Wait for the next event, then process all pending events."""
        stage = Stage.MEASUREMENT if self._measuring else Stage.COMPILATION
        event: Callable[[], None] | None = None
        with self._context.timeline.stage(stage), suppress(Empty):
            event = self._events.get(timeout=seconds) if seconds > 0 else self._events.get_nowait()
        while event is not None:
            event()
            event = None
            with suppress(Empty):
                event = self._events.get_nowait()

    # --- Results ---------------------------------------------------------------------------------------------

    def _add(self, trial: TrialResult) -> None:
        """Add a trial: let the search know, and record and report it."""
        context, candidate = self._context, trial.candidate
        is_given = candidate.origin in (CandidateOrigin.SPEC, CandidateOrigin.REWRITING)
        trial = replace(trial, always_races=is_given or candidate.key in self._always_race)
        self._pending -= 1
        self._tell(trial)
        self._spend()
        self.progress.add(trial.microseconds)
        self.trials.append(trial)
        # Keep the images of the fastest trials only.
        with_image = [
            (other.microseconds or math.inf, position)
            for position, other in enumerate(self.trials)
            if other.benchmark is not None and not other.always_races
        ]
        if len(with_image) > _IMAGES:
            _, slowest = max(with_image, key=lambda pair: pair[0])
            self.trials[slowest] = replace(self.trials[slowest], benchmark=None)
        is_new = trial.seconds > 0
        if is_new and context.journal:
            context.journal.record(self._prepared, trial)
        context.listener.tried(self._prepared, trial, self._budget)
        if is_new and trial.failure:
            context.keep_failure(self._prepared, candidate, trial.failure)

    def reject(self, trial: TrialResult, failure: Failure) -> None:
        """Mark a measured candidate as failed."""
        rejected = replace(trial, microseconds=None, failure=failure, benchmark=None, timing=None)
        # Its image may have been dropped here, or compiled again there.
        keys = [other.candidate.key for other in self.trials]
        self.trials[keys.index(trial.candidate.key)] = rejected
        if self._context.journal:
            self._context.journal.record(self._prepared, rejected)
        self._tell(rejected)
        times = [other.microseconds for other in self.trials if other.microseconds is not None]
        self.progress.withdraw(min([self._default_us, *times]))
        with self._best.lock:
            self._best.microseconds = min([self._slowest_us, *times])

    def _tell(self, trial: TrialResult) -> None:
        if trial.failure is not None and trial.failure.kind in WRONG_RESULTS:
            self.search.reject(trial.candidate)
        else:
            self.search.tell(trial.candidate, trial.microseconds)

    def _spend(self) -> None:
        now = time.monotonic()
        self.progress.seconds += now - self._since
        self._since = now


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
        return self._curve[trials][0]
