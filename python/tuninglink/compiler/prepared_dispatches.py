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

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.errors import CompileError
from tuninglink.iree import Dispatch, containers, find_dispatches
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
    """Copies of the executables of a program at `executable-sources`, before any spec is embedded."""

    def __init__(self, program: mlir.Operation) -> None:
        self.executables: Mapping[str, bytes] = {
            symbol_name(container) or "": to_bytecode(container)
            for container in containers(program)
            if container.name == names.EXECUTABLE
        }

    def program(self, executables: Iterable[str]) -> mlir.Module:
        """Return a program with some of the executables, without specs, in the context of the calling thread."""
        context = thread_context()
        with context, mlir.Location.unknown():
            module = mlir.Module.create()
            for name in executables:
                parsed = mlir.Module.parse(self.executables[name], context)
                parsed.body.operations[0].operation.clone(mlir.InsertionPoint(module.body))
        for container in containers(module.operation):
            if names.EMBEDDED_SPEC in container.attributes:
                del container.attributes[names.EMBEDDED_SPEC]
        return module


class PreparedDispatches(NamedTuple):
    """Dispatches as matchers saw them.

    Attributes:
        modules: the module of each dispatch, None if it is unknown.
        unsure: the reason why dispatches cannot be shown for backends that change them after matching; empty if they
            can be shown.
        program: keeps the modules alive.
    """

    modules: Mapping[str, mlir.Operation | None]
    unsure: str
    program: mlir.Module


def prepare_dispatches(
    dispatches: Iterable[Dispatch], sources: DispatchSources
) -> PreparedDispatches:
    """Return dispatches of a program at `executable-configurations` as matchers saw them, given their sources."""
    modules: dict[str, mlir.Operation | None] = {}
    changed: list[str] = []
    for dispatch in dispatches:
        modules[dispatch.name] = dispatch.module
        around, target = dispatch.module.parent, dispatch.target
        is_in_variant = around is not None and around.operation.name == names.EXECUTABLE_VARIANT
        if is_in_variant and target is not None and target.backend in _CPU_BACKENDS:
            changed.append(dispatch.name)
    executables = dict.fromkeys(map(executable_name, changed))
    program = sources.program(name for name in executables if name in sources.executables)
    unsure = ""
    with collected_diagnostics(program.context):
        try:
            PassManager.parse(_BEFORE_MATCHERS, program.context).run(program.operation)
        except (mlir.MLIRError, ValueError) as failure:
            lines = str(failure).strip().splitlines()
            unsure = f"the input of matchers cannot be shown: {lines[0]}"
    prepared = {dispatch.name: dispatch.module for dispatch in find_dispatches(program.operation)}
    modules |= {name: None if unsure else prepared.get(name) for name in changed}
    return PreparedDispatches(modules, unsure, program)


def executable_name(dispatch: str) -> str:
    """Return the symbol of the executable that contains a dispatch."""
    return dispatch.partition("::")[0].removeprefix("@")


def functions(module: mlir.Operation) -> tuple[str, ...]:
    """Return the names of the functions of a dispatch."""
    functions_ = collect(module, names.FUNCTION, names.UTIL_FUNCTION)
    return tuple(
        symbol_name(function) or "" for function in functions_ if function.regions[0].blocks
    )


_PIPELINE: Final = f"builtin.module(func.func({names.MATERIALIZE_ENCODINGS}))"


def materialize_encodings(program: mlir.Operation) -> None:
    """Materialize the encodings in the dispatches of a program at `executable-sources`."""
    if not any(container.name == names.EXECUTABLE_VARIANT for container in containers(program)):
        return
    manager: PassManager | None = None
    for dispatch in find_dispatches(program):
        backend = dispatch.target.backend if dispatch.target is not None else ""
        if backend not in _CPU_BACKENDS or not has_encodings(dispatch.module):
            continue
        manager = manager or PassManager.parse(_PIPELINE, program.context)
        try:
            manager.run(dispatch.module)
        except mlir.MLIRError as failure:
            failed = error(f"the encodings of {dispatch.name} cannot be materialized")
            raise CompileError(failed, *map(from_mlir, failure.error_diagnostics)) from None


def has_encodings(module: mlir.Operation) -> bool:
    """Return whether an operation of a dispatch has a result with an encoding."""
    operations: list[mlir.Operation] = []
    visit(module, operations.append)
    types = (result.type for operation in operations for result in operation.results)
    return any(
        isinstance(type_, mlir.RankedTensorType) and type_.encoding is not None for type_ in types
    )
