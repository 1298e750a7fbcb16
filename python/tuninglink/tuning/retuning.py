"""Retuning: measures the entries of specs again, and decides which are dropped, kept or improved."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Final, Literal

from tuninglink.compiler import executable_target, session_flags
from tuninglink.emission import write_spec
from tuninglink.errors import CompileError, Diagnostic, Severity, TuninglinkError
from tuninglink.files import temporary_directory
from tuninglink.iree import Target
from tuninglink.mlir import error, thread_context
from tuninglink.payloads import PayloadError, payload_for
from tuninglink.plain_data import FLAT, HIDDEN, named, written
from tuninglink.preprocessing import entries_text, with_entries
from tuninglink.programs import (
    DispatchedProgram,
    Failure,
    FailureKind,
    FatalError,
    TuningTask,
    read_program,
    reason_of,
)
from tuninglink.spaces import ProviderRegistry
from tuninglink.specs import Applicability, Entry, Revision, Spec, provenance_of, unrolled_loops
from tuninglink.tuning.candidates import (
    BenchmarkTemplate,
    Candidate,
    CandidateSpaces,
    NotTunableError,
    TunableTask,
    apply_specs,
    configure,
    rewriting_candidate,
    tunable_parts,
)
from tuninglink.tuning.deciding import (
    FAILING_DEFAULT,
    WRONG_DEFAULT,
    Budget,
    Decision,
    MeasuredTask,
    TaskOutcome,
    TaskResult,
    TrialResult,
    measure_default,
)
from tuninglink.tuning.scheduling import TuningContext, compare_candidate, tune_task


class Standing(Enum):
    """The standing of an entry against the compiler's choice on one problem: an `Outcome`, or more."""

    FASTER = "faster"
    NOT_FASTER = "not-faster"
    """Its gain is too small for an entry."""

    SLOWER = "slower"
    SAME = "same"
    """Both give the same code."""

    UNDECIDED = "undecided"
    FAILED = "failed"
    """Its configuration does not compile, fails, or computes a wrong result."""


class ProblemSource(Enum):
    """The source of a problem."""

    PAYLOAD = "payload"
    MODEL = "model"


@dataclass(frozen=True)
class EntryTask(TunableTask):
    """A task configured by an entry, its `own` configuration; it may apply to problems of these sizes only."""

    source: ProblemSource
    own: Candidate
    single: Spec
    is_exact: bool = False

    def spec(self, candidate: Candidate, provenance: Mapping[str, object]) -> str:
        """See `TunableTask`."""
        revision = Revision(self.single)
        revision.configure(0, candidate.attributes)
        revision.set_provenance(0, provenance)
        return revision.finish([0]).text()


@dataclass(frozen=True)
class EntryComparison:
    """The comparison of an entry with the compiler's choice on one problem."""

    task: EntryTask = field(metadata=HIDDEN)
    standing: Standing
    measured: MeasuredTask = field(metadata=HIDDEN)
    decision: Decision | None = field(default=None, metadata=FLAT)
    failure: str | None = None
    result: TaskResult | None = field(default=None, metadata=HIDDEN)

    @written()
    def problem(self) -> str:
        return str(self.task.spaces.problem)

    @written()
    def source(self) -> ProblemSource:
        return self.task.source

    @written()
    def default_us(self) -> float:
        return self.decision.default_us if self.decision else self.measured.default_us

    def __str__(self) -> str:
        result = self.failure or self.decision
        return f"{self.problem()} ({self.task.source.value}){f': {result}' if result else ''}"


class EntryVerdict(Enum):
    """The verdict on an entry."""

    DROPPED = "dropped"
    KEPT = "kept"
    IMPROVED = "improved"
    UNDECIDED = "undecided"
    """It stays, since the comparison was undecided."""

    UNTOUCHED = "untouched"
    """It stays, since it was not measured."""


_CHANGING: Final = ("compiler", "device", "driver", "default_us", "tuned_us")
"""The provenance fields whose changes since the last measurement are reported."""


