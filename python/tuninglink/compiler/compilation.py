"""A compilation in this process: parsing, running phases, applying specs, and writing the result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.compiler import session
from tuninglink.compiler.prepared_dispatches import (
    compile_executables,
    executables_with_specs,
    failing_dispatches,
    materialize_encodings,
)
from tuninglink.compiler.session import (
    CompileOptions,
    Invocation,
    Mode,
    NativeHandle,
    Observer,
    Output,
    OutputFormat,
    Phase,
    Pipeline,
    Session,
    session_flags,
    split,
)
from tuninglink.compiler.tracing import Applied, SpecOutcomes, TaggedSpec, take_tags
from tuninglink.errors import CompileError, Diagnostic, Severity
from tuninglink.files import STANDARD_STREAM, cannot, write_standard_output
from tuninglink.iree import Target, containers, find_dispatches
from tuninglink.matching import (
    LinkedDispatch,
    Pruning,
    embed_specs,
    link_dispatches,
    specialize_dispatches,
)
from tuninglink.mlir import (
    DiagnosticSink,
    body,
    error,
    is_bytecode,
    names,
    note,
    once,
    thread_context,
    to_bytecode,
    to_text,
    without_byte_order_mark,
)
from tuninglink.specs import (
    DefaultLibrary,
    Spec,
    collect_specs,
    is_only_a_spec,
    spec_attribute,
)
from tuninglink.specs.verification import check_configurations

_PIPELINES: Final = {
    Mode.STANDARD: Pipeline.STANDARD,
    Mode.VM: Pipeline.VM,
    Mode.HAL_EXECUTABLE: Pipeline.HAL_EXECUTABLE,
    Mode.PRECOMPILE: Pipeline.PRECOMPILE,
}
_OUTPUTS: Final = {
    OutputFormat.BYTECODE: session.output_vm_bytecode,
    OutputFormat.C_SOURCE: session.output_c_source,
}


@dataclass(frozen=True)
class Compilation:
    """The result of a compilation.

    Attributes:
        output: the result, such as the bytes of a `.vmfb`.
        applied: the configured operations, each with its spec and entry.
        diagnostics: warnings and remarks, in the order of emission.
    """

    output: bytes
    applied: tuple[Applied, ...]
    diagnostics: tuple[Diagnostic, ...]


class Compiler:
    """A compilation.

    Args:
        options: the options; specs and flags in them are ignored.
        specs: the specs to apply.
        session_flags: the flags of the session. Process-wide flags must already be set.
        report: receives each warning and remark as it is emitted.
        warnings: earlier warnings about the specs, to be reported first.
        observer: an observer of the program, or None.
        step: receives the name of each step at its start.
    """

    def __init__(
        self,
        options: CompileOptions,
        specs: SpecChoice,
        session_flags: Sequence[str] = (),
        report: Callable[[Diagnostic], None] | None = None,
        warnings: Iterable[Diagnostic] = (),
        *,
        observer: Observer | None = None,
        step: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._options = options
        self._step = step
        self._observer = observer
        self._specs = specs
        self._application = Application(specs, self._report)
        self._session_flags = session_flags
        self._forward = report
        self._diagnostics: list[Diagnostic] = []
        self._errors: list[Diagnostic] = []
        for diagnostic in warnings:
            self._report(diagnostic)

    def _report(self, diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR:
            self._errors.append(diagnostic)
            return
        if diagnostic in self._diagnostics:
            return  # of a part that is compiled again
        self._diagnostics.append(diagnostic)
        if self._forward:
            self._forward(diagnostic)

    def _check(self, succeeded: bool, doing: str) -> None:  # noqa: FBT001 - a result of the C interface
        """Raise an error if a step failed, or if the compiler reported an error although the step succeeded."""
        if self._errors:
            raise CompileError(*self._errors)
        if not succeeded:
            raise CompileError(error(f"the compiler failed {doing}"))

    def compile_file(self, path: str) -> Compilation:
        """Compile a file, or standard input for `-`.

        Raises:
            CompileError: the file cannot be read, or the compiler reported an error.
        """
        with Session(self._session_flags) as session, open_program(session, path) as source:
            return self._compile(session, source)

    def compile_bytes(self, data: bytes, name: str) -> Compilation:
        """Compile a program in memory, called `name` in locations and diagnostics.

        Raises:
            CompileError: the data is not a program, or the compiler reported an error.
        """
        with Session(self._session_flags) as session, wrap_program(session, data, name) as source:
            return self._compile(session, source)

    def _compile(self, session: Session, source: NativeHandle) -> Compilation:
        # One output for all parts: the padding of a program depends on its position in it.
        with Output() as output:
            if self._options.split_input:
                self._compile_parts(session, split(source), output)
            else:
                self._compile_part(session, source, output)
            self._warn_about_specs()
            applied = tuple(self._application.applied)
            return Compilation(output.content(), applied, tuple(self._diagnostics))

    def _compile_parts(self, session: Session, parts: list[NativeHandle], output: Output) -> None:
        """Compile all parts, and report the errors of all of them."""
        failures: list[Diagnostic] = []
        for part in parts:
            with part:
                try:
                    self._compile_part(session, part, output)
                except CompileError as failure:
                    failures.extend(failure.diagnostics)
                    self._errors.clear()
        if failures:
            raise CompileError(*failures)

    def _compile_part(self, session: Session, source: NativeHandle, output: Output) -> None:
        """Compile one program. With `skip_failing`, dispatches that fail with specs are compiled without specs."""
        before = tuple(self._application.applied)
        try:
            self._compile_program(session, source, output)
        # Name the entries that caused the error, or skip them and compile again.
        except CompileError as failure:
            outcomes, errors = self._application.outcomes, failure.diagnostics
            explained = outcomes.explain(errors)
            if explained != errors and not self._options.skip_failing:
                raise CompileError(*explained) from None
            failing = failing_dispatches(session, self._linked(session, source))
            if not failing or not self._options.skip_failing:
                raise CompileError(*outcomes.explain(errors, failing)) from None
            self._errors.clear()
            for warning in outcomes.skips(failing):
                self._report(warning)
            self._application.skip(failing, before)
            if self._observer:
                self._observer.forget()
            self._compile_program(session, source, output)

    def _compile_program(self, session: Session, source: NativeHandle, output: Output) -> None:
        options = self._options
        with Invocation(session, self._report) as invocation:
            remarks = (options.remarks_filter, options.remarks_file)
            invocation.configure(
                verify=options.verify,
                phase_dumps=options.phase_dumps,
                remarks=remarks if options.remarks_filter else None,
            )
            self._check(invocation.parse(source), "parsing")
            refuse_spec(invocation.module())
            self._run_all(session, invocation)
            self._write(invocation, output)

    def _linked(self, session: Session, source: NativeHandle) -> list[bytes]:
        """Return the executables of a program with their specs; empty if the compilation fails earlier."""
        here = self._options.compile_from
        if not self._reaches_dispatches or self._options.mode is not Mode.STANDARD:
            return []
        with Invocation(session, lambda _: None) as invocation:
            if not invocation.parse(source):
                return []
            if here < Phase.EXECUTABLE_SOURCES and not invocation.run(
                here, Phase.EXECUTABLE_SOURCES
            ):
                return []
            materialize_encodings(invocation.module())
            Application(self._specs, lambda _: None).embed(invocation.module(), tagged=True)
            return executables_with_specs(invocation.module())

    def _run_all(self, session: Session, invocation: Invocation) -> None:
        options = self._options
        if self._reaches_dispatches:
            self._run_with_specs(session, invocation)
        else:
            pipeline = _PIPELINES[options.mode]
            self._run(invocation, options.compile_from, options.compile_to, pipeline)

    @property
    def _reaches_dispatches(self) -> bool:
        return bool(self._specs or self._observer) and self._options.applies_specs

    def _run_with_specs(self, session: Session, invocation: Invocation) -> None:
        """Stop where specs are embedded, and again where they have taken effect."""
        options = self._options
        here, last = options.compile_from, options.compile_to
        if options.mode is Mode.HAL_EXECUTABLE:
            here = Phase.EXECUTABLE_SOURCES  # The input in this mode consists of dispatches.
        if here < Phase.EXECUTABLE_SOURCES:
            self._step("forming dispatches")
            with self._application.prepared():
                self._run(invocation, here, here := Phase.EXECUTABLE_SOURCES, Pipeline.STANDARD)
        materialize_encodings(invocation.module())
        if self._observer:
            self._observer.before_specs(invocation.module())
        # Link and embed the specs.
        tagged = last is not Phase.EXECUTABLE_SOURCES
        self._step("linking specs")
        embedded = self._application.embed(invocation.module(), tagged=tagged)
        self._check(succeeded=True, doing="embedding specs")
        # Choose configurations, and read which entries took effect.
        if tagged and (embedded or self._observer):
            self._step("choosing configurations")
            configured = Phase.EXECUTABLE_CONFIGURATIONS
            try:
                self._run(invocation, here, here := configured, Pipeline.STANDARD)
            except CompileError:
                # A configuration may be the cause.
                self._application.read(invocation.module(), search=True)
                raise
            applied = self._application.read(invocation.module())
            if self._observer:
                self._step("explaining")
                configure = partial(compile_executables, session, configured)
                self._observer.after_specs(invocation.module(), applied, configure)
        # Generate code.
        if here < last:
            self._step("generating code")
            self._run(invocation, here, last, _PIPELINES[options.mode])

    def _run(self, invocation: Invocation, first: Phase, last: Phase, pipeline: Pipeline) -> None:
        succeeded = invocation.run(first, last, pipeline)
        self._check(succeeded, f"compiling to '{last.value}'")

    def _warn_about_specs(self) -> None:
        options = self._options
        reason = options.reason_against_specs
        if not reason and options.compile_to is Phase.EXECUTABLE_SOURCES:
            return  # They are embedded, for a later compilation.
        outcomes, is_explained = self._application.outcomes, self._observer is not None
        remarks = () if is_explained else outcomes.remarks()  # An explanation names them.
        flag_warnings = () if reason else outcomes.flag_warnings(options.flags)
        for diagnostic in (
            *outcomes.warnings(reason, is_explained=is_explained),
            *flag_warnings,
            *remarks,
        ):
            self._report(diagnostic)

    def _write(self, invocation: Invocation, output: Output) -> None:
        options = self._options
        arguments: tuple[int, ...] = ()
        if options.writes_ir and options.emit_bytecode:
            function, arguments = session.output_ir_bytecode, (options.bytecode_version,)
        elif options.writes_ir:
            function = session.output_ir
        elif options.mode is Mode.HAL_EXECUTABLE:
            function = session.output_hal_executable
        else:
            function = _OUTPUTS[options.output_format]
        failure = invocation.write(output, function, *arguments)
        self._check(failure is None, f"writing the output: {failure}")


# --- Application of specs within a compilation: embedding of specs, and reading of their effects -

_TRACED: Final = 32
"""The number of entries up to which each is traced in any case: it is cheap, and errors can name the entry."""


_CHECKED: Final = 1_000
"""The number of entries of a spec up to which all configurations are checked if all entries are embedded."""


@dataclass(frozen=True)
class SpecChoice:
    """The specs of a compilation, and how they are applied.

    Attributes:
        given: the user's specs, in order of precedence.
        from_project: the number of specs from a project file, which come last and may be for other programs.
        automatic: the positions of specs that the user did not name, which need not configure anything.
        library: the library of default specs, or None.
        exact: whether to trace each entry, or only each spec.
        dump: a directory for the linked specs, `-` for standard output; empty for no dump.
        prune: whether each dispatch receives only the entries that may match in it, unless the specs are dumped or the
            program is written with its specs.
        derive: whether to derive entries for ops that express the problem of an entry in another form.
    """

    given: Sequence[Spec] = ()
    from_project: int = 0
    automatic: frozenset[int] = frozenset()
    library: DefaultLibrary | None = None
    exact: bool = True
    dump: str = ""
    prune: bool = True
    derive: bool = False

    def __bool__(self) -> bool:
        return bool(self.given) or self.library is not None


class Application:
    """The application of specs to the programs of one compilation, with checks of their configurations."""

    def __init__(self, choice: SpecChoice, report: Callable[[Diagnostic], None]) -> None:
        self._choice = choice
        self._report = report
        self._pruning = Pruning()
        self._tagged: dict[str, TaggedSpec] = {}
        self._configured: set[str] = set()
        self._traceable: set[int] = set()
        self._targets: set[Target | None] = set()
        self._skipped: set[str] = set()
        self._skipped_specs: set[int] = set()
        self.applied: list[Applied] = []

    def skip(self, dispatches: Collection[str], applied: Sequence[Applied]) -> None:
        """Start the program again, without specs in some of its dispatches."""
        self._skipped = set(dispatches)
        self._skipped_specs |= {
            entry.position for entry in self.applied if entry.dispatch in self._skipped
        }
        self._tagged.clear()
        self._configured.clear()
        self.applied[:] = applied

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Read the specs while the block runs, so that large specs take no extra time if it waits for the compiler.

        The block must not use the specs, or anything in their context.
        """
        with ThreadPoolExecutor(max_workers=1) as executor:
            executor.submit(self._prepare)  # A failure is repeated, and reported, later.
            yield

    def _prepare(self) -> None:
        for spec in self._choice.given:
            if self._choice.prune:
                self._pruning.prepare(spec)

    def embed(self, module: mlir.Operation, *, tagged: bool) -> bool:
        """Embed specs in the dispatches of a program at `executable-sources`. Return whether any dispatch has a spec.

        Tagged specs leave tags, which `read` reads.
        """
        if not any(container.name == names.EXECUTABLE_VARIANT for container in containers(module)):
            return False
        choice = self._choice
        dispatches = link_dispatches(
            module,
            choice.given,
            library=choice.library,
            # Specs that are written, with or without the program, must be complete.
            pruning=self._pruning if choice.prune and tagged and not choice.dump else None,
            derives=choice.derive,
            diagnostics=DiagnosticSink(self._report),
            context=thread_context(),
        )
        dispatches = tuple(
            replace(dispatch, linked=None) if dispatch.dispatch.name in self._skipped else dispatch
            for dispatch in dispatches
        )
        self._check_configurations(dispatches)
        specialize_dispatches(dispatches)
        if choice.dump or not tagged:
            embed_specs(dispatches, module.context)
        if choice.dump:
            specs = collect_specs(module)
            if self._choice.dump == "-":
                write_standard_output(specs.as_stream())
            else:
                specs.write(self._choice.dump)
        if tagged:
            self._embed_tagged(dispatches, module.context)
        self._targets.update(dispatch.dispatch.target for dispatch in dispatches)
        return any(dispatch.linked for dispatch in dispatches)

    def _check_configurations(self, dispatches: Iterable[LinkedDispatch]) -> None:
        """Check all configurations of each spec, or only the configurations of linked entries if the spec is large."""
        given = {spec.source for spec in self._choice.given}
        checked: dict[tuple[int, Target | None], tuple[Spec, dict[int, None]]] = {
            (id(spec), None): (spec, dict.fromkeys(_checked(spec))) for spec in self._choice.given
        }
        for dispatch in dispatches:
            for part in dispatch.linked.parts if dispatch.linked else ():
                if part.spec.source in given:
                    # Linked entries are not foreign to the target.
                    key = id(part.spec), dispatch.dispatch.target
                    kept = _checked(part.spec) if part.kept is None else part.kept
                    checked.setdefault(key, (part.spec, {}))[1].update(dict.fromkeys(kept))
        for (_, target), (spec, positions) in checked.items():
            check_configurations(spec, self._warnings, target, sorted(positions))

    @cached_property
    def _warnings(self) -> DiagnosticSink:
        """A sink that reports each finding once, as a warning, for all parts of a program."""
        return once(
            DiagnosticSink(
                lambda finding: self._report(replace(finding, severity=Severity.WARNING))
            )
        )

    def _embed_tagged(self, dispatches: Iterable[LinkedDispatch], context: mlir.Context) -> None:
        copies: dict[int, tuple[TaggedSpec, mlir.Attribute]] = {}
        for dispatch in dispatches:
            if dispatch.linked is None:
                continue
            key = id(dispatch.linked)
            if key not in copies:
                exact = (
                    self._choice.exact
                    or sum(
                        len(part.spec.anatomy.pairs if part.kept is None else part.kept)
                        for part in dispatch.linked.parts
                    )
                    <= _TRACED
                )
                copy = TaggedSpec(dispatch.linked, exact=exact)
                copies[key] = copy, spec_attribute(copy.content, context)
                self._traceable.update(origin.position for origin in copy.origins)
            self._tagged[dispatch.dispatch.name], attribute = copies[key]
            dispatch.dispatch.module.attributes[names.EMBEDDED_SPEC] = attribute
            if any(
                names.TRANSLATION_INFO in op.attributes for op in body(dispatch.dispatch.module)
            ):
                self._configured.add(dispatch.dispatch.name)

    def read(
        self, module: mlir.Operation, *, search: bool = False
    ) -> list[tuple[mlir.Operation, Applied]]:
        """Read the effects in a program at `executable-configurations`, and remove all tags."""
        effects: list[tuple[mlir.Operation, Applied]] = []
        for dispatch in find_dispatches(module):
            tagged = self._tagged.pop(dispatch.name, None)
            if tagged is not None:
                kept = dispatch.name in self._configured
                first = 0 if search else len(self._choice.given)
                effects += take_tags(dispatch, tagged, kept=kept, search_from=first)
        self.applied += (applied for _, applied in effects)
        return effects

    @property
    def outcomes(self) -> SpecOutcomes:
        """The outcomes of the specs so far."""
        return SpecOutcomes(
            given=self._choice.given,
            from_project=self._choice.from_project,
            automatic=self._choice.automatic,
            library=self._choice.library,
            applied=self.applied,
            targets=self._targets,
            traceable=self._traceable,
            skipped=self._skipped_specs,
        )


