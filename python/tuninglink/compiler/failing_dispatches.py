"""Dispatches that compile only without their specs, found by compiling each alone."""

from __future__ import annotations

from iree.compiler import ir as mlir

from tuninglink.compiler.phases import Phase
from tuninglink.compiler.session import Invocation, Session
from tuninglink.iree.dispatches import containers, find_dispatches
from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.walk import collect


def executables_with_specs(program: mlir.Operation) -> list[bytes]:
    """Return the executables of a program at `executable-sources` that have a spec, as bytecode."""
    return [
        to_bytecode(executable)
        for executable in containers(program)
        if executable.name == names.EXECUTABLE
        and any(
            names.EMBEDDED_SPEC in module.attributes for module in collect(executable, names.MODULE)
        )
    ]


def failing_dispatches(session: Session, executables: list[bytes]) -> dict[str, Diagnostic]:
    """Return the dispatches that fail because of their specs, with their first errors.

    Args:
        session: a session with the flags of the compilation.
        executables: executables with specs; see `executables_with_specs`.
    """
    failing: dict[str, Diagnostic] = {}
    for content in executables:
        module = mlir.Module.parse(content, thread_context()).operation
        failure = _first_error(session, to_bytecode(module))
        if failure is None:
            continue
        dispatches = find_dispatches(module)
        for dispatch in dispatches:
            if names.EMBEDDED_SPEC in dispatch.module.attributes:
                del dispatch.module.attributes[names.EMBEDDED_SPEC]
        if _first_error(session, to_bytecode(module)) is None:
            failing |= {dispatch.name: failure for dispatch in dispatches}
    return failing


def _first_error(session: Session, program: bytes) -> Diagnostic | None:
    """Compile a program of executables to machine code. Return its first error, or None."""
    diagnostics: list[Diagnostic] = []
    first, last = Phase.EXECUTABLE_SOURCES, Phase.EXECUTABLE_TARGETS
    with (
        session.wrap(program, "<executables>") as source,
        Invocation(session, diagnostics.append) as invocation,
    ):
        succeeded = invocation.parse(source) and invocation.run(first, last)
    errors = (entry for entry in diagnostics if entry.severity is Severity.ERROR)
    return next(errors, None if succeeded else error("the compiler failed without a diagnostic"))
