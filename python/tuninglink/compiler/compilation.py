"""A compilation in this process: parsing, running phases, applying specs, and writing the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.compiler.application import Application, SpecChoice
from tuninglink.compiler.options import CompileOptions, Mode, OutputFormat
from tuninglink.compiler.prepared_dispatches import (
    compile_executables,
    failing_dispatches,
    materialize_encodings,
)
from tuninglink.compiler.session import (
    Invocation,
    NativeHandle,
    Output,
    Phase,
    Pipeline,
    Session,
    session_flags,
    split,
)
from tuninglink.compiler.tracing import Applied
from tuninglink.errors import CompileError, Diagnostic, Severity
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.iree import containers
from tuninglink.mlir import (
    collect,
    error,
    is_bytecode,
    names,
    note,
    to_bytecode,
    without_byte_order_mark,
)
from tuninglink.specs import is_only_a_spec

_PIPELINES: Final = {
    Mode.STANDARD: Pipeline.STANDARD,
    Mode.VM: Pipeline.VM,
    Mode.HAL_EXECUTABLE: Pipeline.HAL_EXECUTABLE,
    Mode.PRECOMPILE: Pipeline.PRECOMPILE,
}
_OUTPUTS: Final = {
    OutputFormat.BYTECODE: "VMBytecode",
    OutputFormat.C_SOURCE: "VMCSource",
}

MEMORY: Final = "<memory>"
"""The name of a program in memory."""


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
    """

    output: bytes
    applied: tuple[Applied, ...]
    diagnostics: tuple[Diagnostic, ...]


class Observer:
    """An observer of a program before and after specs are applied to it.

    An observer must neither change the program nor keep handles to its operations.
    """

    def before_specs(self, program: mlir.Operation) -> None:
        """Inspect a program at `executable-sources`, before specs are embedded."""

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
        self._reaches_dispatches = bool(specs or observer) and options.applies_specs
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
        elif diagnostic not in self._diagnostics:  # of a part that is compiled again
            self._diagnostics.append(diagnostic)
            if self._forward:
                self._forward(diagnostic)

    def compile(self, source: str | bytes, name: str = MEMORY) -> Compilation:
        """Compile a file, standard input for `-`, or a program in memory with a name in locations and diagnostics.

        Raises:
            CompileError: the source cannot be read or is not a program, or the compiler reported an error.
        """
        # One output for all parts: the padding of a program depends on its position in it.
        with (
            Session(self._session_flags) as session,
            open_program(session, source, name) as program,
            Output() as output,
        ):
            if self._options.split_input:
                # Report the errors of all parts.
                failures: list[Diagnostic] = []
                for part in split(program):
                    try:
                        with part:
                            self._compile_part(session, part, output)
                    except CompileError as failure:
                        failures.extend(failure.diagnostics)
                if failures:
                    raise CompileError(*failures)
            else:
                self._compile_part(session, program, output)
            self._warn_about_specs()
            applied = tuple(self._application.applied)
            return Compilation(output.content(), applied, tuple(self._diagnostics))

    def _compile_part(self, session: Session, source: NativeHandle, output: Output) -> None:
        """Compile one program. With `skip_failing`, dispatches that fail with specs are compiled without specs."""
        application = self._application
        before = tuple(application.applied)
        try:
            self._compile_program(session, source, output)
        # Name the entries that caused the error, or skip them and compile again.
        except CompileError as failure:
            errors = failure.diagnostics
            explained = application.explain(errors)
            if explained != errors and not self._options.skip_failing:
                raise CompileError(*explained) from None
            failing = failing_dispatches(session, self._linked(session, source))
            if not failing or not self._options.skip_failing:
                raise CompileError(*application.explain(errors, failing)) from None
            for warning in application.skips(failing):
                self._report(warning)
            application.skip(failing, before)
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
            invocation.parse(source)
            refuse_spec(invocation.module)
            if self._reaches_dispatches:
                self._run_with_specs(session, invocation)
            else:
                first, last = options.compile_from, options.compile_to
                invocation.advance(first, last, _PIPELINES[options.mode])
            # Write the result.
            if options.writes_ir and options.emit_bytecode:
                invocation.write(output, "IRBytecode", options.bytecode_version)
            elif options.writes_ir:
                invocation.write(output, "IR")
            elif options.mode is Mode.HAL_EXECUTABLE:
                invocation.write(output, "HALExecutable")
            else:
                invocation.write(output, _OUTPUTS[options.output_format])

    def _linked(self, session: Session, source: NativeHandle) -> list[bytes]:
        """Return the executables of a program with their specs; empty if the compilation fails earlier."""
        here, there = self._options.compile_from, Phase.EXECUTABLE_SOURCES
        if not self._reaches_dispatches or self._options.mode is not Mode.STANDARD:
            return []
        with Invocation(session) as invocation:
            try:
                invocation.parse(source)
                if here < there:
                    invocation.advance(here, there)
            except CompileError:
                return []
            program = invocation.module
            materialize_encodings(program)
            Application(self._specs, lambda _: None).embed(program, tagged=True)
            return [
                to_bytecode(executable)
                for executable in containers(program)
                if executable.name == names.EXECUTABLE
                and any(
                    names.EMBEDDED_SPEC in module.attributes
                    for module in collect(executable, names.MODULE)
                )
            ]

    def _run_with_specs(self, session: Session, invocation: Invocation) -> None:
        """Stop where specs are embedded, and again where they have taken effect."""
        options = self._options
        here, last = options.compile_from, options.compile_to
        if options.mode is Mode.HAL_EXECUTABLE:
            here = Phase.EXECUTABLE_SOURCES  # The input in this mode consists of dispatches.
        if here < Phase.EXECUTABLE_SOURCES:
            self._step("forming dispatches")
            with self._application.prepared():
                invocation.advance(here, here := Phase.EXECUTABLE_SOURCES)
        materialize_encodings(invocation.module)
        if self._observer:
            self._observer.before_specs(invocation.module)
        # Link and embed the specs.
        tagged = last is not Phase.EXECUTABLE_SOURCES
        self._step("linking specs")
        embedded = self._application.embed(invocation.module, tagged=tagged)
        if self._errors:
            errors, self._errors = self._errors, []
            raise CompileError(*errors)
        # Choose configurations, and read which entries took effect.
        if tagged and (embedded or self._observer):
            self._step("choosing configurations")
            configured = Phase.EXECUTABLE_CONFIGURATIONS
            try:
                invocation.advance(here, here := configured)
            except CompileError:
                # A configuration may be the cause.
                self._application.read(invocation.module, search=True)
                raise
            applied = self._application.read(invocation.module)
            if self._observer:
                self._step("explaining")
                configure = partial(compile_executables, session, configured)
                self._observer.after_specs(invocation.module, applied, configure)
        # Generate code.
        if here < last:
            self._step("generating code")
            invocation.advance(here, last, _PIPELINES[options.mode])

    def _warn_about_specs(self) -> None:
        options, application = self._options, self._application
        reason = options.reason_against_specs
        if not reason and options.compile_to is Phase.EXECUTABLE_SOURCES:
            return  # They are embedded, for a later compilation.
        is_explained = self._observer is not None
        for diagnostic in (
            *application.warnings(reason, is_explained=is_explained),
            *(() if reason else application.flag_warnings(options.flags)),
            *(() if is_explained else application.remarks()),  # An explanation names them.
        ):
            self._report(diagnostic)


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