@dataclass(frozen=True)
class EntryResult:
    """The result for an entry.

    Attributes:
        reason: the reason for the verdict; empty if the comparisons show it.
        before: its previous provenance.
        after: its provenance with the new measurements.
        comparisons: the comparisons with the compiler's choice.
        configuration: the better configuration of an improved entry; None for others.
    """

    spec: Spec = field(metadata=HIDDEN)
    position: int = field(metadata=HIDDEN)
    verdict: EntryVerdict
    reason: str = ""
    before: Mapping[str, object] = field(default_factory=dict)
    after: Mapping[str, object] = field(default_factory=dict)
    comparisons: tuple[EntryComparison, ...] = field(default=(), metadata=named("problems"))
    configuration: Candidate | None = field(default=None, metadata=HIDDEN)

    @property
    def entry(self) -> Entry:
        return self.spec.anatomy.entry(self.position)

    @written("spec")
    def source(self) -> str:
        return self.spec.source

    @written("entry")
    def matcher(self) -> str:
        return self.entry.matcher

    @written()
    def line(self) -> int | None:
        return self.entry.place.line if self.entry.place else None

    @property
    def changes(self) -> list[str]:
        """The changes since the last measurement of the entry, in words."""

        def shown(value: object) -> str:
            return f"{value:.4g} us" if isinstance(value, float) else str(value)

        return [
            f"{name} {shown(self.before[name])} -> {shown(self.after[name])}"
            for name in _CHANGING
            if name in self.before and name in self.after and self.before[name] != self.after[name]
        ]


@dataclass(frozen=True)
class RetuningResult:
    """The results for all entries of all specs, in order, and the error that ended retuning early, if any.

    The version of the schema is increased when a field is changed or removed, not when one is added.
    """

    schema: Literal[1] = field(default=1, init=False)
    entries: Sequence[EntryResult]
    failure: TuninglinkError | None = field(default=None, metadata=HIDDEN)

    def of(self, spec: Spec) -> list[EntryResult]:
        """Return the results for the entries of a spec."""
        return [entry for entry in self.entries if entry.spec is spec]


_VERDICTS: Final = {
    Standing.FAILED: (EntryVerdict.DROPPED, "it fails on"),
    Standing.SLOWER: (EntryVerdict.DROPPED, "it is slower than the compiler's choice on"),
    Standing.FASTER: (EntryVerdict.KEPT, ""),
    Standing.UNDECIDED: (EntryVerdict.UNDECIDED, "the rounds do not show whether it is faster on"),
    Standing.NOT_FASTER: (EntryVerdict.DROPPED, "it is not faster than the compiler's choice on"),
    Standing.SAME: (EntryVerdict.DROPPED, "the compiler's own choice gives the same code on"),
}
"""The verdict and reason for an entry, by the first of these standings that it has on any problem."""


def judge(comparisons: Sequence[EntryComparison]) -> tuple[EntryVerdict, str]:
    """Return the verdict on an entry.

    The entry is dropped if it fails or is slower on any problem, or is faster on none.
    """
    for standing, (verdict, words) in _VERDICTS.items():
        for comparison in comparisons:
            if comparison.standing is standing:
                return verdict, f"{words} {comparison}" if words else ""
    raise ValueError("there is no verdict without a comparison")


def retuned_spec(spec: Spec, results: Sequence[EntryResult]) -> str:
    """Return a spec with the outcomes for its entries, as text.

    Without changes, the text stays the same. Without entries, the spec does nothing.
    """
    unchanged = EntryVerdict.UNTOUCHED, EntryVerdict.UNDECIDED
    if all(result.verdict in unchanged for result in results):
        return spec.text()
    kept = [result.position for result in results if result.verdict is not EntryVerdict.DROPPED]
    if not kept:
        return with_entries(write_spec(spec.name, []), entries_text([spec]))
    revision = Revision(spec)
    for result in results:
        if result.configuration is not None:
            revision.configure(result.position, result.configuration.attributes)
        if result.verdict in (EntryVerdict.KEPT, EntryVerdict.IMPROVED):
            revision.set_provenance(result.position, result.after)
    return revision.finish(kept).text()


def target_of(flags: Sequence[str]) -> Target:
    """Return the target of compiler flags, which name a known one; process-wide flags must already be set."""
    session = session_flags()
    own = [flag for flag in flags if flag.partition("=")[0] in session]
    return Target.from_attribute(executable_target(own, thread_context()))


