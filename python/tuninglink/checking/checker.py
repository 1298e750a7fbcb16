"""Checking specs, the progress of a check, and the completion of the findings about entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from tuninglink.checking.check_report import EntryReport, SpecReport, fix, knob_place
from tuninglink.checking.compiling import CompileLimits, Job, Model, compile_all
from tuninglink.checking.judging import (
    MOST_PROPOSALS,
    NO_PROGRAM,
    Answer,
    Asked,
    ConfigurationChecks,
    Judge,
    Judgement,
    JudgingOptions,
    ParallelJudge,
    Proposals,
    Reachability,
    check_sizes,
)
from tuninglink.compiler import compile_flags, executable_target
from tuninglink.errors import CompileError, Diagnostic, SpecError, printable
from tuninglink.iree import TENSOR_UKERNELS_FLAG, Target
from tuninglink.matching import MatcherConditions, check_ranges
from tuninglink.mlir import DiagnosticSink, once, thread_context
from tuninglink.payloads import spec_of
from tuninglink.rules import Rule
from tuninglink.solver import DEFAULT_LIMITS, Limits, Verdict
from tuninglink.spaces import ProviderRegistry
from tuninglink.specs import (
    PREPROCESSING_SPEC,
    Spec,
    is_bound_for,
    load_spec,
    preprocessing_spec,
    read_source,
)
from tuninglink.specs.verification import KnobPlaces, check_configurations, verify_spec

if TYPE_CHECKING:
    import os

    from tuninglink.checking.model_matches import ModelMatch
    from tuninglink.specs import Entry


class CheckState:
    """The entries of a spec that have been checked individually; thread-safe."""

    def __init__(self) -> None:
        self._source = ""
        self._kind = ""
        self._count = 0
        self._entries: dict[int, EntryReport] = {}

    @property
    def entries(self) -> Sequence[EntryReport]:
        return sorted(self._entries.values(), key=attrgetter("position"))

    def load(self, source: str) -> None:
        self.begin(source, "", 0)

    def begin(self, source: str, kind: str, count: int) -> None:
        """Note the start of checking the entries of a spec."""
        self._source, self._kind, self._count, self._entries = source, kind, count, {}

    def add(self, report: EntryReport) -> None:
        self._entries[report.position] = report

    def end(self) -> None:
        self.begin("", "", 0)

    def partial(self) -> SpecReport | None:
        if not self._kind:
            return None
        return SpecReport(self._source, self._kind, entries=tuple(self.entries))

    def __str__(self) -> str:
        if not self._source:
            return "checking"
        if not self._kind:
            return f"checking {self._source}: loading"
        return f"checking {self._source}: {len(self._entries):,} of {self._count:,} entries"


class Checker:
    """Checks specs, one after the other.

    Args:
        target: the target of configurations; None to skip their check.
        compile_limits: the limits of compilations for the target; None to skip them.
        limits: the time limit of a solver query.
        upgrade: whether specs for older compilers are upgraded first; otherwise they are rejected.
        model: a model on whose ops configurations are checked as well.
        processes: the maximum number of processes for the entries of a large spec.
        proposals: the maximum number of rejected configurations whose nearest valid one is computed.

    Attributes:
        progress: the progress on the current spec.
    """

    def __init__(
        self,
        *,
        target: Target | None = None,
        compile_limits: CompileLimits | None = None,
        limits: Limits = DEFAULT_LIMITS,
        upgrade: bool = True,
        model: Model | None = None,
        processes: int = 1,
        proposals: int = MOST_PROPOSALS,
    ) -> None:
        assert target is not None or compile_limits is None
        self._target = target
        self._compile_limits = compile_limits
        self._limits = limits
        self._upgrade = upgrade
        self._model = model
        self._processes = processes
        self._most_proposals = proposals
        self.progress = CheckState()

    def check(
        self,
        source: str | os.PathLike[str] | bytes,
        name: str | None = None,
        targets: Sequence[str] = (),
    ) -> SpecReport:
        """Check a spec.

        Args:
            source: the path of a spec, or its content; text or bytecode either way.
            name: its name in reports.
            targets: names of the targets that it is bound to; none for any target.
        """
        diagnostics: list[Diagnostic] = []
        sink = DiagnosticSink(diagnostics.append)
        source_name = printable(name or ("<memory>" if isinstance(source, bytes) else source))
        self.progress.load(source_name)
        try:
            data = read_source(source)
            preprocessing = preprocessing_spec(
                data, source_name, thread_context(), upgrade=self._upgrade, diagnostics=sink
            )
            if preprocessing is not None:
                verify_spec(preprocessing, sink)
                return SpecReport(source_name, PREPROCESSING_SPEC, tuple(diagnostics))
            diagnostics.clear()
            spec = load_spec(
                data, name=source_name, upgrade=self._upgrade, diagnostics=sink, targets=targets
            )
        except SpecError as failure:
            return SpecReport(source_name, structure=(*diagnostics, *failure.diagnostics))
        verify_spec(spec.module, sink)
        if sink.error_count:
            return SpecReport(spec.source, spec.kind_words, tuple(diagnostics))
        check_configurations(spec, sink, self._described_target(spec))
        check_ranges(spec, sink)
        entries = self._entries(spec, sink)
        report = SpecReport(spec.source, spec.kind_words, tuple(diagnostics), tuple(entries))
        self.progress.end()
        return report

    def _described_target(self, spec: Spec) -> Target | None:
        """Return the target with the compiler's description of it."""
        if self._target is None:
            return None
        attribute = executable_target(compile_flags(self._target), spec.module.context)
        return replace(self._target, intrinsics=Target.from_attribute(attribute).intrinsics)

    def _entries(self, spec: Spec, diagnostics: DiagnosticSink) -> Sequence[EntryReport]:
        in_model = self._check_model(spec, diagnostics)
        self.progress.begin(spec.source, spec.kind_words, len(spec.entries))
        question = self._judging_options(spec)
        # Every process warns about the same plug-ins.
        warn = once(diagnostics).emit
        matchers = MatcherConditions(spec.anatomy.table)
        check_sizes(spec.entries, matchers, diagnostics)
        judge = Judge(question, warn, matchers)
        entries = [
            Asked(position, entry, (self._target is not None and is_bound_for(entry, self._target)))
            for position, entry in enumerate(spec.entries)
        ]
        parallel = ParallelJudge(judge, question, self._processes, warn, self._note)
        with parallel.begin(entries) as judgements:
            # While the other processes run, this one answers what concerns several entries.
            completion = Completion(
                Reachability(spec, matchers), in_model, judge, Proposals(self._most_proposals)
            )
            reports: list[EntryReport] = []
            programs: list[str | None] = []
            for entry, judgement in zip(entries, judgements, strict=True):
                reports.append(completion.report(entry, judgement))
                programs.append(judgement.program if entry.is_asked else None)
                self.progress.add(reports[-1])
        if self._target is None or self._compile_limits is None:
            return reports
        compiled = self._compile(spec.entries, programs, self._target, self._compile_limits)
        return [
            replace(report, compiles=answer)
            for report, answer in zip(reports, compiled, strict=True)
        ]

    def _judging_options(self, spec: Spec) -> JudgingOptions:
        if self._target is None:
            return JudgingOptions(None, "", self._limits, wants_programs=False)
        target = executable_target(compile_flags(self._target), spec.module.context)
        wants_programs = self._compile_limits is not None
        return JudgingOptions(self._target, str(target), self._limits, wants_programs)

    def _note(self, asked: Asked, judgement: Judgement) -> None:
        self.progress.add(unfinished(asked, judgement))

    def _check_model(
        self, spec: Spec, diagnostics: DiagnosticSink
    ) -> Mapping[tuple[str, str], Sequence[ModelMatch]] | None:
        """Return the ops of the model that each entry configures; None without a model that compiles."""
        if self._model is None:
            return None
        # Compilations need a quarter of the modules of this command.
        from tuninglink.checking.model_matches import matches_in  # noqa: PLC0415

        checks = ConfigurationChecks(ProviderRegistry(diagnostics.emit), self._limits)
        try:
            return matches_in(self._model, spec, checks, diagnostics.emit)
        except CompileError as failure:
            for diagnostic in failure.diagnostics:
                diagnostics.emit(replace(diagnostic, rule=Rule.MODEL))
            return None

    def _compile(
        self,
        entries: Sequence[Entry],
        programs: Sequence[str | None],
        target: Target,
        limits: CompileLimits,
    ) -> Sequence[Answer | None]:
        flags = tuple(compile_flags(target))
        jobs = []
        for entry, program in zip(entries, programs, strict=True):
            if program:
                content = spec_of(entry)
                is_needed = target.backend == "rocm" and b"ukernel_descriptor<" in content
                own = (*flags, TENSOR_UKERNELS_FLAG) if is_needed else flags
                jobs.append(Job(program, content, own))
        answers = iter(compile_all(jobs, limits))
        nothing = Answer(Verdict.NOT_DECIDED, NO_PROGRAM)
        return [
            next(answers) if program else None if program is None else nothing
            for program in programs
        ]


