"""Conversion of entry points to the current form.

Older specs have a `@__kernel_config` without marker, often without result. Some entry points do not declare whether
they read or consume their argument. The compiler runs such a spec alone, but silently drops it next to another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error
from tuninglink.mlir.symbols import FreshNames, rename_symbols, symbols
from tuninglink.mlir.walk import body
from tuninglink.specs.linking.rewriting import declare_ownership
from tuninglink.specs.module_scan import signature
from tuninglink.specs.sequences import argument_attributes
from tuninglink.specs.transform_ops import change_signature, yield_more

if TYPE_CHECKING:
    from tuninglink.specs.sequences import Handle, SequenceTable
    from tuninglink.specs.structure import EntryPoint


def free_kernel_config(container: mlir.Operation) -> None:
    """Rename a symbol that collides with the entry point that linking adds to `container`, with all its uses."""
    taken = symbols(container)
    if names.KERNEL_CONFIG in taken:
        renamed = FreshNames(taken).take(names.KERNEL_CONFIG)
        rename_symbols(container, {names.KERNEL_CONFIG: renamed})


def check_can_modernize(entry_point: EntryPoint, table: SequenceTable) -> None:
    """Check that `modernize` can determine the result of the entry point.

    Raises:
        SpecError: the entry point has no result and consumes its argument without producing a new handle.
    """
    if not signature(entry_point.sequence).results and _handle_to_yield(entry_point, table) is None:
        raise SpecError(
            error(
                f"entry point '@{entry_point.name}' consumes its argument and returns nothing; "
                "let it return the updated handle",
                entry_point.sequence,
            )
        )


def modernize(entry_point: EntryPoint, table: SequenceTable) -> None:
    """Add the marker, the ownership of the argument and the result to an entry point where they are missing."""
    sequence = entry_point.sequence
    with sequence.context, sequence.location:
        if names.CHAINED_ENTRY_POINT not in sequence.attributes:
            sequence.attributes[names.ENTRY_POINT] = mlir.UnitAttr.get()
        if argument_attributes(sequence, 0).isdisjoint({names.CONSUMED, names.READONLY}):
            declare_ownership(table, sequence)
        if not signature(sequence).results:
            handle = _handle_to_yield(entry_point, table)
            assert handle is not None, "checked by check_can_modernize"
            change_signature(sequence, [], [handle.type])
            yield_more(sequence, [handle])


def _handle_to_yield(entry_point: EntryPoint, table: SequenceTable) -> Handle | None:
    """Return the handle to the payload that is valid at the end of the entry point."""
    handle: Handle = entry_point.sequence.regions[0].blocks[0].arguments[0]
    for operation in body(entry_point.sequence):
        if table.consumes(operation, handle):
            if [result.type for result in operation.results] != [handle.type]:
                return None
            handle = operation.results[0]
    return handle
