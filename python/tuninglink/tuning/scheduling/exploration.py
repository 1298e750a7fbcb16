"""Exploration of a task's candidates: compile, measure and feed back to the search, in resumable turns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.candidates import CandidateOrigin
from tuninglink.tuning.deciding import FINALISTS, Budget, Ending, MeasuredTask, TrialResult
from tuninglink.tuning.devices import BestTime, Feed, Stage, Timeline
from tuninglink.tuning.programs import WRONG_RESULTS, Failure
from tuninglink.tuning.search import Search, search_named

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tuninglink.tuning.candidates import (
        BenchmarkTemplate,
        Candidate,
        CandidateCompiler,
        Outcome,
        TunableTask,
    )
    from tuninglink.tuning.devices import DeviceSet, Job
    from tuninglink.tuning.programs import Benchmark
    from tuninglink.tuning.scheduling.context import TuningContext


_PATIENCE: Final = 0.5
"""Interval for checking the budget while waiting, in seconds."""


@dataclass(frozen=True)
class Schedule:
    """How compilation and measurement share a machine.

    Attributes:
        most: the limit on candidates that wait for the device; without overlap, the size of a batch.
        overlaps: whether candidates are compiled while others are measured. The CPU that compiles is measured alone.
    """

    most: int
    overlaps: bool

    def room(self, compiling: int, ready: int, measuring: int) -> int:
        """Return the number of compilations that may start."""
        if not self.overlaps:
            return 0 if compiling or ready or measuring else self.most
        # Once half of the places are free: searches propose better candidates in batches.
        free = self.most - compiling - ready
        return free if 2 * free >= self.most else 0

    def may_measure(self, compiling: int) -> bool:
        """Return whether measurements may start."""
        return self.overlaps or not compiling


class Exploration:
    """Tries candidates of one task, in turns. Candidates compiled at the end of a turn are measured in the next one.

    Args:
        schedule: the policy for overlapping compilation and measurement.
        compile_seconds: the time limit for compiling a candidate.
        default_us: the time of the compiler's choice; infinity if slower candidates may win.
        recorded: the results of earlier runs, by the keys of candidates.
        report: receives each trial.

    Attributes:
        is_exhausted: whether the search has run out of candidates.
    """

    def __init__(
        self,
        template: BenchmarkTemplate,
        compiler: CandidateCompiler,
        measure: DeviceSet,
        search: Search,
        schedule: Schedule,
        *,
        compile_seconds: float,
        default_us: float,
        recorded: Mapping[str, TrialResult],
        report: Callable[[TrialResult], None],
        timeline: Timeline | None = None,
    ) -> None:
        self._template = template
        self._compiler = compiler
        self.search = search
        self._schedule = schedule
        self._compile_seconds = compile_seconds
        self._recorded = recorded
        self._report = report
        self._timeline = timeline or Timeline()
        self._compiling: dict[Future[Outcome], Candidate] = {}
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._feed = Feed(measure, BestTime(default_us), self._measured)
        self._deferred: list[Candidate] = []
        self._asked = 0
        self._pending = 0
        self.is_exhausted = False

    @property
    def compiling(self) -> int:
        """The number of candidates that are being compiled."""
        return sum(not job.done() for job in self._compiling)

    @property
    def is_between_batches(self) -> bool:
        """Whether a turn may end without losing compilations."""
        return not self._pending or self._schedule.may_measure(len(self._compiling) or 1)

    def run(
        self,
        budget: Budget,
        is_done: Callable[[], bool] = lambda: False,
        meanwhile: Callable[[], bool] = lambda: False,
    ) -> None:
        """Try candidates until the budget is over, they run out, or enough were tried.

        Args:
            budget: the time of this turn, and the trials of all turns.
            is_done: returns whether enough were tried.
            meanwhile: does a piece of other work while devices are in use; returns whether there was any.
        """
        try:
            while not budget.is_over and not is_done():
                self._ask(budget)
                if not self._pending:
                    if self.is_exhausted or (
                        budget.trials is not None and self._asked >= budget.trials
                    ):
                        break
                    continue
                if self._schedule.may_measure(len(self._compiling)):
                    self._feed.open()
                is_idle = not (self._feed.measuring and meanwhile())
                self._await(min(_PATIENCE, budget.remaining) if is_idle else 0.0)
        finally:
            self._feed.is_open = False
        if not self._schedule.may_measure(len(self._compiling)):
            self._cancel()  # running compilations would disturb the next task
            while self._compiling:
                self._await(_PATIENCE)
        while self._feed.measuring or not self._events.empty():
            self._await(_PATIENCE)

    def begin(self, budget: Budget) -> None:
        """Start to compile candidates of the next turn. The budget limits the trials of all turns."""
        self._ask(budget)

    def close(self) -> None:
        """Cancel compilations and drop candidates waiting for a device."""
        self._cancel()
        self._feed.clear()

    def _cancel(self) -> None:
        for job in list(self._compiling):
            job.cancel()

    # --- Choosing and compiling ------------------------------------------------------------------------------

    def _ask(self, budget: Budget) -> None:
        feed = self._feed
        room = self._schedule.room(len(self._compiling), len(feed.ready), feed.measuring)
        if budget.trials is not None:
            room = min(room, budget.trials - self._asked)
        if room <= 0 or self.is_exhausted:
            return
        # Take deferred candidates, then new ones of the search.
        candidates, self._deferred = self._deferred[:room], self._deferred[room:]
        with self._timeline.stage(Stage.MEASUREMENT if feed.measuring else Stage.SEARCH):
            candidates += self.search.ask(room - len(candidates))
        # The search may need the pending results before it proposes more.
        self.is_exhausted = not candidates and not self._pending
        self._asked += len(candidates)
        self._pending += len(candidates)
        if not self._schedule.may_measure(len(candidates)):
            feed.is_open = False
        # Add recorded results, and compile the other candidates.
        for candidate in candidates:
            recorded = self._recorded.get(candidate.key)
            if recorded is not None:
                self.search.compiled(candidate, recorded.spills)
                self._add(replace(recorded, candidate=candidate))
                continue
            job = self._compiler.submit(self._template, candidate, self._compile_seconds)
            self._compiling[job] = candidate
            job.add_done_callback(partial(self._compiled, candidate))
        if feed.measuring:
            with self._timeline.stage(Stage.MEASUREMENT):
                self.search.draw_ahead()

    def _compiled(self, candidate: Candidate, job: Future[Outcome]) -> None:
        """Hand a compiled candidate to the devices. Called from any thread."""
        if not job.cancelled() and job.exception() is None:
            outcome = job.result()
            if not isinstance(outcome, Failure):
                self._feed.put(candidate, outcome)
        self._events.put(partial(self._take_compiled, job))

    def _take_compiled(self, job: Future[Outcome]) -> None:
        candidate = self._compiling.pop(job)
        if job.cancelled():
            self._pending -= 1
            self._asked -= 1
            self._deferred.append(candidate)
            return
        outcome = job.result()
        if isinstance(outcome, Failure):
            self._add(TrialResult(candidate, None, outcome, time.monotonic()))
        else:
            self.search.compiled(candidate, outcome.spills)

    # --- Measuring -------------------------------------------------------------------------------------------

    def _measured(self, candidate: Candidate, benchmark: Benchmark, job: Job) -> None:
        self._events.put(partial(self._take_measured, candidate, benchmark, job, time.monotonic()))

    def _take_measured(
        self, candidate: Candidate, benchmark: Benchmark, job: Job, seconds: float
    ) -> None:
        measured, spills = job.result(), benchmark.spills
        if isinstance(measured, Failure):
            self._add(TrialResult(candidate, None, measured, seconds, benchmark, spills=spills))
            return
        us, timing = measured.microseconds, measured.timing
        self._add(TrialResult(candidate, us, None, seconds, benchmark, timing, spills=spills))

    def _await(self, seconds: float) -> None:
        """Wait for the next event, then process all pending events."""
        stage = Stage.MEASUREMENT if self._feed.measuring else Stage.COMPILATION
        event: Callable[[], None] | None = None
        with self._timeline.stage(stage), suppress(Empty):
            event = self._events.get(timeout=seconds) if seconds > 0 else self._events.get_nowait()
        while event is not None:
            event()
            try:
                event = self._events.get_nowait()
            except Empty:
                event = None

    def _add(self, result: TrialResult) -> None:
        self._pending -= 1
        tell_result(self.search, result)
        self._report(result)


def tell_result(search: Search, result: TrialResult) -> None:
    """Let a search know the result of a trial."""
    if result.failure is not None and result.failure.kind in WRONG_RESULTS:
        search.reject(result.candidate)
    else:
        search.tell(result.candidate, result.microseconds)


# --- The trials of one task: its search, its turns and its progress ------------------------------

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

    Attributes:
        all: the trials, in order.
        progress: the progress of the best time.
        search: chooses the candidates.
        exploration: builds and runs them.
    """

    def __init__(
        self,
        context: TuningContext,
        prepared: TunableTask,
        measured: MeasuredTask,
        default_us: float,
        *,
        at_any_speed: bool = False,
    ) -> None:
        self._context = context
        self._measured = measured
        self._prepared = prepared
        self._default_us = default_us
        self.all: list[TrialResult] = []
        self.progress = Progress(default_us)
        self._budget = Budget()
        self._winners: set[str] = set()
        self._since = 0.0
        seconds = max(_LEAST_COMPILE_SECONDS, _COMPILE_FACTOR * measured.compile_seconds)
        # The search begins with records of this task in other environments, and of similar tasks.
        spaces, prior = prepared.spaces, None
        if context.journal:
            prior = context.journal.prior(prepared)
        if prior:
            self._winners = {winner.key for winner in prior.winners_elsewhere(spaces)}
        self.search = search_named(context.settings.search)(
            spaces,
            context.settings.seed,
            None if measured.failure else default_us,
            prior.winners(spaces) if prior else [],
            prior.measured() if prior else [],
        )
        if at_any_speed and measured.failure is None:
            self.search.reject(prepared.spaces.default)
        jobs, overlaps = context.compiler.jobs, not context.is_local
        most = 2 * jobs if overlaps else max(_LEAST_BATCH, jobs)
        self.exploration = Exploration(
            prepared.template,
            context.compiler,
            context.devices,
            self.search,
            Schedule(most, overlaps),
            compile_seconds=min(seconds, context.settings.timeout),
            default_us=math.inf if at_any_speed else default_us,
            recorded=context.journal.known(prepared) if context.journal else {},
            report=self._report,
            timeline=context.timeline,
        )

    def __len__(self) -> int:
        return len(self.all)

    def explore(
        self,
        budget: Budget,
        is_over: Callable[[], bool] = lambda: False,
        meanwhile: Callable[[], bool] = lambda: False,
    ) -> None:
        """Try candidates for one turn, which ends with the budget or between two batches."""
        self._budget, self._since = budget, time.monotonic()

        def is_done() -> bool:
            return self.progress.has_converged or (
                is_over() and self.exploration.is_between_batches
            )

        self.exploration.run(budget, is_done, meanwhile)
        self._spend()

    def ending(self, budget: Budget) -> Ending | None:
        """Return the reason for trying no further candidates; None if more may be tried."""
        if self.exploration.is_exhausted:
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
        """Mark a measured candidate as failed."""
        rejected = replace(trial, microseconds=None, failure=failure, benchmark=None, timing=None)
        # Its image may have been dropped here, or compiled again there.
        keys = [other.candidate.key for other in self.all]
        self.all[keys.index(trial.candidate.key)] = rejected
        if self._context.journal:
            self._context.journal.record(self._prepared, rejected)
        tell_result(self.search, rejected)
        times = [other.microseconds for other in self.all if other.microseconds is not None]
        self.progress.withdraw(min([self._default_us, *times]))

    def _report(self, trial: TrialResult) -> None:
        context, prepared = self._context, self._prepared
        is_new = trial.seconds > 0
        origin = trial.candidate.origin
        is_given = origin in (CandidateOrigin.SPEC, CandidateOrigin.REWRITING)
        trial = replace(trial, always_races=is_given or trial.candidate.key in self._winners)
        self._spend()
        self.progress.add(trial.microseconds)
        self.all.append(trial)
        # Keep the images of the fastest trials only.
        with_image = [
            position
            for position, other in enumerate(self.all)
            if other.benchmark is not None and not other.always_races
        ]
        if len(with_image) > _IMAGES:
            slowest = max(
                with_image, key=lambda position: self.all[position].microseconds or math.inf
            )
            self.all[slowest] = replace(self.all[slowest], benchmark=None)
        if is_new and context.journal:
            context.journal.record(prepared, trial)
        context.listener.tried(prepared, trial, self._budget)
        if is_new and trial.failure:
            context.keep_failure(prepared, trial.candidate, trial.failure)

    def _spend(self) -> None:
        now = time.monotonic()
        self.progress.seconds += now - self._since
        self._since = now
