"""The start of a task: preparation, ahead of its turn in idle time, or a merge into a task that the same entry configures."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tuninglink.tuning.scheduling.task_run import TaskRun
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
    from tuninglink.tuning.scheduling.task_choice import TaskChoice
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner


class TaskStart:
    """Begins tasks.

    Args:
        tuner: compiles and measures.
        prepare: prepares a task; raises an exception if it cannot be tuned.
        choice: records the duration of the start.
    """

    def __init__(
        self,
        tuner: TaskTuner,
        prepare: Callable[[TuningTask], PreparedTask],
        choice: TaskChoice,
    ) -> None:
        self._tuner = tuner
        self._prepare = prepare
        self._choice = choice
        self._by_matcher: dict[str, TuningTask] = {}

    def begin(self, task: OpenTask, tasks: Sequence[OpenTask]) -> str:
        """Prepare a task for its first turn, or add its weight to the task that the same entry configures.

        Args:
            task: the task.
            tasks: all open tasks.

        Returns:
            The reason for not starting; empty if the task starts.

        Raises:
            Exception: the task cannot be tuned.
        """
        began = time.monotonic()
        with self._tuner.timeline.stage(Stage.SPACES):
            prepared = self._prepare(task.measured.task)
        other = self._by_matcher.setdefault(prepared.matcher, prepared.task)
        if other is not prepared.task:
            for open_task in tasks:
                if open_task.measured.task is other:
                    share = open_task.measured.share + task.measured.share
                    open_task.measured = replace(open_task.measured, share=share)
            return f"it is configured by the same entry as {other.name}, which is heavier"
        task.run = TaskRun(self._tuner, prepared, task.measured)
        self._choice.count_start(task.run.trials.progress, time.monotonic() - began)
        return ""


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
