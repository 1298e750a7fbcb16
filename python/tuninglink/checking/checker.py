"""Checking specs, as a class and as a function, and the progress of a check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from tuninglink.arguments import Content, described, several
from tuninglink.checking.check_report import (
    CheckReport,
    EntryReport,
    Selection,
    SpecReport,
    with_places,
)
from tuninglink.checking.entry_checker import (
    MOST_PROPOSALS,
    NO_PROGRAM,
    Answer,
    CompileLimits,
    ConfigurationChecks,
    EntryAnswers,
    EntryChecker,
    EntryOptions,
    Job,
    Model,
    check_in_parallel,
    check_sizes,
    compile_all,
    reachability,
)
from tuninglink.compiler import compile_flags, executable_target, no_target, read_target
from tuninglink.errors import CompileError, Diagnostic, SpecError, printable
from tuninglink.iree import TENSOR_UKERNELS_FLAG, Target
from tuninglink.matching import MatcherConditions, MatcherReader, check_ranges, find_reachability
from tuninglink.mlir import DiagnosticSink, collect, names, once, thread_context
from tuninglink.payloads import spec_of
from tuninglink.pinning import check_replace_entries
from tuninglink.preprocessing import applicable_entries
from tuninglink.rules import Rule
from tuninglink.solver import DEFAULT_LIMITS, Limits, Verdict
from tuninglink.spaces import ProviderRegistry
from tuninglink.specs import (
    CONFIGURATIONS,
    PREPROCESSING_SPEC,
    Spec,
    add_list,
    configured_arguments,
    is_bound_for,
    load_spec,
    pairs_of,
    preprocessing_spec,
    read_source,
    read_specs,
)
from tuninglink.specs.verification import KnobPlaces, check_configurations, verify_spec
from tuninglink.workers import processor_count

if TYPE_CHECKING:
    from tuninglink.checking.model_matches import ModelMatch
    from tuninglink.specs import SpecSource


@dataclass(eq=False)
class CheckState:
    """The entries of a spec that have been checked individually; thread-safe."""

    _source: str = ""
    _kind: str = ""
    _count: int = 0
    entries: dict[int, EntryReport] = field(default_factory=dict)

    def begin(self, source: str, kind: str = "", count: int = 0) -> None:
        """Note the start of loading a spec, or with its kind, of checking its entries; or without a source, the end."""
        self._source, self._kind, self._count = source, kind, count
        self.entries = {}

    def partial(self) -> SpecReport | None:
        if not self._kind:
            return None
        entries = tuple(report for _, report in sorted(self.entries.items()))
        return SpecReport(self._source, self._kind, entries=entries)

    def __str__(self) -> str:
        if not self._source:
            return "checking"
        if not self._kind:
            return f"checking {self._source}: loading"
        return f"checking {self._source}: {len(self.entries):,} of {self._count:,} entries"


@dataclass(eq=False, kw_only=True)
class Checker:
    """Checks specs, one after the other.

    Attributes:
        target: the target of configurations; None to skip their check.
        compile_limits: the limits of compilations for the target; None to skip them.
        limits: the time limit of a solver query.
        upgrade: whether specs for older compilers are upgraded first; otherwise they are rejected.
        model: a model on whose ops configurations are checked as well.
        processes: the maximum number of processes for the entries of a large spec.
        proposals: the maximum number of rejected configurations whose nearest valid one is computed.
        progress: the progress on the current spec.
    """

    target: Target | None = None
    compile_limits: CompileLimits | None = None
    limits: Limits = DEFAULT_LIMITS
    upgrade: bool = True
    model: Model | None = None
    processes: int = 1
    proposals: int = MOST_PROPOSALS
    progress: CheckState = field(default_factory=CheckState, init=False)

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
        self.progress.begin(source_name)
        try:
            data = read_source(source)
            preprocessing = preprocessing_spec(
                data, source_name, thread_context(), upgrade=self.upgrade, diagnostics=sink
            )
            if preprocessing is not None:
                verify_spec(preprocessing, sink)
                if calls := collect(preprocessing, names.CAST_AND_CALL):
                    message = "not decided whether this call replaces only what its function computes: the spec is not a list of replace entries"
                    sink.warning(message, calls[0], rule=Rule.UNDECIDED)
                return SpecReport(source_name, PREPROCESSING_SPEC, tuple(diagnostics))
            diagnostics.clear()
            spec = load_spec(
                data, name=source_name, upgrade=self.upgrade, diagnostics=sink, targets=targets
            )
        except SpecError as failure:
            return SpecReport(source_name, structure=(*diagnostics, *failure.diagnostics))
        if not spec.only_replaces:
            verify_spec(spec.module, sink)
        if spec.replacing is not None:
            verify_spec(spec.replacing.module, sink)
        is_unsound = sink.error_count > 0
        report = SpecReport(spec.source, spec.kind_words)
        if spec.replacing is not None and not is_unsound:
            sound = check_replace_entries(spec.replacing, sink)
            # They hide each other as configure entries do.
            listed = spec.replacing.module.clone().operation
            add_list(listed, pairs_of(spec.replacing.foreach_match))
            findings = find_reachability(Spec(listed, source_name))
            for finding in (one for one in findings if one.is_unreachable):
                sink.warning(f"replace entry {finding}", finding.entry.place, rule=Rule.UNREACHABLE)
            reachable = [finding.verdict for finding in findings]
            report = replace(report, replacing={"sound": sound, "reachable": reachable})
            # The entries that a compilation for the target would not apply.
            warn = partial(sink.warning, rule=Rule.OTHER_TARGET)
            if self.target is not None:
                specs = [spec], [self.target]
                *_, foreign = applicable_entries(*specs, lambda one: warn(one.message, one.place))
                for why in foreign.values():
                    warn(f"spec '{spec.source}' replaces nothing: {why}")
        if is_unsound or spec.only_replaces:
            return replace(report, structure=tuple(diagnostics))
        target = self.target
        if target is not None:  # with the compiler's description of it
            attribute = executable_target(compile_flags(target), spec.module.context)
            target = replace(target, intrinsics=Target.from_attribute(attribute).intrinsics)
        check_configurations(spec, sink, target)
        check_ranges(spec, sink)
        entries = self._entries(spec, sink)
        self.progress.begin("")
        return replace(report, structure=tuple(diagnostics), entries=tuple(entries))

    def _entries(self, spec: Spec, diagnostics: DiagnosticSink) -> Sequence[EntryReport]:
        # The ops of the model that each entry configures; None without a model that compiles.
        in_model: Mapping[tuple[str, str], Sequence[ModelMatch]] | None = None
        if self.model is not None:
            # Compilations need a quarter of the modules of this command.
            from tuninglink.checking.model_matches import matches_in  # noqa: PLC0415

            checks = ConfigurationChecks(ProviderRegistry(diagnostics.emit), self.limits)
            try:
                in_model = matches_in(self.model, spec, checks, diagnostics.emit)
            except CompileError as failure:
                for diagnostic in failure.diagnostics:
                    diagnostics.emit(replace(diagnostic, rule=Rule.MODEL))
        self.progress.begin(spec.source, spec.kind_words, len(spec.entries))
        # Every process warns about the same plug-ins.
        warn = once(diagnostics).emit
        matchers = MatcherConditions(MatcherReader(spec.anatomy.table))
        check_sizes(spec.entries, matchers, diagnostics)
        flags = [] if self.target is None else compile_flags(self.target)
        attribute = str(executable_target(flags, spec.module.context)) if flags else ""
        wants_programs = self.target is not None and self.compile_limits is not None
        options = EntryOptions(self.target, attribute, self.limits, wants_programs)
        checker = EntryChecker(options, warn, matchers, self.proposals)
        entries = [
            (entry, self.target is not None and is_bound_for(entry, self.target))
            for entry in spec.entries
        ]

        def finished(position: int, answers: EntryAnswers) -> EntryReport:
            """Note and return what is known about an entry before the spec is checked as a whole."""
            report = EntryReport(
                position, entries[position][0], answers.payload, answers.matches, answers.is_valid
            )
            self.progress.entries[position] = report
            return report

        reports: list[EntryReport] = []
        programs: list[str | None] = []
        with check_in_parallel(
            checker, options, entries, processes=self.processes, warn=warn, finished=finished
        ) as checked:
            # While the other processes run, this one answers what concerns several entries.
            reachable, overlaps = reachability(spec, matchers)
            places = KnobPlaces()
            for position, answers in enumerate(checked):
                entry, is_asked = entries[position]
                answer, matches = answers.is_valid, None
                if answer is not None:
                    answer = checker.completed(entry, answer)
                if in_model is not None:
                    matches = tuple(in_model.get((entry.matcher, entry.action), ()))
                report = replace(
                    with_places(finished(position, answers), answer, places),
                    is_reachable=reachable[position],
                    overlap=overlaps.get(position),
                    in_model=matches,
                )
                reports.append(report)
                programs.append(answers.program if is_asked else None)
                self.progress.entries[position] = report
        return self._compiled(reports, programs, flags) if wants_programs else reports

    def _compiled(
        self, reports: Sequence[EntryReport], programs: Sequence[str | None], flags: Sequence[str]
    ) -> Sequence[EntryReport]:
        """Complete reports on entries with whether their programs compile; a program is empty if it could not be made."""
        assert self.target is not None
        assert self.compile_limits is not None
        jobs = []
        for report, program in zip(reports, programs, strict=True):
            if program:
                content = spec_of(report.entry)
                has_ukernel = b"ukernel_descriptor<" in content and self.target.backend == "rocm"
                own = (*flags, TENSOR_UKERNELS_FLAG) if has_ukernel else tuple(flags)
                # An action without opaque ops that sets no configuration has no effect.
                table, action = report.entry.anatomy.table, report.entry.action
                annotations = table.annotations(action)
                reason = ""
                if annotations is not None and not configured_arguments(table, action):
                    quoted = sorted({f"'{annotation.name}'" for annotation in annotations})
                    only = f"only {', '.join(quoted)}, and " if quoted else ""
                    missing = ", ".join(f"'{name}'" for name in sorted(CONFIGURATIONS))
                    reason = f"its action sets {only}none of {missing}"
                jobs.append(Job(program, content, own, reason))
        answers = iter(compile_all(jobs, self.compile_limits))
        nothing = Answer(Verdict.NOT_DECIDED, NO_PROGRAM)
        return [
            report
            if program is None
            else replace(report, compiles=next(answers) if program else nothing)
            for report, program in zip(reports, programs, strict=True)
        ]


# --- Checking specs as a function ---------------------------------------------------------------


def check(
    specs: SpecSource | Iterable[SpecSource],
    *,
    target: str | Target | None = None,
    model: str | os.PathLike[str] | Content | None = None,
    flags: str | Iterable[str] = (),
    compiles: bool = False,
    strict: bool = False,
    jobs: int | None = None,
    timeout: float = CompileLimits.seconds,
    limit: float = Limits.seconds,
    upgrade: bool = True,
) -> CheckReport:
    """Find the faults of specs, entry by entry, as `tuninglink check` does.

    A spec that cannot be read is a finding, too.

    Args:
        specs: the specs: loaded ones, sources as on the command line, or contents. Each is checked by itself.
        target: the target of the configurations: `host`, an SKU, an architecture or a family; None to skip their check.
        model: a program, on whose ops the entries are checked as well.
        flags: flags of `iree-compile` for the model, as words or as one line.
        compiles: whether to compile a program for each entry, for the target.
        strict: whether undecided questions are errors.
        jobs: the number of parallel processes; None for one per core.
        timeout: the time limit of a compilation, in seconds.
        limit: the time limit of a query of the solver, in seconds.
        upgrade: whether specs for an older compiler are upgraded; otherwise they are rejected.

    Raises:
        TargetError: the target is unknown, or the compiler generates no code for it.
        UsageError: a flag is malformed, or the target is missing.
        TypeError: an argument has another type.
    """
    from tuninglink.compiler import program_path, read_options  # noqa: PLC0415 - loads a compilation

    if compiles and target is None:
        raise no_target()
    processes = jobs or processor_count()
    words = read_options(flags, target).flags
    limits = CompileLimits(timeout, processes) if compiles else None
    name = target if isinstance(target, str) or target is None else target.names[0]
    with program_path(b"" if model is None else model) as path:
        checker = Checker(
            target=read_target(name) if name else None,
            model=None if model is None else Model(path, words),
            compile_limits=limits,
            limits=Limits(limit),
            upgrade=upgrade,
            processes=processes,
        )
        selection = Selection(is_strict=strict)
        reports = [
            replace(report, selection=selection)
            for spec in several(specs, "specs")
            for report in _reports(checker, spec)
        ]
    return CheckReport(name, reports)


def _reports(checker: Checker, spec: SpecSource) -> Iterator[SpecReport]:
    """Yield the report on each spec of a source."""
    if isinstance(spec, Spec):
        yield checker.check(spec.bytecode(), spec.source)
    elif isinstance(spec, str):
        try:
            files = read_specs([spec], DiagnosticSink(lambda _: None))
        except SpecError as failure:
            yield SpecReport(spec, structure=failure.diagnostics)
            return
        for file in files:
            yield checker.check(file.content, file.name, file.targets)
    elif isinstance(spec, os.PathLike | Content):
        yield checker.check(bytes(spec) if isinstance(spec, Content) else spec)
    else:
        raise TypeError(f"a spec is a path, or content as bytes; found {described(spec)}")