def _checked(spec: Spec) -> range:
    count = len(spec.anatomy.pairs)
    return range(count if count <= _CHECKED else 0)


# --- Programs as sources of the compiler, diagnostics for files that are not programs, and runs of compiler phases

_BEGINNING: Final = 4096
"""The number of bytes to read for telling MLIR from other files."""


def refuse_spec(module: mlir.Operation) -> None:
    """Reject a tuning spec as a program, since passes would remove its content.

    Raises:
        CompileError: the module is a spec.
    """
    if is_only_a_spec(module):
        message = (
            "this is a tuning spec, not a program; pass it with --spec, and a program as input"
        )
        raise CompileError(error(message, module))


def open_program(session: Session, path: str) -> NativeHandle:
    """Open a file as a source of the compiler: MLIR, an ONNX model to import, or `-` for standard input."""
    if path == STANDARD_STREAM:
        return session.open_file(path)
    if not path:
        raise CompileError(error("an input has an empty name; expected a file"))
    beginning = _read_beginning(Path(path))
    if path.endswith(SUFFIX):
        return session.wrap(import_onnx(Path(path)), path)
    if beginning is not None:
        _check_is_mlir(beginning, path)
        if beginning != without_byte_order_mark(beginning):
            return wrap_program(session, Path(path).read_bytes(), path)
    return session.open_file(path)


