"""One context per thread, and the diagnostics of what happens in it.

An MLIR context must not be used from two threads. Specs that a caller loads without naming a context
live in the context of the calling thread.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir.diagnostics import Diagnostic, from_mlir

if TYPE_CHECKING:
    from collections.abc import Iterator

_local = threading.local()


def thread_context() -> mlir.Context:
    """Return the context of the calling thread, made at the first call."""
    context: mlir.Context | None = getattr(_local, "context", None)
    if context is None:
        context = _local.context = mlir.Context()
    return context


@contextmanager
def collected_diagnostics(context: mlir.Context) -> Iterator[list[Diagnostic]]:
    """Collect what the compiler says about IR in `context` while the block runs.

    Errors that an `MLIRError` carries are not among them. The block runs without MLIR's threads: one that
    reports something would wait for the Python that waits for it.
    """
    collected: list[Diagnostic] = []

    def handler(diagnostic: mlir.Diagnostic) -> bool:
        collected.append(from_mlir(diagnostic))
        return True

    has_threads = context.get_num_threads() > 1
    context.enable_multithreading(False)  # noqa: FBT003 - the bindings name no argument
    attached = context.attach_diagnostic_handler(handler)
    try:
        yield collected
    finally:
        attached.detach()
        if has_threads:
            context.enable_multithreading(True)  # noqa: FBT003
