"""The retuner: measures the entries of specs again, and decides which are dropped, kept or improved."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

from tuninglink.compiler import executable_target, session_flags
from tuninglink.emission import write_spec
from tuninglink.errors import CompileError, Diagnostic, Severity, TuninglinkError
from tuninglink.files import temporary_directory
from tuninglink.iree import Target
from tuninglink.mlir import error, thread_context
from tuninglink.payloads import PayloadError, payload_for
from tuninglink.plain_data import FLAT, HIDDEN, named, written
from tuninglink.spaces import ProviderRegistry
from tuninglink.specs import (
    Applicability,
    Entry,
    Revision,
    Spec,
    alone,
    provenance_of,
    unrolled_loops,
)
from tuninglink.tuning.candidates import (
    BenchmarkTemplate,
    Candidate,
    CandidateSpaces,
    NotTunableError,
    TunableTask,
    apply_specs,
    configure,
    rewriting_candidate,
)
from tuninglink.tuning.deciding import (
    Decision,
    MeasuredTask,
    Outcome,
    TaskOutcome,
    TaskResult,
    TrialResult,
    measure_default,
)
from tuninglink.tuning.devices import COMPUTE_UNITS, compute_units, may_run
from tuninglink.tuning.programs import (
    Benchmark,
    DispatchedProgram,
    Failure,
    FailureKind,
    FatalError,
    TuningTask,
    read_program,
    reason_of,
)
from tuninglink.tuning.scheduling import compare_candidate, tune_task

if TYPE_CHECKING:
    from tuninglink.payloads import Payload
    from tuninglink.tuning.deciding import Budget
    from tuninglink.tuning.scheduling import TuningContext


_CHANGING: Final = ("compiler", "device", "driver", "default_us", "tuned_us")
"""The provenance fields whose changes since the last measurement are reported."""


class Standing(Enum):
    """The standing of an entry against the compiler's choice on one problem."""

    FASTER = "faster"
    NOT_FASTER = "not-faster"
    """Its gain is too small for an entry."""

    SLOWER = "slower"
    SAME = "same"
    """Both give the same code."""

    UNDECIDED = "undecided"
    FAILED = "failed"
    """Its configuration does not compile, fails, or computes a wrong result."""


@dataclass(frozen=True)
class EntryComparison:
    """The comparison of an entry with the compiler's choice on one problem."""

    task: EntryTask = field(metadata=HIDDEN)
    standing: Standing
    measured: MeasuredTask = field(metadata=HIDDEN)
    decision: Decision | None = field(default=None, metadata=FLAT)
    benchmark: Benchmark | None = field(default=None, metadata=HIDDEN)
    failure: Failure | None = field(default=None, metadata=HIDDEN)

    @written()
    def problem(self) -> str:
        return str(self.task.spaces.problem)

    @written()
    def source(self) -> ProblemSource:
        return self.task.source

    @written()
    def default_us(self) -> float:
        return self.decision.default_us if self.decision else self.measured.default_us

    @written("failure")
    def failure_message(self) -> str | None:
        return self.failure.message if self.failure else None

    def __str__(self) -> str:
        problem = f"{self.task.spaces.problem} ({self.task.source.value})"
        if self.failure is not None:
            return f"{problem}: {self.failure.message}"
        if self.decision is not None:
            return f"{problem}: {self.decision}"
        return problem


class EntryVerdict(Enum):
    """The verdict on an entry."""

    DROPPED = "dropped"
    KEPT = "kept"
    IMPROVED = "improved"
    UNDECIDED = "undecided"
    """It stays, since the comparison was undecided."""

    UNTOUCHED = "untouched"
    """It stays, since it was not measured."""


@dataclass(frozen=True)
class EntryResult:
    """The result for an entry.

    Attributes:
        spec: its spec.
        position: its position in the spec.
        verdict: the verdict.
        reason: the reason; empty if the comparisons show it.
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
        """The entry."""
        return self.spec.anatomy.entry(self.position)

    @written("spec")
    def source(self) -> str:
        """Return the origin of the spec."""
        return self.spec.source

    @written("entry")
    def matcher(self) -> str:
        """Return the symbol of the matcher."""
        return self.entry.matcher

    @written()
    def line(self) -> int | None:
        """Return the line of the matcher, None if unknown."""
        return self.entry.place.line if self.entry.place else None

    @property
    def stays(self) -> bool:
        """Whether the entry is in the new spec."""
        return self.verdict is not EntryVerdict.DROPPED

    @property
    def changes(self) -> list[str]:
        """The changes since the last measurement of the entry, in words."""
        return [
            f"{name} {_shown(self.before[name])} -> {_shown(self.after[name])}"
            for name in _CHANGING
            if name in self.before and name in self.after and self.before[name] != self.after[name]
        ]


@dataclass(frozen=True)
class RetuningResult:
    """The result of retuning specs.

    Attributes:
        entries: the results for all entries of all specs, in order.
        failure: the error that ended it early, such as a lost device; None without one.
        schema: the version of the JSON; increased when a field is changed or removed, not when one is added.
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


