"""Running compiler passes that may crash or hang in worker processes."""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Final, TypeVar, TypeVarTuple

from iree.compiler import ir as mlir

from tuninglink.solver.answers import UndecidedError
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class CompilerCrashError(UndecidedError):
    """The compiler crashed on a module."""


class IsolatedPassManager:
    """Runs pass pipelines in a pool of workers.

    Args:
        pool: the pool.
        seconds: the time limit of a run.

    Attributes:
        known_crashes: the reasons for compiler crashes on inputs, by a key that the caller chooses.
    """

    def __init__(self, pool: Pool, seconds: float = 60.0) -> None:
        self._pool = pool
        self._seconds = seconds
        self.known_crashes: dict[Hashable, str] = {}

    def run(self, pipeline: str, bytecode: bytes) -> bytes:
        """Return a module after running a pass pipeline.

        Args:
            pipeline: a textual pass pipeline.
            bytecode: a module.

        Raises:
            CompilerCrashError, UndecidedError: see `call`.
        """
        return self.call(_run, pipeline, bytecode)

    def call(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Call a function that runs passes in a worker, and return its result.

        Args:
            function: the function, as `Pool.submit` takes it.
            arguments: its arguments.

        Raises:
            CompilerCrashError: the compiler crashed.
            UndecidedError: the compiler exceeded the time limit or reported an error.
        """
        try:
            return self._pool.submit(function, *arguments, seconds=self._seconds).result()
        except JobTimeoutError as failure:
            message = f"the compiler did not answer within {failure.seconds:g} s"
            raise UndecidedError(message) from None
        except WorkerCrashedError as failure:
            raise CompilerCrashError(f"the compiler crashed ({failure.status})") from None
        except OSError as failure:
            message = f"the compiler's process does not start: {failure.strerror}"
            raise UndecidedError(message) from None


def _run(pipeline: str, bytecode: bytes) -> bytes:
    buffer = io.BytesIO()
    passed(pipeline, bytecode).write_bytecode(buffer)
    return buffer.getvalue()


def passed(pipeline: str, bytecode: bytes) -> mlir.Operation:
    """Return a module after running a pass pipeline; called in a worker.

    All runs share the context of the thread, since creating a context takes longer than the passes.

    Raises:
        UndecidedError: the compiler reports an error.
    """
    from iree.compiler import ir  # noqa: PLC0415 - a process that only submits does not need the compiler
    from iree.compiler.passmanager import PassManager  # noqa: PLC0415

    from tuninglink.mlir.diagnostics import thread_context  # noqa: PLC0415

    context = thread_context()
    with context:
        try:
            module = ir.Module.parse(bytecode, context).operation
            PassManager.parse(pipeline, context).run(module)
        except ir.MLIRError as failure:
            messages = [diagnostic.message for diagnostic in failure.error_diagnostics]
            reason = "; ".join(messages or [str(failure)])
            raise UndecidedError(f"the compiler reports: {reason}") from None
        except ValueError as failure:  # raised for a malformed pipeline
            raise UndecidedError(f"the compiler reports: {failure}") from None
    return module


SHARED_PASS_MANAGER: Final = IsolatedPassManager(
    Pool(1, import_module, ("iree.compiler.passmanager",))
)
"""The pass manager that everything in this process shares; its worker starts with the first run."""