def wrap_program(session: Session, data: bytes, name: str) -> NativeHandle:
    """Make a source of a program in memory, called `name` in locations and diagnostics."""
    _check_is_mlir(data, name)
    data = without_byte_order_mark(data)
    return session.wrap(data if is_bytecode(data) else data + b"\0", name)


def _read_beginning(path: Path) -> bytes | None:
    """Return the first bytes of a file, or None for a pipe, which can be read only once."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return None
    try:
        with path.open("rb") as file:
            return file.read(_BEGINNING)
    except OSError as failure:
        raise CompileError(cannot("read", path, failure)) from None


def _check_is_mlir(beginning: bytes, name: str) -> None:
    if not beginning:
        raise CompileError(error(f"'{name}' is empty; expected a program in MLIR"))
    if b"\0" in beginning[:_BEGINNING] and not is_bytecode(beginning):
        raise CompileError(error(f"'{name}' is neither MLIR text nor MLIR bytecode"))


SUFFIX: Final = ".onnx"
"""The suffix of a model, whose format has no signature."""

_OPSET: Final = 17
"""The ONNX operator version that IREE's documentation recommends to convert older models to."""


_LONGEST: Final = 200
"""The number of characters of the importer's reason to show: some quote the model."""


def import_onnx(path: Path) -> bytes:
    """Import a model as a program in the dialect `torch`, as bytecode. Its function has the name of the graph.

    The program contains all weights, including weights in separate files of the model.
    """
    try:
        from iree.compiler.tools.import_onnx import __main__ as importer  # noqa: PLC0415 - an extra
    except ImportError as failure:
        message = f"importing '{path}' needs the package 'onnx': {failure}"
        remedy = note("install the extra: pip install 'tuninglink[onnx]'")
        raise CompileError(error(message, notes=[remedy])) from None
    options = importer.parse_arguments([str(path), f"--opset-version={_OPSET}"])
    try:
        model = importer.onnx_importer.ModelInfo(importer.load_onnx_model(options))
        module = model.create_module(context=importer.Context()).operation
        importer.onnx_importer.NodeImporter.define_function(model.main_graph, module).import_all()
        module.verify()
    except Exception as failure:  # noqa: BLE001 - each library of the importer raises its own exceptions
        reason = " ".join(str(failure).split()) or type(failure).__name__
        reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]} ..."
        remedy = note(f"'iree-import-onnx {path} -o model.mlir' has options for models like it")
        raise CompileError(error(f"cannot import '{path}': {reason}", notes=[remedy])) from None
    return to_bytecode(module)