def _shown(value: object) -> str:
    return f"{value:.4g} us" if isinstance(value, float) else str(value)


COLUMNS: Final = ("line", "verdict", "default us", "tuned us", "speedup", "entry", "what changed")
_UNKNOWN: Final = ""


def retuned_spec(spec: Spec, results: Sequence[EntryResult]) -> str:
    """Return a spec with the outcomes for its entries, as text.

    Without changes, the text stays the same. Without entries, the spec does nothing.

    Args:
        spec: the original spec.
        results: the outcomes for all its entries, in order.
    """
    if all(
        result.verdict in (EntryVerdict.UNTOUCHED, EntryVerdict.UNDECIDED) for result in results
    ):
        return spec.text()
    kept = [result.position for result in results if result.stays]
    if not kept:
        return write_spec(spec.name, [])
    revision = Revision(spec)
    for result in results:
        if result.configuration is not None:
            revision.configure(result.position, result.configuration.attributes)
        if result.verdict in (EntryVerdict.KEPT, EntryVerdict.IMPROVED):
            revision.set_provenance(result.position, result.after)
    return revision.finish(kept).text()


def rows(results: Sequence[EntryResult]) -> list[tuple[str, ...]]:
    """Return the report as rows of a table, under `COLUMNS`."""
    return [_row(result) for result in results]


def _row(result: EntryResult) -> tuple[str, ...]:
    decision = next(
        (comparison.decision for comparison in result.comparisons if comparison.decision), None
    )
    place = result.entry.place
    return (
        str(place.line) if place else "?",
        result.verdict.value,
        f"{decision.default_us:.4g}" if decision else _UNKNOWN,
        f"{decision.tuned_us:.4g}" if decision else _UNKNOWN,
        str(decision.speedup) if decision else _UNKNOWN,
        result.entry.matcher,
        "; ".join(filter(None, (result.reason, *result.changes))),
    )


# --- The retuner: measures the entries of specs again, and decides which are dropped, kept or improved

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
    tuner: TuningContext
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
        """Measure an entry; an error affects only this entry."""
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
        benchmark = task.task.benchmark(own.image)
        if own.image == measured.benchmark.image:
            return EntryComparison(task, Standing.SAME, measured, benchmark=benchmark)
        trial = TrialResult(task.own, None, None, time.monotonic(), benchmark)
        pending = TaskResult(task, 1.0, measured.default_us, (trial,), TaskOutcome.UNDECIDED)
        result = compare_candidate(tuner, pending, measured.benchmark, trial, budget)
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


def _failed(failure: Failure) -> Standing:
    is_late = failure.kind in (FailureKind.COMPILE_TIMEOUT, FailureKind.TIMEOUT)
    return Standing.UNDECIDED if is_late else Standing.FAILED


def _standing(result: TaskResult) -> Standing:
    decision = result.decision
    if decision is None:
        return Standing.UNDECIDED
    return Standing.SLOWER if decision.speedup.high < 1 else _STANDINGS[decision.outcome]


def _improvable(result: EntryResult) -> bool:
    first = result.comparisons[0].task
    return first.is_exact and first.takes(first.own)


# --- Retuning: comparison of specs' entries with the current compiler's choices ------------------

_NO_PREPROCESSING: Final = (
    *("--iree-preprocessing-pass-pipeline=", "--iree-preprocessing-pdl-spec-filename="),
    "--iree-preprocessing-transform-spec-filename=",
)
"""Flags that leave the op of a payload as matchers see it, where the user's flags change the ops of a model first."""


class RefusedError(Exception):
    """An error for an entry whose configuration the compiler rejects; the message is the reason."""


class ProblemSource(Enum):
    """The source of a problem."""

    PAYLOAD = "payload"
    MODEL = "model"


@dataclass(frozen=True)
class EntryTask(TunableTask):
    """A task configured by an entry."""

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

    def takes(self, candidate: Candidate) -> bool:
        return Revision(self.single).configures_with(0) == set(candidate.attributes)

    def configured(self, candidate: Candidate) -> EntryTask:
        revision = Revision(self.single)
        revision.configure(0, candidate.attributes)
        return replace(self, own=candidate, single=revision.finish([0]))

    def around_own(self) -> EntryTask:
        return replace(self, spaces=self.spaces.around(self.own))


