"""Materialization of encodings: data-tiled dispatches in the form that specs can configure.

CPU backends apply specs before they materialize encodings, the layouts of data-tiled operands. Matchers would see
`linalg.matmul`, and do not test for an encoding, whereas the configuration would apply to the resulting
`linalg.mmt4d`, which has other loops: code generation fails. Materialized earlier, encodings are gone when the
compiler reaches that step, and the generated code is the same.
"""

from __future__ import annotations

from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.errors import CompileError
from tuninglink.iree.dispatches import containers, find_dispatches
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error, from_mlir
from tuninglink.mlir.walk import visit

_BACKENDS: Final = frozenset({"llvm-cpu", "vmvx", "vmvx-inline"})
"""The backends that apply specs before they materialize encodings."""

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
        if target is None or target.backend not in _BACKENDS or not has_encodings(dispatch.module):
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
