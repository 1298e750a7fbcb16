"""Compilation with specs in this process: the request, the phases of the compiler with specs between them, and the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.arguments import Content, content_as_path, described, flag_words, several
from tuninglink.compiler.application import Application, SpecChoice
from tuninglink.compiler.options import (
    COMPILE_FLAGS,
    CompileOptions,
    FlagReader,
    Mode,
    OutputFormat,
    compile_options,
)
from tuninglink.compiler.prepared_dispatches import DispatchSources, materialize_encodings
from tuninglink.compiler.session import (
    Invocation,
    NativeHandle,
    Output,
    Phase,
    Pipeline,
    Session,
    session_flags,
    spec_diagnostics,
    split,
)
from tuninglink.compiler.targets import check_targets, named_target
from tuninglink.compiler.tracing import Applied
from tuninglink.errors import CompileError, Diagnostic, Severity
from tuninglink.files import STANDARD_STREAM, cannot, temporary_directory
from tuninglink.iree import Target, containers, find_dispatches
from tuninglink.mlir import (
    DiagnosticSink,
    check_repeated_matchers,
    collect,
    error,
    is_bytecode,
    names,
    note,
    thread_context,
    to_bytecode,
    without_byte_order_mark,
)
from tuninglink.preprocessing import Replaced
from tuninglink.specs import (
    LINKED_SPEC_NAME,
    DefaultLibrary,
    Spec,
    SpecSource,
    default_spec,
    is_only_a_spec,
    link_specs,
    load_specs,
    may_replace,
)

MEMORY: Final = "<memory>"
"""The name of a program in memory."""


def compile(  # noqa: A001 - the usual word, as in `re`
    source: str | os.PathLike[str] | Content,
    *,
    specs: SpecSource | Iterable[SpecSource] = (),
    default_specs: bool = True,
    spec_directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    target: str | Target | None = None,
    flags: str | Iterable[str] = (),
    dump_specs_to: str | os.PathLike[str] = "",
    name: str = "<memory>",
    trace: bool = True,
    prune: bool = True,
    derived_entries: bool = True,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> Compilation:
    """Compile a program in this process, with tuning specs.

    The function may be called repeatedly and from several threads. The flags apply to one call.

    Args:
        source: the path of a program in MLIR, or its content; text or bytecode.
        specs: the user's specs in order of precedence: loaded specs, paths, or contents.
        default_specs: whether to apply the default spec of each target last.
        spec_directories: directories of default specs, searched before the shipped ones.
        target: what to compile for: `host`, an SKU, an architecture or a family; stands for flags.
        flags: flags of `iree-compile`, such as `--iree-hal-target-device=hip` or `--compile-to=flow`, except for
            process-wide ones; a single text is split as in a shell.
        dump_specs_to: a directory for the linked specs of each target.
        name: the name of a program given as content, in diagnostics and locations.
        trace: whether to determine which entry configured which operation. Otherwise only the spec is determined; its
            entry is known only if it has a separate action or the spec has few entries. With a thousand entries,
            disabling the trace saves a tenth of the time.
        prune: whether each dispatch receives only the entries that may match in it. Pruning saves time and memory, and
            does not change the configurations.
        derived_entries: whether to derive entries for other spellings of the problems of entries.
        upgrade: whether to upgrade specs that were written for an older compiler; otherwise they are rejected. Loaded
            specs are not affected.
        diagnostics: receives warnings and remarks as they are emitted. Errors are raised.

    Returns:
        The output of `iree-compile`, and the applied entries.

    Raises:
        CompileError: the program is malformed, or the compiler reported an error, with any exit code.
        SpecError: a spec is malformed, or cannot be linked.
        TuninglinkError: a flag is malformed, or a file or a directory cannot be read or written.
        TypeError: an argument has another type.
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
    dump = os.fspath(dump_specs_to) or options.spec_dumps
    choice = replace(choice, exact=trace, dump=dump, prune=prune and choice.prune)
    report = diagnostics.emit if diagnostics else None
    compiler = Compiler(options, choice, options.flags, report, warnings)
    return compiler.compile(program_source(source), name)


