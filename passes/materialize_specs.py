"""The pass `tuninglink-materialize-specs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir as mlir

from tuninglink.matching import Pruning, embed_specs, link_dispatches, specialize_dispatches
from tuninglink.mlir import DiagnosticSink, Pass, option
from tuninglink.specs import DefaultLibrary, load_spec, read_specs


@dataclass(frozen=True)
class MaterializeSpecs(Pass):
    """Choose, link and embed the specs of each dispatch, for the compiler to apply.

    Run it at `executable-sources`. For each `hal.executable.variant`, the given specs are linked in order, with the
    default spec of the variant's target last, and the result is attached as bytecode to the inner module. The default
    spec is looked up by SKU, then architecture, then family: first in `spec-dir`, as `NAME.mlir` or `NAME.mlirbc`,
    then among the shipped ones. Dispatches with the same specs share one linked result.

    A spec given as `TARGET=PATH`, and an entry bound to targets by `tuninglink.targets`, applies to dispatches of
    these targets only. An entry whose configuration is not valid on a target, such as a pipeline of another backend,
    is not linked for it, and gets a warning.

    A dispatch gets only the entries that may match in it, or no spec if there are none. Its configuration is the same as with
    all entries, and a later run of the pass treats it as a dispatch without a spec. `prune=false` embeds all entries, for
    programs whose specs other tools read.

    An entry also applies to other spellings of its problem: a copy for that of the root op follows all other entries,
    unless one of them matches the op. `derived-entries=false` omits these copies.

    A dispatch with an embedded spec keeps it: the given specs are linked before it, and it replaces the default spec.
    Without given specs it is not changed, so a second run of the pass has no effect.

    A module without variants counts as one dispatch. Its target is the `hal.executable.target` on it or on a function
    in it. Without a target, it gets the given specs and no default spec.

    Example:
        Before:

        ```mlir
        hal.executable private @matmul_dispatch_0 {
          hal.executable.variant public @rocm_hsaco_fb target(<"rocm", … arch = "gfx942" …>) {
            builtin.module {
              func.func @matmul() { … }
            }
          }
        }
        ```

        After:

        ```mlir
        hal.executable private @matmul_dispatch_0 {
          hal.executable.variant public @rocm_hsaco_fb target(<"rocm", … arch = "gfx942" …>) {
            builtin.module attributes {iree_codegen.tuning_spec_mlirbc = dense<"0x4D4C…"> : vector<…xi8>} {
              func.func @matmul() { … }
            }
          }
        }
        ```
    """

    name: ClassVar[str] = "tuninglink-materialize-specs"
    anchor: ClassVar[str | None] = None

    specs: tuple[str, ...] = option(
        (), "specs in order of precedence: files, directories, libraries or URLs, or TARGET=PATH"
    )
    default_specs: bool = option(default=True, help="link the default spec of each target last")
    spec_dir: str = option("", "directory of default specs, searched before the shipped ones")
    upgrade: bool = option(
        default=True, help="upgrade specs of older compilers; otherwise they are rejected"
    )
    derived_entries: bool = option(
        default=True, help="derive entries for other spellings of their problems"
    )
    prune: bool = option(default=True, help="embed only the entries that may match in a dispatch")

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Embed the specs."""
        given = [
            load_spec(
                source.content,
                name=source.name,
                context=operation.context,
                upgrade=self.upgrade,
                diagnostics=diagnostics,
                targets=source.targets,
            )
            for source in read_specs(self.specs, diagnostics)
        ]
        directories = (self.spec_dir,) if self.spec_dir else ()
        library = DefaultLibrary(directories, upgrade=self.upgrade) if self.default_specs else None
        pruning = Pruning() if self.prune else None
        dispatches = link_dispatches(
            operation,
            given,
            library=library,
            pruning=pruning,
            derives=self.derived_entries,
            diagnostics=diagnostics,
        )
        specialize_dispatches(dispatches)
        embed_specs(dispatches, operation.context)
