"""The tuner: from a program to a winning spec, in stages that can be used separately."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property, partial
from typing import Final

from tuninglink.devices import Stage, weighted_mean
from tuninglink.emission import write_spec
from tuninglink.errors import Diagnostic, Severity, TuninglinkError
from tuninglink.mlir import error, note
from tuninglink.predicting import TaskPredictions
from tuninglink.programs import (
    Benchmark,
    DispatchedProgram,
    Failure,
    FatalError,
    NothingToTuneError,
    Omission,
    OutputComparison,
    TuningTask,
    box_above,
    boxes_around,
    dynamic_loops,
    reason_of,
    specialize,
)
from tuninglink.spaces import ProviderRegistry, SpaceSelection, check_selection
from tuninglink.specs import FLAGS, Spec, load_spec
from tuninglink.tuning.candidates import (
    CandidateOrigin,
    Compiled,
    DrawingProcesses,
    NotTunableError,
    PreparedTask,
    prepare,
)
from tuninglink.tuning.deciding import (
    Account,
    Budget,
    ConfidenceInterval,
    Decision,
    Ledger,
    MeasuredTask,
    Outcome,
    SizeChecks,
    SizeComparison,
    TaskOutcome,
    TaskResult,
    TrialResult,
    TuningResult,
    WrongDefaults,
    least_seconds,
    measure_default,
)
from tuninglink.tuning.flag_sets import CHANNELS_LAST
from tuninglink.tuning.program_guard import ProgramGuard
from tuninglink.tuning.references import ReferenceOutputs
from tuninglink.tuning.scheduling import DefaultQueue, Scheduler, TuningContext, tune_task
from tuninglink.tuning.search import FIRST_CANDIDATES, search_named

Prepare = Callable[[TuningTask, Sequence[Spec]], PreparedTask]

_RANGES: Final = 0.4
"""The fraction of the time reserved for ranges of sizes of dynamic dispatches."""

_EARLY: Final = 8
"""The number of tasks, those with the most operations, whose candidates are drawn before their defaults are measured."""

_REPAIRS: Final = 1.5
"""The time of further repairs in multiples of those so far: tasks without a turn may be slower."""

_PREDICTING: Final = 0.1
"""The largest fraction of the time for predictions where the CPU is the device: they end before anything is measured."""

_LEAST_SHARE: Final = 0.001
"""The least share of the program's time of a dispatch whose default is right, and which gets a predicted entry."""

_REFERENCE_SECONDS: Final = 2.0
"""The time reserved for comparing finalists with references where the CPU is the device."""


