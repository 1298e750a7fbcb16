"""Measurement of the compiler's choices, heaviest tasks first, and the fraction of their time that tuning may save."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from statistics import median
from threading import TIMEOUT_MAX
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.devices import Stage
from tuninglink.errors import TuninglinkError
from tuninglink.iree import DispatchCost, StructuredOp, cost_of
from tuninglink.mlir import collect, error, note, thread_context
from tuninglink.programs import Failure, FailureKind, FatalError, Omission, TuningTask, reason_of
from tuninglink.tuning.candidates import Compiled
from tuninglink.tuning.deciding import (
    DEFAULT_SECONDS,
    SMALL,
    Budget,
    MeasuredTask,
    measure_default,
)
from tuninglink.tuning.scheduling.context import TuningContext

_LEAST: Final = 0.25
"""The potential of the fastest dispatches, which may be far from the peak of the device."""


def task_cost(task: TuningTask) -> DispatchCost:
    """Return the arithmetic operations and the bytes of one call of a task."""
    return cost_of(mlir.Module.parse(task.source, thread_context()).operation)


def potentials(measured: Sequence[MeasuredTask]) -> dict[str, float]:
    """Return the potential of each task by key, from 0.25 to 1; that of a task of unknown cost is 1.

    A roofline (Williams et al., CACM 2009) of the program itself: a task needs at least as long as its operations and its
    bytes take at the highest rates of all tasks. The rest of its time is its potential.
    """
    rates = {
        default.task.key: [
            (amount or 0) / default.default_us for amount in (cost.flops, cost.bytes)
        ]
        for default in measured
        if default.default_us > 0 and (cost := default.cost) is not None and cost.is_known
    }
    most = [max((rate[kind] for rate in rates.values()), default=0.0) for kind in range(2)]
    by_key = {default.task.key: 1.0 for default in measured}
    for key, rate in rates.items():
        used = (own / peak if peak else 0.0 for own, peak in zip(rate, most, strict=True))
        by_key[key] = max(_LEAST, 1.0 - max(used))
    return by_key


_DIALECTS: Final = ("linalg.", "iree_linalg_ext.")
"""The dialects of loop nests."""


def estimated_work(task: TuningTask) -> float:
    """Return the iterations of a task's loop nests in all calls, to order tasks. A dynamic size counts as 1."""
    module = mlir.Module.parse(task.source, thread_context()).operation
    nests = [StructuredOp(op) for op in collect(module) if op.name.startswith(_DIALECTS)]
    return task.calls * sum(math.prod(size or 1 for size in nest.sizes) for nest in nests)


_PART: Final = 0.25
"""The fraction of the time for measuring defaults before the first task is tuned."""

_JUDGING: Final = 0.05
"""The fraction of the run for judging defaults, unless the background does it."""

_SAMPLING: Final = 0.2
"""The fraction of that time for samples: a rough time orders tasks, and each is measured again before its first turn."""

_MOST: Final = 0.4
_HEAVY: Final = 0.8
"""After this fraction of the time, the defaults that take this part of the program's time by estimate are enough."""

_PATIENCE: Final = 5.0
"""The time to wait for defaults after the end of the budget, in seconds: without one, nothing is known."""


