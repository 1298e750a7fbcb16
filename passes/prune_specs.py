"""The pass `tuninglink-prune-specs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir as mlir

from tuninglink.iree import ancestors, find_dispatches
from tuninglink.matching import LinkedDispatch, PruningLinker, SignatureReader, embed_specs
from tuninglink.mlir import DiagnosticSink, Pass, names
from tuninglink.specs import carried_spec, check_can_hold_specs, load_embedded_spec


@dataclass(frozen=True)
class PruneSpecs(Pass):
    """Remove the entries that cannot match from the spec of each dispatch.

    Run it at `executable-sources`, on embedded specs; `tuninglink-materialize-specs` does both at once. The compiler
    tries every entry on every operation of every dispatch, so that large specs are slow without this pass. The program
    is configured exactly as before.

    Matchers run after the backend's preprocessing, which changes most operations. An entry is removed only if it
    matches a contraction, a convolution or an attention with loop sizes or element types that do not occur in the
    dispatch. Loops of size 1, the order of loops, and the names of operations are ignored. An unknown or dynamic
    operation, or one with an encoding, keeps every entry that could match it. Entries whose matchers the analysis does
    not understand stay, as do all entries of specs that are not matcher lists. If no entry may match, the dispatch
    gets no spec; if an op around it has the spec, it gets a spec with one entry, which cannot match either.

    Example:
        Before:

        ```mlir
        builtin.module attributes {iree_codegen.tuning_spec_mlirbc = dense<…> : vector<786306xi8>} {
          func.func @matmul_2048x1280x5120() { … }
        }
        ```

        After:

        ```mlir
        builtin.module attributes {iree_codegen.tuning_spec_mlirbc = dense<…> : vector<1702xi8>} {
          func.func @matmul_2048x1280x5120() { … }
        }
        ```
    """

    name: ClassVar[str] = "tuninglink-prune-specs"
    anchor: ClassVar[str | None] = None

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:  # noqa: ARG002
        """Prune the specs of all dispatches. If an embedded spec is damaged, nothing changes."""
        check_can_hold_specs(operation)
        reader = SignatureReader()
        linkers: dict[mlir.Attribute, PruningLinker] = {}
        pruned: list[LinkedDispatch] = []
        for dispatch in find_dispatches(operation):
            module = dispatch.module
            carried = carried_spec(module)
            if carried is None:
                continue
            if carried not in linkers:
                spec = load_embedded_spec(carried, dispatch.name, module)
                linkers[carried] = PruningLinker([spec])
            around = any(names.EMBEDDED_SPEC in op.attributes for op in ancestors(module))
            linked = linkers[carried].link(reader.read(module), never_nothing=around)
            pruned.append(LinkedDispatch(dispatch, linked))
        for linked_dispatch in pruned:
            if linked_dispatch.linked is None:
                del linked_dispatch.dispatch.module.attributes[names.EMBEDDED_SPEC]
        embed_specs(pruned, operation.context)
