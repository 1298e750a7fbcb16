"""Warnings about entries that are never reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.matching.reachability import find_unreachable
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import note
from tuninglink.mlir.walk import body
from tuninglink.specs.model import Spec
from tuninglink.specs.structure import has_entry_point

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


def report_unreachable(module: mlir.Operation, diagnostics: DiagnosticSink) -> None:
    """Warns of each entry that is never reached in a spec, or in each of the specs nested in a module.

    Args:
        module: a `builtin.module` that is sound, as `verify_spec` finds.
        diagnostics: where the warnings go.
    """
    for each in specs_in(module):
        _report(each, diagnostics)


def specs_in(module: mlir.Operation) -> list[Spec]:
    """Returns the spec that a module is, and those that are nested in it."""
    nested = [each for each in body(module) if each.name == names.MODULE]
    return [Spec(each, "") for each in (module, *nested) if has_entry_point(each)]


def _report(spec: Spec, diagnostics: DiagnosticSink) -> None:
    table = spec.anatomy.table
    for found in find_unreachable(spec):
        remedy, notes = "remove it", []
        for earlier in found.subsumed_by:
            remedy = f"remove it, or move it before '@{earlier.matcher}'"
            notes = [note("the earlier matcher", table.lookup(earlier.matcher))]
        diagnostics.warning(
            f"entry '@{found.entry.matcher} -> @{found.entry.action}' is unreachable: "
            f"{found.why_unreachable}; {remedy}",
            table.lookup(found.entry.matcher),
            notes,
        )
