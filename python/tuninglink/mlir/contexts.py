"""One context per thread, and the diagnostics emitted in it.

An MLIR context must not be used from two threads. A spec that is loaded without a context lives in the context of the
calling thread.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler._mlir_libs import _mlir

from tuninglink.mlir.diagnostics import Diagnostic, from_mlir

if TYPE_CHECKING:
    from collections.abc import Iterator

_local = threading.local()

# The bindings import the module of a dialect with the first op of it. That of linalg runs 60 builders of named ops,
# which takes 90 ms; the classes of its ops take 8 ms. Modules that need the builders import it themselves.
_bindings: Final[Any] = _mlir.globals  # type: ignore[attr-defined]
_bindings.dialect_search_modules = [
    "tuninglink.mlir.dialects",
    *_bindings.dialect_search_modules,
]


def thread_context() -> mlir.Context:
    """Return the context of the calling thread. The first call creates it."""
    context: mlir.Context | None = getattr(_local, "context", None)
    if context is None:
        context = _local.context = mlir.Context()
    return context


@contextmanager
def collected_diagnostics(context: mlir.Context) -> Iterator[list[Diagnostic]]:
    """Collect the compiler's diagnostics about IR in `context` while the block runs.

    Errors that an `MLIRError` carries are left out. MLIR's thread pool is disabled meanwhile: a thread that emits a
    diagnostic would wait for the Python lock, whose holder waits for that thread.
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
