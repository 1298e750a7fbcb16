"""Execution of pipelines that mix passes of the compiler and passes written in Python, and the state of the process.

The state consists of the compiler's command-line flags and its target backends. Passes of the HAL dialect look into
the global registry of target backends. Only the main function of `iree-opt` fills it, with objects in its stack frame.
So that function runs here, on a separate thread and with a pipe for its input. Once it has read the content of the
pipe, its set-up is done, and it waits for more input until the process ends.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys
import termios
import threading
import time
import traceback
from ctypes import c_bool, c_char_p, c_int
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.compiler.native import function
from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import DiagnosticSink, error, from_mlir, note
from tuninglink.mlir.serialization import is_undecodable
from tuninglink.opt.building import Instrumentation, PipelineBuilder, split_names
from tuninglink.opt.pass_registry import PassLookup, PassRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.mlir.passes import Pass
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
        registry: the registry of passes written in Python.
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


def set_up_process(program: str, flags: Sequence[str], *, target_backends: bool) -> None:
    """Set flags of the compiler, and register its target backends if they are needed.

    Call it once, from the main thread, before creating contexts that depend on the flags. An unknown flag, or an
    invalid value, ends the process with the compiler's own message and exit code 1. Once target backends are
    registered, a session of the compiler must not be started in this process: the compiler would abort.

    Args:
        program: the name of this program in messages.
        flags: flags of `iree-opt`, except for those that its main function implements.
        target_backends: whether a pass uses target backends.

    Raises:
        RuntimeError: the compiler does not behave as this module expects.
    """
    if target_backends:
        _park_opt_main(program, flags)
    elif flags:
        _set_global_flags([program, *flags])


def _park_opt_main(program: str, flags: Sequence[str]) -> None:
    # The pipe is never closed, since that would end the input.
    reader, writer = os.pipe()
    os.write(writer, b"\n")
    # As the last argument, the input could become the value of a preceding flag.
    arguments = [program, f"/dev/fd/{reader}", *flags]
    thread = threading.Thread(target=_run_opt_main, args=(arguments,), daemon=True)
    # The compiler installs signal handlers. Python's are restored.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGPIPE)}
    thread.start()
    while _unread_bytes(reader):
        if not thread.is_alive():
            raise RuntimeError("iree-opt's main function returned without reading its input")
        time.sleep(0.0001)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _unread_bytes(descriptor: int) -> int:
    count = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
    return int.from_bytes(count, "little")


def _run_opt_main(arguments: list[str]) -> None:
    run = function("ireeOptRunMain", c_int, c_int, ctypes.POINTER(c_char_p))
    run(len(arguments), _argument_vector(arguments))


def _set_global_flags(arguments: list[str]) -> None:
    function("ireeCompilerGlobalInitialize", None)()
    set_up = function(
        "ireeCompilerSetupGlobalCL", None, c_int, ctypes.POINTER(c_char_p), c_char_p, c_bool
    )
    install_signal_handlers = False
    set_up(len(arguments), _argument_vector(arguments), b"", install_signal_handlers)


def _argument_vector(arguments: list[str]) -> Any:
    encoded = [argument.encode(errors="surrogateescape") for argument in arguments]
    return (c_char_p * (len(encoded) + 1))(*encoded, None)
