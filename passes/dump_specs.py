"""The pass `tuninglink-dump-specs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from iree.compiler import ir as mlir

from tuninglink.files import write_standard_output
from tuninglink.mlir import DiagnosticSink, Pass, option
from tuninglink.specs import collect_specs


@dataclass(frozen=True)
class DumpSpecs(Pass):
    """Write the specs embedded in dispatches to a directory or to standard output.

    The pass collects the specs of the operation and of the modules, executables and variants in it. The IR is not
    changed. Each distinct spec is one file, named after the target and a hash of its content. `index.json` lists the
    specs and the dispatches that use them. Files are written under temporary names and then renamed, the index last.
    If an embedded spec is damaged, nothing is written.

    On standard output, a comment before each spec as text names its file, and `// -----` separates specs. Bytecode is
    limited to a single spec.

    Example:
        `--tuninglink-dump-specs=to=specs` on

        ```mlir
        hal.executable private @matmul_dispatch_0 {
          hal.executable.variant public @rocm_hsaco_fb target(<"rocm", … arch = "gfx942" …>) {
            builtin.module attributes {iree_codegen.tuning_spec_mlirbc = dense<"0x4D4C…"> : vector<…xi8>} {
              …
            }
          }
        }
        ```

        writes `specs/gfx942-1a2b3c4d.mlir`

        ```mlir
        module @iree_linked_tuning_spec attributes {…} { … }
        ```

        and `specs/index.json`.
    """

    name: ClassVar[str] = "tuninglink-dump-specs"
    anchor: ClassVar[str | None] = None

    to: str = option("-", "directory to write to; '-' for standard output")
    format: Literal["mlir", "mlirbc"] = option("mlir", "text ('mlir') or bytecode ('mlirbc')")

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Write the specs."""
        dump = collect_specs(operation, self.format)
        if not dump.uses:
            diagnostics.remark("nothing to dump: no dispatch carries a tuning spec", operation)
        if self.to == "-":
            write_standard_output(dump.as_stream())
        else:
            dump.write(self.to)
