"""Conversion of entry points to the current form.

Older specs have a `@__kernel_config` without marker, often without result. Some entry points do not declare whether
they read or consume their argument. The compiler runs such a spec alone, but silently drops it next to another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error
from tuninglink.mlir.walk import body
from tuninglink.specs.linking.rewriting import declare_ownership
from tuninglink.specs.module_scan import signature
from tuninglink.specs.sequences import argument_attributes, consumes
from tuninglink.specs.transform_ops import change_signature, yield_more

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.specs.sequences import Handle
    from tuninglink.specs.structure import EntryPoint


def check_can_modernize(entry_point: EntryPoint) -> None:
    """Check that `modernize` can determine the result of the entry point.

    Raises:
        SpecError: the entry point has no result and consumes its argument without producing a new handle.
    """
    sequence = entry_point.sequence
    if not signature(sequence).results and _handle_to_yield(sequence) is None:
        raise SpecError(
            error(
                f"entry point '@{entry_point.name}' consumes its argument and returns nothing; "
                "let it return the updated handle",
                sequence,
            )
        )


def modernize(sequence: mlir.Operation) -> None:
    """Add the ownership of the argument and the result to an entry point where they are missing."""
    with sequence.context, sequence.location:
        if argument_attributes(sequence, 0).isdisjoint({names.CONSUMED, names.READONLY}):
            declare_ownership(sequence)
        if not signature(sequence).results:
            handle = _handle_to_yield(sequence)
            assert handle is not None, "checked by check_can_modernize"
            change_signature(sequence, [], [handle.type])
            yield_more(sequence, [handle])


def _handle_to_yield(sequence: mlir.Operation) -> Handle | None:
    """Return the handle to the payload that is valid at the end of the entry point."""
    handle: Handle = sequence.regions[0].blocks[0].arguments[0]
    for operation in body(sequence):
        if consumes(operation, handle):
            if [result.type for result in operation.results] != [handle.type]:
                return None
            handle = operation.results[0]
    return handle