def link(
    specs: SpecSource | Iterable[SpecSource],
    target: str | Target | None = None,
    *,
    directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    name: str = LINKED_SPEC_NAME,
    diagnostics: DiagnosticSink | None = None,
) -> Spec:
    """Link specs into one; the first match wins, and the target's default spec comes last.

    Args:
        specs: the specs in order of precedence: loaded specs, which stay as they are, paths or other sources as on the
            command line, or contents.
        target: the target whose default spec, if any, comes last; `host` is the processor of this machine, and None is
            for no default spec.
        directories: the directories searched for the default spec before the shipped specs.
        name: the symbol of the result.
        diagnostics: receives warnings about opaque specs that may override an earlier one; by default they are dropped.

    Returns:
        A spec that the compiler accepts unchanged. A single input in default-entrypoint form is returned as is.

    Raises:
        SpecError: there is nothing to link, or a spec cannot be read or linked.
        TargetError: no target has this name.
        TypeError: an argument has another type.
    """
    inputs, _ = load_specs(specs, diagnostics=diagnostics)
    if isinstance(target, str):
        target = named_target(target)
    default = default_spec(target, directories=directories) if target is not None else None
    inputs += [default] if default is not None else []
    return link_specs(inputs, name=name, diagnostics=diagnostics).spec


def read_request(
    *,
    flags: str | Iterable[str],
    target: str | Target | None = None,
    specs: SpecSource | Iterable[SpecSource] = (),
    default_specs: bool = False,
    spec_directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    upgrade: bool = True,
    derived_entries: bool = True,
) -> tuple[CompileOptions, SpecChoice, Sequence[Diagnostic]]:
    """Read the flags of a call, and load its specs. Return the warnings about them, too; see `compile`."""
    options = read_options(flags, target)
    upgrade = upgrade and options.upgrade
    library = None
    if default_specs and options.default_specs:
        directories = several(spec_directories, "spec_directories")
        library = DefaultLibrary((*directories, *options.spec_directories), upgrade=upgrade)
    warnings = spec_diagnostics(options.flags, upgrade=upgrade)
    sources = (*several(specs, "specs"), *options.specs)
    given, automatic = load_specs(
        sources, upgrade=upgrade, diagnostics=DiagnosticSink(warnings.append), for_program=True
    )
    choice = SpecChoice(
        given,
        automatic=automatic,
        library=library,
        prune=options.prune,
        derive=derived_entries and options.derived_entries,
    )
    return options, choice, warnings


def read_options(
    flags: str | Iterable[str], target: str | Target | None = None, *, is_process_wide: bool = False
) -> CompileOptions:
    """Read the flags of a call with those that the target stands for; check that the call and the process support them.

    Raises:
        UsageError: a flag is not one of the compiler, conflicts with the target, or applies to a whole process although
            `is_process_wide` is false.
        TargetError: the target is unknown.
        TypeError: an argument has another type.
    """
    words = flag_words(flags)
    if target is not None:
        if not isinstance(target, str | Target):
            raise TypeError(f"a target is a Target or its name; found {described(target)}")
        words = [f"--target={target if isinstance(target, str) else target.names[0]}", *words]
    options = compile_options(FlagReader(COMPILE_FLAGS, words))
    fault = ""
    if options.input is not None:
        fault = f"'{options.input}' is not a flag; the program is the argument 'source'"
    elif options.explanation is not None:
        fault = "flag '--explain' is not supported here: call 'tuninglink.explain'"
    elif options.output != STANDARD_STREAM:
        fault = "flag '-o' is not supported here: the output is returned"
    elif not is_process_wide:
        flag_names = (flag.partition("=")[0] for flag in options.flags)
        if name := next((name for name in flag_names if name not in session_flags()), ""):
            fault = f"flag '{name}' applies to a whole process, not to one compilation; use 'tuninglink compile'"
    if fault:
        raise CompileError(error(fault))
    check_targets(options.flags)
    return options