# --- The retuner: measures entries, and improves those that win -----------------------------------

_LATE: Final = frozenset({FailureKind.COMPILE_TIMEOUT, FailureKind.TIMEOUT})
"""Failures that leave open whether an entry is faster."""

_NO_PREPROCESSING: Final = (
    *("--iree-preprocessing-pass-pipeline=", "--iree-preprocessing-pdl-spec-filename="),
    "--iree-preprocessing-transform-spec-filename=",
)
"""Flags that leave the op of a payload as matchers see it, where the user's flags change the ops of a model first."""


class RefusedError(Exception):
    """An error for an entry whose configuration the compiler rejects; the message is the reason."""


@dataclass
class Retuner:
    """Measures the entries of specs against the compiler's choices, and improves those that win.

    All entries are measured first; the rest of the budget goes into the search for better configurations.

    Attributes:
        flags: compiler flags; process-wide flags must already be set.
        model: a program on whose dispatches entries are also measured; None for none.
        improves: whether to search for better configurations.
        tell: receives the result of each entry as soon as it is decided.
    """

    specs: Sequence[Spec]
    flags: Sequence[str]
    context: TuningContext
    budget: Budget
    target: Target
    model: DispatchedProgram | None = None
    improves: bool = True
    tell: Callable[[EntryResult], None] = lambda _: None
    _in_model: dict[tuple[int, tuple[str, str]], list[TuningTask]] = field(
        default_factory=lambda: defaultdict(list), init=False
    )

    def run(self) -> RetuningResult:
        """Decide on entries until the budget ends or is stopped. Remaining entries stay unchanged.

        Raises:
            TuninglinkError: the devices do not run code for the target.
        """
        device = self.context.devices.first.description
        if reason := device.unsupported(self.target):
            raise TuninglinkError(error(reason))
        self._read_model()
        # Measure all entries.
        entries = [(spec, position) for spec in self.specs for position in range(len(spec.entries))]
        results: list[EntryResult] = []
        failure = None
        try:
            for done, (spec, position) in enumerate(entries):
                budget = self.budget.part(1 / (len(entries) - done))
                try:
                    result = self._decided(spec, position, budget)
                except FatalError:
                    raise
                except Exception as lost:  # noqa: BLE001 - an error loses one entry only
                    result = _untouched(spec, position, reason_of(lost))
                results.append(result)
                self.tell(result)
            # Search for better configurations of the entries that win, whose matchers fix all sizes.
            improvable = [
                position
                for position, result in enumerate(results)
                if self.improves
                and result.verdict is EntryVerdict.KEPT
                and (task := result.comparisons[0].task).is_exact
                and Revision(task.single).configures_with(0) == set(task.own.attributes)
            ]
            for done, position in enumerate(improvable):
                if self.budget.is_over:
                    break
                budget = self.budget.part(1 / (len(improvable) - done))
                try:
                    improved = self._improved(results[position], budget)
                except FatalError:
                    raise
                except Exception as lost:  # noqa: BLE001 - an error loses one improvement only
                    reason = f"no search: {reason_of(lost)}"
                    self.context.listener.noticed(Diagnostic(Severity.WARNING, reason))
                    continue
                if improved is not None:
                    results[position] = improved
                    self.tell(improved)
        except FatalError as gone:
            failure = gone  # the decisions so far are kept
        for spec, position in entries[len(results) :]:
            results.append(_untouched(spec, position, "retuning ended before its turn"))
            self.tell(results[-1])
        return RetuningResult(results, failure)

    def _decided(self, spec: Spec, position: int, budget: Budget) -> EntryResult:
        """Measure an entry."""
        # Entries for other targets, and those without time, stay unchanged.
        exclusion = Applicability(spec, self.target).exclusion(position)
        if exclusion is not None:
            reason = f"it is not for '{self.target}': {exclusion.reason}"
            return _untouched(spec, position, reason)
        if self.budget.is_over:
            why = "retuning was interrupted" if self.budget.is_stopped else "the budget was over"
            return _untouched(spec, position, f"{why} before its turn")
        # Find the problems of the entry.
        try:
            tasks = self._problems(spec, position)
        except RefusedError as refusal:
            reason = f"the compiler rejects its configuration: {refusal}"
            return replace(_untouched(spec, position, reason), verdict=EntryVerdict.DROPPED)
        except PayloadError as lack:
            return _untouched(spec, position, lack.reason)
        # Compare it with the compiler's choice on all of them.
        comparisons = []
        for task in tasks:
            compared = self._compare(task, budget)
            if isinstance(compared, Failure):
                reason = f"the compiler's own choice fails: {compared.message}"
                return _untouched(spec, position, reason)
            comparisons.append(compared)
        verdict, reason = judge(comparisons)
        before = provenance_of(spec.anatomy.table, spec.anatomy.pairs[position][0])
        after = self._remeasured(before, comparisons)
        return EntryResult(spec, position, verdict, reason, before, after, tuple(comparisons))

    def _compare(self, task: EntryTask, budget: Budget) -> EntryComparison | Failure:
        """Compare an entry with the compiler's choice on one problem; return the reason if that is impossible."""
        context = self.context
        jobs = [
            context.compiler.submit_program(task.task.source, program, context.settings.timeout)
            for program in ("", task.single.text())
        ]
        default, own = (job.result() for job in jobs)
        measured = measure_default(task.task, default, context.devices)
        if isinstance(measured, Failure):
            return measured
        if isinstance(own, Failure):
            standing = Standing.UNDECIDED if own.kind in _LATE else Standing.FAILED
            return EntryComparison(task, standing, measured, None, own.message)
        if own.image == measured.benchmark.image:
            return EntryComparison(task, Standing.SAME, measured)
        benchmark = task.task.benchmark(own.image)
        trial = TrialResult(task.own, None, None, time.monotonic(), benchmark)
        pending = TaskResult(task, 1.0, measured.default_us, (trial,), TaskOutcome.UNDECIDED)
        result = compare_candidate(context, pending, measured.benchmark, trial, budget)
        if result.failures:
            failure = result.failures[0][1]
            standing = Standing.UNDECIDED if failure.kind in _LATE else Standing.FAILED
            return EntryComparison(task, standing, measured, None, failure.message)
        decision = result.decision
        if decision is None:
            standing = Standing.UNDECIDED
        elif result.verdict is TaskOutcome.WON:
            standing = Standing.FASTER  # or the compiler's choice is wrong
        else:
            is_slower = decision.speedup.high < 1
            standing = Standing.SLOWER if is_slower else Standing(decision.outcome.value)
        return EntryComparison(task, standing, measured, decision, None, result)

    def _remeasured(
        self, before: Mapping[str, object], comparisons: Sequence[EntryComparison]
    ) -> dict[str, object]:
        """Return the provenance of an entry with new figures: of the problem on which it wins, if any."""
        decided = [comparison.result for comparison in comparisons if comparison.decision]
        results = sorted(filter(None, decided), key=lambda one: one.verdict is not TaskOutcome.WON)
        if not results:
            return dict(before)
        values = results[0].provenance(self.context.devices.first.description)
        del values["trials"]  # they belong to the original search
        # The compiler's choice may have become right since.
        reasons = WRONG_DEFAULT, FAILING_DEFAULT
        kept = {name: value for name, value in before.items() if value not in reasons}
        return {**kept, **values}

    def _improved(self, result: EntryResult, budget: Budget) -> EntryResult | None:
        """Search for a configuration that is clearly faster than that of an entry."""
        # Tune with the entry's own configuration as the default.
        compared = result.comparisons[-1]
        benchmark = compared.result.trials[0].benchmark if compared.result else None
        assert benchmark is not None
        own = replace(compared.measured, benchmark=benchmark)
        around = replace(compared.task, spaces=compared.task.spaces.around(compared.task.own))
        search = tune_task(self.context, around, own, budget)
        if search.winner is None or search.decision is None:
            return None
        # Compare the winner with the compiler's choice on all problems.
        winner = search.winner.candidate
        comparisons = []
        for task in (comparison.task for comparison in result.comparisons):
            revision = Revision(task.single)
            revision.configure(0, winner.attributes)
            single = revision.finish([0])
            comparison = self._compare(replace(task, own=winner, single=single), budget)
            if isinstance(comparison, Failure):
                return None
            comparisons.append(comparison)
        if judge(comparisons)[0] is not EntryVerdict.KEPT:
            return None
        return replace(
            result,
            verdict=EntryVerdict.IMPROVED,
            reason=f"another configuration is faster than its own: {search.decision.speedup}",
            after=self._remeasured(result.before, comparisons) | {"trials": len(search.trials)},
            comparisons=tuple(comparisons),
            configuration=winner,
        )

    # --- The problems on which an entry is measured

    @cached_property
    def _registry(self) -> ProviderRegistry:
        return ProviderRegistry(self.context.listener.noticed)

    def _read_model(self) -> None:
        """Find the dispatches of the model that entries configure."""
        for task in self.model.tasks if self.model is not None else ():
            for spec in self.specs:
                try:
                    applied = apply_specs(task.source, self.flags, [spec]).applied
                except TuninglinkError:
                    continue  # it does not compile with the spec
                for applied_entry in applied:
                    if applied_entry.entry is not None:
                        pair = applied_entry.entry.matcher, applied_entry.entry.action
                        self._in_model[id(spec), pair].append(task)

    def _problems(self, spec: Spec, position: int) -> list[EntryTask]:
        """Return the problems of an entry, at least one; or raise an error if it is refused, or configures nothing."""
        single = Revision(spec).finish([position])
        in_model = self._in_model.get((id(spec), spec.anatomy.pairs[position]), [])
        result = [self._prepared(task, ProblemSource.MODEL, single) for task in in_model]
        try:
            payload = payload_for(spec.anatomy.entry(position), self.target)
        except PayloadError:
            if not result:
                raise
            return result
        is_exact = all(size.is_demanded for size in payload.sizes)
        if result and is_exact:
            # Their ops around the root op, which the payload lacks, may decide which configuration is faster.
            return [replace(task, is_exact=True) for task in result]
        # Find the dispatch that the entry configures in the program that was made for it.
        with temporary_directory() as directory:
            path = directory / "payload.mlir"
            path.write_text(payload.text)
            program = read_program(str(path), [*self.flags, *_NO_PREPROCESSING])
        reasons = [omission.reason for omission in program.omissions if not program.tasks]
        for dispatch in program.tasks:
            try:
                task = self._prepared(dispatch, ProblemSource.PAYLOAD, single)
            except NotTunableError as failure:
                reasons.append(str(failure))
            else:
                return [replace(task, is_exact=is_exact), *result]
        if result:
            return result
        made = "a program was made for it, and " if program.tasks else ""
        raise NotTunableError(f"{made}{'; '.join(reasons)}")

    def _prepared(self, task: TuningTask, source: ProblemSource, single: Spec) -> EntryTask:
        """Determine the configuration of an entry in a task, and the other candidates."""
        configured = configure(task.source, self.flags)
        dispatch, default = tunable_parts(configured)
        try:
            applied = apply_specs(task.source, self.flags, [single]).applied
            own = configure(task.source, self.flags, single).configuration
        except CompileError as failure:
            raise RefusedError(failure.diagnostics[0].message) from None
        if not applied or applied[0].is_own is False:
            raise NotTunableError("the entry does not configure it")
        template = BenchmarkTemplate(configured.template, task.function, task.layout, task.sized)
        copies = unrolled_loops(single.anatomy.table, single.anatomy.pairs[0][1])
        has_pipeline = own is not None and own.pipeline is not None
        if not copies and not has_pipeline:
            raise NotTunableError("the entry gives it no pipeline")
        given = [] if copies or own is None else [own]
        limits = self.context.devices.first.description.limits
        spaces = CandidateSpaces(dispatch, default, given, self._registry, limits)
        candidate = spaces.given[0] if spaces.given else spaces.default
        if copies:
            candidate = rewriting_candidate(spaces.default, copies)
        return EntryTask(task, template, spaces, source, candidate, single)


def _untouched(spec: Spec, position: int, reason: str) -> EntryResult:
    before = provenance_of(spec.anatomy.table, spec.anatomy.pairs[position][0])
    return EntryResult(spec, position, EntryVerdict.UNTOUCHED, reason, before, before)
