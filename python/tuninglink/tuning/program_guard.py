"""The guard of a run: a final comparison of the whole program with and without the spec."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cached_property, partial
from typing import Final, Self

from tuninglink.errors import TuninglinkError
from tuninglink.predicting import TaskPredictions
from tuninglink.programs import DispatchedProgram, Failure
from tuninglink.tuning.candidates import Compiled
from tuninglink.tuning.deciding import (
    FEWEST_MODEL_ROUNDS,
    Account,
    Interrupted,
    Ledger,
    ModelRuns,
    ModelVerdict,
    OutputJudge,
    TaskOutcome,
    TaskResult,
    guard_seconds,
    judge_default,
    judge_entries,
    program_compile_seconds,
    with_predicted,
)
from tuninglink.tuning.references import ProgramReference, ReferenceOutputs
from tuninglink.tuning.scheduling import DefaultQueue, TuningContext

_REFERENCE_SECONDS: Final = 6.0
"""The time reserved for the reference, in seconds."""

_LEAST_PART: Final = 0.7
"""The reference of the whole program is computed if this fraction of the price is left."""

_REPAIRED_SECONDS: Final = 0.5
"""The time for compiling the program with the repairs alone, which begins before it is needed."""

_FIXED_PART: Final = 0.75
"""The fraction of the shortest compilation of a dispatch that each separate compilation repeats. Four programs with 9 to
81 dispatches were compiled for llvm-cpu in 1.3 to 7.2 s of processor time; their dispatches took 2.3 to 23 s."""

_LONG: Final = 0.05
"""The fraction of the budget above which an estimate of the compilation is replaced by its time."""


class ProgramGuard:
    """Compares the whole program at the end of a run.

    Args:
        context: provides the compiler and the devices.
        compiled: the program without a spec, if it is already compiled.
        predictions: the predictions that the run makes; None for none.
        expected: the outputs of the reference, as far as they are known; see `ProgramReference`.

    Attributes:
        least_price: the seconds of a comparison with the fewest rounds; 0 until it is known.
    """

    def __init__(
        self,
        program: DispatchedProgram,
        context: TuningContext,
        ledger: Ledger,
        compiled: Compiled | None = None,
        predictions: TaskPredictions | None = None,
        *,
        expected: ReferenceOutputs | None = None,
    ) -> None:
        self._program = program
        self._compiled = compiled
        self._predictions = predictions
        self._expected = expected or {}
        self._is_computed = False
        self._context = context
        self._ledger = ledger
        self._price = 0.0
        self.least_price = 0.0
        self._compile_seconds = 0.0
        self._defaults: DefaultQueue | None = None
        self._further = 0
        self._default_job: Future[Compiled | Failure] | None = None
        self._opened = ExitStack()
        self._reference: ProgramReference | None = None

    def __enter__(self) -> Self:
        settings = self._context.settings
        if self._program.calls is None or not settings.runs_model or not self._program.tasks:
            return self
        expected = [call.expected for call in self._program.calls.functions]
        # Of programs with random integers, another range may give finite outputs.
        self._is_computed = bool(self._expected) and not self._program.calls.takes_integers
        is_wanted = settings.checks_defaults and not all(expected)
        if is_wanted and self._context.references is not None:
            reference = ProgramReference(
                self._program.original,
                self._program.tasks[0].target.backend,
                settings.seed,
                min(ProgramReference.MOST_SECONDS, self._ledger.limit(Account.REFERENCE)),
                dict(self._expected),
            )
            self._reference = self._opened.enter_context(reference)
            if not (self._context.is_local or self._is_computed):
                reference.begin()  # it does not use the measuring device
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def reserve(self, defaults: DefaultQueue) -> None:
        """Reserve time for the comparison, by the defaults, some of which are measured."""
        if not self._context.settings.runs_model:
            return
        self._defaults = defaults
        # Elsewhere, other work of the run disturbs compilations, and their real times mislead.
        measured, is_local = defaults.running, self._context.is_local
        if not measured:
            return
        if is_local:
            fixed = _FIXED_PART * min(default.compile_seconds for default in measured)
            seconds = [default.compile_seconds - fixed for default in measured]
        else:
            seconds = [default.processor_seconds for default in measured]
        seconds += [sum(seconds) / len(seconds)] * len(defaults.waiting)
        self._compile_seconds = program_compile_seconds(seconds, self._context.compiler.jobs)
        self._reserve()
        # Where this disturbs no measurement, the real time replaces a long estimate.
        is_long = self._compile_seconds > _LONG * self._ledger.seconds
        if (is_long or self._compiled is not None) and not self._context.is_local:
            self.begin()

    def update(self) -> None:
        """Reserve the time of the compilation without a spec once it is known, and that of further comparisons."""
        job = self._default_job
        is_known = job is not None and job.done()
        if is_known:
            self._default_job = None
            if (compiled := self._runs.compiled()) is not None:
                # A program that was provided was compiled from its source, beside others.
                least = self._compile_seconds if self._compiled is not None else math.inf
                self._compile_seconds = min(compiled.seconds, least)
        # Without a winner, the scheduler has released the time, which predicted entries need.
        changes = is_known or self._further != self._comparisons or self._has_predictions
        if changes and self._defaults is not None:
            self._reserve()

    def _reserve(self) -> None:
        assert self._defaults is not None
        self._further = self._comparisons
        # Calls without a time count with the mean of the others.
        measured, seconds = self._defaults.running, self._compile_seconds
        called = sum(bool(task.calls) for task in self._defaults.waiting)
        total = sum(default.task.calls * default.program_us for default in measured)
        program_us = total * (len(measured) + called) / max(1, len(measured))
        dispatches = len(self._defaults.measured) + len(self._defaults.waiting)
        is_ahead = self._context.devices.ahead is not None
        price = partial(guard_seconds, is_local=self._context.is_local, is_ahead=is_ahead)
        self._price = price(seconds, dispatches, program_us)
        self._price += self._further * price(_REPAIRED_SECONDS, dispatches, program_us)
        self.least_price = price(seconds, dispatches, program_us, FEWEST_MODEL_ROUNDS)
        if self._reference is not None and not self._is_computed:
            self._price += min(_REFERENCE_SECONDS, self._reference.seconds_left)
        if not self._ledger.reserve(Account.GUARD, self._price):
            self._ledger.reserve(Account.GUARD, self.least_price)

    @property
    def _has_predictions(self) -> bool:
        return self._predictions is not None and self._predictions.are_useful

    @property
    def _comparisons(self) -> int:
        """The further comparisons: with the repairs alone, and of predicted entries."""
        judgements, defaults = self._context.judgements, self._defaults
        measured = defaults.measured if judgements and defaults else ()
        has_repairs = any(judgements and judgements.is_wrong(own.task) for own in measured)
        return has_repairs + self._has_predictions

    def begin(self, *specs: str) -> None:
        """Start to compile the program without a spec and with the given ones, unless this would disturb measurements."""
        context = self._context
        is_needed = context.settings.runs_model and not self._ledger.whole.is_stopped
        if is_needed and not context.is_local and self._program.calls is not None:
            self._default_job = self._runs.begin(*specs)

    def run(
        self,
        results: Sequence[TaskResult],
        write: Callable[[Sequence[TaskResult]], str],
        failure: TuninglinkError | None,
        predicted: Sequence[TaskResult] = (),
    ) -> ModelVerdict:
        """Run the whole program with and without the entries, unless an obstacle, such as an early failure, prevents it.

        Predicted entries stay only if they make it no worse.
        """
        listener = self._context.listener
        won = [result for result in results if result.verdict is TaskOutcome.WON]
        reason, calls = self._obstacle(failure), self._program.calls
        is_given = calls is not None and any(call.expected for call in calls.functions)
        if reason or not (won or predicted or is_given or self._reference is not None):
            verdict = ModelVerdict(tuple(won), reason="there is no entry" if not won else reason)
            if won and self._context.settings.runs_model:
                listener.compared(verdict)
            return verdict
        listener.comparing(len(won) + len(predicted))
        runs = self._runs
        # The fewest rounds are run in any case: they tell users whether the spec helps. The reference leaves time for them.
        comparisons = 1 + any(result.default_is_wrong for result in won)
        least = time.monotonic() + comparisons * self.least_price
        runs.deadline = max(self._ledger.latest, least)
        if self._reference is not None:
            left = max(1.0, runs.deadline - least)
            self._reference.seconds -= max(0.0, self._reference.seconds_left - left)
        try:
            with self._ledger.whole.ending():
                runs.compile(*(write(own) for own in (won, [*won, *predicted]) if own))
                verdict = judge_entries(won, runs, write) if won else judge_default(runs)
                if predicted:
                    verdict = with_predicted(verdict, predicted, runs, write)
        except Interrupted:
            verdict = ModelVerdict(tuple(won), reason=self._obstacle(None))
        except TuninglinkError as gone:
            # Keep the entries even if the device is lost.
            verdict = ModelVerdict(tuple(won), reason=gone.diagnostics[0].message)
        listener.compared(verdict)
        return verdict

    def image(self, spec: str) -> bytes | None:
        """Return the program with a spec if it was compiled; None otherwise."""
        compiled = self._runs.compiled(spec)
        return None if compiled is None else compiled.image

    def _obstacle(self, failure: TuninglinkError | None) -> str:
        """Return the reason for not running the program; empty if it runs."""
        whole = self._ledger.whole
        if not self._context.settings.runs_model:
            return "it was not requested"
        if whole.is_stopped or failure is not None:
            return "tuning ended early"
        if whole.remaining < _LEAST_PART * self._price and self._context.is_local:
            self._reference = None  # elsewhere, it is already computed
        if self.least_price > max(self._ledger.limit(Account.GUARD), whole.remaining):
            return f"it takes about {self.least_price:.0f} s, which the budget did not leave"
        return ""

    @cached_property
    def _runs(self) -> ModelRuns:
        context = self._context
        judge = OutputJudge(self._program.tasks, self._reference, context.settings.numerics)
        how = context.compiler, context.devices.first, context.settings.seed
        runs = ModelRuns(self._program, *how, judge=judge, loader=context.devices.ahead)
        if self._compiled is not None:
            runs.provide(self._compiled)
        return runs
