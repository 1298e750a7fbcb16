"""Verification of an initial spec: it has the intended effects, and does not change code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir as mlir

from tuninglink.compiler.applying import SpecChoice
from tuninglink.compiler.compilation import Compilation, Compiler
from tuninglink.compiler.compile_options import CompileOptions, Phase
from tuninglink.compiler.prepared_dispatches import DispatchSources, executable_name
from tuninglink.compiler.tracing import Applied
from tuninglink.errors import CompileError
from tuninglink.iree.dispatches import containers, find_dispatches
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.symbols import symbol_name
from tuninglink.scaffolding.scaffold import StartingPoint
from tuninglink.specs.spec import load_spec


@dataclass(frozen=True)
class Backend:
    """The rest of a compilation, after `executable-sources`.

    Attributes:
        session_flags: flags of the session. Process-wide flags are set already.
    """

    session_flags: Sequence[str] = ()

    def run(self, sources: bytes, last: Phase, specs: Sequence[str] = ()) -> Compilation:
        """Compile a program at `executable-sources`.

        Args:
            sources: the program.
            last: the last phase to run.
            specs: the specs to apply, as text.

        Raises:
            CompileError: the compiler reported an error.
            SpecError: a spec is malformed.
        """
        options = CompileOptions(
            compile_from=Phase.EXECUTABLE_SOURCES, compile_to=last, emit_bytecode=True
        )
        loaded = [load_spec(spec.encode()) for spec in specs]
        compiler = Compiler(options, SpecChoice(loaded), self.session_flags)
        return compiler.compile_bytes(sources, "<dispatches>")


class Verifier:
    """A comparison of a program with and without a spec.

    Args:
        backend: the compiler for both.
        sources: the program at `executable-sources`.
        configured: the same at `executable-configurations`, without a spec.
    """

    def __init__(self, backend: Backend, sources: bytes, configured: bytes) -> None:
        self._backend = backend
        self._sources = sources
        self._plain = _dispatches(configured)

    def failures(self, spec: str, entries: Mapping[str, StartingPoint]) -> dict[str, str]:
        """Return the reasons for entries without the intended effect.

        Args:
            spec: the spec, as text.
            entries: the dispatches of its entries, by the symbol of the matcher.

        Raises:
            CompileError: the compiler fails with the spec.
        """
        compiled = self._backend.run(self._sources, Phase.EXECUTABLE_CONFIGURATIONS, [spec])
        changed = self._changed(spec, compiled.output)
        reasons = {}
        for matcher, point in entries.items():
            reason = _failure(matcher, point, compiled.applied, changed)
            if reason:
                reasons[matcher] = reason
        return reasons

    def _changed(self, spec: str, configured: bytes) -> set[str]:
        """Return the dispatches whose code the spec changes."""
        tuned = _dispatches(configured)
        suspected = [name for name, text in tuned.items() if text != self._plain[name]]
        executables = dict.fromkeys(map(executable_name, suspected))
        if not executables:
            return set()
        # The compiler also configures ops around the root op, which may not change the code.
        module = mlir.Module.parse(self._sources, thread_context()).operation
        differing = self._differing(module, list(executables), spec)
        return {name for name in suspected if executable_name(name) in differing}

    def _differing(self, module: mlir.Operation, executables: list[str], spec: str) -> set[str]:
        """Return the executables whose code the spec changes. If the compiler fails, they are compiled one by one."""
        part = to_bytecode(DispatchSources(module).program(executables).operation)
        plain, code = (self._code(part, specs) for specs in ((), (spec,)))
        if len(executables) > 1 and (plain is None or code is None):
            return {
                name
                for executable in executables
                for name in self._differing(module, [executable], spec)
            }
        if plain is None:
            return set()  # It does not compile without the spec either.
        return {name for name in executables if code is None or plain[name] != code[name]}

    def _code(self, program: bytes, specs: Sequence[str]) -> dict[str, str] | None:
        """Return the code of each executable, or None if the compiler fails."""
        try:
            return _executables(self._backend.run(program, Phase.EXECUTABLE_TARGETS, specs).output)
        except CompileError:
            return None


def _failure(
    matcher: str, point: StartingPoint, applied: Iterable[Applied], changed: set[str]
) -> str:
    effects = {
        item.dispatch: item for item in applied if item.entry and item.entry.matcher == matcher
    }
    for name in point.dispatches:
        if name not in effects:
            return f"its matcher does not match the root op of {name}"
        if not effects[name].is_own:
            return f"the compiler changes the configuration in {name}"
    for name in effects:
        if name in changed:
            return f"the entry changes the code of {name}, as the compiler's configuration consists of more than the entry"
    return ""


def _dispatches(program: bytes) -> dict[str, str]:
    module = mlir.Module.parse(program, thread_context()).operation
    return {dispatch.name: str(dispatch.module) for dispatch in find_dispatches(module)}


def _executables(program: bytes) -> dict[str, str]:
    module = mlir.Module.parse(program, thread_context()).operation
    return {
        symbol_name(container) or "": str(container)
        for container in containers(module)
        if container.name == names.EXECUTABLE
    }
