"""The tuner: from a program to a spec that wins, in stages that can be used alone."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Final

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.spaces.providers import ProviderRegistry
from tuninglink.tuning.decision import Outcome
from tuninglink.tuning.defaults import measure_defaults
from tuninglink.tuning.devices import may_run
from tuninglink.tuning.dispatches import Omission
from tuninglink.tuning.emission import write_spec
from tuninglink.tuning.exploration import Alternating, Exploration, Overlapping, Schedule
from tuninglink.tuning.failures import Failure, FailureKind
from tuninglink.tuning.listener import Listener
from tuninglink.tuning.model_run import ModelRuns, ModelVerdict, judge_entries
from tuninglink.tuning.preparation import NotTunableError, PreparedTask, prepare
from tuninglink.tuning.race import race
from tuninglink.tuning.results import TaskResult, TrialResult, TuningResult, Verdict
from tuninglink.tuning.search import search_named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.mlir.diagnostics import Diagnostic
    from tuninglink.specs.model import Spec
    from tuninglink.tuning.benchmark import Benchmark
    from tuninglink.tuning.budget import Budget
    from tuninglink.tuning.compilation import CandidateCompiler
    from tuninglink.tuning.defaults import MeasuredTask
    from tuninglink.tuning.devices import Devices
    from tuninglink.tuning.dispatches import DispatchedProgram, TuningTask
    from tuninglink.tuning.reproducers import Reproducers
    from tuninglink.tuning.settings import TuningSettings

_FINALISTS: Final = 6
_NEAR: Final = 1.05
"""A candidate that is this much slower than the default in its first sample may still be faster."""

_RACING: Final = 0.3
"""The part of a task's time that is kept for the race."""

_COMPILE_FACTOR: Final = 10.0
_LEAST_COMPILE_SECONDS: Final = 5.0
"""A candidate may compile this many times as long as the default, and at least so many seconds."""


