"""Execution of pipelines that mix passes of the compiler and passes written in Python.

A pipeline becomes one pass manager of the compiler, in which a pass written in Python is a pass like any other.
Nesting, verification, printing of IR and timing are the compiler's own.
"""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, from_mlir, note
from tuninglink.mlir.serialization import is_undecodable
from tuninglink.opt.building import Instrumentation, PipelineBuilder, split_names
from tuninglink.opt.pass_registry import PassLookup

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.mlir.passes import Pass
    from tuninglink.opt.pass_registry import PassRegistry
    from tuninglink.opt.pipeline import OpPipeline


def run_pass(pass_: Pass, operation: mlir.Operation, diagnostics: DiagnosticSink) -> bool:
    """Run one pass and return whether it succeeded. Failures are emitted to `diagnostics`.

    The context of the operation is current while the pass runs.
    """
    # Expected failures become diagnostics.
    errors_before = diagnostics.error_count
    try:
        with operation.context:
            pass_.apply(operation, diagnostics)
    except TuninglinkError as failure:
        for diagnostic in failure.diagnostics:
            diagnostics.emit(diagnostic)
        return False
    except mlir.MLIRError as failure:
        errors = [from_mlir(diagnostic) for diagnostic in failure.error_diagnostics]
        for diagnostic in errors or [error(f"pass '{pass_.name}' failed: {failure}", operation)]:
            diagnostics.emit(diagnostic)
        return False
    except BrokenPipeError:
        # The reader of the output closed the pipe, which ends the run.
        raise
    # Unexpected exceptions become diagnostics as well.
    except Exception as failure:  # noqa: BLE001 - it must not unwind through the compiler's frames
        if is_undecodable(failure):
            message = (
                f"pass '{pass_.name}' cannot read the module: it has a string that is not UTF-8"
            )
            diagnostics.error(message, operation)
            return False
        traceback.print_exc()
        sys.stderr.flush()
        reason = f"{type(failure).__name__}: {failure}"
        diagnostics.error(f"pass '{pass_.name}' has a bug, it raised {reason}", operation)
        return False
    return diagnostics.error_count == errors_before


class Execution:
    """A pipeline in a context, ready to run on operations of that context.

    Args:
        pipeline: the pipeline.
        context: the context of the operations. It should have a handler that forwards its diagnostics to
            `diagnostics`.
        registry: the passes written in Python.
        diagnostics: the sink for diagnostics of passes written in Python.
        instrumentation: the reports of the run.
        nest_implicitly: see `PipelineBuilder`.

    Raises:
        PipelineError: a pass or an option does not exist, or a pass is misplaced.
    """

    def __init__(
        self,
        pipeline: OpPipeline,
        context: mlir.Context,
        registry: PassRegistry,
        diagnostics: DiagnosticSink,
        instrumentation: Instrumentation | None = None,
        *,
        nest_implicitly: bool = False,
    ) -> None:
        self._diagnostics = diagnostics
        self._interruption: BaseException | None = None
        instrumentation = instrumentation or Instrumentation()
        lookup = PassLookup(context, registry)
        for flag in ("before", "after"):
            for name in sorted(split_names(getattr(instrumentation, flag))):
                lookup.check(name, prefix=f"for the --mlir-print-ir-{flag} option: ")
        builder = PipelineBuilder(
            context,
            lookup,
            instrumentation,
            self._run_pass,
            diagnostics.emit,
            nest_implicitly=nest_implicitly,
        )
        self._manager = builder.build(pipeline)

    def __str__(self) -> str:
        return str(self._manager.bindings)

    def run(self, operation: mlir.Operation) -> bool:
        """Run the pipeline and return whether it succeeded. Failures are emitted to `diagnostics`."""
        errors_before = self._diagnostics.error_count
        succeeded = self._manager.run(operation)
        if self._interruption:
            raise self._interruption
        if not succeeded and self._diagnostics.error_count == errors_before:
            advice = note("--mlir-print-ir-after-failure shows which one")
            self._diagnostics.error("a pass failed without a diagnostic", operation, [advice])
        return succeeded

    def finish(self) -> None:
        """End the execution, and print the timing report and the statistics if requested."""
        self._manager.close()

    def _run_pass(self, pass_: Pass, operation: mlir.Operation) -> bool:
        try:
            return run_pass(pass_, operation, self._diagnostics)
        except BaseException as interruption:  # noqa: BLE001 - raised again in `run`
            self._interruption = interruption
            return False
