"""The pass `tuninglink-prune-specs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.iree.dispatches import ancestors, find_dispatches
from tuninglink.matching.dispatch_signature import SignatureReader
from tuninglink.matching.materialization import LinkedDispatch, embed_specs
from tuninglink.matching.pruning import PruningLinker
from tuninglink.mlir import names
from tuninglink.mlir.passes import Pass
from tuninglink.specs.embedding import carried_spec, check_can_hold_specs, load_embedded_spec

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


@dataclass(frozen=True)
class PruneSpecs(Pass):
    """Leave in the spec that a dispatch carries only the entries that may match in it.

    To be run at `executable-sources`, on specs that are embedded already; `tuninglink-materialize-specs` does
    both at once. The compiler tries every entry on every operation of every dispatch; with this pass a spec
    may have any size. The program is configured exactly as before.

    Matchers run after the backend's preprocessing, which keeps little. An entry is left out only if it asks for
    a contraction, a convolution or an attention with sizes of loops, or with element types, that nothing in the
    dispatch has: loops of size 1, the order of loops, and the names of operations do not count. Where an
    operation is not known, or dynamic, or has an encoding, everything that could match it stays. Entries whose
    matchers are not understood stay, and so do all entries of specs that are no matcher lists. Where no entry
    may match the dispatch carries nothing; if something around it carries the spec, it gets one entry, which
    cannot match either.

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
        """Prune the specs of all dispatches; nothing changes if an embedded spec is damaged."""
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
        for each in pruned:
            if each.linked is None:
                del each.dispatch.module.attributes[names.EMBEDDED_SPEC]
        embed_specs(pruned, operation.context)