def open_program(session: Session, source: str | bytes, name: str = MEMORY) -> NativeHandle:
    """Open a source of the compiler: MLIR in memory, called `name` in locations, or a file."""
    # A file is MLIR, an ONNX model to import, or `-` for standard input.
    if isinstance(source, bytes):
        _check_is_mlir(source, name)
        data = without_byte_order_mark(source)
        return session.wrap(data if is_bytecode(data) else data + b"\0", name)
    if source == STANDARD_STREAM:
        return session.open_file(source)
    if not source:
        raise CompileError(error("an input has an empty name; expected a file"))
    file, beginning = Path(source), None
    if file.is_file() or file.is_dir() or not file.exists():  # A pipe can be read only once.
        try:
            with file.open("rb") as opened:
                beginning = opened.read(_BEGINNING)
        except OSError as failure:
            raise CompileError(cannot("read", file, failure)) from None
    if source.endswith(_ONNX):
        return session.wrap(import_onnx(file), source)
    if beginning is not None:
        _check_is_mlir(beginning, source)
        if beginning != without_byte_order_mark(beginning):
            return open_program(session, file.read_bytes(), source)
    return session.open_file(source)


def _check_is_mlir(beginning: bytes, name: str) -> None:
    if not beginning:
        raise CompileError(error(f"'{name}' is empty; expected a program in MLIR"))
    if b"\0" in beginning[:_BEGINNING] and not is_bytecode(beginning):
        raise CompileError(error(f"'{name}' is neither MLIR text nor MLIR bytecode"))


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
    """Parse a program into a separate session.

    Args:
        source: the path of a program, or the program as text or bytecode.
        flags: flags of the compiler; process-wide flags must already be set.
        name: the name in locations of a program in memory.
        verify: whether the IR is verified after each pass.

    Raises:
        CompileError: a flag is malformed, or the program does not parse.
    """
    available = session_flags()
    with (
        Session([flag for flag in flags if flag.partition("=")[0] in available]) as session,
        open_program(session, source, name) as opened,
        Invocation(session) as invocation,
    ):
        invocation.configure(verify=verify)
        invocation.parse(opened)
        yield invocation