@dataclass
class Tuner:
    """Tunes a program.

    Attributes:
        program: the program.
        flags: flags of the compiler; those of the whole process must have been set before.
        settings: what is asked for.
        compiler: compiles candidates.
        devices: measure them.
        budget: the time.
        specs: specs whose configurations are candidates.
        listener: is told how it goes on.
        reproducers: keeps candidates that fail to compile; None for nobody.
        warn: is told about plug-ins that cannot be used.
    """

    program: DispatchedProgram
    flags: Sequence[str]
    settings: TuningSettings
    compiler: CandidateCompiler
    devices: Devices
    budget: Budget
    specs: Sequence[Spec] = ()
    listener: Listener = field(default_factory=Listener)
    reproducers: Reproducers | None = None
    warn: Callable[[Diagnostic], None] = lambda _: None
    _omissions: list[Omission] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def run(self) -> TuningResult:
        """Tunes until the budget is over or stopped; returns what was won so far.

        Raises:
            TuninglinkError: nothing of the program runs on the devices.
        """
        for each in self.program.omissions:
            self._omit(each)
        found = measure_defaults(
            self._meant(self.program.tasks), self.compiler, self.devices, self.settings.timeout
        )
        for each in found.omissions:
            self._omit(each)
        measured = found.measured
        prepared = self._prepared(measured)
        results: list[TaskResult] = []
        waiting = list(prepared)
        while waiting:
            task, where = waiting.pop(0)
            if self.budget.is_over:
                self._omit(Omission(task.task.dispatches, "the budget was over before its turn"))
                continue
            weight = where.share + sum(each.share for _, each in waiting)
            part = self.budget.part(where.share / weight if weight else 1.0)
            results.append(self.tune(task, where, part))
            self.listener.ended(results[-1])
        model = self._run_model(results)
        results = [
            replace(each, verdict=Verdict.LEFT_OUT)
            if each.verdict is Verdict.WON and each not in model.kept
            else each
            for each in results
        ]
        return TuningResult(
            self.spec(results),
            results,
            self._omissions,
            model.comparison,
            model.reason,
            {each.task.key: each.share for each in measured},
            time.monotonic() - self._began,
        )

    # --- Stages ------------------------------------------------------------------------------------------

    def tune(self, prepared: PreparedTask, measured: MeasuredTask, budget: Budget) -> TaskResult:
        """Tunes one task: explores its candidates, and lets the best ones race."""
        self.listener.begun(prepared, measured.share, measured.default_us)
        default_us = self.devices.measure_default(measured.benchmark)
        if isinstance(default_us, Failure):
            default_us = measured.default_us
        trials = self.explore(prepared, measured, default_us, budget.part(1 - _RACING))
        near = [
            each
            for each in trials
            if each.benchmark is not None
            and each.microseconds is not None
            and each.microseconds < default_us * _NEAR
        ]
        near.sort(key=lambda each: each.microseconds or 0.0)
        result = TaskResult(prepared, measured.share, default_us, tuple(trials), Verdict.DEFAULT)
        if not near:
            return result
        if budget.is_over:
            return replace(result, verdict=Verdict.UNDECIDED)
        return self._race(result, measured.benchmark, near[:_FINALISTS], budget)

    def explore(
        self, prepared: PreparedTask, measured: MeasuredTask, default_us: float, budget: Budget
    ) -> list[TrialResult]:
        """Tries candidates of a task, those of specs first."""
        spaces = prepared.spaces
        search_type = search_named(self.settings.search)
        search = search_type(spaces, self.settings.seed, default_us, known=())

        def report(trial: TrialResult) -> None:
            self.listener.tried(prepared, trial, budget)
            if self.reproducers and trial.failure and trial.benchmark is None:
                self.reproducers.keep(
                    prepared.task.label, prepared.template, trial.candidate, trial.failure
                )

        seconds = max(_LEAST_COMPILE_SECONDS, _COMPILE_FACTOR * measured.compile_seconds)
        exploration = Exploration(
            prepared.template,
            self.compiler,
            self.devices,
            search,
            self._schedule(),
            budget,
            min(seconds, self.settings.timeout),
            default_us,
            report,
        )
        return exploration.run()

    def spec(self, results: Sequence[TaskResult]) -> str:
        """Returns the spec of what was won, as text."""
        entries = [
            each.prepared.entry(each.winner.candidate, self._provenance(each))
            for each in results
            if each.verdict is Verdict.WON and each.winner is not None
        ]
        return write_spec("tuned", entries)

    # --- Steps -------------------------------------------------------------------------------------------

    def _omit(self, omission: Omission) -> None:
        self._omissions.append(omission)
        self.listener.omitted(omission)

    def _meant(self, tasks: Sequence[TuningTask]) -> list[TuningTask]:
        """Returns the tasks that the user means and the device runs."""
        driver = self.devices.first.description.driver
        meant = []
        for each in tasks:
            if self.settings.patterns and not each.is_meant(self.settings.patterns):
                continue
            if may_run(driver, each.target.backend):
                meant.append(each)
            else:
                reason = f"driver '{driver}' does not run what '{each.target.backend}' compiles"
                self._omit(Omission(each.dispatches, reason))
        if not meant:
            reasons = [note(str(each)) for each in self._omissions]
            raise TuninglinkError(error("there is no dispatch to tune", notes=reasons))
        return meant

    def _prepared(
        self, measured: Sequence[MeasuredTask]
    ) -> list[tuple[PreparedTask, MeasuredTask]]:
        """Prepares tasks, and merges those that the same matcher finds into the heaviest of them."""
        registry = ProviderRegistry(self.warn)
        found: dict[str, tuple[PreparedTask, MeasuredTask]] = {}
        for each in measured:
            task = each.task
            if self.settings.top is not None and len(found) >= self.settings.top:
                break
            if each.share < self.settings.min_share:
                break
            try:
                prepared = prepare(task, self.flags, self.specs, registry)
            except NotTunableError as failure:
                self._omit(Omission(task.dispatches, str(failure)))
                continue
            known = found.get(prepared.matcher)
            if known is None:
                found[prepared.matcher] = prepared, each
            else:
                weight = known[1].share + each.share
                found[prepared.matcher] = known[0], replace(known[1], share=weight)
                name = known[0].task.name
                reason = f"it is configured by the same entry as {name}, which is heavier"
                self._omit(Omission(task.dispatches, reason))
        return sorted(found.values(), key=lambda each: -each[1].share)

    def _schedule(self) -> Schedule:
        if self.devices.first.description.is_local:
            return Alternating(max(8, self.compiler.jobs))
        return Overlapping(2 * self.compiler.jobs)

    def _race(
        self,
        result: TaskResult,
        default: Benchmark,
        finalists: Sequence[TrialResult],
        budget: Budget,
    ) -> TaskResult:
        self.listener.racing(result.prepared, len(finalists))
        found = race(
            self.devices.first,
            default,
            [each.benchmark for each in finalists if each.benchmark is not None],
            reduction=result.prepared.spaces.problem.reduction,
            min_gain=self.settings.min_gain,
            seed=self.settings.seed,
            deadline=budget.deadline,
        )
        wrong = tuple(
            (finalists[position].candidate, failure)
            for position, failure in found.failures.items()
            if failure.kind in (FailureKind.WRONG, FailureKind.OUT_OF_BOUNDS)
        )
        result = replace(result, wrong=wrong)
        if found.winner is None or found.decision is None:
            return result
        verdict = {
            Outcome.FASTER: Verdict.WON,
            Outcome.NOT_FASTER: Verdict.DEFAULT,
            Outcome.UNDECIDED: Verdict.UNDECIDED,
        }[found.decision.outcome]
        winner = finalists[found.winner] if verdict is Verdict.WON else None
        result = replace(result, verdict=verdict, winner=winner, decision=found.decision)
        return self._verified(result)

    def _verified(self, result: TaskResult) -> TaskResult:
        """Compares the binary of a winner with the one that the written spec gives.

        Raises:
            TuninglinkError: they differ, which is a mistake of the tuner.
        """
        if result.winner is None or result.winner.benchmark is None:
            return result
        spec = self.spec([result])
        compiled = self.compiler.submit_program(
            result.task.source, spec, self.settings.timeout
        ).result()
        if isinstance(compiled, Failure) or compiled.image != result.winner.benchmark.image:
            why = compiled.message if isinstance(compiled, Failure) else "the binaries differ"
            message = f"the spec for {result.task.name} does not give what was measured: {why}"
            raise TuninglinkError(error(message, notes=[note(str(result.winner.candidate))]))
        return result

    def _provenance(self, result: TaskResult) -> dict[str, object]:
        device = self.devices.first.description
        decision = result.decision
        assert decision is not None
        return {
            "device": device.name,
            "driver": " ".join(filter(None, (device.driver, device.driver_version))),
            "target": result.task.target.name,
            "compiler": metadata.version("iree-base-compiler"),
            "default_us": round(decision.default_us, 3),
            "tuned_us": round(decision.tuned_us, 3),
            "interval": [round(decision.speedup.low, 3), round(decision.speedup.high, 3)],
            "trials": len(result.trials),
            "date": datetime.now(UTC).date().isoformat(),
        }

    def _run_model(self, results: Sequence[TaskResult]) -> ModelVerdict:
        won = [each for each in results if each.verdict is Verdict.WON]
        reason = ""
        if not won:
            reason = "there is no entry"
        elif not self.settings.runs_model:
            reason = "it was not asked for"
        elif self.budget.is_stopped:
            reason = "tuning was interrupted"
        if reason:
            return ModelVerdict(tuple(won), reason=reason)
        self.listener.comparing()
        runs = ModelRuns(self.program, self.compiler, self.devices.first, self.settings.seed)
        verdict = judge_entries(won, runs, self.spec)
        self.listener.compared(verdict)
        return verdict
