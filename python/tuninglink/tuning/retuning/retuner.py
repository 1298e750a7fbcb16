"""The retuner: measures the entries of specs again, and decides which are dropped, kept or improved."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tuninglink.compiler.session import session_flags
from tuninglink.compiler.target_flags import executable_target
from tuninglink.errors import TuninglinkError
from tuninglink.iree.targets import Target
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, thread_context
from tuninglink.payloads import PayloadError
from tuninglink.spaces.provider_registry import ProviderRegistry
from tuninglink.specs.applicability import Applicability
from tuninglink.specs.entry_settings import provenance_of
from tuninglink.tuning.deciding import Outcome
from tuninglink.tuning.deciding.defaults import measure_default
from tuninglink.tuning.devices.hardware import COMPUTE_UNITS, compute_units
from tuninglink.tuning.devices.local import may_run
from tuninglink.tuning.results import Failure, FailureKind, FatalError, reason_of
from tuninglink.tuning.results.task_result import TaskOutcome, TaskResult, TrialResult
from tuninglink.tuning.retuning import EntryProblems, EntryTask, RefusedError
from tuninglink.tuning.retuning.results import (
    EntryComparison,
    EntryResult,
    EntryVerdict,
    RetuningResult,
    Standing,
    judge,
)
from tuninglink.tuning.scheduling.task_run import tune_task

if TYPE_CHECKING:
    from tuninglink.specs.spec import Spec
    from tuninglink.tuning.candidates.compilation import Compiled
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.programs.dispatches import DispatchedProgram, TuningTask
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner

_STANDINGS: Final = {
    Outcome.FASTER: Standing.FASTER,
    Outcome.NOT_FASTER: Standing.NOT_FASTER,
    Outcome.UNDECIDED: Standing.UNDECIDED,
}


def target_of(flags: Sequence[str]) -> Target:
    """Return the target of compiler flags; process-wide flags must already be set.

    Raises:
        CompileError: the target is unknown, or the flags specify none.
    """
    session = session_flags()
    own = [flag for flag in flags if flag.partition("=")[0] in session]
    return Target.from_attribute(executable_target(own, thread_context()))


@dataclass
class Retuner:
    """Measures the entries of specs against the compiler's choices, and improves those that win.

    All entries are measured first; the rest of the budget goes into the search for better configurations.

    Attributes:
        specs: the specs.
        flags: compiler flags; process-wide flags must already be set.
        tuner: compares and searches.
        budget: the time limit.
        target: the target.
        model: a program on whose dispatches entries are also measured; None for none.
        improves: whether to search for better configurations.
        warn: receives warnings about broken plug-ins.
        tell: receives the result of each entry as soon as it is decided.
    """

    specs: Sequence[Spec]
    flags: Sequence[str]
    tuner: TaskTuner
    budget: Budget
    target: Target
    model: DispatchedProgram | None = None
    improves: bool = True
    warn: Callable[[Diagnostic], None] = lambda _: None
    tell: Callable[[EntryResult], None] = lambda _: None
    _results: list[EntryResult] = field(default_factory=list)
    _problems: EntryProblems = field(init=False)

    def __post_init__(self) -> None:
        device = self.tuner.devices.first.description
        limits = {} if device.is_local else {COMPUTE_UNITS: compute_units(device.name)}
        registry = ProviderRegistry(self.warn)
        self._problems = EntryProblems(self.flags, self.target, registry, limits)

    def run(self) -> RetuningResult:
        """Decide on entries until the budget ends or is stopped. Remaining entries stay unchanged.

        Raises:
            TuninglinkError: the devices do not run code for the target.
        """
        driver = self.tuner.devices.first.description.driver
        if not may_run(driver, self.target.backend):
            message = f"driver '{driver}' does not run what '{self.target.backend}' compiles"
            raise TuninglinkError(error(message))
        if self.model is not None:
            self._problems.add_model(self.model, self.specs)
        entries = [(spec, position) for spec in self.specs for position in range(len(spec.entries))]
        failure = None
        try:
            for done, (spec, position) in enumerate(entries):
                budget = self.budget.part(1 / (len(entries) - done))
                self._add(self._decided(spec, position, budget))
            if self.improves:
                self._improve_all()
        except FatalError as gone:
            # Keep the decisions so far.
            failure = gone
        for spec, position in entries[len(self._results) :]:
            self._add(self._untouched(spec, position, "retuning ended before its turn"))
        return RetuningResult(self._results, failure)

    # --- Deciding --------------------------------------------------------------------------------------------

    def _add(self, result: EntryResult) -> None:
        self._results.append(result)
        self.tell(result)

    def _decided(self, spec: Spec, position: int, budget: Budget) -> EntryResult:
        """Measure an entry; an error affects only this entry.

        Raises:
            DeviceError: the device is lost.
            DatabaseError: a result cannot be stored.
        """
        try:
            return self._decide(spec, position, budget)
        except FatalError:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one entry only
            return self._untouched(spec, position, reason_of(failure))

    def _decide(self, spec: Spec, position: int, budget: Budget) -> EntryResult:
        """Measure an entry."""
        # Entries for other targets, and those without time, stay unchanged.
        exclusion = Applicability(spec, self.target).exclusion(position)
        if exclusion is not None:
            return self._untouched(
                spec, position, f"it is not for '{self.target}': {exclusion.reason}"
            )
        if self.budget.is_over:
            why = "retuning was interrupted" if self.budget.is_stopped else "the budget was over"
            return self._untouched(spec, position, f"{why} before its turn")
        # Find the problems of the entry.
        try:
            tasks = self._problems.of(spec, position)
        except RefusedError as failure:
            reason = f"the compiler rejects its configuration: {failure}"
            return replace(self._untouched(spec, position, reason), verdict=EntryVerdict.DROPPED)
        except PayloadError as failure:
            return self._untouched(spec, position, failure.reason)
        # Compare it with the compiler's choice on all of them.
        comparisons = []
        for task in tasks:
            compared = self._compare(task, budget)
            if isinstance(compared, Failure):
                reason = f"the compiler's own choice fails: {compared.message}"
                return self._untouched(spec, position, reason)
            comparisons.append(compared)
        verdict, reason = judge(comparisons)
        before = provenance_of(spec.anatomy.table, spec.anatomy.pairs[position][0])
        after = {**before, **self._provenance(comparisons)}
        return EntryResult(spec, position, verdict, reason, before, after, tuple(comparisons))

    def _untouched(self, spec: Spec, position: int, reason: str) -> EntryResult:
        before = provenance_of(spec.anatomy.table, spec.anatomy.pairs[position][0])
        return EntryResult(spec, position, EntryVerdict.UNTOUCHED, reason, before, before)

    def _compare(self, task: EntryTask, budget: Budget) -> EntryComparison | Failure:
        """Compare an entry with the compiler's choice on one problem; return the reason if that is impossible."""
        tuner = self.tuner
        seconds = tuner.settings.timeout
        programs = ("", task.single.text())
        jobs = [
            tuner.compiler.submit_program(task.task.source, program, seconds)
            for program in programs
        ]
        default, own = (job.result() for job in jobs)
        measured = measure_default(task.task, default, tuner.devices)
        if isinstance(measured, Failure):
            return measured
        if isinstance(own, Failure):
            return EntryComparison(task, _failed(own), measured, failure=own)
        benchmark = _benchmark(task.task, own)
        if own.image == measured.benchmark.image:
            return EntryComparison(task, Standing.SAME, measured, benchmark=benchmark)
        trial = TrialResult(task.own, None, None, time.monotonic(), benchmark)
        pending = TaskResult(task, 1.0, measured.default_us, (trial,), TaskOutcome.UNDECIDED)
        result = tuner.compare(pending, measured.benchmark, trial, budget)
        if result.failures:
            failure = result.failures[0][1]
            return EntryComparison(task, _failed(failure), measured, None, benchmark, failure)
        return EntryComparison(task, _standing(result), measured, result.decision, benchmark)

    def _provenance(self, comparisons: Sequence[EntryComparison]) -> dict[str, object]:
        """Return the new provenance of an entry, from the problem on which it wins, if any."""
        decided = [comparison for comparison in comparisons if comparison.decision is not None]
        if not decided:
            return {}
        won = [comparison for comparison in decided if comparison.standing is Standing.FASTER]
        first = (won or decided)[0]
        us, verdict = first.measured.default_us, TaskOutcome.WON
        result = TaskResult(first.task, 1.0, us, (), verdict, decision=first.decision)
        values = result.provenance(self.tuner.devices.first.description)
        del values["trials"]  # they belong to the original search
        return values

    # --- Improving -------------------------------------------------------------------------------------------

    def _improve_all(self) -> None:
        """Search for better configurations of the entries that win."""
        kept = [
            position
            for position, result in enumerate(self._results)
            if result.verdict is EntryVerdict.KEPT and _improvable(result)
        ]
        for done, position in enumerate(kept):
            if self.budget.is_over:
                return
            budget = self.budget.part(1 / (len(kept) - done))
            try:
                improved = self._improve(self._results[position], budget)
            except FatalError:
                raise
            except Exception as failure:  # noqa: BLE001 - an error loses one improvement only
                self.warn(Diagnostic(Severity.WARNING, f"no search: {reason_of(failure)}"))
                continue
            if improved is not None:
                self._results[position] = improved
                self.tell(improved)

    def _improve(self, result: EntryResult, budget: Budget) -> EntryResult | None:
        """Search for a configuration that is clearly faster than that of an entry."""
        compared, tuner = result.comparisons[-1], self.tuner
        assert compared.benchmark is not None
        own = replace(compared.measured, benchmark=compared.benchmark)
        search = tune_task(tuner, compared.task.around_own(), own, budget)
        if search.winner is None or search.decision is None:
            return None
        improved = [
            self._compare(comparison.task.configured(search.winner.candidate), budget)
            for comparison in result.comparisons
        ]
        comparisons = tuple(
            comparison for comparison in improved if isinstance(comparison, EntryComparison)
        )
        if len(comparisons) < len(improved) or judge(comparisons)[0] is not EntryVerdict.KEPT:
            return None
        after = {**result.before, **self._provenance(comparisons), "trials": len(search.trials)}
        reason = f"another configuration is faster than its own: {search.decision.speedup}"
        return replace(
            result,
            verdict=EntryVerdict.IMPROVED,
            reason=reason,
            after=after,
            comparisons=comparisons,
            configuration=search.winner.candidate,
        )


def _benchmark(task: TuningTask, compiled: Compiled) -> Benchmark:
    return task.benchmark(compiled.image)


def _failed(failure: Failure) -> Standing:
    """Return the standing of a failing entry. Timeouts are undecided, since the machine may be busy."""
    is_late = failure.kind in (FailureKind.COMPILE_TIMEOUT, FailureKind.TIMEOUT)
    return Standing.UNDECIDED if is_late else Standing.FAILED


def _standing(result: TaskResult) -> Standing:
    decision = result.decision
    if decision is None:
        return Standing.UNDECIDED
    return Standing.SLOWER if decision.speedup.high < 1 else _STANDINGS[decision.outcome]


def _improvable(result: EntryResult) -> bool:
    """Return whether measurements on the problems of an entry hold for everything it matches."""
    first = result.comparisons[0].task
    return first.is_exact and first.takes(first.own)
