"""The pass `tuninglink-verify-configs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.errors import Diagnostic, Severity
from tuninglink.iree import find_root_ops
from tuninglink.mlir import DiagnosticSink, Pass, note, option, place_of
from tuninglink.specs import check_is_program

if TYPE_CHECKING:
    from iree.compiler import ir as mlir


@dataclass(frozen=True)
class VerifyConfigs(Pass):
    """Check the configuration of every root op against the constraints of its pipeline.

    The pass is for configured programs, at `executable-configurations` or with a `compilation_info` on their
    operations. There are three severities:

    - error: code generation fails, since the configuration breaks a necessary rule. The message names the rule, and a
    note the nearest valid configuration.
    - warning: the compiler's own constraints reject the configuration, and it may not compile.
    - remark: the configuration was not decided, for the given reason, or only the compiler's own constraints reject it.

    The constraints are those of all providers for the pipeline and the kind of operation, including the compiler. With
    `follow-compiler=true`, only the compiler's constraints apply, and a violation is an error, as for the compiler's
    own verifier. Operations without a configuration are skipped.

    The program is not changed.

    Example:
        ```mlir
        func.func @dispatch(…) attributes {translation_info = #iree_codegen.translation_info<
            pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, …>} {
          %0 = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{…, workgroup = [96, 128, 0]}>}
              ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<5120x1280xf16>) …
        ```

        is rejected:

        ```
        error: the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: dim_0 must be
            divisible by workgroup[0] (2048 % 96 == 0) [workgroup[0] = 96]
        note: the nearest valid configuration: workgroup[0]: 96 -> 64
        ```
    """

    name: ClassVar[str] = "tuninglink-verify-configs"
    anchor: ClassVar[str | None] = None

    limit: int = option(20, "time limit of a solver query for one configuration, in seconds")
    report_undecided: bool = option(default=True, help="emit remarks for undecided configurations")
    report_valid: bool = option(default=False, help="emit remarks for valid configurations")
    follow_compiler: bool = option(
        default=False, help="apply only the constraints of the compiler's own verifier"
    )

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Check the configurations inside `operation`."""
        # Z3 takes longer to import than most passes take to run.
        from tuninglink.solver import Limits, Verdict  # noqa: PLC0415
        from tuninglink.spaces import (  # noqa: PLC0415
            ProviderRegistry,
            verify_configuration,
            verify_like_compiler,
        )
        from tuninglink.spaces.model import read_configuration, read_workload  # noqa: PLC0415

        check_is_program(operation)
        registry, limits = ProviderRegistry(diagnostics.emit), Limits(self.limit)
        roots = ((root, each.function) for each in find_root_ops(operation) for root in each.roots)
        for root, function in roots:
            configuration = read_configuration(root, function)
            if configuration is None:
                continue
            workload = read_workload(root, function)
            answer = (
                verify_like_compiler(workload, configuration, limits)
                if self.follow_compiler
                else verify_configuration(workload, configuration, registry, limits)
            )
            severity = answer.severity or Severity.REMARK
            is_undecided = answer.verdict is Verdict.NOT_DECIDED and severity is Severity.REMARK
            is_reported = self.report_undecided if is_undecided else True
            if is_reported and (answer.severity is not None or self.report_valid):
                notes = tuple(note(text, root) for text in answer.notes)
                diagnostics.emit(Diagnostic(severity, str(answer), place_of(root.location), notes))