@dataclass(frozen=True)
class SavedProgram:
    """A program in memory, with its weights.

    Attributes:
        content: the program, as bytecode or as text.
        phase: the phase that it has passed.
    """

    content: bytes = field(repr=False)
    phase: Phase


class Run:
    """A program inside the compiler.

    Args:
        invocation: the compiler with the program, parsed.
        errors: the errors reported by the compiler so far.
    """

    def __init__(self, invocation: Invocation, errors: list[Diagnostic]) -> None:
        self._invocation = invocation
        self._errors = errors

    @property
    def module(self) -> mlir.Operation:
        """The program in its current state; the handle is valid until the next phase."""
        return self._invocation.module()

    def advance(self, first: Phase, last: Phase) -> None:
        """Run the phases after `first` up to and including `last`.

        Raises:
            CompileError: the compiler reported an error.
        """
        self.check(self._invocation.run(first, last), f"compiling to '{last.value}'")

    def save(self, phase: Phase) -> SavedProgram:
        """Return the program in its current state, after `phase`.

        After `flow`, weights are parts of attributes whose dialects have no bytecode interface: bytecode would lose the
        weights, and text is slow for large weights.
        """
        is_compact = phase <= Phase.FLOW
        content = to_bytecode(self.module) if is_compact else to_text(self.module).encode()
        return SavedProgram(content, phase)

    def image(self) -> bytes:
        """Return the compiled module as a VM FlatBuffer.

        Raises:
            CompileError: it cannot be written.
        """
        with Output() as output:
            failure = self._invocation.write(output, session.output_vm_bytecode)
            self.check(failure is None, f"writing the output: {failure}")
            return output.content()

    def check(self, succeeded: bool, doing: str) -> None:  # noqa: FBT001 - it is what a step returned
        """Raise the errors that the compiler reported, regardless of its return value."""
        if self._errors:
            raise CompileError(*self._errors)
        if not succeeded:
            raise CompileError(error(f"the compiler failed {doing}"))


@contextmanager
def compiler_run(
    source: bytes | str, flags: Sequence[str], *, name: str = "<memory>", verify: bool = True
) -> Iterator[Run]:
    """Parse a program into a separate session.

    Args:
        source: the program as text or bytecode, or the path of a program.
        flags: flags of the compiler; process-wide flags must already be set.
        name: the name in locations of a program in memory.
        verify: whether the IR is verified after each pass.

    Raises:
        CompileError: a flag is malformed, or the program does not parse.
    """
    errors: list[Diagnostic] = []

    def report(diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR:
            errors.append(diagnostic)

    available = session_flags()
    with Session([flag for flag in flags if flag.partition("=")[0] in available]) as session:
        if isinstance(source, str):
            opened = open_program(session, source)
        else:
            opened = wrap_program(session, source, name)
        with opened, Invocation(session, report) as invocation:
            invocation.configure(verify=verify)
            run = Run(invocation, errors)
            run.check(invocation.parse(opened), "parsing")
            yield run
