"""The pass `tuninglink-verify-configs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.iree.dispatch_roots import find_root_ops
from tuninglink.iree.target_attributes import read_executable_target
from tuninglink.mlir.diagnostics import note
from tuninglink.mlir.passes import Pass, option
from tuninglink.specs.programs import check_is_program

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink
    from tuninglink.spaces.providers import ProviderRegistry
    from tuninglink.spaces.verification import ConfigurationAnswer


@dataclass(frozen=True)
class VerifyConfigs(Pass):
    """Check the configuration of every root op against the constraints of its pipeline.

    The pass is for configured programs, at `executable-configurations` or with a `compilation_info` on their
    operations. An invalid configuration is an error at the operation, with the assertion that it violates in
    words and the nearest valid configuration as a note.

    The constraints are those of all providers that know the pipeline and the kind of operation, the compiler
    among them: it is asked for its own in a process of its own, so that a crash there is an answer. Where
    nobody knows, or cannot tell within the limit, a remark says that the configuration was not decided and
    why; operations without a configuration are left out.

    Nothing is changed.

    Example:
        ```mlir
        func.func @dispatch(…) attributes {translation_info = #iree_codegen.translation_info<
            pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, …>} {
          %0 = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{…, workgroup = [96, 128, 0]}>}
              ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<5120x1280xf16>) …
        ```

        is refused:

        ```
        error: the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: dim_0 must be
            divisible by wg_0 (2048 % 96 == 0) [wg_0 = 96]
        note: the nearest valid configuration changes wg_0 from 96 to 64: #iree_codegen.compilation_info<…>
        ```
    """

    name: ClassVar[str] = "tuninglink-verify-configs"
    anchor: ClassVar[str | None] = None

    limit: int = option(20, "seconds that a question about one configuration may take")
    report_undecided: bool = option(
        default=True, help="remark on configurations that could not be decided"
    )
    report_valid: bool = option(default=False, help="remark on configurations that are valid, too")

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Checks the configurations inside `operation`."""
        # Z3 takes longer to import than most passes take to run.
        from tuninglink.spaces.providers import ProviderRegistry  # noqa: PLC0415

        check_is_program(operation)
        registry = ProviderRegistry(diagnostics.emit)
        for each in find_root_ops(operation):
            for root in each.roots:
                self._verify(root, each.function, registry, diagnostics)

    def _verify(
        self,
        root: mlir.Operation,
        function: mlir.Operation,
        registry: ProviderRegistry,
        diagnostics: DiagnosticSink,
    ) -> None:
        from tuninglink.solver.answers import Limits, Verdict  # noqa: PLC0415
        from tuninglink.spaces.configuration import read_configuration  # noqa: PLC0415
        from tuninglink.spaces.dispatch import gpu_limits, problem_of, target_around  # noqa: PLC0415
        from tuninglink.spaces.providers import Dispatch  # noqa: PLC0415
        from tuninglink.spaces.verification import verify_configuration  # noqa: PLC0415

        configuration = read_configuration(root, function)
        if configuration is None:
            return
        target = target_around(function)
        executable = read_executable_target(target) if target is not None else None
        limits = gpu_limits(target) if target is not None and executable and executable.gpu else {}
        dispatch = Dispatch(root, function, target, problem_of(root, limits))
        answer = verify_configuration(dispatch, configuration, registry, Limits(self.limit))
        if answer.verdict is Verdict.REFUTED:
            diagnostics.error(_message(answer), root, _notes(answer, root))
        elif answer.verdict is Verdict.PROVEN and self.report_valid:
            diagnostics.remark(f"the configuration is valid in pipeline {answer.pipeline}", root)
        elif answer.verdict is Verdict.NOT_DECIDED and self.report_undecided:
            diagnostics.remark(f"the configuration was not decided: {answer.reason}", root)


def _message(answer: ConfigurationAnswer) -> str:
    first = answer.violations[0]
    return f"the configuration is invalid in pipeline {answer.pipeline}: {first}"


def _notes(answer: ConfigurationAnswer, root: mlir.Operation) -> list[Diagnostic]:
    notes = [note(f"violated as well: {each}", root) for each in answer.violations[1:]]
    proposal = answer.proposal
    if proposal is None:
        return [*notes, note(answer.reason, root)] if answer.reason else notes
    return [*notes, note(str(proposal), root)]
