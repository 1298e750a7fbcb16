"""An estimate of the work of tasks, which orders them before any measurement."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.walk import visit

if TYPE_CHECKING:
    from tuninglink.tuning.programs.dispatches import TuningTask

_DIALECTS: Final = ("linalg.", "iree_linalg_ext.")
"""The dialects of loop nests."""


def estimated_work(task: TuningTask) -> float:
    """Return the iterations of a task's loop nests in all its calls. It orders tasks; it does not predict time.

    Args:
        task: the task; a dynamic size counts as 1.
    """
    module = mlir.Module.parse(task.source, thread_context()).operation
    iterations = 0.0

    def count(operation: mlir.Operation) -> None:
        nonlocal iterations
        if operation.name.startswith(_DIALECTS):
            iterations += math.prod(size or 1 for size in StructuredOp(operation).sizes)

    visit(module, count)
    return task.calls * iterations
