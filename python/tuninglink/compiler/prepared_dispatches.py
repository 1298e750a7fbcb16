"""Dispatches compiled separately from their program: prepared for specs, as seen by matchers, or tested for failures.

Matchers run while a backend configures a dispatch. GPU backends choose configurations immediately after the matchers,
so a configured program still contains the IR that the matchers saw. llvm-cpu and vmvx change the IR further. For these
backends, the passes before the matchers run again, on a copy.

CPU backends apply specs before they materialize encodings, the layouts of data-tiled operands. Matchers would match
`linalg.matmul` without testing for an encoding, whereas the configuration would apply to the resulting `linalg.mmt4d`.
This op has other loops, so code generation would fail. Encodings are therefore materialized earlier; the generated code
is the same.

A dispatch fails because of its spec if it compiles alone without the spec but not with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.compiler.session import Invocation, Phase, Session
from tuninglink.errors import CompileError, Diagnostic
from tuninglink.iree import containers, find_dispatches, read_executable_target
from tuninglink.mlir import (
    collect,
    collected_diagnostics,
    error,
    from_mlir,
    names,
    symbol_name,
    thread_context,
    to_bytecode,
    visit,
)

_CPU_BACKENDS: Final = frozenset({"llvm-cpu", "vmvx", "vmvx-inline"})
"""The backends that change a dispatch after matchers have run, and apply specs before they materialize encodings."""

_BEFORE_MATCHERS: Final = (
    "builtin.module(hal.executable(hal.executable.variant("
    "iree-codegen-specialize-exports,iree-codegen-create-dispatch-config,"
    "builtin.module(func.func("
    "iree-codegen-type-propagation,iree-codegen-bubble-up-ordinal-ops,"
    "iree-codegen-bufferize-copy-only-dispatches,iree-codegen-decompose-softmax,"
    "iree-linalg-ext-convert-attention-to-online-attention)))))"
)
"""The passes of these backends before matchers, in IREE 3.13."""


class DispatchSources:
    """Copies of the executables of a program at `executable-sources`, before any spec is embedded.

    Args:
        program: the program.
    """

    def __init__(self, program: mlir.Operation) -> None:
        self._executables = {
            symbol_name(container) or "": to_bytecode(container)
            for container in containers(program)
            if container.name == names.EXECUTABLE
        }

    def names(self) -> Collection[str]:
        """Return the names of the executables."""
        return self._executables.keys()

    def program(self, executables: Iterable[str]) -> mlir.Module:
        """Return a program with some of the executables, without specs, in the context of the calling thread."""
        context = thread_context()
        with context, mlir.Location.unknown():
            module = mlir.Module.create()
            for name in executables:
                parsed = mlir.Module.parse(self._executables[name], context)
                parsed.body.operations[0].operation.clone(mlir.InsertionPoint(module.body))
        for container in containers(module.operation):
            if names.EMBEDDED_SPEC in container.attributes:
                del container.attributes[names.EMBEDDED_SPEC]
        return module


class PreparedDispatches:
    """The dispatches of a program as matchers saw them.

    Args:
        configured: the program at `executable-configurations`.
        sources: its executables at `executable-sources`.
        dispatch_names: the names of the required dispatches.

    Attributes:
        unsure: the reason why dispatches cannot be shown for backends that change them after matching; empty if they
            can be shown.
    """

    def __init__(
        self, configured: mlir.Operation, sources: DispatchSources, dispatch_names: Collection[str]
    ) -> None:
        self.unsure = ""
        backends: dict[mlir.Attribute, str] = {}

        def backend_of(module: mlir.Operation) -> str:
            """Return the compiler's name of the backend of a dispatch; empty without a target."""
            around = module.parent
            if around is None or around.operation.name != names.EXECUTABLE_VARIANT:
                return ""
            target = around.operation.attributes["target"]
            if target not in backends:
                read = read_executable_target(target)
                backends[target] = read.backend if read else ""
            return backends[target]

        self._changed = {
            dispatch.name: executable_name(dispatch.name)
            for dispatch in find_dispatches(configured)
            if dispatch.name in dispatch_names and backend_of(dispatch.module) in _CPU_BACKENDS
        }
        available = (name for name in self._changed.values() if name in sources.names())
        self._program = sources.program(dict.fromkeys(available))
        context = self._program.context
        with collected_diagnostics(context):
            try:
                PassManager.parse(_BEFORE_MATCHERS, context).run(self._program.operation)
            except (mlir.MLIRError, ValueError) as failure:
                lines = str(failure).strip().splitlines()
                self.unsure = f"the input of matchers cannot be shown: {lines[0]}"
        self._prepared = {
            dispatch.name: dispatch.module for dispatch in find_dispatches(self._program.operation)
        }

    def module(self, name: str, configured: mlir.Operation) -> mlir.Operation | None:
        """Return the module of a dispatch as matchers saw it, or None if it is unknown.

        `configured` is its module in the configured program.
        """
        if name not in self._changed:
            return configured
        return None if self.unsure else self._prepared.get(name)