class Completion:
    """Completes the findings about entries, except for the compilation of their programs."""

    def __init__(
        self,
        reachability: Reachability,
        in_model: Mapping[tuple[str, str], Sequence[ModelMatch]] | None,
        judge: Judge,
        proposals: Proposals,
    ) -> None:
        self._reachability = reachability
        self._in_model = in_model
        self._judge = judge
        self._proposals = proposals
        self._places = KnobPlaces()

    def report(self, asked: Asked, judgement: Judgement) -> EntryReport:
        """Return the complete findings about an entry."""
        entry, answer = asked.entry, None
        if judgement.judged is not None:
            answer = self._proposals.answer(judgement.judged, partial(self._judge.details, entry))
        matches = None
        if self._in_model is not None:
            matches = tuple(self._in_model.get((entry.matcher, entry.action), ()))
        return replace(
            unfinished(asked, judgement),
            is_valid=answer,
            knob_place=knob_place(answer, entry.place, self._places),
            fix=fix(answer, entry.place, self._places),
            is_reachable=self._reachability.answer(asked.position),
            overlap=self._reachability.overlap(asked.position),
            in_model=matches,
        )


def unfinished(asked: Asked, judgement: Judgement) -> EntryReport:
    """Return the findings about an entry before the spec is checked as a whole."""
    return EntryReport(
        position=asked.position,
        entry=asked.entry,
        payload=judgement.payload,
        matches=judgement.matches,
        is_valid=None if judgement.judged is None else judgement.judged.answer,
        compiles=None,
        is_reachable=Answer(Verdict.NOT_DECIDED, "the check was interrupted before"),
        overlap=None,
    )
