"""A compilation in this process: parsing, running phases, applying specs, and writing the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from tuninglink.compiler import native
from tuninglink.compiler.applying import Application, SpecChoice
from tuninglink.compiler.compile_options import CompileOptions, Mode, Observer, OutputFormat, Phase
from tuninglink.compiler.prepared_dispatches import (
    compile_executables,
    executables_with_specs,
    failing_dispatches,
    materialize_encodings,
)
from tuninglink.compiler.program_sources import open_program, refuse_spec, wrap_program
from tuninglink.compiler.session import (
    Invocation,
    NativeHandle,
    Output,
    Pipeline,
    Session,
    split,
)
from tuninglink.compiler.tracing import Applied
from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error

_PIPELINES: Final = {
    Mode.STANDARD: Pipeline.STANDARD,
    Mode.VM: Pipeline.VM,
    Mode.HAL_EXECUTABLE: Pipeline.HAL_EXECUTABLE,
    Mode.PRECOMPILE: Pipeline.PRECOMPILE,
}
_OUTPUTS: Final = {
    OutputFormat.BYTECODE: native.output_vm_bytecode,
    OutputFormat.C_SOURCE: native.output_c_source,
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
        """Raise an error if a step failed, or if the compiler reported an error although the step succeeded.

        Args:
            succeeded: the result of the step.
            doing: a description of the step, in case the compiler emitted no diagnostic.
        """
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
        """Compile one program. With `skip_failing`, dispatches that fail with specs are compiled without specs.

        Raises:
            CompileError: the compiler reported an error.
        """
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
        """Whether the compilation applies specs, and has specs or an observer."""
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
            function, arguments = native.output_ir_bytecode, (options.bytecode_version,)
        elif options.writes_ir:
            function = native.output_ir
        elif options.mode is Mode.HAL_EXECUTABLE:
            function = native.output_hal_executable
        else:
            function = _OUTPUTS[options.output_format]
        failure = invocation.write(output, function, *arguments)
        self._check(failure is None, f"writing the output: {failure}")
