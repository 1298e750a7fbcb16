"""One compilation in this process: parse, run, apply specs on the way, and hand out the result."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.compiler import native
from tuninglink.compiler.flags import Mode, OutputFormat
from tuninglink.compiler.phases import Phase
from tuninglink.compiler.session import Invocation, Output, Pipeline, Session, split
from tuninglink.errors import CompileError
from tuninglink.ir import names
from tuninglink.ir.diagnostics import Diagnostic, Severity, error
from tuninglink.ir.serialization import is_bytecode
from tuninglink.ir.walk import body
from tuninglink.spec.anatomy import has_entry_point

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.compiler.flags import Options
    from tuninglink.compiler.session import Handle

STANDARD_INPUT: Final = "-"

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
    """What came of a compilation.

    Attributes:
        output: what `iree-compile` would have written.
        diagnostics: warnings and remarks, in the order in which they were emitted.
    """

    output: bytes
    diagnostics: tuple[Diagnostic, ...]


class Compiler:
    """Runs one compilation.

    Args:
        options: what is asked for.
        session_flags: flags to give to the session; those of the whole process are set already.
        report: called with each warning and remark as it is emitted, and with nothing else.
    """

    def __init__(
        self,
        options: Options,
        session_flags: Sequence[str],
        report: Callable[[Diagnostic], None] | None = None,
    ) -> None:
        self._options = options
        self._session_flags = session_flags
        self._forward = report
        self._said: list[Diagnostic] = []
        self._errors: list[Diagnostic] = []

    def _report(self, diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR:
            self._errors.append(diagnostic)
            return
        self._said.append(diagnostic)
        if self._forward:
            self._forward(diagnostic)

    def _check(self, succeeded: bool, doing: str) -> None:  # noqa: FBT001 - it is what a step returned
        """Fails if a step did, or if it said so while it claims success."""
        if self._errors:
            raise CompileError(*self._errors)
        if not succeeded:
            raise CompileError(error(f"the compiler failed while {doing} and did not say why"))

    def compile_file(self, path: str) -> Compilation:
        """Compiles a file; `-` is standard input.

        Raises:
            CompileError: the file cannot be read, or the compiler reported an error.
        """
        if path != STANDARD_INPUT:
            _check_readable(Path(path))
        with Session(self._session_flags) as session, session.open_file(path) as source:
            return self._compile(session, source)

    def compile_bytes(self, data: bytes, name: str) -> Compilation:
        """Compiles a program in memory, which locations and diagnostics call `name`.

        Raises:
            CompileError: the data is no program, or the compiler reported an error.
        """
        _check_is_mlir(data[:_BEGINNING], name)
        terminated = data if is_bytecode(data) else data + b"\0"
        with Session(self._session_flags) as session, session.wrap(terminated, name) as source:
            return self._compile(session, source)

    def _compile(self, session: Session, source: Handle) -> Compilation:
        # One output for all parts: where the program stands in it changes its padding.
        with Output() as output:
            if self._options.split_input:
                self._compile_parts(session, split(source), output)
            else:
                self._compile_part(session, source, output)
            return Compilation(output.content(), tuple(self._said))

    def _compile_parts(self, session: Session, parts: list[Handle], output: Output) -> None:
        """Compiles all parts, so that the errors of all of them are known, also behind one that fails."""
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

    def _compile_part(self, session: Session, source: Handle, output: Output) -> None:
        options = self._options
        with Invocation(session, self._report) as invocation:
            remarks = (options.remarks_filter, options.remarks_file)
            invocation.configure(
                verify=options.verify,
                phase_dumps=options.phase_dumps,
                remarks=remarks if options.remarks_filter else None,
            )
            self._check(invocation.parse(source), "parsing")
            _refuse_spec(invocation.module())
            self._run(invocation, options.compile_from, options.compile_to)
            self._write(invocation, output)

    def _run(self, invocation: Invocation, first: Phase, last: Phase) -> None:
        succeeded = invocation.run(first, last, _PIPELINES[self._options.mode])
        self._check(succeeded, f"compiling to '{last.value}'")

    def _write(self, invocation: Invocation, output: Output) -> None:
        options = self._options
        function = _OUTPUTS.get(options.output_format)
        if options.mode is Mode.HAL_EXECUTABLE:
            function = native.output_hal_executable
        ends_early = options.compile_to is not Phase.END or options.mode is Mode.PRECOMPILE
        if function and not ends_early:
            invocation.write(output, function)
        elif options.emit_bytecode:
            invocation.write(output, native.output_ir_bytecode, options.bytecode_version)
        else:
            invocation.write(output, native.output_ir)
        self._check(succeeded=True, doing="writing")


def _refuse_spec(module: mlir.Operation) -> None:
    """Refuses a tuning spec, of which nothing would be left after a few passes, as a program."""
    if has_entry_point(module) and all(
        each.name.startswith("transform.") or each.name == names.MODULE for each in body(module)
    ):
        message = (
            "this is a tuning spec, not a program; give it with --spec, and a program as input"
        )
        raise CompileError(error(message, module))


_BEGINNING: Final = 4096
"""How much of a file is looked at to tell MLIR from anything else."""


def _check_readable(path: Path) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():
        return  # What was read from a pipe is gone.
    try:
        with path.open("rb") as file:
            beginning = file.read(_BEGINNING)
    except OSError as failure:
        reason = (failure.strerror or str(failure)).lower()
        raise CompileError(error(f"cannot read '{os.fspath(path)}': {reason}")) from None
    _check_is_mlir(beginning, os.fspath(path))


def _check_is_mlir(beginning: bytes, name: str) -> None:
    """Refuses what is certainly no program, better than the parser would."""
    if not beginning:
        raise CompileError(error(f"'{name}' is empty; expected a program in MLIR"))
    if b"\0" in beginning and not is_bytecode(beginning):
        raise CompileError(error(f"'{name}' is neither MLIR text nor MLIR bytecode"))
