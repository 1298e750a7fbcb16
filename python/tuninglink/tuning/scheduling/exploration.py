"""Exploration of a task's candidates: compile, measure and feed back to the search, in resumable turns."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.devices.device_set import Feed
from tuninglink.tuning.results import Failure
from tuninglink.tuning.results.task_result import TrialResult
from tuninglink.tuning.scheduling import Stage, Timeline

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tuninglink.tuning.candidates import Candidate
    from tuninglink.tuning.candidates.compilation import (
        BenchmarkTemplate,
        CandidateCompiler,
        Outcome,
    )
    from tuninglink.tuning.devices.device_set import Job, Measure
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.search import Search

_PATIENCE: Final = 0.5
"""Interval for checking the budget while waiting, in seconds."""


class Schedule(ABC):
    """The policy for overlapping compilation and measurement."""

    @abstractmethod
    def room(self, compiling: int, ready: int, measuring: int) -> int:
        """Return the number of compilations that may start."""

    @abstractmethod
    def may_measure(self, compiling: int) -> bool:
        """Return whether measurements may start."""


@dataclass(frozen=True)
class Overlapping(Schedule):
    """Compilation ahead of measurement, for devices other than the compiling CPU.

    Attributes:
        ahead: the limit on candidates waiting for the device.
    """

    ahead: int

    def room(self, compiling: int, ready: int, measuring: int) -> int:  # noqa: ARG002
        """Return the number of free places once half are free: searches propose better candidates in batches."""
        free = self.ahead - compiling - ready
        return free if 2 * free >= self.ahead else 0

    def may_measure(self, compiling: int) -> bool:  # noqa: ARG002
        """Return True: compilation does not disturb the device."""
        return True


@dataclass(frozen=True)
class Alternating(Schedule):
    """Compilation of a batch, then its measurement, for the CPU, which does both.

    Attributes:
        batch: the number of candidates in a batch.
    """

    batch: int

    def room(self, compiling: int, ready: int, measuring: int) -> int:
        """Return the batch size once no candidate waits or is being measured."""
        return 0 if compiling or ready or measuring else self.batch

    def may_measure(self, compiling: int) -> bool:
        """Return whether all compilations are done."""
        return not compiling


class Exploration:
    """Tries candidates of one task, in turns. Candidates compiled at the end of a turn are measured in the next one.

    Args:
        template: the template of candidates.
        compiler: compiles them.
        measure: measures them.
        search: chooses them.
        schedule: the policy for overlapping both.
        compile_seconds: the time limit for compiling a candidate.
        default_us: the time of the compiler's choice; infinity if slower candidates may win.
        recorded: the results of earlier runs, by the keys of candidates.
        report: receives each trial.
        timeline: records the time of the stages.

    Attributes:
        is_exhausted: whether the search has run out of candidates.
    """

    def __init__(
        self,
        template: BenchmarkTemplate,
        compiler: CandidateCompiler,
        measure: Measure,
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
        self._search = search
        self._schedule = schedule
        self._compile_seconds = compile_seconds
        self._recorded = recorded
        self._report = report
        self._timeline = timeline or Timeline()
        self._compiling: dict[Future[Outcome], Candidate] = {}
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._feed = Feed(measure, default_us, self._measured)
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
                    if self._is_over(budget):
                        break
                    continue
                if self._schedule.may_measure(len(self._compiling)):
                    self._feed.open()
                is_idle = not (self._feed.measuring and meanwhile())
                self._await(min(_PATIENCE, budget.remaining) if is_idle else 0.0)
        finally:
            self._feed.close()
        if not self._schedule.may_measure(len(self._compiling)):
            self._cancel()  # running compilations would disturb the next task
            while self._compiling:
                self._await(_PATIENCE)
        while self._feed.measuring or not self._events.empty():
            self._await(_PATIENCE)

    def begin(self, budget: Budget) -> None:
        """Start to compile candidates of the next turn.

        Args:
            budget: the trials of all turns.
        """
        self._ask(budget)

    def prefer(self, candidates: Sequence[Candidate]) -> None:
        """Try these candidates next."""
        self._search.prefer(candidates)

    def reject(self, candidate: Candidate) -> None:
        """Mark a measured candidate as failed."""
        self._search.tell(candidate, None)

    def close(self) -> None:
        """Cancel compilations and drop candidates waiting for a device."""
        self._cancel()
        self._feed.clear()

    def _cancel(self) -> None:
        for job in list(self._compiling):
            job.cancel()

    def _is_over(self, budget: Budget) -> bool:
        """Return whether no further candidates may be requested."""
        return self.is_exhausted or (budget.trials is not None and self._asked >= budget.trials)

    # --- Choosing and compiling ------------------------------------------------------------------------------

    def _ask(self, budget: Budget) -> None:
        feed = self._feed
        room = self._schedule.room(len(self._compiling), feed.ready, feed.measuring)
        if budget.trials is not None:
            room = min(room, budget.trials - self._asked)
        if room <= 0 or self.is_exhausted:
            return
        # Take deferred candidates, then new ones of the search.
        candidates, self._deferred = self._deferred[:room], self._deferred[room:]
        with self._timeline.stage(Stage.MEASUREMENT if feed.measuring else Stage.SEARCH):
            candidates += self._search.ask(room - len(candidates))
        # The search may need the pending results before it proposes more.
        self.is_exhausted = not candidates and not self._pending
        self._asked += len(candidates)
        self._pending += len(candidates)
        if not self._schedule.may_measure(len(candidates)):
            feed.close()
        # Add recorded results, and compile the other candidates.
        for candidate in candidates:
            recorded = self._recorded.get(candidate.key)
            if recorded is not None:
                self._add(replace(recorded, candidate=candidate))
                continue
            job = self._compiler.submit(self._template, candidate, self._compile_seconds)
            self._compiling[job] = candidate
            job.add_done_callback(partial(self._compiled, candidate))
        if feed.measuring:
            with self._timeline.stage(Stage.MEASUREMENT):
                self._search.draw_ahead()

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

    # --- Measuring -------------------------------------------------------------------------------------------

    def _measured(self, candidate: Candidate, benchmark: Benchmark, job: Job) -> None:
        """Receive a measured candidate. Called from any thread."""
        self._events.put(partial(self._take_measured, candidate, benchmark, job, time.monotonic()))

    def _take_measured(
        self, candidate: Candidate, benchmark: Benchmark, job: Job, seconds: float
    ) -> None:
        measured = job.result()
        if isinstance(measured, Failure):
            self._add(TrialResult(candidate, None, measured, seconds, benchmark))
            return
        us, timing = measured.microseconds, measured.timing
        self._add(TrialResult(candidate, us, None, seconds, benchmark, timing))

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
        self._search.tell(result.candidate, result.microseconds)
        self._report(result)
