"""Preparation of tasks ahead of their turns, in time that would be idle."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tuninglink.tuning.scheduling.timeline import Stage
from tuninglink.tuning.search import search_named
from tuninglink.tuning.search.base import FIRST_CANDIDATES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.tuning.candidates.preparation import PreparedTask
    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.scheduling.default_queue import DefaultQueue
    from tuninglink.tuning.scheduling.open_tasks import OpenTask
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner


class PreparationAhead:
    """Prepares tasks and draws their first candidates.

    Args:
        tuner: the tuner of the tasks.
        prepare: prepares a task; raises an exception if it cannot be tuned.
    """

    def __init__(self, tuner: TaskTuner, prepare: Callable[[TuningTask], PreparedTask]) -> None:
        self._tuner = tuner
        self._prepare = prepare
        self._done: set[str] = set()

    def prepare_first(self, defaults: DefaultQueue, budget: Budget) -> None:
        """Prepare the heaviest tasks while the first defaults compile."""
        with self._tuner.timeline.stage(Stage.SPACES):
            search_named(self._tuner.settings.search)  # may load a large library
            for task in list(defaults.waiting):
                if defaults.is_ready or budget.is_over:
                    return
                self._draw(task)

    def prepare_next(self, tasks: Sequence[OpenTask]) -> bool:
        """Prepare the first of the tasks without a turn; return whether there was one."""
        if self._tuner.is_local:
            return False  # the CPU is being measured
        task = next((open_task.measured.task for open_task in tasks if open_task.run is None), None)
        if task is None or task.key in self._done:
            return False
        self._draw(task)
        return True

    def has_prepared(self, task: TuningTask) -> bool:
        """Return whether a task was prepared ahead of its turn."""
        return task.key in self._done

    def _draw(self, task: TuningTask) -> None:
        self._done.add(task.key)
        with suppress(Exception):  # its turn reports the error
            self._prepare(task).spaces.sample(FIRST_CANDIDATES, self._tuner.settings.seed)
