"""Recognizing what linking into a chain has made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.mlir import names
from tuninglink.mlir.symbols import join_path, reference, symbol_name
from tuninglink.mlir.walk import body
from tuninglink.specs.structure import is_entry_point

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.specs.sequences import Handle


def chained_modules(module: mlir.Operation) -> list[mlir.Operation] | None:
    """Returns the modules that `chain` put into a linked spec, in order; None if this is no such spec."""
    *modules, entry_point = body(module)
    if not (modules and is_entry_point(entry_point)):
        return None
    expected: list[str] = []
    for each in modules:
        entry_names = [symbol_name(op) for op in body(each) if is_entry_point(op)]
        if each.name != names.MODULE or not entry_names:
            return None
        expected += [join_path([symbol_name(each) or "", name or ""]) for name in entry_names]
    return modules if _runs(entry_point) == expected else None


def _runs(entry_point: mlir.Operation) -> list[str] | None:
    """Returns what an entry point includes, each with what the one before has given; None if it does more."""
    handles: list[Handle] = list(entry_point.regions[0].blocks[0].arguments)
    *operations, terminator = body(entry_point)
    if operations and operations[0].name == names.SELECT:
        handles.append(operations.pop(0).results[0])
    found: list[str] = []
    for each in operations:
        if each.name != names.INCLUDE or list(each.operands) != handles:
            return None
        found.append(reference(each.attributes["target"]))
        handles = list(each.results)
    count = len(terminator.operands)
    return found if count and list(terminator.operands) == handles[:count] else None


def takes_decided(entry_point: mlir.Operation) -> bool:
    """Tells whether an entry point takes the decided ops beside the root, as guarded ones do."""
    return names.CHAINED_ENTRY_POINT in entry_point.attributes
