"""The choice of code for the sizes of a benchmark, in a program whose dispatches the compiler has specialized.

The compiler chooses where a program calls a dispatch. The functions of a benchmark call one function of the executable, so
that the choice has to be made here: by the conditions that the compiler has written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.dynamic_sizes import SizeEvaluator
from tuninglink.mlir import names
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body, collect

Exports = Mapping[str, mlir.Operation]

FALLBACK: Final = "condition_fallback"
"""The attribute of an export with a condition: which other one to take where it does not hold."""

_ENTRY_POINT: Final = "entry_point"
_WORKGROUPS: Final = "hal.executable.calculate_workgroups"
_LOOKUP: Final = "hal.executable.lookup.function"


def select_exports(module: mlir.Operation) -> None:
    """Let the functions of benchmarks call the code for their sizes, in place.

    Args:
        module: a program at `executable-configurations`.
    """
    exports = {
        symbol_name(export) or "": export for export in collect(module, names.EXECUTABLE_EXPORT)
    }
    if not any(FALLBACK in export.attributes for export in exports.values()):
        return
    functions = [op for op in body(module) if op.name == names.UTIL_FUNCTION]
    with module.context:
        for function in functions:
            for workgroups in collect(function, _WORKGROUPS):
                selected = _selected(workgroups, exports)
                for operation in (workgroups, *collect(function, _LOOKUP)):
                    entry_point: Any = operation.attributes[_ENTRY_POINT]
                    path = [*entry_point.value[:-1], selected]
                    operation.attributes[_ENTRY_POINT] = mlir.SymbolRefAttr.get(path)


def _selected(workgroups: mlir.Operation, exports: Exports) -> str:
    """Return the name of the export whose condition holds, or of the last one, which has none."""
    entry_point: Any = workgroups.attributes[_ENTRY_POINT]
    name = str(entry_point.value[-1])
    sizes = SizeEvaluator()
    _, *workload = (sizes.value(operand) for operand in workgroups.operands)
    while FALLBACK in exports[name].attributes and not _holds(exports[name], workload):
        fallback: Any = exports[name].attributes[FALLBACK]
        name = fallback.value
    return name


def _holds(export: mlir.Operation, workload: list[int | None]) -> bool:
    """Return whether the condition of an export holds for a workload."""
    block = next(region.blocks[0] for region in export.regions if _is_condition(region))
    _, *arguments = block.arguments
    sizes = SizeEvaluator(given=dict(zip(arguments, workload, strict=True)))
    terminator = list(block.operations)[-1]
    return bool(sizes.value(terminator.operands[0]))


def _is_condition(region: mlir.Region) -> bool:
    """Return whether a region of an export returns a truth value, and not a number of workgroups."""
    if not region.blocks:
        return False
    types = [str(operand.type) for operand in list(region.blocks[0].operations)[-1].operands]
    return types == ["i1"]
