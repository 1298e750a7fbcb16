"""Dynamic dispatches that are specialized for ranges of sizes: the ranges, their tasks, and the choice of code for a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree.dispatches import find_root_ops
from tuninglink.iree.dynamic_sizes import (
    SPECIALIZATION_RANGES,
    SizeEvaluator,
    SizeRange,
    ranges_around,
    specialization_ranges,
)
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body, collect
from tuninglink.tuning.programs.benchmark import SizedFunction, problem_key

if TYPE_CHECKING:
    from tuninglink.tuning.programs.dispatches import TuningTask


Exports = Mapping[str, mlir.Operation]

FALLBACK: Final = "condition_fallback"
"""The attribute of an export with a condition: which other one to take where it does not hold."""

_ENTRY_POINT: Final = "entry_point"
_WORKGROUPS: Final = "hal.executable.calculate_workgroups"
_LOOKUP: Final = "hal.executable.lookup.function"


def select_exports(module: mlir.Operation) -> None:
    """Make the functions of benchmarks call the code for their sizes, in place.

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
    """Return the name of the export whose condition holds, or of the last one, which has no condition."""
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
    """Return whether a region of an export returns a truth value instead of a workgroup count."""
    if not region.blocks:
        return False
    types = [str(operand.type) for operand in list(region.blocks[0].operations)[-1].operands]
    return types == ["i1"]


_SPECIALIZATION: Final = (
    "builtin.module(hal.executable(hal.executable.variant(iree-codegen-specialize-exports)))"
)


def dynamic_loops(task: TuningTask) -> tuple[int, ...]:
    """Return the numbers of the dynamic loops of the root op of a task; none without exactly one root op."""
    module = mlir.Module.parse(task.source, thread_context()).operation
    root = _root(module)
    if root is None:
        return ()
    return tuple(loop for loop, size in enumerate(StructuredOp(root).sizes) if size is None)


def specialize(task: TuningTask, bounds: Mapping[int, SizeRange]) -> TuningTask | None:
    """Return a dynamic dispatch in the form that the compiler gives it for a range of sizes.

    Args:
        task: the dynamic dispatch.
        bounds: the sizes of its loops.

    Returns:
        None if the compiler generates no separate code for these sizes, or none of them is measured.
    """
    # Restrict the benchmarked sizes to the range.
    functions = tuple(function for function in task.sized if _is_within(function, bounds))
    measured = [function for function in functions if function.weight]
    module = mlir.Module.parse(task.source, thread_context()).operation
    root = _root(module)
    if root is None or not measured:
        return None
    loops = len(StructuredOp(root).sizes)
    # Let the compiler specialize the dispatch, and keep only the variant for the range.
    root.attributes[SPECIALIZATION_RANGES] = specialization_ranges([bounds], loops, module.context)
    PassManager.parse(_SPECIALIZATION, module.context).run(module)
    if not _keep_specialized(module):
        return None
    kept = {function.name for function in functions}
    for operation in list(body(module)):
        if operation.name == names.UTIL_FUNCTION and symbol_name(operation) not in kept:
            operation.erase()
    # The smallest size is the problem of the task.
    (variant,) = collect(module, names.EXECUTABLE_VARIANT)
    smallest = min(measured, key=lambda function: prod(size or 1 for size in function.loops))
    return replace(
        task,
        key=problem_key(variant, smallest.layout, functions),
        source=to_bytecode(module),
        function=smallest.name,
        layout=smallest.layout,
        sized=functions,
        bounds=bounds,
    )


def _is_within(function: SizedFunction, bounds: Mapping[int, SizeRange]) -> bool:
    return all(
        loop < len(function.loops) and (function.loops[loop] or 0) in sizes
        for loop, sizes in bounds.items()
    )


def _root(module: mlir.Operation) -> mlir.Operation | None:
    roots = [root for function in find_root_ops(module) for root in function.roots]
    return roots[0] if len(roots) == 1 else None


def _keep_specialized(module: mlir.Operation) -> bool:
    """Remove the function for all other sizes, and the condition; return whether there was one.

    The specialized function has the name of the original one, which the functions of the benchmark refer to.
    """
    exports = collect(module, names.EXECUTABLE_EXPORT)
    specialized = [export for export in exports if FALLBACK in export.attributes]
    if len(specialized) != 1:
        return False
    (conditional,) = specialized
    fallback: Any = conditional.attributes[FALLBACK]
    for operation in collect(module, names.FUNCTION):
        if symbol_name(operation) == fallback.value:
            operation.erase()
    for export in exports:
        if symbol_name(export) == fallback.value:  # it is equal but for its name and the condition
            export.attributes[names.SYMBOL_NAME] = conditional.attributes[names.SYMBOL_NAME]
            export.attributes["ordinal"] = conditional.attributes["ordinal"]
    conditional.erase()
    return True


Box = dict[int, SizeRange]
"""Ranges of loops, by their numbers."""


def boxes_around(
    functions: Sequence[SizedFunction], loops: Sequence[int], least: int = 1
) -> list[Box]:
    """Return disjoint boxes around the measured combinations of sizes.

    Args:
        functions: the functions for the sizes.
        loops: the numbers of the loops whose sizes differ.
        least: the least number of sizes of a range.

    Returns:
        An empty result if a size is unknown.
    """
    columns: dict[int, list[int]] = {}
    for loop in loops:
        sizes = [function.loops[loop] for function in functions if loop < len(function.loops)]
        static = [size for size in sizes if size]
        if len(static) < len(functions):
            return []
        columns[loop] = static
    ranges = {loop: ranges_around(sizes, least) for loop, sizes in columns.items()}
    boxes: list[Box] = []
    for position in range(len(functions)):
        box = {loop: ranges[loop][columns[loop][position]] for loop in loops}
        if box not in boxes:
            boxes.append(box)
    return boxes


def box_above(
    box: Mapping[int, SizeRange], excluded: SizedFunction, functions: Sequence[SizedFunction]
) -> Box:
    """Return a box that begins at the next larger size of some functions.

    Args:
        box: a box.
        excluded: a function for sizes in it, which are excluded.
        functions: functions for sizes in it.
    """
    narrowed = dict(box)
    for loop, sizes in box.items():
        least = excluded.loops[loop] or 0
        larger = [size for function in functions if (size := function.loops[loop] or 0) > least]
        if larger:
            narrowed[loop] = SizeRange(min(larger), sizes.high, sizes.divisor)
    return narrowed
