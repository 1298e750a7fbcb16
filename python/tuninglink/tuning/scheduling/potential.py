"""The part of a task's time that tuning may save, by the fastest rates of the program's own dispatches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.dispatch_cost import DispatchCost, cost_of
from tuninglink.mlir.contexts import thread_context

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.tuning.deciding.defaults import MeasuredTask
    from tuninglink.tuning.programs.dispatches import TuningTask

_LEAST: Final = 0.25
"""The potential of the fastest dispatches, which may be far from what the device can do."""


def task_cost(task: TuningTask) -> DispatchCost:
    """Return the arithmetic operations and the bytes of one call of a task."""
    return cost_of(mlir.Module.parse(task.source, thread_context()).operation)


def potentials(
    measured: Sequence[MeasuredTask], costs: Mapping[str, DispatchCost]
) -> dict[str, float]:
    """Return the potential of each task by key, from 0.25 to 1.

    A roofline (Williams et al., CACM 2009) of the program itself: a task needs at least as long as its operations and its
    bytes take at the highest rates of all tasks. The rest of its time is its potential.

    Args:
        measured: the compiler's choices.
        costs: the costs of the tasks by key; tasks of unknown cost have the full potential.
    """
    times = {
        default.task.key: default.default_us
        for default in measured
        if default.default_us > 0 and costs[default.task.key].is_known
    }
    flops = {key: costs[key].flops or 0 for key in times}
    moved = {key: costs[key].bytes or 0 for key in times}
    most_flops = max((flops[key] / times[key] for key in times), default=0.0)
    most_moved = max((moved[key] / times[key] for key in times), default=0.0)

    def efficiency(key: str) -> float:
        """Return the least time of a task as a fraction of its time."""
        computing = flops[key] / times[key] / most_flops if most_flops else 0.0
        moving = moved[key] / times[key] / most_moved if most_moved else 0.0
        return max(computing, moving)

    by_key = {key: max(_LEAST, 1.0 - efficiency(key)) for key in times}
    return {default.task.key: by_key.get(default.task.key, 1.0) for default in measured}