@dataclass(frozen=True)
class EntryProblems:
    """Finds the problems of entries.

    Attributes:
        flags: compiler flags; process-wide flags must already be set.
        target: the target.
        registry: the providers of spaces.
        limits: limits of the device, in addition to the target's.
    """

    flags: Sequence[str]
    target: Target
    registry: ProviderRegistry
    limits: Mapping[str, int]
    _in_model: dict[tuple[int, tuple[str, str]], list[TuningTask]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add_model(self, model: DispatchedProgram, specs: Sequence[Spec]) -> None:
        """Add the dispatches of a model to the problems of the entries of specs that configure them.

        Dispatches that do not compile with a spec are skipped.
        """
        for task in model.tasks:
            for spec in specs:
                try:
                    applied = apply_specs(task.source, self.flags, [spec]).applied
                except TuninglinkError:
                    continue
                for applied_entry in applied:
                    if applied_entry.entry is not None:
                        pair = applied_entry.entry.matcher, applied_entry.entry.action
                        self._in_model[id(spec), pair].append(task)

    def of(self, spec: Spec, position: int) -> list[EntryTask]:
        """Return the problems of an entry, at least one.

        Raises:
            RefusedError: the compiler refuses the entry's configuration.
            CompileError: the compiler fails without the entry.
            PayloadError: no program can be made for the entry, and it configures nothing in the model.
            NotTunableError: the entry configures nothing in the program that was made for it, nor in the model.
            SpecError: the entry cannot be distinguished from others.
        """
        single = alone(spec, position)
        in_model = self._in_model.get((id(spec), spec.anatomy.pairs[position]), [])
        result = [self._prepared(task, ProblemSource.MODEL, single) for task in in_model]
        try:
            payload = payload_for(spec.anatomy.entry(position), self.target)
            is_exact = all(size.is_demanded for size in payload.sizes)
            if result and is_exact:
                # Their ops around the root op, which the payload lacks, may decide which configuration is faster.
                return [replace(task, is_exact=True) for task in result]
            return [self._payload_task(payload, single, is_exact=is_exact), *result]
        except (PayloadError, NotTunableError):
            if not result:
                raise
            return result

    def _payload_task(self, payload: Payload, single: Spec, *, is_exact: bool) -> EntryTask:
        reasons = []
        with temporary_directory() as directory:
            path = directory / "payload.mlir"
            path.write_text(payload.text)
            program = read_program(str(path), [*self.flags, *_NO_PREPROCESSING])
        if not program.tasks:
            raise NotTunableError("; ".join(omission.reason for omission in program.omissions))
        dispatches = program.tasks
        for dispatch in dispatches:
            try:
                task = self._prepared(dispatch, ProblemSource.PAYLOAD, single)
            except NotTunableError as failure:
                reasons.append(str(failure))
            else:
                return replace(task, is_exact=is_exact)
        raise NotTunableError(f"a program was made for it, and {'; '.join(reasons)}")

    def _prepared(self, task: TuningTask, source: ProblemSource, single: Spec) -> EntryTask:
        # Determine the configuration of an entry in a task, and the other candidates.
        flags = self.flags
        configured = configure(task.source, flags)
        dispatch, default = configured.dispatch, configured.configuration
        if dispatch is None or default is None or default.pipeline is None:
            raise NotTunableError("the compiler gives none of its operations a configuration")
        try:
            applied = apply_specs(task.source, flags, [single]).applied
            own = configure(task.source, flags, single).configuration
        except CompileError as failure:
            raise RefusedError(failure.diagnostics[0].message) from None
        if not applied or applied[0].is_own is False:
            raise NotTunableError("the entry does not configure it")
        template = BenchmarkTemplate(configured.template, task.function, task.layout, task.sized)
        copies = unrolled_loops(single.anatomy.table, single.anatomy.pairs[0][1])
        if copies:
            spaces = CandidateSpaces(dispatch, default, [], self.registry, self.limits)
            candidate = rewriting_candidate(spaces.default, copies)
            return EntryTask(task, template, spaces, source, candidate, single)
        if own is None or own.pipeline is None:
            raise NotTunableError("the entry gives it no pipeline")
        spaces = CandidateSpaces(dispatch, default, [own], self.registry, self.limits)
        candidate = spaces.given[0] if spaces.given else spaces.default
        return EntryTask(task, template, spaces, source, candidate, single)