@contextmanager
def program_path(source: str | os.PathLike[str] | Content) -> Iterator[str]:
    """Yield the path of a program; that of a temporary file for a content."""
    program = program_source(source)
    if isinstance(program, str):
        yield program
        return
    with temporary_directory() as folder:
        path = folder / "program.mlir"
        path.write_bytes(program)
        yield str(path)


def program_source(source: str | os.PathLike[str] | Content) -> str | bytes:
    """Return the path of a program, or its content as bytes.

    Raises:
        CompileError: a text is a content where a path is expected.
        TypeError: the source has another type.
    """
    if isinstance(source, Content):
        return bytes(source)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a program is a path, or content as bytes; found {described(source)}")
    if mistake := content_as_path(source, "the program"):
        raise CompileError(mistake)
    return os.fspath(source)


# --- The compilation of a program ----------------------------------------------------------------

Configure: TypeAlias = Callable[[bytes, Callable[[mlir.Operation], None]], tuple[Diagnostic, ...]]
"""Configures a program of executables at `executable-sources`, given as bytecode, under the flags of the compilation, and
hands it over if that worked; returns the errors if not."""


@dataclass(frozen=True)
class Compilation:
    """The result of a compilation.

    Attributes:
        output: the result, such as the bytes of a `.vmfb`.
        applied: the configured operations, each with its spec and entry.
        diagnostics: warnings and remarks, in the order of emission.
        replaced: the operations that functions of specs replaced, each with its spec and entry.
    """

    output: bytes
    applied: tuple[Applied, ...]
    diagnostics: tuple[Diagnostic, ...]
    replaced: tuple[Replaced, ...] = ()


class Observer:
    """An observer of a program before and after specs are applied to it.

    An observer must neither change the program nor keep handles to its operations.
    """

    def before_specs(self, program: mlir.Operation, specs: Sequence[Spec]) -> None:
        """Inspect a program at `executable-sources`, before the given specs, or those made for it, are embedded."""

    def forget(self) -> None:
        """Discard the last program, which is compiled again with other specs."""

    def after_specs(
        self,
        program: mlir.Operation,
        applied: Sequence[tuple[mlir.Operation, Applied]],
        configure: Configure,
    ) -> None:
        """Inspect the same program at `executable-configurations`."""


