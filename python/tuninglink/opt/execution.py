"""Running pipelines in which passes of the compiler and passes written in Python mix.

A pipeline becomes one pass manager of the compiler, in which each pass written in Python is a pass like
any other: nesting, verification, printed IR and timing are the compiler's own.
"""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, from_mlir, note
from tuninglink.mlir.serialization import is_undecodable
from tuninglink.opt.building import PipelineBuilder
from tuninglink.opt.instrumentation import Instrumentation, split_names
from tuninglink.opt.lookup import PassLookup

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.mlir.passes import Pass
    from tuninglink.opt.pass_registry import PassRegistry
    from tuninglink.opt.pipeline import OpPipeline


def run_pass(pass_: Pass, operation: mlir.Operation, diagnostics: DiagnosticSink) -> bool:
    """Runs one pass and returns whether it succeeded; `diagnostics` has been told if not.

    The context of the operation is current while the pass runs.
    """
    errors_before = diagnostics.error_count
    try:
        with operation.context:
            pass_.apply(operation, diagnostics)
    except TuninglinkError as failure:
        for diagnostic in failure.diagnostics:
            diagnostics.emit(diagnostic)
        return False
    except mlir.MLIRError as failure:
        result = [from_mlir(each) for each in failure.error_diagnostics]
        for diagnostic in result or [error(f"pass '{pass_.name}' failed: {failure}", operation)]:
            diagnostics.emit(diagnostic)
        return False
    except BrokenPipeError:
        # Whoever was reading has seen enough; that ends the run, and is no mistake.
        raise
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
    """A pipeline in a context, ready to run on operations there.

    Args:
        pipeline: what to run.
        context: where the operations live. A handler should be attached that gives its diagnostics to
            `diagnostics`.
        registry: the passes written in Python.
        diagnostics: where passes written in Python emit theirs.
        instrumentation: what the run tells about itself.
        nest_implicitly: see `PipelineBuilder`.

    Raises:
        PipelineError: a pass or an option does not exist, or a pass stands at a wrong place.
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
        """Runs the pipeline and returns whether it succeeded; `diagnostics` has been told if not."""
        errors_before = self._diagnostics.error_count
        succeeded = self._manager.run(operation)
        if self._interruption:
            raise self._interruption
        if not succeeded and self._diagnostics.error_count == errors_before:
            advice = note("--mlir-print-ir-after-failure shows which one")
            self._diagnostics.error("a pass failed without saying why", operation, [advice])
        return succeeded

    def finish(self) -> None:
        """Ends the execution; the timing report and the statistics are printed now, if wanted."""
        self._manager.close()

    def _run_pass(self, pass_: Pass, operation: mlir.Operation) -> bool:
        try:
            return run_pass(pass_, operation, self._diagnostics)
        except BaseException as interruption:  # noqa: BLE001 - goes on where the run was started
            self._interruption = interruption
            return False
