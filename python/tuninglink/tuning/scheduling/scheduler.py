"""The scheduler: gives the time of a run to the tasks from which the program gains most."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.programs.dispatches import Omission
from tuninglink.tuning.results.task_result import TaskOutcome, TaskResult
from tuninglink.tuning.scheduling.default_queue import DefaultQueue
from tuninglink.tuning.scheduling.isolation import FATAL, reason_of
from tuninglink.tuning.scheduling.ledger import Account
from tuninglink.tuning.scheduling.open_tasks import OpenRaces, OpenTask
from tuninglink.tuning.scheduling.priorities import Pace
from tuninglink.tuning.scheduling.task_race import TaskRace
from tuninglink.tuning.scheduling.task_run import TaskRun
from tuninglink.tuning.scheduling.timeline import Stage
from tuninglink.tuning.search import search_named
from tuninglink.tuning.search.base import FIRST_CANDIDATES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.tuning.candidates.preparation import PreparedTask
    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.scheduling.ledger import Ledger
    from tuninglink.tuning.scheduling.progress import Progress
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner

_DEFAULTS: Final = 0.25
"""The part of the time in which defaults are measured before the first task is tuned."""

_FEWEST_TRIALS: Final = 16
"""With fewer trials, their time is not known."""

_RACE_SECONDS: Final = 5.0
"""The time of a race, which counts as the start of a task: without it, its trials are lost."""

_LEAST_SECONDS: Final = 3.0
"""With less time left, no task begins."""


class Scheduler:
    """Tunes tasks in turns until all have converged or the time is over; then all are decided.

    Args:
        tuner: compiles and measures.
        ledger: the time.
        prepare: prepares a task; raises an exception if it cannot be tuned.
        omit: receives what is not tuned.

    Attributes:
        results: the decided tasks.
    """

    def __init__(
        self,
        tuner: TaskTuner,
        ledger: Ledger,
        prepare: Callable[[TuningTask], PreparedTask],
        omit: Callable[[Omission], None],
    ) -> None:
        self._tuner = tuner
        self._ledger = ledger
        self._prepare = prepare
        self._omit = omit
        self._open: list[OpenTask] = []
        self._races = OpenRaces(tuner.timeline, self._end, self._lose)
        self._admitted: set[str] = set()
        self._prepared_ahead: set[str] = set()
        self._progress: list[Progress] = []
        self._start_seconds = 0.0
        self._by_matcher: dict[str, TuningTask] = {}
        self._defaults = DefaultQueue(tuner, (), omit)
        self.results: list[TaskResult] = []

    def run(self, tasks: Sequence[TuningTask], reserve: Callable[[DefaultQueue], None]) -> None:
        """Tunes tasks.

        Args:
            tasks: the tasks.
            reserve: makes reservations in the ledger once the first defaults are measured.

        Raises:
            DeviceError: the device is gone.
            DatabaseError: a result cannot be kept.
            TuninglinkError: no dispatch of the program runs on the devices.
        """
        defaults = self._defaults = DefaultQueue(self._tuner, tasks, self._omit)
        defaults.submit()
        self._prepare_ahead(defaults)
        defaults.measure(self._budget().part(_DEFAULTS))
        reserve(defaults)
        while not self._budget().is_over:
            self._races.advance()
            chosen = self._choose()
            if chosen is not None:
                self._give_turn(chosen)
            elif defaults.waiting and not self._is_complete():
                defaults.measure(self._budget().part(_DEFAULTS))
            elif self._races:
                self._races.wait()
            else:
                break
        self._decide_all()
        self._omit_rest(defaults)

    def _prepare_ahead(self, defaults: DefaultQueue) -> None:
        """Prepares the heaviest tasks and draws their first candidates while the first defaults compile."""
        settings = self._tuner.settings
        with self._tuner.timeline.stage(Stage.SPACES):
            search_named(settings.search)  # which may have a large library to load
            for task in list(defaults.waiting):
                if defaults.is_ready or self._budget().is_over:
                    return
                with suppress(Exception):  # it is omitted with its reason in its turn
                    self._prepare(task).spaces.sample(FIRST_CANDIDATES, settings.seed)

    # --- Turns -----------------------------------------------------------------------------------------------

    def _budget(self) -> Budget:
        """Returns the time in which candidates are tried: without reservations and pending races."""
        budget = self._ledger.budget(Account.TASKS)
        return budget.until(budget.deadline - self._racing_seconds(self._open))

    def _racing_seconds(self, tasks: Sequence[OpenTask]) -> float:
        """Returns the time to keep for the races of tasks and for those that have begun."""
        begun = [each.run for each in tasks if each.run is not None]
        return self._races.seconds + sum(each.race_seconds for each in begun)

    def _choose(self) -> OpenTask | None:
        """Returns the task from which the program is expected to gain most; None if there is none to try."""
        self._admit()
        is_late = self._budget().remaining < _LEAST_SECONDS
        tasks = [each for each in self._open if each.run is not None or not is_late]
        return max(tasks, key=self._expected_gain, default=None)

    def _expected_gain(self, task: OpenTask) -> float:
        """Returns what the program is expected to gain in a second of the next turn of a task."""
        return self._pace().expected_gain(task.measured.task.calls, task.progress)

    def _pace(self) -> Pace:
        """Returns how fast tasks are tuned, as far as that is known."""
        trials = sum(each.trials for each in self._progress)
        if trials < _FEWEST_TRIALS:
            return Pace()
        seconds = sum(each.seconds for each in self._progress)
        starts = self._start_seconds / len(self._progress)
        return Pace(starts + _RACE_SECONDS, seconds / trials)

    def _admit(self) -> None:
        """Opens the tasks whose defaults are measured, the heaviest ones, as far as they are to be tuned."""
        for measured in self._defaults.weighed():
            if self._is_complete() or measured.share < self._tuner.settings.min_share:
                return
            if measured.task.key not in self._admitted:
                self._admitted.add(measured.task.key)
                self._open.append(OpenTask(measured))

    def _is_complete(self) -> bool:
        """Tells whether as many tasks are tuned as may be."""
        top = self._tuner.settings.top
        return top is not None and len(self._open) + len(self._races) + len(self.results) >= top

    def _give_turn(self, task: OpenTask) -> None:
        """Tries candidates of a task for a while; decides it if no more are to be tried."""
        try:
            if task.run is None:
                self._begin(task)
            if task.run is None:
                return
            budget = self._budget()
            task.run.explore(budget, self._turn_seconds(task), self._prepare_next)
            if task.run.ending(budget) is not None:
                self._decide(task)
        except FATAL:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one task only
            self._lose(task, reason_of(failure))

    def _turn_seconds(self, task: OpenTask) -> float:
        """Returns the time of the next turn of a task, which ends when a race goes on."""
        alone = len(self._open) == 1
        seconds = math.inf if alone else self._pace().turn_seconds(task.progress)
        return min(seconds, self._races.due - time.monotonic())

    def _begin(self, task: OpenTask) -> None:
        """Prepares a task for its first turn, or gives its weight to the task that the same entry configures."""
        began = time.monotonic()
        with self._tuner.timeline.stage(Stage.SPACES):
            prepared = self._prepare(task.measured.task)
        other = self._by_matcher.setdefault(prepared.matcher, prepared.task)
        if other is not prepared.task:
            self._merge(task, other)
            return
        task.run = TaskRun(self._tuner, prepared, task.measured)
        self._progress.append(task.run.progress)
        self._start_seconds += time.monotonic() - began

    def _merge(self, task: OpenTask, other: TuningTask) -> None:
        for each in self._open:
            if each.measured.task is other:
                share = each.measured.share + task.measured.share
                each.measured = replace(each.measured, share=share)
        self._lose(task, f"it is configured by the same entry as {other.name}, which is heavier")

    def _prepare_next(self) -> bool:
        """Prepares the most promising of the other tasks ahead of its turn; tells whether there was one."""
        if self._tuner.is_local:
            return False  # whose processors measure
        promising = sorted(self._open, key=self._expected_gain, reverse=True)[:2]
        task = next((each for each in promising if each.run is None), None)
        if task is None or task.measured.task.key in self._prepared_ahead:
            return False
        self._prepared_ahead.add(task.measured.task.key)
        with suppress(Exception):  # it is omitted with its reason in its turn
            spaces = self._prepare(task.measured.task).spaces
            spaces.sample(FIRST_CANDIDATES, self._tuner.settings.seed)
        return True

    # --- Ends ------------------------------------------------------------------------------------------------

    def _decide_all(self) -> None:
        """Decides the tasks that had a turn, those first from which the program gains most."""
        self._ledger.release(Account.REFERENCE)  # races begin with it
        for task in sorted(self._open, key=lambda each: -each.gain):
            if task.run is None:
                continue
            has_won = any(each.verdict is TaskOutcome.WON for each in self.results)
            if not (has_won or self._races or self._has_time_for(task.run)):
                self._ledger.release(Account.GUARD)  # which needs a winner
            self._decide(task)
            self._races.advance()
        while self._races:
            self._races.wait()
            self._races.advance()

    def _has_time_for(self, run: TaskRun) -> bool:
        """Tells whether the race of a task fits into the time that is left."""
        return self._ledger.budget(Account.TASKS).remaining >= run.race_seconds

    def _decide(self, task: OpenTask) -> None:
        """Begins the race of the best candidates of a task, or takes its result without one."""
        assert task.run is not None
        budget = self._ledger.budget(Account.TASKS)
        if not task.run.trials and task.run.ending(budget) is None:
            return  # it counts as one that had no turn
        self._open.remove(task)
        others = self._racing_seconds(self._open)
        try:
            decided = task.run.decide(budget.until(budget.deadline - others))
            if isinstance(decided, TaskRace):
                self._races.add(task, decided, task.run.race_seconds)
            else:
                self._end(task, decided)
        except FATAL:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one task only
            self._lose(task, reason_of(failure))

    def _end(self, task: OpenTask, result: TaskResult) -> None:
        self.results.append(replace(result, share=task.measured.share))
        self._tuner.listener.ended(self.results[-1])

    def _lose(self, task: OpenTask, reason: str) -> None:
        if task in self._open:
            self._open.remove(task)
        self._omit(Omission(task.measured.task.dispatches, reason))

    def _omit_rest(self, defaults: DefaultQueue) -> None:
        """Omits the tasks that had no turn."""
        is_stopped = self._ledger.whole.is_stopped
        why = "tuning was interrupted" if is_stopped else "the budget was over"
        rest = [each.measured.task for each in self._open]
        if not self._is_complete():
            rest += defaults.waiting
        if rest:
            dispatches = tuple(name for task in rest for name in task.dispatches)
            turn = "its turn" if len(dispatches) == 1 else "their turn"
            self._omit(Omission(dispatches, f"{why} before {turn}"))
