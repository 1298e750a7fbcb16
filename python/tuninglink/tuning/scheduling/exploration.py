"""Exploring the candidates of a task: compile, measure, tell the search, until the budget is over."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from tuninglink.tuning.results.failures import Failure
from tuninglink.tuning.results.task_result import TrialResult
from tuninglink.tuning.scheduling.timeline import Stage, Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.compilation import (
        BenchmarkTemplate,
        CandidateCompiler,
        Outcome,
    )
    from tuninglink.tuning.devices.screening import Measurement
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.search import Search

    class Measure(Protocol):
        """Measures benchmarks, as many at once as there are devices."""

        @property
        def at_once(self) -> int:
            """See `DeviceSet`."""

        def submit(
            self, benchmark: Benchmark, best_microseconds: float
        ) -> Future[Measurement | Failure]:
            """Returns a future of the time of a candidate, or of why there is none."""


_PATIENCE: Final = 0.5
"""Seconds after which the budget is looked at again while nothing happens."""


class Schedule(ABC):
    """Which of compiling and measuring may go on."""

    @abstractmethod
    def room(self, compiling: int, ready: int, measuring: int) -> int:
        """Returns for how many candidates compilation may begin."""

    @abstractmethod
    def may_measure(self, compiling: int) -> bool:
        """Tells whether measuring may begin."""


@dataclass(frozen=True)
class Overlapping(Schedule):
    """Compiles ahead while a device measures: for devices that do not compile.

    Attributes:
        ahead: how many candidates may wait for the device.
    """

    ahead: int

    def room(self, compiling: int, ready: int, measuring: int) -> int:  # noqa: ARG002
        """Returns what is free, once it is half of all: a search would rather be asked for several."""
        free = self.ahead - compiling - ready
        return free if 2 * free >= self.ahead else 0

    def may_measure(self, compiling: int) -> bool:  # noqa: ARG002
        """Compiling does not disturb the device."""
        return True


@dataclass(frozen=True)
class Alternating(Schedule):
    """Compiles some candidates, then measures them: for the CPU, which does both.

    Attributes:
        batch: how many candidates.
    """

    batch: int

    def room(self, compiling: int, ready: int, measuring: int) -> int:
        """Nothing is compiled while something waits or is measured."""
        return 0 if compiling or ready or measuring else self.batch

    def may_measure(self, compiling: int) -> bool:
        """Nothing is measured while something compiles."""
        return not compiling


@dataclass
class Exploration:
    """Tries candidates of one task.

    Attributes:
        template: what candidates are compiled from.
        compiler: compiles them.
        measure: measures them.
        search: chooses them.
        schedule: which may go on when.
        budget: for how long.
        compile_seconds: how long a candidate may compile.
        default_us: the time of the compiler's choice.
        known: what earlier runs have found out, by the keys of candidates.
        report: is told about each candidate that was tried.
        timeline: counts what the stages take.
        meanwhile: does one thing that is of use while the last candidates compile, given what came of the others;
            tells whether there was one.
    """

    template: BenchmarkTemplate
    compiler: CandidateCompiler
    measure: Measure
    search: Search
    schedule: Schedule
    budget: Budget
    compile_seconds: float
    default_us: float
    known: Mapping[str, TrialResult]
    report: Callable[[TrialResult], None]
    timeline: Timeline = field(default_factory=Timeline)
    meanwhile: Callable[[Sequence[TrialResult]], bool] = lambda _: False
    _compiling: dict[Future[Outcome], Candidate] = field(default_factory=dict)
    _ready: deque[tuple[Candidate, Benchmark]] = field(default_factory=deque)
    _measuring: dict[Future[Measurement | Failure], tuple[Candidate, Benchmark]] = field(
        default_factory=dict
    )
    _results: list[TrialResult] = field(default_factory=list)
    _asked: int = 0
    _is_exhausted: bool = False

    def run(self) -> list[TrialResult]:
        """Tries candidates until the budget is over or there are no more; returns them in order."""
        while not self.budget.is_over:
            self._ask()
            self._start_measuring()
            waiting: list[Future[Any]] = [*self._compiling, *self._measuring]
            if not waiting and self._is_done():
                break
            patience = min(_PATIENCE, self.budget.remaining)
            if self._awaits_the_last() and self.meanwhile(self._results):
                patience = 0.0
            with self.timeline.stage(Stage.MEASUREMENT if self._measuring else Stage.COMPILATION):
                done, _ = wait(waiting, timeout=patience, return_when=FIRST_COMPLETED)
            for compiled in [each for each in self._compiling if each in done]:
                self._take_compiled(compiled)
            for measured in [each for each in self._measuring if each in done]:
                self._take_measured(measured)
        self._finish()
        return self._results

    def _ask(self) -> None:
        room = self.schedule.room(len(self._compiling), len(self._ready), len(self._measuring))
        if self.budget.trials is not None:
            room = min(room, self.budget.trials - self._asked)
        if room <= 0 or self._is_exhausted:
            return
        with self.timeline.stage(Stage.SEARCH):
            candidates = self.search.ask(room)
        # What waits in the pipeline may be all that the search wanted to know before it goes on.
        self._is_exhausted = not candidates and not self._compiling and not self._measuring
        self._asked += len(candidates)
        for each in candidates:
            known = self.known.get(each.key)
            if known is not None:
                self._add(replace(known, candidate=each))
                continue
            job = self.compiler.submit(self.template, each, self.compile_seconds)
            self._compiling[job] = each

    def _start_measuring(self) -> None:
        while (
            self._ready
            and len(self._measuring) < self.measure.at_once
            and self.schedule.may_measure(len(self._compiling))
        ):
            candidate, benchmark = self._ready.popleft()
            job = self.measure.submit(benchmark, self._best_us())
            self._measuring[job] = candidate, benchmark

    def _best_us(self) -> float:
        times = [each.microseconds for each in self._results if each.microseconds is not None]
        return min([*times, self.default_us])

    def _take_compiled(self, job: Future[Outcome]) -> None:
        candidate = self._compiling.pop(job)
        if job.cancelled():
            return
        outcome = job.result()
        if isinstance(outcome, Failure):
            self._add(TrialResult(candidate, None, outcome, time.monotonic()))
        else:
            self._ready.append((candidate, outcome))

    def _take_measured(self, job: Future[Measurement | Failure]) -> None:
        candidate, benchmark = self._measuring.pop(job)
        found, now = job.result(), time.monotonic()
        if isinstance(found, Failure):
            self._add(TrialResult(candidate, None, found, now, benchmark))
        else:
            us = found.microseconds
            self._add(TrialResult(candidate, us, None, now, benchmark, found.timing))

    def _add(self, result: TrialResult) -> None:
        self._results.append(result)
        self.search.tell(result.candidate, result.microseconds)
        self.report(result)

    def _is_done(self) -> bool:
        """Tells whether there is nothing more to ask for."""
        trials = self.budget.trials
        return self._is_exhausted or (trials is not None and self._asked >= trials)

    def _awaits_the_last(self) -> bool:
        """Tells whether all that is left was given to the devices, which may be compiling it further."""
        left = len(self._compiling) + len(self._measuring)
        return self._is_done() and not self._ready and 0 < left <= self.measure.at_once

    def _finish(self) -> None:
        """Lets go of what compiles, and takes what is being measured."""
        for compiled in self._compiling:
            compiled.cancel()
        for measured in list(self._measuring):
            self._take_measured(measured)