@dataclass
class Tuner:
    """Tunes a program.

    Attributes:
        flags: compiler flags; process-wide flags must already be set.
        context: compiles, measures and decides.
        specs: specs whose configurations are candidates.
        set_flags: the flags chosen by the comparison of sets, for the provenance of entries.
        keep: receives the spec with all winners so far whenever there is a new one.
        compiled: the whole program without a spec, if it is already compiled.
        expected: the outputs of the reference, as far as they are known; see `ProgramReference`.
    """

    program: DispatchedProgram
    flags: Sequence[str]
    context: TuningContext
    ledger: Ledger
    specs: Sequence[Spec] = ()
    set_flags: Sequence[str] = ()
    keep: Callable[[str], object] = lambda _: None
    compiled: Compiled | None = None
    expected: ReferenceOutputs = field(default_factory=dict)
    _omissions: list[Omission] = field(default_factory=list, init=False)
    _prepared_tasks: dict[str, PreparedTask] = field(default_factory=dict, init=False)
    _drawing: DrawingProcesses | None = field(default=None, init=False)

    def run(self) -> TuningResult:
        """Tune until the budget is over or stopped, and return the results so far.

        Raises:
            NothingToTuneError: no dispatch of the program can be tuned on the devices.
        """
        for omission in self.program.omissions:
            self._omit(omission)
        with ExitStack() as opened:
            if not self.context.is_local:  # the CPU may draw while another device is measured
                settings = self.context.settings
                draws = search_named(settings.search).first_draws
                first = [(draw, FIRST_CANDIDATES, settings.seed) for draw in draws]
                self._drawing = opened.enter_context(DrawingProcesses(self.flags, first))
            how = self.program, self.context, self.ledger, self.compiled, self._predictions
            guard = ProgramGuard(*how, expected=self.expected)
            return self._run(opened.enter_context(guard))

    def _run(self, guard: ProgramGuard) -> TuningResult:
        timeline, configurations = self.context.timeline, partial(self._spec, provenance=None)
        # Tune and decide all tasks.
        scheduler = Scheduler(
            self.context,
            self.ledger,
            self._prepare,
            self._omit,
            lambda results: self.keep(self._spec(results, {"guarded": False})),
        )
        failure: TuninglinkError | None = None
        try:
            scheduler.run(
                self._selected(),
                partial(self._reserve, guard),
                lambda results: guard.begin(
                    configurations(results),
                    configurations([*results, *self._predicted(scheduler.untried, results)]),
                ),
                guard.update,
                self._begin,
            )
        except FatalError as fatal:
            failure = fatal  # the results so far are kept
            scheduler.keep_standing()
        results = sorted(scheduler.results, key=lambda result: -result.share)
        # Use the rest of the time for ranges of sizes.
        if self._is_dynamic and failure is None:
            results = self._with_ranges(results, self.ledger.spend(Account.RANGES))
        # Compare the whole program, and drop the winners that make it slower.
        with timeline.stage(Stage.MODEL):
            predicted = self._predicted(scheduler.untried, results)
            model = guard.run(results, configurations, failure, predicted)
        added = [result for result in predicted if result in model.kept]
        replaced = {dispatch for result in added for dispatch in result.task.dispatches}
        results = [
            replace(result, verdict=TaskOutcome.LEFT_OUT)
            if result.verdict is TaskOutcome.WON and result not in model.kept
            else result
            for result in results
            if result.task.name not in replaced
        ] + added
        # Write the spec.
        spec = self._spec(results, {"guarded": False} if model.comparison is None else {})
        wrong = self._wrong_defaults(results, scheduler.repair_seconds, model.outputs)
        if wrong.count:
            self.context.listener.repaired(wrong)
        self.context.listener.finished(timeline)
        return TuningResult(
            spec=spec,
            tasks=sorted(results, key=lambda result: -result.share),
            omissions=[
                replace(omission, dispatches=rest)
                for omission in self._omissions
                if (rest := tuple(one for one in omission.dispatches if one not in replaced))
            ],
            model=model.comparison,
            model_note=model.reason,
            outputs=model.outputs,
            began=timeline.began,
            stages=timeline.times(),
            failure=failure,
            wrong_defaults=wrong,
            image=guard.image(configurations(results)),
        )

    def _wrong_defaults(
        self, results: Sequence[TaskResult], seconds: float, outputs: OutputComparison | None
    ) -> WrongDefaults:
        """Return the numbers of wrong defaults."""
        judgements = self.context.judgements
        by_matcher = {
            own.prepared.matcher: own for own in results if isinstance(own.prepared, PreparedTask)
        }
        repaired, tried, untried, is_known = 0, 0, 0, False
        for task in self.program.tasks if judgements is not None else ():
            if judgements is None or not judgements.is_wrong(task) or judgements.fails(task):
                continue
            prepared, count = self._prepared_tasks.get(task.key), len(task.dispatches)
            result = by_matcher.get(prepared.matcher) if prepared else None
            if result is None:
                untried += count
            elif result.has_entry:
                repaired += count
            else:
                tried += count
            is_known = is_known or bool(prepared and prepared.spaces.default_fault)
        seconds = self.ledger.seconds + _REPAIRS * untried * seconds if untried else 0.0
        # A flag may avoid miscompiled convolutions.
        advice, has_convolutions = "", any(b"conv" in task.source for task in self.program.tasks)
        if is_known and has_convolutions and not CHANNELS_LAST.conflicts(self.flags):
            advice = f"{shlex.join(CHANNELS_LAST.flags)} may avoid some"
        return WrongDefaults(repaired, tried, untried, seconds, advice, outputs)

    def _reserve(self, guard: ProgramGuard, defaults: DefaultQueue) -> None:
        """Reserve time for the whole program and for ranges, and report the least budget if it is too small."""
        ledger = self.ledger
        if self._is_dynamic:
            ledger.reserve(Account.RANGES, _RANGES * ledger.whole.remaining)
        if math.isinf(ledger.seconds) or not defaults.running:
            return
        if self.context.references is not None and self.context.is_local:
            # Elsewhere, references are computed while the device measures.
            seconds = min(ledger.limit(Account.REFERENCE), _REFERENCE_SECONDS)
            ledger.reserve(Account.REFERENCE, seconds)
        guard.reserve(defaults)
        rules = self.context.rules(ledger.whole, default_is_wrong=False)
        heaviest = next(default for default in defaults.weighed() if default.failure is None)
        least, price, work = least_seconds(ledger, heaviest, rules), guard.least_price, ""
        if least > ledger.seconds:
            work = f"reading it, its defaults and one race take about {least:.0f} s"
        elif price > (part := ledger.limit(Account.GUARD)):
            work = f"comparing it as a whole takes about {price:.0f} s, without which nothing guards the spec"
            least = ledger.seconds * price / part
        if work:
            left = f"the {max(0, ledger.seconds):.0f} s that are left of the budget are too short"
            factor = math.ceil(10 * least / max(0.1, ledger.seconds)) / 10
            message = f"{left} for this program, {factor:g} times as many may suffice: {work}"
            self.context.listener.noticed(Diagnostic(Severity.WARNING, message))

    def _spec(self, results: Sequence[TaskResult], provenance: Mapping[str, object] | None) -> str:
        """Return the spec with the winners, as text, with further provenance of the entries.

        With None they have none at all, so that the spec does not change while a winner stays.
        """
        device, entries = self.context.devices.first.description, []
        if provenance is not None and self.set_flags:
            provenance = {**provenance, FLAGS: list(self.set_flags)}
        for result in results:
            if not result.has_entry:
                continue
            for part in (*result.ranges, result):
                # The tasks of the tuner are always prepared, and a task that won has a winner.
                if part.winner is not None and isinstance(part.prepared, PreparedTask):
                    own = None if provenance is None else {**part.provenance(device), **provenance}
                    entry = part.prepared.entry(part.winner.candidate, own or {})
                    boxes = tuple(inner.task.bounds for inner in part.ranges)
                    entries.append(replace(entry, specializations=boxes))
        return write_spec("tuned", entries)

    @cached_property
    def _predictions(self) -> TaskPredictions:
        return TaskPredictions(self.context.compiler, self.flags)

    def _begin(self, tasks: Sequence[TuningTask]) -> None:
        """Begin draws for the first tasks, and predictions, unless the user has selected candidates or nothing guards entries."""
        settings = self.context.settings
        if self._drawing is not None:
            limits = self.context.devices.first.description.limits
            for task in tasks[:_EARLY]:
                self._drawing.begin(task, limits, self._selection)
        if settings.runs_model and self.program.calls is not None and not self._selection:
            self._predictions.begin(tasks)
            if self.context.is_local:
                self._predictions.end(_PREDICTING * self.ledger.seconds)

    def _predicted(
        self, untried: Sequence[MeasuredTask], results: Sequence[TaskResult]
    ) -> list[TaskResult]:
        """Return results with the predicted entries of tasks for which trials decided nothing."""
        if self.ledger.whole.is_stopped:
            return []
        prediction_of, predicted = self._predictions.prediction, list[TaskResult]()
        undecided, judgements = TaskOutcome.UNDECIDED, self.context.judgements
        begun = [own for own in results if own.default_is_wrong or own.verdict is undecided]
        begun = [own for own in begun if own.winner is None]
        taken = {self._prepare(own.task).matcher for own in results if own not in begun}
        for one in untried:
            prediction = prediction_of(one.task)
            if prediction is not None and (prediction.fault or one.share >= _LEAST_SHARE):
                with suppress(Exception):  # what cannot be prepared keeps its default
                    about = self._prepare(one.task), one.share, one.default_us, (), undecided
                    verdict = judgements.verdict(one.task) if judgements else None
                    begun.append(TaskResult(*about, judgement=verdict, default_failure=one.failure))
        for result in begun:
            prediction, prepared = prediction_of(result.task), self._prepare(result.task)
            if prediction is None or prepared.matcher in taken:
                continue
            # A prediction does not remedy an unknown fault, and a trial knows better.
            is_blind = not (prediction.fault or result.default_failure)
            candidate = prepared.spaces.in_space(prediction.configuration, CandidateOrigin.SPACE)
            if (is_blind and result.default_is_wrong) or any(
                (trial.microseconds or math.inf) >= result.default_us
                for trial in result.trials
                if trial.candidate.key == candidate.key
            ):
                continue
            taken.add(prepared.matcher)
            winner = TrialResult(candidate, None, None, 0.0)
            record = self._predictions.provenance(result.task, prediction)
            own = replace(result, winner=winner, prediction=record, reason="")
            predicted.append(replace(own, verdict=TaskOutcome.PREDICTED))
        return predicted

    @property
    def _is_dynamic(self) -> bool:
        return any(task.is_dynamic for task in self.program.tasks)

    def _with_ranges(self, results: Sequence[TaskResult], budget: Budget) -> list[TaskResult]:
        """Return the results with ranges of sizes where these are faster than one entry for all sizes."""
        tuner = self.context, self._prepare_with, lambda result: self._spec([result], None)
        improved = list(results)
        dynamic = [number for number, result in enumerate(results) if result.task.is_dynamic]
        for position, number in enumerate(dynamic):
            shares = sum(results[place].share for place in dynamic[position:])
            part = budget.part(results[number].share / shares if shares else 1.0)
            if part.is_over:
                break
            try:
                improved[number] = RangeTuner(*tuner, results[number]).improve(part)
            except FatalError:
                break  # the results so far are kept
            except Exception as failure:  # noqa: BLE001 - an error loses the ranges of one task only
                reason = f"no ranges for {results[number].task.name}: {reason_of(failure)}"
                self.context.listener.noticed(Diagnostic(Severity.WARNING, reason))
            if improved[number] is not results[number]:
                self.context.listener.ended(improved[number])
        return improved

    def _prepare_with(self, task: TuningTask, specs: Sequence[Spec]) -> PreparedTask:
        limits, selection = self.context.devices.first.description.limits, self._selection
        prepare_here = partial(
            prepare, task, self.flags, specs, self._registry, limits, selection=selection
        )
        if self._drawing is None:
            return prepare_here()
        return self._drawing.prepare(task, limits, selection, prepare_here)

    @cached_property
    def _registry(self) -> ProviderRegistry:
        return ProviderRegistry(self.context.listener.noticed)

    @property
    def _selection(self) -> SpaceSelection:
        return SpaceSelection(self.context.settings.pipelines, self.context.settings.fixed)

    def _omit(self, omission: Omission) -> None:
        self._omissions.append(omission)
        self.context.listener.omitted(omission)

    def _selected(self) -> list[TuningTask]:
        """Return the tasks selected by the user and supported by the device."""
        device, selected = self.context.devices.first.description, []
        for task in self.program.matching_tasks(self.context.settings.patterns):
            if reason := device.unsupported(task.target):
                self._omit(Omission(task.dispatches, reason))
            else:
                selected.append(task)
        if not selected:
            reasons = [note(str(omission)) for omission in self._omissions]
            raise NothingToTuneError(error("there is no dispatch to tune", notes=reasons))
        if self._selection:
            check_selection(partial(self._prepare, task) for task in selected)
        return selected

    def _prepare(self, task: TuningTask) -> PreparedTask:
        if task.key not in self._prepared_tasks:
            self._prepared_tasks[task.key] = self._prepare_with(task, self.specs)
        return self._prepared_tasks[task.key]