class DefaultQueue:
    """The queue of tasks with unmeasured defaults, ordered by time in the profile, then by estimated work.

    Args:
        context: what the tasks of the run share.
        omit: receives the tasks whose defaults fail.
        prepare: prepares the search for a heavy task, or one with a wrong default, while others are measured elsewhere.

    Attributes:
        waiting: the tasks whose defaults are still to be measured.
        measured: the tasks whose defaults were measured.
    """

    def __init__(
        self,
        context: TuningContext,
        tasks: Sequence[TuningTask],
        omit: Callable[[Omission], None],
        prepare: Callable[[TuningTask], object] = lambda _: None,
    ) -> None:
        self._context = context
        self._omit = omit
        self._prepare = prepare
        self._work = work = {task.key: estimated_work(task) for task in tasks}
        self.waiting = deque(
            sorted(
                tasks, key=lambda task: (-(task.profiled_us or 0), -work[task.key], not task.calls)
            )
        )
        self._jobs: dict[str, Future[Compiled | Failure]] = {}
        devices = context.devices
        self._at_once = 1
        if devices.at_once > len(devices.descriptions):
            self._at_once = devices.at_once if devices.ahead is not None else 2
        self._failure: Failure | None = None
        self._judged = 0.0  # the seconds of judgements so far
        self.measured: list[MeasuredTask] = []

    @property
    def running(self) -> list[MeasuredTask]:
        """The measured tasks whose defaults do not fail."""
        return [default for default in self.measured if default.failure is None]

    @property
    def is_ready(self) -> bool:
        return all(job.done() for job in list(self._jobs.values())[: self._context.compiler.jobs])

    def submit(self) -> None:
        """Start to compile defaults: all of them, or one batch where the CPU is also the device."""
        context = self._context
        ahead = context.compiler.jobs if context.is_local else len(self.waiting)
        for task in islice(self.waiting, ahead):
            if task.key not in self._jobs:
                job = context.compiler.submit_default(task, context.settings.timeout)
                self._jobs[task.key] = job
                if context.judgements:
                    context.judgements.expect(task)

    def measure(self, budget: Budget, *, only_called: bool = False) -> None:
        """Measure and judge defaults, for a part of the time, and less if only light ones remain.

        Those that only the initialization of the program calls may be postponed: `only_called`.

        Raises:
            TuninglinkError: none of the program's dispatches runs on the devices.
        """
        part = budget.part(_PART)
        most = part.part(_MOST)

        def is_enough() -> bool:
            is_rest = only_called and not self.waiting[0].calls
            return bool(self.measured) and (
                part.is_over or is_rest or (most.is_over and self._has_heavy)
            )

        def are_late(jobs: Collection[Future[Any]]) -> bool:
            left = budget.remaining + (0.0 if budget.is_stopped else _PATIENCE)
            with self._context.timeline.stage(Stage.DEFAULTS):
                return bool(wait(jobs, min(TIMEOUT_MAX, left)).not_done)

        def measured(task: TuningTask, job: Future[Compiled | Failure]) -> MeasuredTask | Failure:
            return measure_default(task, job.result(), self._context.devices, seconds)

        seconds = min(DEFAULT_SECONDS, _SAMPLING * part.remaining / max(1, len(self.waiting)))
        threads = ThreadPoolExecutor(self._at_once)
        try:
            while self.waiting and not is_enough():
                self.submit()
                batch = [*islice(self.waiting, len(self._jobs))]
                measuring: deque[Future[MeasuredTask | Failure]] = deque()
                if self._context.is_local and are_late(self._jobs.values()):
                    break
                for number, task in enumerate(batch):
                    if is_enough():
                        self._take_done(measuring)
                        break
                    # Measure it; the next one is loaded meanwhile.
                    for ahead in batch[number + len(measuring) : number + self._at_once]:
                        measuring.append(threads.submit(measured, ahead, self._jobs[ahead.key]))
                    if are_late([self._jobs[task.key]]):
                        break
                    self._take(self.waiting.popleft(), measuring.popleft())
                    del self._jobs[task.key]
                if part.is_over:
                    break
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
        # Drop the work begun for waiting tasks, then judge the measured defaults.
        for compilation in self._jobs.values():
            compilation.cancel()
        self._jobs.clear()
        self._judge(budget)
        if self._failure is not None and not self.measured and not self.waiting:
            device = self._context.devices.first.description
            named = f"device '{device.uri}' ({device.name})"
            message = f"no dispatch of the program runs on {named}"
            if self._failure.kind is FailureKind.LOAD:
                message = f"{named} cannot run code for the program's target"
            raise TuninglinkError(error(message, notes=[note(self._failure.message)]))

    def _judge(self, budget: Budget) -> None:
        """Judge the measured defaults, heaviest first, in a part of the time where the background does not do it."""
        judgements, began = self._context.judgements, time.monotonic()
        end = began + min(
            _JUDGING * self._context.settings.seconds - self._judged, budget.remaining
        )
        with self._context.timeline.stage(Stage.REFERENCE):
            for measured in self.weighed() if judgements else ():
                if judgements and (not self._context.is_local or time.monotonic() <= end):
                    judgements.begin(measured.task, measured.benchmark)
        self._judged += time.monotonic() - began

    def _take_done(self, measuring: deque[Future[MeasuredTask | Failure]]) -> None:
        """Take the defaults that were measured while another one was, so that they are not measured again."""
        while measuring and measuring[0].done():
            self._take(self.waiting.popleft(), measuring.popleft())

    def _take(self, task: TuningTask, job: Future[MeasuredTask | Failure]) -> None:
        """Wait for the default of a task: it is measured, or its failure is reported."""
        context, judgements = self._context, self._context.judgements
        with context.timeline.stage(Stage.DEFAULTS):
            try:
                measured = job.result()
            except FatalError:
                raise
            except Exception as failure:  # noqa: BLE001 - an error loses one task only
                self._omit(Omission(task.dispatches, reason_of(failure)))
                return
        if isinstance(measured, Failure):
            if context.reproducers:
                context.reproducers.keep_dispatch(task, measured)
            if judgements is None or measured.kind is FailureKind.LOAD:
                self._failure = self._failure or measured
                reason = f"the compiler's own choice fails: {measured.message}"
                self._omit(Omission(task.dispatches, reason))
                return
            context.listener.default_fails(task, measured)
            measured = MeasuredTask(task, task.benchmark(b""), 0.0, 0.0, failure=measured)
        is_wrong = judgements is not None and bool(measured.failure or measured.fault)
        if judgements and is_wrong:
            judgements.reject(measured)
            judgements.expect(task)
        self.measured.append(replace(measured, cost=task_cost(task)))
        taken = [own.weight * own.default_us for own in self.measured]
        if not context.is_local and (
            is_wrong or taken[-1] > SMALL * max(context.program_us, *taken)
        ):
            self._prepare(task)

    def shares(self) -> dict[str, float]:
        """Return the share of each measured task in the time of all tasks, by key."""
        times = self._times()
        total = sum(times.values()) or 1.0
        return {default.task.key: times[default.task.key] / total for default in self.measured}

    @property
    def _has_heavy(self) -> bool:
        """Whether the measured defaults take most of the program's time, which the estimates for others may not reach."""
        times = self._times()
        taken = sum(times[default.task.key] for default in self.measured)
        return taken > _HEAVY * max(self._context.program_us, sum(times.values()))

    def _times(self) -> dict[str, float]:
        """Return the time of all calls of each task, by key.

        That of waiting tasks, and of those whose defaults fail, is from the profile, or estimated from their work.
        """
        times = {default.task.key: default.weight * default.default_us for default in self.running}
        rates = [time / max(1.0, self._work[key]) for key, time in times.items()]
        rate = median(rates) if rates else 1.0
        for task in (*self.waiting, *(default.task for default in self.measured)):
            if task.key not in times:
                estimate = rate * max(1.0, self._work[task.key])
                times[task.key] = estimate if task.profiled_us is None else task.profiled_us
        return times

    def estimated(self) -> list[MeasuredTask]:
        """Return the waiting tasks, with estimates for the times of their defaults."""
        times = self._times()
        total = sum(times.values()) or 1.0
        waiting = [(task, times[task.key]) for task in self.waiting]
        return [
            MeasuredTask(task, task.benchmark(b""), us / max(1, task.calls), 0.0, us / total)
            for task, us in waiting
        ]

    def weighed(self) -> list[MeasuredTask]:
        """Return the measured tasks with their shares and potentials, heaviest first."""
        times, shares, parts = self._times(), self.shares(), potentials(self.measured)
        weighed = []
        for default in self.measured:
            key, us = default.task.key, default.default_us
            if default.failure is not None:
                us = times[key] / max(1, default.task.calls)
            weighed.append(replace(default, default_us=us, share=shares[key], potential=parts[key]))
        return sorted(weighed, key=lambda default: -default.share)
