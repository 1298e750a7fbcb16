"""The tuner: from a program to a spec that wins, in stages that can be used alone."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tuninglink.emission.spec_writer import SpecEntry, write_spec
from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, note
from tuninglink.spaces.registry import ProviderRegistry
from tuninglink.tuning.candidates.preparation import PreparedTask, prepare
from tuninglink.tuning.deciding.defaults import measure_defaults
from tuninglink.tuning.deciding.model_run import ModelRuns, ModelVerdict, judge_entries
from tuninglink.tuning.devices.compute_units import COMPUTE_UNITS, compute_units
from tuninglink.tuning.devices.local import may_run
from tuninglink.tuning.programs.dispatches import Omission
from tuninglink.tuning.results.task_result import TaskOutcome, TaskResult, TuningResult
from tuninglink.tuning.scheduling.generalization import Generalizer
from tuninglink.tuning.scheduling.isolation import FATAL, reason_of
from tuninglink.tuning.scheduling.timeline import Stage
from tuninglink.tuning.search import search_named
from tuninglink.tuning.search.base import FIRST_CANDIDATES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from tuninglink.specs.model import Spec
    from tuninglink.tuning.candidates.compilation import Compiled
    from tuninglink.tuning.deciding.defaults import MeasuredTask
    from tuninglink.tuning.programs.dispatches import DispatchedProgram, TuningTask
    from tuninglink.tuning.results.failures import Failure
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner

_GENERALIZING: Final = 0.3
"""The part of the time that is kept for generalized entries, where they are wanted."""


@dataclass
class Tuner:
    """Tunes a program.

    Attributes:
        program: the program.
        flags: flags of the compiler; those of the whole process must have been set before.
        tasks: tunes its tasks.
        budget: the time.
        specs: specs whose configurations are candidates.
        warn: is told about plug-ins that cannot be used.
    """

    program: DispatchedProgram
    flags: Sequence[str]
    tasks: TaskTuner
    budget: Budget
    specs: Sequence[Spec] = ()
    warn: Callable[[Diagnostic], None] = lambda _: None
    _omissions: list[Omission] = field(default_factory=list)
    _general: dict[str, SpecEntry] = field(default_factory=dict)
    _prepared_tasks: dict[str, PreparedTask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._registry = ProviderRegistry(self.warn)

    def run(self) -> TuningResult:
        """Tunes until the budget is over or stopped; returns what was won so far.

        Raises:
            TuninglinkError: nothing of the program can be tuned on the devices.
        """
        timeline = self.tasks.timeline
        for each in self.program.omissions:
            self._omit(each)
        tasks, seconds = self.tasks, self.tasks.settings.timeout
        meant = self._meant(self.program.tasks)
        jobs = [tasks.compiler.submit_program(each.source, "", seconds) for each in meant]
        with timeline.stage(Stage.SPACES):
            self._prepare_ahead(meant, jobs)
        with timeline.stage(Stage.DEFAULTS):
            found = measure_defaults(meant, jobs, tasks.devices)
        for each in found.omissions:
            self._omit(each)
        results: list[TaskResult] = []
        with timeline.stage(Stage.SPACES):
            prepared = self._prepared(found.measured)
        failure = self._tune_all(prepared, results)
        if self.tasks.settings.generalizes and failure is None:
            self._generalize(results)
        with timeline.stage(Stage.MODEL):
            model = self._run_model(results, failure)
        results = [
            replace(each, verdict=TaskOutcome.LEFT_OUT)
            if each.verdict is TaskOutcome.WON and each not in model.kept
            else each
            for each in results
        ]
        spec = self.spec(results, is_guarded=model.comparison is not None)
        self.tasks.listener.finished(timeline)
        return TuningResult(
            spec,
            results,
            self._omissions,
            model.comparison,
            model.reason,
            timeline.began,
            timeline.times,
            failure,
        )

    def spec(self, results: Sequence[TaskResult], *, is_guarded: bool = True) -> str:
        """Returns the spec of what was won, as text.

        Args:
            results: what became of the tasks.
            is_guarded: whether the whole program was run with the spec; else the provenance of its entries says so.
        """
        won = [each for each in results if each.verdict is TaskOutcome.WON]
        entries = [entry for each in won if (entry := self._entry(each)) is not None]
        general = [self._general[each.task.key] for each in won if each.task.key in self._general]
        # What was measured for one size comes before what holds for several.
        entries += general
        if not is_guarded:
            entries = [
                replace(entry, provenance={**entry.provenance, "guarded": False})
                for entry in entries
            ]
        return write_spec("tuned", entries)

    def _entry(self, result: TaskResult) -> SpecEntry | None:
        """Returns the entry of a winner; what the tuner prepares has one, and only that can share a spec."""
        if result.winner is None or not isinstance(result.prepared, PreparedTask):
            return None
        return result.prepared.entry(result.winner.candidate, self.tasks.provenance(result))

    def _generalize(self, results: Sequence[TaskResult]) -> None:
        """Looks for ranges of sizes in which winners do not lose."""
        generalizer = Generalizer(self.tasks, self.flags, self.budget)
        for each in results:
            entry = self._entry(each) if each.verdict is TaskOutcome.WON else None
            try:
                general = generalizer.generalize(entry) if entry is not None else None
            except FATAL:
                return  # the entries of single sizes are worth writing
            except Exception as failure:  # noqa: BLE001 - an error loses one range only
                self.warn(
                    Diagnostic(
                        Severity.WARNING, f"no range for {each.task.name}: {reason_of(failure)}"
                    )
                )
                continue
            if general is not None:
                self._general[each.task.key] = general

    def _omit(self, omission: Omission) -> None:
        self._omissions.append(omission)
        self.tasks.listener.omitted(omission)

    def _meant(self, tasks: Sequence[TuningTask]) -> list[TuningTask]:
        """Returns the tasks that the user means and the device runs."""
        driver = self.tasks.devices.first.description.driver
        patterns = self.tasks.settings.patterns
        meant = []
        for each in tasks:
            if patterns and not each.is_meant(patterns):
                continue
            if may_run(driver, each.target.backend):
                meant.append(each)
            else:
                reason = f"driver '{driver}' does not run what '{each.target.backend}' compiles"
                self._omit(Omission(each.dispatches, reason))
        if not meant:
            reasons = [note(str(each)) for each in self._omissions]
            what = "that --only means" if patterns and tasks and not reasons else "to tune"
            raise TuninglinkError(error(f"there is no dispatch {what}", notes=reasons))
        return meant

    def _prepare_ahead(
        self, tasks: Sequence[TuningTask], jobs: Sequence[Future[Compiled | Failure]]
    ) -> None:
        """Prepares tasks and draws their candidates while jobs run, if all tasks will be tuned."""
        settings = self.tasks.settings
        search_named(settings.search)  # which may have a large library to load
        if settings.top is not None or settings.min_share:
            return
        for each in tasks:
            if all(job.done() for job in jobs):
                return
            with suppress(Exception):  # it is omitted with its reason in its turn
                self._prepare(each).spaces.sample(FIRST_CANDIDATES, settings.seed)

    def _prepare(self, task: TuningTask) -> PreparedTask:
        """Prepares a task, once.

        Raises:
            CompileError: the compiler fails on the dispatch.
            NotTunableError: the dispatch cannot be tuned.
        """
        known = self._prepared_tasks.get(task.key)
        if known is None:
            device = self.tasks.devices.first.description
            limits = {} if device.is_local else {COMPUTE_UNITS: compute_units(device.name)}
            known = prepare(task, self.flags, self.specs, self._registry, limits)
            self._prepared_tasks[task.key] = known
        return known

    def _prepared(
        self, measured: Sequence[MeasuredTask]
    ) -> list[tuple[PreparedTask, MeasuredTask]]:
        """Prepares tasks, and merges those that the same matcher finds into the heaviest of them."""
        settings = self.tasks.settings
        found: dict[str, tuple[PreparedTask, MeasuredTask]] = {}
        for each in measured:
            task = each.task
            if settings.top is not None and len(found) >= settings.top:
                break
            if each.share < settings.min_share:
                break
            try:
                prepared = self._prepare(task)
            except FATAL:
                raise
            except Exception as failure:  # noqa: BLE001 - an error loses one task only
                self._omit(Omission(task.dispatches, reason_of(failure)))
                continue
            known = found.get(prepared.matcher)
            if known is None:
                found[prepared.matcher] = prepared, each
                continue
            heaviest, weight = known
            found[prepared.matcher] = heaviest, replace(weight, share=weight.share + each.share)
            reason = f"it is configured by the same entry as {heaviest.task.name}, which is heavier"
            self._omit(Omission(task.dispatches, reason))
        return sorted(found.values(), key=lambda each: -each[1].share)

    def _tune_all(
        self, prepared: Sequence[tuple[PreparedTask, MeasuredTask]], results: list[TaskResult]
    ) -> TuninglinkError | None:
        """Tunes tasks, each in a part of the time that is left; returns what ended it early, if something did."""
        for position, (task, measured) in enumerate(prepared):
            if self.budget.is_over:
                why = "tuning was interrupted" if self.budget.is_stopped else "the budget was over"
                self._omit(Omission(task.task.dispatches, f"{why} before its turn"))
                continue
            weight = sum(each.share for _, each in prepared[position:])
            kept = _GENERALIZING if self.tasks.settings.generalizes else 0.0
            part = self.budget.part((1 - kept) * (measured.share / weight if weight else 1.0))
            try:
                results.append(self.tasks.tune(task, measured, part))
            except FATAL as failure:
                # What was won so far is worth writing.
                return failure
            except Exception as failure:  # noqa: BLE001 - an error loses one task only
                self._omit(Omission(task.task.dispatches, reason_of(failure)))
                continue
            self.tasks.listener.ended(results[-1])
        return None

    def _run_model(
        self, results: Sequence[TaskResult], failure: TuninglinkError | None
    ) -> ModelVerdict:
        """Runs the whole program with the entries and without, unless there is a reason not to."""
        tasks = self.tasks
        won = [each for each in results if each.verdict is TaskOutcome.WON]
        reason = ""
        if not won:
            reason = "there is no entry"
        elif not tasks.settings.runs_model:
            reason = "it was not asked for"
        elif self.budget.is_stopped or failure is not None:
            reason = "tuning ended early"
        if reason:
            verdict = ModelVerdict(tuple(won), reason=reason)
            if won:
                tasks.listener.compared(verdict)
            return verdict
        tasks.listener.comparing()
        runs = ModelRuns(self.program, tasks.compiler, tasks.devices.first, tasks.settings.seed)
        try:
            verdict = judge_entries(won, runs, self.spec)
        except TuninglinkError as gone:
            # What was won is worth writing even if the device is gone by now.
            verdict = ModelVerdict(tuple(won), reason=gone.diagnostics[0].message)
        tasks.listener.compared(verdict)
        return verdict
