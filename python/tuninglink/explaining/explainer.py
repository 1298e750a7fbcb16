"""The observer of a compilation that explains the effects of specs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tuninglink.arguments import Content, several
from tuninglink.compiler import (
    Compilation,
    CompileOptions,
    Compiler,
    DispatchSources,
    Mode,
    Observer,
    Phase,
    PreparedDispatches,
    SpecChoice,
    functions,
    prepare_dispatches,
    program_source,
    read_request,
)
from tuninglink.errors import CompileError, Diagnostic, printable
from tuninglink.explaining.catalog import (
    Catalog,
    CompilersChoices,
    LibraryAdvice,
    TargetCatalog,
    configuration_of,
    rewritten_op,
    same_op,
    why_invalid,
)
from tuninglink.explaining.explanation import Explanation, MeasuredTimes, with_details, with_times
from tuninglink.explaining.reports import (
    DispatchReport,
    KnobRow,
    LibraryCoverage,
    OperationReport,
    ReplacedOperation,
    Status,
    status_without_match,
)
from tuninglink.iree import (
    Dispatch,
    DispatchCost,
    GivenSizes,
    Target,
    count_calls,
    describe,
    dispatch_costs,
    find_dispatches,
    find_root_ops,
    layout_hint,
)
from tuninglink.matching import OpInfo
from tuninglink.mlir import DiagnosticSink, error, names, place_of, to_bytecode
from tuninglink.spaces import meaning
from tuninglink.specs import SpecSource

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.compiler import Applied, Configure
    from tuninglink.specs import Spec


class _DispatchOp(NamedTuple):
    """An op of a dispatch as it is configured and as matchers saw it, if that is known, with its outcome."""

    operation: mlir.Operation
    seen: mlir.Operation | None
    applied: Applied | None


class Explainer(Observer):
    """An observer of a compilation that determines the effects of specs, traced exactly, on each dispatch.

    Args:
        program: the name of the program.
        is_detailed: whether to compute the details that only a page shows; see `with_details`.
        sizes: the sizes of dynamic dimensions for costs.
    """

    def __init__(
        self,
        choice: SpecChoice,
        program: str,
        step: Callable[[str], None] | None = None,
        *,
        is_detailed: bool = False,
        sizes: Sequence[GivenSizes] = (),
    ) -> None:
        self._sizes = sizes
        self._catalog = Catalog(choice)
        self._advice = LibraryAdvice({spec.source for spec in choice.given})
        self._program = program
        self._step = step or (lambda _: None)
        self._is_detailed = is_detailed
        self._plain: list[tuple[bytes, bytes, Counter[str]]] = []
        self._dispatches: list[DispatchReport] = []
        self._earlier = (0, 0)
        # The program, or its part, that specs are applied to.
        self._sources: DispatchSources | None = None
        self._calls: Counter[str] = Counter()
        self._costs: dict[str, DispatchCost] = {}
        self._applied: dict[str, list[tuple[mlir.Operation, Applied]]] = {}

    def before_specs(self, program: mlir.Operation, specs: Sequence[Spec]) -> None:
        self._catalog.update(specs)
        self._earlier = len(self._dispatches), len(self._plain)
        self._sources = DispatchSources(program)
        self._calls = count_calls(program)
        self._costs = dispatch_costs(program, self._sizes)

    def forget(self) -> None:
        dispatches, plain = self._earlier
        del self._dispatches[dispatches:], self._plain[plain:]

    def after_specs(
        self,
        program: mlir.Operation,
        applied: Sequence[tuple[mlir.Operation, Applied]],
        configure: Configure,
    ) -> None:
        assert self._sources is not None
        sources, self._applied = self._sources, {}
        for operation, application in applied:
            self._applied.setdefault(application.dispatch, []).append((operation, application))
        dispatches = find_dispatches(program) if sources.executables else []
        names = [dispatch.name for dispatch in dispatches]
        prepared = prepare_dispatches(dispatches, sources)
        self._step("explaining the dispatches")
        tuned = [name for name in names if self._status_of(name) is Status.TUNED]
        choices = CompilersChoices(sources, tuned, configure)
        self._dispatches += [self._report(dispatch, prepared, choices) for dispatch in dispatches]
        if self._is_detailed and sources.executables:
            # Keep all dispatches before configuration and with the compiler's own configurations.
            self._step("configuring without specs")
            before = to_bytecode(sources.program(sources.executables).operation)
            after: list[bytes] = []
            if not configure(before, lambda program: after.append(to_bytecode(program))):
                self._plain.append((before, after[0], self._calls))
        self._sources = None

    def explanation(self, compilation: Compilation) -> Explanation:
        """Return the explanation after a compilation."""
        dispatches = tuple(self._dispatches)
        specs, notes = self._catalog.outcomes(dispatches)
        if not dispatches:
            notes.append("there is no dispatch to configure")
        # The shipped libraries for the most dispatches come first.
        advice = self._advice.dispatches.items()
        libraries = [LibraryCoverage(name, frozenset(covered)) for name, covered in advice]
        libraries.sort(key=lambda library: (-len(library.dispatches), library.source))
        replaced = tuple(
            ReplacedOperation(
                *(item.operation, item.function, item.place, item.spec),
                *(item.entry.matcher, item.entry.place, item.called, item.entry.form),
            )
            for item in compilation.replaced
        )
        explanation = Explanation(
            *(self._program, specs, dispatches, tuple(notes), tuple(libraries)), replaced=replaced
        )
        self._step("writing specs to start from")
        for before, after, calls in self._plain:
            explanation = with_details(explanation, before, after, calls)
        return explanation

    def _status_of(self, dispatch: str) -> Status:
        applied = self._applied.get(dispatch, [])
        if not applied:
            return Status.UNMATCHED
        if not all(application.ignored for _, application in applied):
            return Status.TUNED
        is_kept = any(application.is_kept for _, application in applied)
        return Status.KEPT if is_kept else Status.NO_EFFECT

    def _report(
        self, dispatch: Dispatch, prepared: PreparedDispatches, choices: CompilersChoices
    ) -> DispatchReport:
        # 1. The ops that specs configured, or else those that the compiler configured, and as matchers saw them.
        applied, module = self._applied.get(dispatch.name), prepared.modules[dispatch.name]
        roots = [op for group in find_root_ops(dispatch.module) for op in group.roots]
        seen: Sequence[mlir.Operation | None] = roots
        if module is None:
            seen = [None] * len(roots)
        elif module != dispatch.module:
            seen = [op for group in find_root_ops(module) for op in group.roots]
            seen = seen if len(seen) == len(roots) else [None] * len(roots)
        ops = [_DispatchOp(op, one, None) for op, one in zip(roots, seen, strict=True)]
        if applied:
            ops = [
                _DispatchOp((roots or [op])[0], rewritten_op(application, module), application)
                if op.name == names.FUNCTION
                else _DispatchOp(op, same_op(op, dispatch.module, module), application)
                for op, application in applied
            ]
        # 2. Their outcomes.
        status = self._status_of(dispatch.name) if ops else Status.NOT_TUNABLE
        catalog = self._catalog.of(dispatch.target)
        operations = []
        for position, op in enumerate(ops):
            hint = layout_hint(OpInfo(op.seen or op.operation), dispatch.target)
            report = self._operation(op, catalog, status, prepared.unsure)
            report = replace(report, hint=hint)
            if status is Status.TUNED:
                report = choices.add_to(report, dispatch.name, position, len(ops))
            operations.append(report)
        if status is Status.UNMATCHED:
            status = status_without_match(operations)
            for op in ops:
                if op.seen is not None:
                    self._advice.add(dispatch.name, catalog.selection, OpInfo(op.seen))
        return DispatchReport(
            name=dispatch.name,
            functions=functions(dispatch.module),
            target=str(dispatch.target or ""),
            status=status,
            operations=tuple(operations),
            # A program that consists only of dispatches has no calls.
            calls=self._calls[dispatch.name] if self._calls else 1,
            cost=self._costs[dispatch.name],
            peaks=dispatch.target.peaks if dispatch.target else None,
        )

    def _operation(
        self, dispatch_op: _DispatchOp, catalog: TargetCatalog, status: Status, why_unsure: str
    ) -> OperationReport:
        op = OpInfo(dispatch_op.seen or dispatch_op.operation)
        configuration = configuration_of(dispatch_op.operation)
        # The op and its configuration.
        report = OperationReport(
            words=describe(op),
            name=op.name,
            place=place_of(dispatch_op.operation.location),
            configuration=configuration.text,
            kind=op.kind.value,
            types=tuple(operand.text for operand in op.operands),
            maps=tuple(str(map_) for map_ in op.maps),
            knobs=tuple(
                KnobRow(place, value, meaning=meaning(place))
                for place, value in configuration.knobs.items()
            ),
        )
        unsure = []
        if dispatch_op.seen is None:
            unsure.append(why_unsure or "what matchers saw of it is not known")
        # The entry that configured it, or those that nearly match it.
        if dispatch_op.applied:
            match = self._catalog.match(dispatch_op.applied)
            report = replace(report, match=match, rewriting=dispatch_op.applied.rewriting)
            if status is Status.TUNED and not report.rewriting:
                report = replace(report, invalid=why_invalid(dispatch_op.operation))
            if match.entry is None:
                unsure.append("which entry of the spec configured it")
            elif dispatch_op.seen is not None:
                report = replace(report, shadowed=catalog.shadowed(op, match.entry))
        elif dispatch_op.seen is not None and status is Status.UNMATCHED:
            nearest = catalog.nearest(op)
            report = replace(report, nearest=nearest)
            now = OpInfo(dispatch_op.operation)
            is_rewritten = (op.name, op.operands) != (now.name, now.operands)
            if is_rewritten and any(not miss.differences for miss in nearest):
                # The compiler replaces the op, and drops the configuration of the old one.
                unsure.append(
                    "whether an entry configured it: the backend rewrote it afterwards, "
                    "which loses what specs give"
                )
            if not nearest and any(member.unreadable for member in catalog.members):
                unsure.append("whether an entry nearly matches: some cannot be read")
        return replace(report, cannot_tell=tuple(unsure))


def explain(
    source: str | os.PathLike[str] | Content,
    *,
    specs: SpecSource | Iterable[SpecSource] = (),
    default_specs: bool = True,
    spec_directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    target: str | Target | None = None,
    flags: str | Iterable[str] = (),
    name: str = "<memory>",
    derived_entries: bool = True,
    upgrade: bool = True,
    times: Iterable[MeasuredTimes] = (),
    sizes: str | Iterable[str] = (),
    diagnostics: DiagnosticSink | None = None,
) -> Explanation:
    """Explain the effects of specs on a program, dispatch by dispatch.

    The program is compiled in this process up to the choice of configurations. The arguments are those of
    `tuninglink.compile`.

    Args:
        source: the path of a program in MLIR, or its content; text or bytecode either way.
        specs: the user's specs in order of precedence: loaded ones, paths, or contents.
        default_specs: whether the default spec of each target comes last.
        spec_directories: searched for default specs before the shipped ones.
        target: what to compile for, as for `tuninglink.compile`.
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip`, as words or as one line.
        name: the name of a content in locations.
        derived_entries: whether entries are derived for other spellings of their problems.
        upgrade: whether specs for an older compiler are upgraded; otherwise they are rejected.
        times: measured times, such as `tuninglink.explaining.read_profile` returns.
        sizes: the sizes of dynamic dimensions for costs, in the syntax of `--dim`: `0.0=1,8:2,64`.
        diagnostics: receives warnings and remarks as they are emitted. Errors are raised.

    Returns:
        The outcome for each dispatch and each spec.

    Raises:
        CompileError: the program or a flag is malformed, the compilation does not reach the dispatches, or
            the compiler reported an error.
        SpecError: a spec is malformed, or cannot be linked.
        TuninglinkError: a file or a directory cannot be read.
    """
    options, choice, warnings = read_request(
        specs=specs,
        default_specs=default_specs,
        spec_directories=spec_directories,
        target=target,
        flags=flags,
        derived_entries=derived_entries,
        upgrade=upgrade,
    )
    options, program = until_configured(options), program_source(source)
    given = (*options.sizes, *map(GivenSizes.parse, several(sizes, "sizes")))
    shown = printable(program) if isinstance(program, str) else name
    explainer = Explainer(choice, shown, sizes=given)
    report = diagnostics.emit if diagnostics else None
    compiler = Compiler(options, choice, options.flags, report, warnings, observer=explainer)
    compilation = compiler.compile(program, name)
    return with_times(explainer.explanation(compilation), times)


def until_configured(options: CompileOptions) -> CompileOptions:
    """Return options that end a compilation at the choice of configurations, and reject one that does not reach it.

    The output is discarded, so it is written as bytecode, the fastest format.
    """
    reason = ""
    if options.mode not in (Mode.STANDARD, Mode.HAL_EXECUTABLE):
        reason = f"nothing is configured in --compile-mode={options.mode.value}"
    elif options.compile_to < Phase.EXECUTABLE_CONFIGURATIONS:
        reason = f"the compilation ends before '{Phase.EXECUTABLE_CONFIGURATIONS.value}'"
    elif not options.compile_from <= Phase.EXECUTABLE_SOURCES:
        reason = f"the input is past '{Phase.EXECUTABLE_SOURCES.value}' already"
    if reason:
        raise CompileError(error(f"there is nothing to explain: {reason}"))
    return replace(options, compile_to=Phase.EXECUTABLE_CONFIGURATIONS, emit_bytecode=True)


def explain_file(
    path: str,
    options: CompileOptions,
    choice: SpecChoice,
    session_flags: Sequence[str] = (),
    report: Callable[[Diagnostic], None] | None = None,
    *,
    step: Callable[[str], None] = lambda _: None,
    is_detailed: bool = False,
) -> tuple[Compilation, Explanation]:
    """Compile a file up to `executable-configurations` at least, and explain the effects of specs on it.

    The flags of the process are set already.
    """
    until_configured(options)
    choice = replace(choice, exact=True)
    explainer = Explainer(choice, path, step, is_detailed=is_detailed, sizes=options.sizes)
    compiler = Compiler(options, choice, session_flags, report, observer=explainer, step=step)
    compilation = compiler.compile(os.fspath(path))
    return compilation, explainer.explanation(compilation)
