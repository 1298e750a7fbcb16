"""Batches: one run of the compiler's interpreter for the payloads of several entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.payloads.drafts import Configured
from tuninglink.payloads.interpretation import configured_functions
from tuninglink.payloads.payload import function_of
from tuninglink.specs.module_scan import is_any_op, signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.payloads.drafts import Draft
    from tuninglink.specs.structure import Entry

_BATCH: Final = 10
"""The number of entries in a batch; every op of a batch is tried with every matcher."""


def configured_together(
    drafts: Sequence[Draft | None], target: mlir.Attribute
) -> list[Configured | None]:
    """Return the payloads of drafts, configured by their entries as each entry alone does it.

    Args:
        drafts: drafts for entries of one spec, None for an entry without one.
        target: the target of the dispatches, a `#hal.executable.target` in the context of the entries.

    Returns:
        None for an entry that must be run alone: another one of the batch configures its payload first, its
        configuration or another one is rejected, or it may reach other ops than the one that its matcher receives.
    """
    result: list[Configured | None] = [None] * len(drafts)
    chosen = [
        (position, draft)
        for position, draft in enumerate(drafts)
        if draft is not None and draft.unsized.is_shared and _is_local(draft.entry)
    ]
    for start in range(0, len(chosen), _BATCH):
        batch = chosen[start : start + _BATCH]
        payloads = _configured([draft for _, draft in batch], target)
        for (position, _), payload in zip(batch, payloads, strict=True):
            result[position] = payload
    return result


def _configured(drafts: Sequence[Draft], target: mlir.Attribute) -> list[Configured | None]:
    """Run the interpreter once for all drafts."""
    result: list[Configured | None] = [None] * len(drafts)
    if len(drafts) == 1:
        return result
    module = _joined(drafts)
    try:
        functions = configured_functions([draft.entry for draft in drafts], module, target)
    except mlir.MLIRError:
        return result
    for number, (draft, (function, winner)) in enumerate(zip(drafts, functions, strict=True)):
        if function is not None and winner == number:
            name = function_of(draft.body).attributes[names.SYMBOL_NAME]
            function.attributes[names.SYMBOL_NAME] = name
            dispatch = draft.workload(function, module, target)
            if dispatch.family is not None:  # the entry changed nothing else
                result[number] = Configured(draft.shapes, dispatch, draft.payload)
    return result


def _is_local(entry: Entry) -> bool:
    """Return whether an entry matches and configures just the op that its matcher receives."""
    table = entry.anatomy.table
    sequence = table.symbol(entry.matcher)
    if sequence is None or not table.scan.shapes[entry.matcher].is_passing:
        return False
    handles = [is_any_op(kind) for kind in signature(sequence).results]
    return sum(handles) == int(handles[0]) == 1 and table.annotations(entry.action) is not None


def _joined(drafts: Sequence[Draft]) -> mlir.Operation:
    """Return a module with copies of the functions of payloads' bodies."""
    context = drafts[0].body.context
    module = mlir.Module.create(mlir.Location.unknown(context)).operation
    with context, mlir.InsertionPoint(module.regions[0].blocks[0]):
        for number, draft in enumerate(drafts):
            copy = function_of(draft.body).clone().operation
            copy.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(f"payload_{number}")
    return module
