"""Dynamic dispatches, specialized for ranges of sizes as the compiler does it: tasks of their own."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree.dispatch_roots import find_root_ops
from tuninglink.iree.size_ranges import SPECIALIZATION_RANGES, specialization_ranges
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body, collect
from tuninglink.tuning.programs.export_selection import FALLBACK
from tuninglink.tuning.programs.problem_keys import problem_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.iree.size_ranges import SizeRange
    from tuninglink.tuning.programs.benchmark import SizedFunction
    from tuninglink.tuning.programs.dispatches import TuningTask

_SPECIALIZATION: Final = (
    "builtin.module(hal.executable(hal.executable.variant(iree-codegen-specialize-exports)))"
)


def dynamic_loops(task: TuningTask) -> tuple[int, ...]:
    """Return the numbers of the dynamic loops of the root op of a task; none if it has not one root op."""
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
        None if the compiler makes no code of its own for these sizes, or none of them is measured.
    """
    functions = tuple(function for function in task.sized if _is_within(function, bounds))
    measured = [function for function in functions if function.weight]
    module = mlir.Module.parse(task.source, thread_context()).operation
    root = _root(module)
    if root is None or not measured:
        return None
    loops = len(StructuredOp(root).sizes)
    root.attributes[SPECIALIZATION_RANGES] = specialization_ranges([bounds], loops, module.context)
    PassManager.parse(_SPECIALIZATION, module.context).run(module)
    if not _keep_specialized(module):
        return None
    kept = {function.name for function in functions}
    for operation in list(body(module)):
        if operation.name == names.UTIL_FUNCTION and symbol_name(operation) not in kept:
            operation.erase()
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