def executable_name(dispatch: str) -> str:
    """Return the symbol of the executable that contains a dispatch."""
    return dispatch.partition("::")[0].removeprefix("@")


def functions(module: mlir.Operation) -> tuple[str, ...]:
    """Return the names of the functions of a dispatch."""
    functions_ = collect(module, names.FUNCTION, names.UTIL_FUNCTION)
    return tuple(
        symbol_name(function) or "" for function in functions_ if function.regions[0].blocks
    )


def failing_dispatches(session: Session, executables: list[bytes]) -> dict[str, Diagnostic]:
    """Return the dispatches that fail because of their specs, with their first errors."""
    failing: dict[str, Diagnostic] = {}
    for content in executables:
        module = mlir.Module.parse(content, thread_context()).operation
        errors = compile_executables(session, Phase.EXECUTABLE_TARGETS, to_bytecode(module))
        if not errors:
            continue
        dispatches = find_dispatches(module)
        for dispatch in dispatches:
            if names.EMBEDDED_SPEC in dispatch.module.attributes:
                del dispatch.module.attributes[names.EMBEDDED_SPEC]
        if not compile_executables(session, Phase.EXECUTABLE_TARGETS, to_bytecode(module)):
            failing |= {dispatch.name: errors[0] for dispatch in dispatches}
    return failing


def compile_executables(
    session: Session,
    last: Phase,
    program: bytes,
    look: Callable[[mlir.Operation], None] | None = None,
) -> tuple[Diagnostic, ...]:
    """Compile a program of executables at `executable-sources` up to a phase. Return the errors."""
    with session.wrap(program, "<executables>") as source, Invocation(session) as invocation:
        try:
            invocation.parse(source)
            invocation.advance(Phase.EXECUTABLE_SOURCES, last)
        except CompileError as failure:
            return failure.diagnostics
        if look is not None:
            look(invocation.module)
    return ()


_PIPELINE: Final = f"builtin.module(func.func({names.MATERIALIZE_ENCODINGS}))"


def materialize_encodings(program: mlir.Operation) -> None:
    """Materialize the encodings in the dispatches of a program at `executable-sources`.

    Raises:
        CompileError: the compiler cannot materialize them.
    """
    if not any(container.name == names.EXECUTABLE_VARIANT for container in containers(program)):
        return
    manager: PassManager | None = None
    for dispatch in find_dispatches(program):
        target = dispatch.target
        if (
            target is None
            or target.backend not in _CPU_BACKENDS
            or not has_encodings(dispatch.module)
        ):
            continue
        manager = manager or PassManager.parse(_PIPELINE, program.context)
        try:
            manager.run(dispatch.module)
        except mlir.MLIRError as failure:
            failed = error(f"the encodings of {dispatch.name} cannot be materialized")
            raise CompileError(failed, *map(from_mlir, failure.error_diagnostics)) from None


def has_encodings(module: mlir.Operation) -> bool:
    """Return whether an operation of a dispatch has a result with an encoding."""
    encoded: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        for result in operation.results:
            if isinstance(result.type, mlir.RankedTensorType) and result.type.encoding is not None:
                encoded.append(operation)
                return mlir.WalkResult.INTERRUPT
        return None

    visit(module, visitor)
    return bool(encoded)
