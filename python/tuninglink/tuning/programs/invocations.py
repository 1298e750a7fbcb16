"""Running the compiler in this process from one phase to another, and looking at the program in between."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tuninglink.compiler import native
from tuninglink.compiler.program_sources import open_program, wrap_program
from tuninglink.compiler.session import Invocation, Output, Session, session_flags
from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.compiler.compile_options import Phase


class Run:
    """A program inside the compiler.

    Args:
        invocation: the compiler with the program, parsed.
        errors: the errors that the compiler reports, as they come.
    """

    def __init__(self, invocation: Invocation, errors: list[Diagnostic]) -> None:
        self._invocation = invocation
        self._errors = errors

    @property
    def module(self) -> mlir.Operation:
        """The program as it stands; the handle is valid up to the next phase."""
        return self._invocation.module()

    def advance(self, first: Phase, last: Phase) -> None:
        """Run the phases behind `first` up to and including `last`.

        Raises:
            CompileError: the compiler reported an error.
        """
        self.check(self._invocation.run(first, last), f"compiling to '{last.value}'")

    def image(self) -> bytes:
        """Return the compiled module as a VM FlatBuffer.

        Raises:
            CompileError: it cannot be written.
        """
        with Output() as output:
            failure = self._invocation.write(output, native.output_vm_bytecode)
            self.check(failure is None, f"writing the output: {failure}")
            return output.content()

    def check(self, succeeded: bool, doing: str) -> None:  # noqa: FBT001 - it is what a step returned
        """Raise what the compiler reported, whatever it returned."""
        if self._errors:
            raise CompileError(*self._errors)
        if not succeeded:
            raise CompileError(error(f"the compiler failed {doing}"))


@contextmanager
def compiler_run(
    source: bytes | str, flags: Sequence[str], *, name: str = "<memory>", verify: bool = True
) -> Iterator[Run]:
    """Parse a program into a session of its own.

    Args:
        source: the program as text or bytecode, or the path of one.
        flags: flags of the compiler; those of the whole process must have been set before.
        name: what locations call a program in memory.
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