# --- Dynamic dispatches by ranges of sizes, where no single configuration is best for all sizes ---------

_TUNING: Final = 0.7
"""The part of the time for a range in which it is tuned; in the rest it is compared."""

_LEAST_PART: Final = 0.5
"""A range is tuned if this part of the time that the last one took is left."""

_CHECKING: Final = 0.15
"""The part of the time for all ranges that is kept for the comparison of the outputs of all of them."""

_FEWEST_SIZES: Final = {"cuda": 2, "rocm": 2, "vulkan-spirv": 2, "metal-spirv": 2}
"""The least number of sizes of a range, by backend. On GPUs, the compiler fails on the code for a single size: it copies
the result outside of the workgroups."""


@dataclass(frozen=True)
class RangeTuner:
    """Tunes a dynamic dispatch again for ranges around its sizes, with separate code for each."""

    tuner: TuningContext
    prepare: Prepare
    write: Callable[[TaskResult], str]
    result: TaskResult

    def improve(self, budget: Budget) -> TaskResult:
        """Return the result of the dispatch with the ranges that are faster than the entry for all sizes."""
        result = self.result
        # Make a task for each range around the measured sizes.
        boxes = boxes_around(
            [function for function in result.task.sized if function.weight],
            dynamic_loops(result.task),
            _FEWEST_SIZES.get(result.task.target.backend, 1),
        )
        tasks = [task for box in boxes if (task := specialize(result.task, box)) is not None]
        default = self._compiled() if tasks else None
        if default is None or isinstance(default, Failure):
            return result
        open_ = default
        if result.verdict is TaskOutcome.WON and result.winner and result.winner.benchmark:
            open_ = result.winner.benchmark
        # Tune the ranges in turn, while a further one fits in the budget.
        self.tuner.listener.specializing(result.prepared, len(tasks))
        tuning = budget.part(1 - _CHECKING)
        ranges: list[TaskResult] = []
        taken = 0.0
        for position, task in enumerate(tasks):
            if tuning.is_over or tuning.remaining < _LEAST_PART * taken:
                break
            began = time.monotonic()
            ranged = self._tune(task, tuning.part(_TUNING / (len(tasks) - position)))
            if ranged is not None:
                ranged = self._compared(ranged, default, open_)
            if ranged is not None:
                ranged = self._narrowed(ranged, default)
            ranges += [ranged] if ranged is not None else []
            taken = time.monotonic() - began
        if not ranges:
            return result
        # Compare the outputs of the code of all ranges with the compiler's choice, at all sizes.
        joined = self._joined(ranges, default)
        compiled = self._compiled(self.write(joined), 1 + len(ranges))
        failure = compiled if isinstance(compiled, Failure) else None
        if not isinstance(compiled, Failure):
            reduction = result.prepared.spaces.problem.reduction
            failure = self.tuner.devices.first.compare(compiled, default, reduction)
        if failure is not None:
            what, why = f"the ranges of {result.task.name} together", failure.message
            raise TuninglinkError(error(f"{what} do not reproduce the measured code: {why}"))
        return joined

    def _tune(self, task: TuningTask, budget: Budget) -> TaskResult | None:
        """Return the result of a specialized dispatch, whose winner may be the compiler's choice."""
        settings, began = self.tuner.settings, time.monotonic()
        compiled = self.tuner.compiler.submit_program(task.source, "", settings.timeout).result()
        measured = measure_default(task, compiled, self.tuner.devices)
        if isinstance(measured, Failure):
            return None
        try:
            prepared = self.prepare(task, self._known())
        except NotTunableError:
            return None
        # The reference has judged the compiler's choice for all sizes.
        tuner = replace(self.tuner, references=None)
        tuned = tune_task(tuner, prepared, replace(measured, share=self.result.share), budget)
        if tuned.winner is not None:
            return tuned
        own = prepared.spaces.default
        choice = TrialResult(own, measured.default_us, None, began, measured.benchmark)
        return replace(tuned, winner=choice)

    def _known(self) -> list[Spec]:
        """Return a spec with the best configuration for all sizes, which is a candidate for each range."""
        trials = [trial for trial in self.result.trials if trial.microseconds is not None]
        best = min(trials, key=lambda trial: trial.microseconds or math.inf, default=None)
        if best is None or not isinstance(self.result.prepared, PreparedTask):
            return []
        return [load_spec(self.result.prepared.spec(best.candidate, {}).encode())]

    def _compiled(self, spec: str = "", count: int = 1) -> Benchmark | Failure:
        """Return the benchmark of the dispatch, compiled with a spec for a number of ranges."""
        task, seconds = self.result.task, self.tuner.settings.timeout * count
        compiled = self.tuner.compiler.submit_program(task.source, spec, seconds).result()
        return compiled if isinstance(compiled, Failure) else task.benchmark(compiled.image)

    def _compared(
        self, ranged: TaskResult, default: Benchmark, open_: Benchmark
    ) -> TaskResult | None:
        """Return a range with its speedup over the compiler's choice; None unless it is faster than the best so far."""
        assert ranged.winner is not None
        assert ranged.winner.benchmark is not None
        # Every size must be at least as fast as the default and as the best for all sizes.
        comparisons: list[SizeComparison] = []
        is_faster = False
        benchmark = ranged.winner.benchmark
        for function in benchmark.measured:
            rivals = [open_] if open_ is default else [open_, default]
            for rival in rivals:
                checks = SizeChecks(self.tuner.devices.first, rival, self.tuner.settings.seed)
                comparison = checks.compare(benchmark, function)
                if isinstance(comparison, Failure) or comparison.is_slower:
                    return None
                if rival is open_:
                    is_faster |= comparison.speedup.low > 1 + self.tuner.settings.min_gain
                if rival is default:
                    comparisons.append(comparison)
        if not is_faster:
            return None
        return replace(
            ranged,
            verdict=TaskOutcome.WON,
            sizes=tuple(comparisons),
            decision=_mean_decision(comparisons),
        )

    def _narrowed(self, ranged: TaskResult, default: Benchmark) -> TaskResult | None:
        """Return a range without the small sizes at which it is much slower than the compiler's choice."""
        assert ranged.winner is not None
        assert ranged.winner.benchmark is not None
        benchmark = ranged.winner.benchmark
        ordered = sorted(
            benchmark.between, key=lambda function: -math.prod(size or 1 for size in function.loops)
        )
        checks = SizeChecks(self.tuner.devices.first, default, self.tuner.settings.seed)
        slow = checks.first_slow(benchmark, ordered)
        if slow is None:
            return ranged
        if isinstance(slow, Failure):
            return None
        timed = (*benchmark.measured, *benchmark.between)
        task = specialize(self.result.task, box_above(ranged.task.bounds, slow[0], timed))
        try:
            prepared = self.prepare(task, self._known()) if task is not None else None
        except NotTunableError:
            return None
        return replace(ranged, prepared=prepared) if prepared is not None else None

    def _joined(self, ranges: Sequence[TaskResult], default: Benchmark) -> TaskResult:
        """Return the result of a dispatch with ranges; all other sizes keep their configuration."""
        result = self.result
        sizes = {comparison.sizes: comparison for comparison in result.sizes}
        sizes |= {comparison.sizes: comparison for part in ranges for comparison in part.sizes}
        same = ConfidenceInterval(1.0, 1.0, 1.0)
        for function in default.measured:
            if function.sizes not in sizes:
                # They are left to the compiler.
                timing = self.tuner.devices.first.measure(default.at(function))
                us = math.inf if isinstance(timing, Failure) else timing.median
                unchanged = SizeComparison(function.sizes, function.weight, us, us, same)
                sizes[function.sizes] = unchanged
        ordered = [sizes[function.sizes] for function in default.measured]
        winner = result.winner or TrialResult(
            result.prepared.spaces.default, result.default_us, None, time.monotonic()
        )
        return replace(
            result,
            verdict=TaskOutcome.WON,
            winner=winner,
            ranges=tuple(ranges),
            sizes=tuple(ordered),
            decision=_mean_decision(ordered),
            reason="",
        )


def _mean_decision(comparisons: Sequence[SizeComparison]) -> Decision:
    """Return the weighted geometric mean of comparisons at several sizes."""
    weights = [comparison.weight for comparison in comparisons]
    low, median, high, default_us, tuned_us = (
        weighted_mean(values, weights)
        for values in zip(
            *((*astuple(each.speedup), each.default_us, each.tuned_us) for each in comparisons),
            strict=True,
        )
    )
    return Decision(Outcome.FASTER, ConfidenceInterval(low, median, high), default_us, tuned_us, ())
