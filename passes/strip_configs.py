"""The pass `tuninglink-strip-configs`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.errors import PipelineError
from tuninglink.iree.configurations import ConfigurationKind, strip_configurations
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error
from tuninglink.mlir.passes import Pass, option
from tuninglink.specs.programs import check_is_program

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


@dataclass(frozen=True)
class StripConfigs(Pass):
    """Remove every trace of a configuration from a program.

    What the compiler would have chosen by itself it then chooses again; a spec that is applied to the
    result meets no configuration that would win over it. The dispatch benchmarks that
    `--iree-hal-dump-executable-benchmarks-to` writes, for one, are configured already.

    Removed are, from operations of all kinds:

    - `translation-info`: the attribute `translation_info`, of functions and exports;
    - `lowering-config`: the attribute `lowering_config`;
    - `compilation-info`: the attribute `compilation_info`;
    - `decomposition-config`: `qk_attrs` and `pv_attrs` in `decomposition_config`, the rest of which stays;
    - `ukernel`: the attribute `iree_codegen.ukernel`, with the code of the ukernel: the attribute
      `hal.executable.objects` beside it, or a function that is there for nothing else;
    - `constraints`: the operations `iree_codegen.smt.constraints`;
    - `root-op`: the attribute `root_op`;
    - `embedded-spec`: the attribute `iree_codegen.tuning_spec_mlirbc`;
    - `marker`: the attributes that the option `markers` names.

    Attributes inside dictionaries of other attributes are removed too, and dictionaries that are empty
    then. The bodies of transform sequences stay as they are.

    What the compiler writes while it generates code, long after it chose a configuration, is not undone: the
    pass is of use up to the phase `executable-configurations`.

    Example:
        Before:

        ```mlir
        func.func @pack(…) attributes {translation_info = #translation} {
          %0 = linalg.pack … {lowering_config = #config, root_op = #iree_codegen.root_op<set = 0>} : …
          %1:3 = iree_linalg_ext.online_attention {
              decomposition_config = {qk_attrs = {lowering_config = #config}, use_exp2 = false}} …
        }
        ```

        After:

        ```mlir
        func.func @pack(…) {
          %0 = linalg.pack … : …
          %1:3 = iree_linalg_ext.online_attention {decomposition_config = {use_exp2 = false}} …
        }
        ```
    """

    name: ClassVar[str] = "tuninglink-strip-configs"
    anchor: ClassVar[str | None] = None

    keep: tuple[str, ...] = option(
        (), f"kinds to keep: {', '.join(kind.value for kind in ConfigurationKind)}"
    )
    markers: tuple[str, ...] = option(
        (names.SPEC_APPLIED,), "attributes that only say that an operation was configured"
    )

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:  # noqa: ARG002 - it cannot fail once it began
        """Strips `operation` and all that is inside."""
        keep = [_kind(name) for name in self.keep]
        check_is_program(operation)
        strip_configurations(operation, keep, self.markers)


def _kind(name: str) -> ConfigurationKind:
    try:
        return ConfigurationKind(name)
    except ValueError:
        known = [kind.value for kind in ConfigurationKind]
        nearest = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"there are {', '.join(known)}"
        message = f"tuninglink-strip-configs: the option 'keep' does not know '{name}'; {hint}"
        raise PipelineError(error(message)) from None