class Compiler:
    """A compilation.

    Args:
        options: the options; specs and flags in them are ignored.
        session_flags: the flags of the session. Process-wide flags must already be set.
        report: receives each warning and remark as it is emitted.
        warnings: earlier warnings about the specs, to be reported first.
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
        self._makes_specs = any(spec.maker for spec in specs.given)
        has_specs = bool(specs.given) or specs.library is not None
        self._reaches_dispatches = (
            (has_specs or observer is not None)
            and not options.reason_against_specs
            and options.compile_from is not options.compile_to
        )
        self._replaces = not options.reason_against_replacing and (
            may_replace(specs.given) or bool(specs.library and specs.library.directories)
        )
        self._application = Application(specs, self._report, options.machine)
        self._session_flags = session_flags
        self._forward = report
        self._diagnostics: list[Diagnostic] = []
        self._errors: list[Diagnostic] = []
        for diagnostic in warnings:
            self._report(diagnostic)

    @property
    def specs(self) -> Sequence[Spec]:
        """The given specs, with those that were made for the last program."""
        return self._application.choice.given

    def _report(self, diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR:
            self._errors.append(diagnostic)
        elif diagnostic not in self._diagnostics:  # of a part that is compiled again
            self._diagnostics.append(diagnostic)
            if self._forward:
                self._forward(diagnostic)

    def compile(self, source: str | bytes, name: str = MEMORY) -> Compilation:
        """Compile a file, standard input for `-`, or a program in memory with a name in locations and diagnostics."""
        options, application = self._options, self._application
        # One output for all parts: the padding of a program depends on its position in it.
        with (
            Session(self._session_flags) as session,
            open_program(session, source, name) as program,
            Output() as output,
        ):
            # Report the errors of all parts.
            failures: list[Diagnostic] = []
            for part in split(program) if options.split_input else [program]:
                try:
                    with part:
                        self._compile_part(session, part, output)
                except CompileError as failure:
                    failures.extend(failure.diagnostics)
            if failures:
                raise CompileError(*failures)
            # Specs that are embedded for a later compilation have no effect yet.
            reason, why = options.reason_against_specs, options.reason_against_replacing
            findings = application.without_replacement(why)
            if reason or options.compile_to is not Phase.EXECUTABLE_SOURCES:
                explained = self._observer is not None
                findings = application.findings(options.flags, reason, why, is_explained=explained)
            for diagnostic in findings:
                self._report(diagnostic)
            applied, replaced = tuple(application.applied), tuple(application.replaced)
            return Compilation(output.content(), applied, tuple(self._diagnostics), replaced)

    def _compile_part(self, session: Session, source: NativeHandle, output: Output) -> None:
        """Compile one program. Dispatches that fail with made specs, or any with `skip_failing`, are compiled without."""
        application = self._application
        before, replaced_before = tuple(application.applied), tuple(application.replaced)
        try:
            self._compile_program(session, source, output)
        # Name the entries that caused the error, or skip them and compile again.
        except CompileError as failure:
            errors = failure.diagnostics
            explained = application.explain(errors)
            may_skip = self._options.skip_failing or self._makes_specs
            if explained != errors and not (may_skip or application.is_ambiguous):
                raise CompileError(*explained) from None
            failing, mendable = self._failing_dispatches(session, source)
            # The user did not write the entries of specs that were made.
            skips = self._options.skip_failing or application.only_made(mendable)
            if not mendable or not skips:
                raise CompileError(*application.explain(errors, failing)) from None
            for warning in application.skip(mendable, before):
                self._report(warning)
            application.replaced[:] = replaced_before
            if self._observer:
                self._observer.forget()
            self._compile_program(session, source, output, is_again=True)

    def _compile_program(
        self, session: Session, source: NativeHandle, output: Output, *, is_again: bool = False
    ) -> None:
        """Run the phases up to the last one. Stop where specs are embedded, and again where they have taken effect."""
        options, application = self._options, self._application
        here, last = options.compile_from, options.compile_to
        with (
            Invocation(
                session,
                self._report,
                verify=options.verify,
                phase_dumps=options.phase_dumps,
                remarks=(options.remarks_filter, options.remarks_file),
            ) as invocation,
            application.locating(invocation),
        ):
            invocation.parse(source)
            refuse_spec(invocation.module)
            here = self._replace(invocation, application, here)
            if self._reaches_dispatches:
                # 1. Form the dispatches. The input in the mode for executables consists of them.
                if options.mode is Mode.HAL_EXECUTABLE:
                    here = Phase.EXECUTABLE_SOURCES
                if here < Phase.EXECUTABLE_SOURCES:
                    self._step("forming dispatches")
                    # Large specs take no extra time if they are read while the compiler works. A failure is repeated,
                    # and reported, later.
                    with ThreadPoolExecutor(max_workers=1) as executor:
                        executor.submit(application.prepare)
                        invocation.advance(here, here := Phase.EXECUTABLE_SOURCES)
                materialize_encodings(invocation.module)
                if self._makes_specs and not is_again:
                    self._step("making specs")
                    application.make_specs(
                        invocation.module, partial(configured_executables, session)
                    )
                if self._observer:
                    self._observer.before_specs(invocation.module, self.specs)
                # 2. Link the specs for each target, and embed them.
                tagged = last is not Phase.EXECUTABLE_SOURCES
                self._step("linking specs")
                embedded = application.embed(invocation.module, tagged=tagged)
                if self._errors:
                    errors, self._errors = self._errors, []
                    raise CompileError(*errors)
                # 3. Choose configurations, and read which entries took effect.
                if tagged and (embedded or self._observer):
                    self._step("choosing configurations")
                    configured = Phase.EXECUTABLE_CONFIGURATIONS
                    try:
                        invocation.advance(here, here := configured)
                    except CompileError:
                        # A configuration may be the cause.
                        application.read(invocation.module, search=True)
                        raise
                    applied = application.read(invocation.module)
                    if self._observer:
                        self._step("explaining")
                        configure = partial(compile_executables, session, configured)
                        self._observer.after_specs(invocation.module, applied, configure)
                if here < last:
                    self._step("generating code")
            # 4. Generate code, and write the result.
            # The compiler rejects a last phase that is not after the first.
            if here < last or (here is options.compile_from and not self._reaches_dispatches):
                invocation.advance(here, last, Pipeline[options.mode.name])
            kind = _OUTPUTS.get(options.output_format, "IR")
            if options.writes_ir:
                kind = "IRBytecode" if options.emit_bytecode else "IR"
            elif options.mode is Mode.HAL_EXECUTABLE:
                kind = "HALExecutable"
            version = [options.bytecode_version] if kind == "IRBytecode" else []
            invocation.write(output, kind, *version)

    def _replace(self, invocation: Invocation, application: Application, here: Phase) -> Phase:
        """Preprocess a program and replace ops of it, if any spec may. Return the phase that the program has passed."""
        if not self._replaces:
            return here
        self._step("replacing operations")
        invocation.advance(here, Phase.PREPROCESSING)
        application.replace(invocation.module)
        return Phase.PREPROCESSING

    def _failing_dispatches(
        self, session: Session, source: NativeHandle
    ) -> tuple[Collection[str], dict[str, Diagnostic]]:
        """Return the dispatches that fail alone with specs, and those of them that compile without, with first errors."""
        here, there = self._options.compile_from, Phase.EXECUTABLE_SOURCES
        if not self._reaches_dispatches or self._options.mode is not Mode.STANDARD:
            return (), {}
        # 1. Embed the specs again, unless the compilation fails earlier.
        with Invocation(session) as invocation:
            try:
                invocation.parse(source)
                quiet = Application(self._application.choice, lambda _: None, self._options.machine)
                here = self._replace(invocation, quiet, here)
                if here < there:
                    invocation.advance(here, there)
            except CompileError:
                return (), {}
            materialize_encodings(invocation.module)
            quiet.embed(invocation.module, tagged=True)
            executables = [
                to_bytecode(executable)
                for executable in containers(invocation.module)
                if executable.name == names.EXECUTABLE
                and any(
                    names.EMBEDDED_SPEC in module.attributes
                    for module in collect(executable, names.MODULE)
                )
            ]
        # 2. Compile each executable with its specs, and without them if that fails.
        failing, mendable = list[str](), dict[str, Diagnostic]()
        for content in executables:
            module = mlir.Module.parse(content, thread_context()).operation
            errors = compile_executables(session, Phase.EXECUTABLE_TARGETS, to_bytecode(module))
            if not errors:
                continue
            dispatches = find_dispatches(module)
            failing += [dispatch.name for dispatch in dispatches]
            for dispatch in dispatches:
                if names.EMBEDDED_SPEC in dispatch.module.attributes:
                    del dispatch.module.attributes[names.EMBEDDED_SPEC]
            if not compile_executables(session, Phase.EXECUTABLE_TARGETS, to_bytecode(module)):
                mendable |= {dispatch.name: errors[0] for dispatch in dispatches}
        return failing, mendable


_OUTPUTS: Final = {OutputFormat.BYTECODE: "VMBytecode", OutputFormat.C_SOURCE: "VMCSource"}


def compile_executables(
    session: Session,
    last: Phase,
    program: bytes,
    look: Callable[[mlir.Operation], None] | None = None,
) -> tuple[Diagnostic, ...]:
    """Compile a program of executables at `executable-sources` up to a phase. Return the errors."""
    with session.open(program, "<executables>") as source, Invocation(session) as invocation:
        try:
            invocation.parse(source)
            invocation.advance(Phase.EXECUTABLE_SOURCES, last)
        except CompileError as failure:
            return failure.diagnostics
        if look is not None:
            look(invocation.module)
    return ()


def configured_executables(session: Session, program: bytes) -> bytes:
    """Return executables at `executable-sources` as the compiler configures them, without those that it fails on."""
    configured: list[bytes] = []
    last, look = Phase.EXECUTABLE_CONFIGURATIONS, lambda op: configured.append(to_bytecode(op))
    if compile_executables(session, last, program, look):
        sources = DispatchSources(mlir.Module.parse(program, thread_context()).operation)
        right = []
        for name in sources.executables:
            alone = to_bytecode(sources.program([name]).operation)
            if not compile_executables(session, last, alone):
                right.append(name)
        compile_executables(session, last, to_bytecode(sources.program(right).operation), look)
    return configured[0]


# --- Programs as sources of the compiler, diagnostics for files that are not programs, and runs of compiler phases

_BEGINNING: Final = 4096
"""The number of bytes to read for telling MLIR from other files."""


def refuse_spec(module: mlir.Operation) -> None:
    """Reject a tuning spec as a program, since passes would remove its content."""
    if is_only_a_spec(module):
        message = (
            "this is a tuning spec, not a program; pass it with --spec, and a program as input"
        )
        raise CompileError(error(message, module))


def open_program(session: Session, source: str | bytes, name: str = MEMORY) -> NativeHandle:
    """Open a source of the compiler: MLIR in memory, called `name` in locations, or a file."""
    beginning = None
    # A file is MLIR, an ONNX model to import, or `-` for standard input.
    if isinstance(source, bytes):
        beginning = source[:_BEGINNING]
    elif not source:
        raise CompileError(error("an input has an empty name; expected a file"))
    elif source != STANDARD_STREAM:
        file, name = Path(source), source
        if file.is_file() or file.is_dir() or not file.exists():  # A pipe can be read only once.
            try:
                with file.open("rb") as opened:
                    beginning = opened.read(_BEGINNING)
            except OSError as failure:
                raise CompileError(cannot("read", file, failure)) from None
        if source.endswith(_ONNX):
            return session.open(import_onnx(file), source)
    if beginning is None:
        return session.open(source)
    if not beginning:
        raise CompileError(error(f"'{name}' is empty; expected a program in MLIR"))
    if b"\0" in beginning and not is_bytecode(beginning):
        raise CompileError(error(f"'{name}' is neither MLIR text nor MLIR bytecode"))
    if isinstance(source, bytes):
        check_repeated_matchers(source, name, thread_context())
    else:
        try:
            with (
                Path(source).open("rb") as opened,
                mmap(opened.fileno(), 0, access=ACCESS_READ) as content,
            ):
                check_repeated_matchers(content, name, thread_context())
        except ValueError:  # a file of the system, whose length is 0 although it has a content
            check_repeated_matchers(Path(source).read_bytes(), name, thread_context())
        except OSError as failure:
            raise CompileError(cannot("read", Path(source), failure)) from None
        if beginning == without_byte_order_mark(beginning):
            return session.open(source)
        source = Path(source).read_bytes()
    data = without_byte_order_mark(source)
    return session.open(data if is_bytecode(data) else data + b"\0", name)


_ONNX: Final = ".onnx"
"""The suffix of a model, whose format has no signature."""

_OPSET: Final = 17
"""The ONNX operator version that IREE's documentation recommends to convert older models to."""


_LONGEST: Final = 200
"""The number of characters of the importer's reason to show: some quote the model."""


def import_onnx(path: Path) -> bytes:
    """Import a model as a program in the dialect `torch`, as bytecode. Its function has the name of the graph."""
    # The program contains all weights, including weights in separate files of the model.
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


@contextmanager
def compiler_run(
    source: str | bytes, flags: Sequence[str], *, name: str = MEMORY, verify: bool = True
) -> Iterator[Invocation]:
    """Parse a program, the path of one or its content, into a separate session. Process-wide flags must already be set.

    Raises:
        CompileError: a flag is malformed, or the program does not parse.
    """
    available = session_flags()
    with (
        Session([flag for flag in flags if flag.partition("=")[0] in available]) as session,
        open_program(session, source, name) as opened,
        Invocation(session, verify=verify) as invocation,
    ):
        invocation.parse(opened)
        yield invocation
