"""Dispatches with data-tiled operations, which specs cannot configure.

The compiler applies specs before it materializes encodings (`iree-codegen-materialize-device-encoding`). Matchers do not
test for an encoding, so an entry for a matmul also matches a data-tiled one, whose loops are others once its
configuration is read: code generation fails.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import note
from tuninglink.mlir.walk import collect, visit
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.matching.materialization import LinkedDispatch
    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.linking.linker import LinkedSpec

_MOST_NAMED: Final = 3
"""Up to how many entries of a spec a warning names each."""


def has_encodings(module: mlir.Operation) -> bool:
    """Tells whether an operation of a dispatch has an operand or a result with an encoding."""
    found: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        for result in operation.results:
            if isinstance(result.type, mlir.RankedTensorType) and result.type.encoding is not None:
                found.append(operation)
                return mlir.WalkResult.INTERRUPT
        return None

    visit(module, visitor)
    return bool(found)


def without_encoded(
    dispatches: Sequence[LinkedDispatch], diagnostics: DiagnosticSink
) -> tuple[LinkedDispatch, ...]:
    """Returns dispatches without the specs of those with data-tiled operations.

    A spec that runs passes of the compiler stays: it may materialize encodings itself.

    Args:
        dispatches: the dispatches of a program with their specs.
        diagnostics: gets warnings that name the entries that may have matched.
    """
    result: list[LinkedDispatch] = []
    names_by_entry: dict[str, list[str]] = {}
    for dispatch in dispatches:
        linked = dispatch.linked
        if linked is None or not has_encodings(dispatch.dispatch.module) or _runs_passes(linked):
            result.append(dispatch)
            continue
        result.append(replace(dispatch, linked=None))
        for entry in _entries(linked):
            names_by_entry.setdefault(entry, []).append(dispatch.dispatch.name)
    for entry, dispatch_names in names_by_entry.items():
        first, *others = dispatch_names
        more = f" and {len(others)} more dispatches" if others else ""
        message = f"{entry} is not applied to {first}{more}: operations there are data-tiled"
        reason = note("specs are applied before the compiler chooses the layout of encodings")
        diagnostics.warning(message, notes=[reason])
    return tuple(result)


def _runs_passes(linked: LinkedSpec) -> bool:
    return bool(collect(linked.spec.module, names.RUN_REGISTERED))


def _entries(linked: LinkedSpec) -> Iterator[str]:
    """Yields the entries that are linked for a dispatch, each with its spec; of many the spec alone."""
    for part in linked.parts:
        pairs = part.spec.anatomy.pairs
        positions = range(len(pairs)) if part.kept is None else part.kept
        if part.spec.kind is SpecKind.OPAQUE or len(positions) > _MOST_NAMED:
            yield f"spec '{part.spec.source}'"
        else:
            for position in positions:
                yield f"entry '@{pairs[position][0]}' of '{part.spec.source}'"
