"""Dispatches as matchers see them.

Matchers run while a backend configures a dispatch. GPU backends choose configurations right after them, so that a
configured program shows the input of the matchers. llvm-cpu and vmvx change it further. For these, the passes before
the matchers run again, on a copy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree.dispatches import containers, find_dispatches
from tuninglink.iree.targets import read_executable_target
from tuninglink.mlir import names
from tuninglink.mlir.contexts import collected_diagnostics, thread_context
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import collect

_CHANGING_BACKENDS: Final = frozenset({"llvm-cpu", "vmvx", "vmvx-inline"})
"""The backends that change a dispatch after matchers have run."""

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
        """Return a program of some of the executables, without specs, in the context of this thread."""
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
        unsure: the reason why dispatches of changing backends cannot be shown; empty if they can.
    """

    def __init__(
        self, configured: mlir.Operation, sources: DispatchSources, dispatch_names: Collection[str]
    ) -> None:
        self.unsure = ""
        self._backends: dict[mlir.Attribute, str] = {}
        self._changed = {
            dispatch.name: executable_name(dispatch.name)
            for dispatch in find_dispatches(configured)
            if dispatch.name in dispatch_names
            and self._backend(dispatch.module) in _CHANGING_BACKENDS
        }
        self._program = sources.program(
            dict.fromkeys(name for name in self._changed.values() if name in sources.names())
        )
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

    def _backend(self, module: mlir.Operation) -> str:
        """Return the compiler's name of the backend of a dispatch, or nothing without a target."""
        around = module.parent
        if around is None or around.operation.name != names.EXECUTABLE_VARIANT:
            return ""
        target = around.operation.attributes["target"]
        if target not in self._backends:
            read = read_executable_target(target)
            self._backends[target] = read.backend if read else ""
        return self._backends[target]

    def module(self, name: str, configured: mlir.Operation) -> mlir.Operation | None:
        """Return the module of a dispatch as matchers saw it, or None if it is unknown.

        Args:
            name: the name of the dispatch.
            configured: its module in the configured program.
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
