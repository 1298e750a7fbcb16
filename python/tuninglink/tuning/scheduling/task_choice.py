"""The choice of the task that gets the next turn, and the start of tasks, prepared ahead of their turn in idle time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.database.prior_data import RelatedTrials
from tuninglink.tuning.scheduling import Stage
from tuninglink.tuning.scheduling.task_run import TaskRun
from tuninglink.tuning.search import search_named
from tuninglink.tuning.search.base import FIRST_CANDIDATES

if TYPE_CHECKING:
    from tuninglink.tuning.candidates.preparation import PreparedTask
    from tuninglink.tuning.deciding.defaults import DefaultJudgements
    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.scheduling.default_queue import DefaultQueue
    from tuninglink.tuning.scheduling.open_tasks import OpenTask
    from tuninglink.tuning.scheduling.task_trials import Progress
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner


_RECENT: Final = 0.5
"""The fraction of a task's trials that counts as recent."""

_PROMISE: Final = 0.5
"""The fraction of its default time that a task is expected to save in the end."""

_HALF_TRIALS: Final = 60
"""The trials after which half of that is saved."""

_LEAST_SECONDS: Final = 0.01
"""The least time of a trial, in seconds. Results of earlier runs take less."""


@dataclass(frozen=True)
class Pace:
    """The pace of tuning on a device.

    Attributes:
        start_seconds: the time of a task before its first trial and for its race.
        trial_seconds: the time of a trial.
    """

    start_seconds: float = 6.0
    trial_seconds: float = 0.15

    def turn_seconds(self, progress: Progress) -> float:
        """Return the time of the next turn of a task: a fraction of its past trials, but at least some."""
        return turn_trials(progress) * self._recent_seconds(progress)

    def expected_gain(self, calls: float, progress: Progress, potential: float = 1.0) -> float:
        """Return the microseconds that a program gains in each second of a task's next turn.

        Progress counts in trials, since the time of a trial may change by orders of magnitude: after a poor default,
        slow candidates are measured in full until a better one is known.

        Args:
            calls: the calls of the task's dispatches in a run of the program.
            progress: the progress of its best time.
            potential: the fraction of its time that tuning may save.
        """
        past, turn = progress.trials, turn_trials(progress)
        saved = potential * _PROMISE * progress.best_us
        behind = past + _HALF_TRIALS
        promise = saved * _HALF_TRIALS * turn / (behind * (behind + turn))
        seconds = self.turn_seconds(progress)
        if not past:
            return calls * promise / (seconds + self.start_seconds)
        # The best time goes on falling by the same factor, not by the same time: the first good candidate after a poor
        # default saves more than is left.
        window = max(_recent_trials(progress), turn)
        factor = min(1.0, progress.best_us / progress.best_after(past - window))
        trend = progress.best_us * (1 - math.pow(factor, turn / window))
        return calls * (promise + trend) / seconds / 2

    def _recent_seconds(self, progress: Progress) -> float:
        """Return the time of a recent trial of a task."""
        recent = _recent_trials(progress)
        if not recent:
            return self.trial_seconds
        taken = progress.seconds - progress.seconds_after(progress.trials - recent)
        return max(_LEAST_SECONDS, taken / recent)


_TURN: Final = 0.25
TURN_TRIALS: Final = 20
"""The length of a turn: a fraction of the task's past trials, but at least this number."""


def turn_trials(progress: Progress) -> float:
    """Return the number of trials in the next turn of a task."""
    return max(TURN_TRIALS, _TURN * progress.trials)


def _recent_trials(progress: Progress) -> int:
    return min(progress.trials, max(TURN_TRIALS, math.ceil(_RECENT * progress.trials)))


_FEWEST_TRIALS: Final = 16
"""The least trials for estimating their time."""

_RACE_SECONDS: Final = 5.0
"""The time of a race, in seconds. It counts as part of the start: without a race, trials are lost."""


_REPAIR_SHARE: Final = 0.5
"""The fraction of the time of all turns in which small tasks with wrong defaults come first after their first turn."""


_REPAIR_SECONDS: Final = 2.0
"""The estimate for a turn that searches for a right candidate, in seconds."""


class TaskChoice:
    """Chooses among open tasks: tasks to repair, then heavy tasks with few trials, then by expected gain.

    Right results come before speed: all tasks with a wrong default get a turn before any other. If no right candidate
    was among the first ones of a small task, its further turns come first for half of the time only.

    Args:
        judgements: the verdicts on the compiler's choices; None without judgement.
    """

    def __init__(self, judgements: DefaultJudgements | None) -> None:
        self._judgements = judgements
        self._progress: list[Progress] = []
        self._start_seconds = 0.0
        self._turn_seconds = 0.0
        self._repair_seconds = 0.0
        self._repair_turns = 0

    def count_start(self, progress: Progress, seconds: float) -> None:
        """Record the start of a task.

        Args:
            progress: its future progress.
            seconds: the duration of the start.
        """
        self._progress.append(progress)
        self._start_seconds += seconds

    def count_turn(self, seconds: float, *, is_repair: bool) -> None:
        """Record the time of a turn, and whether it searched for a right candidate."""
        self._turn_seconds += seconds
        if is_repair:
            self._repair_seconds += seconds
            self._repair_turns += 1

    @property
    def repair_seconds(self) -> float:
        """The mean time of the turns that searched for right candidates."""
        if not self._repair_turns:
            return _REPAIR_SECONDS
        return self._repair_seconds / self._repair_turns

    @property
    def pace(self) -> Pace:
        """The pace of tuning so far."""
        trials = sum(progress.trials for progress in self._progress)
        if trials < _FEWEST_TRIALS:
            return Pace()
        seconds = sum(progress.seconds for progress in self._progress)
        starts = self._start_seconds / len(self._progress)
        return Pace(starts + _RACE_SECONDS, seconds / trials)

    def ranked(self, tasks: Sequence[OpenTask]) -> list[OpenTask]:
        """Return tasks, most promising first."""
        pace = self.pace
        has_repaired_enough = self._repair_seconds > _REPAIR_SHARE * self._turn_seconds

        def promise(task: OpenTask) -> tuple[bool, bool, bool, bool, float]:
            measured = task.measured
            is_new = task.is_new and task.is_promising
            is_begun = is_new and task.run is not None
            is_first = task.run is None or task.run.is_first_repair
            may_wait = has_repaired_enough and measured.is_small and not is_first
            is_urgent = self.needs_repair(task) and not may_wait
            is_ready = is_urgent and task.run is not None and task.run.can_begin_repair()
            gain = pace.expected_gain(measured.weight, task.progress, measured.potential)
            return is_urgent, is_ready, is_new, is_begun, gain

        return sorted(tasks, key=promise, reverse=True)

    def needs_repair(self, task: OpenTask) -> bool:
        """Return whether the search for a right candidate of a task comes first."""
        if task.run is not None:
            return task.run.needs_repair
        return self.is_wrong(task.measured.task)

    def is_wrong(self, task: TuningTask) -> bool:
        """Return whether the compiler's choice for a task was shown to compute a wrong result."""
        return self._judgements is not None and self._judgements.is_wrong(task)


class TaskStart:
    """Begins tasks.

    Args:
        tuner: compiles and measures.
        prepare: prepares a task; raises an exception if it cannot be tuned.
        choice: records the duration of the start.

    Attributes:
        related: candidates of repaired tasks.
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
        self.related = RelatedTrials()

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
        task.run = TaskRun(self._tuner, prepared, task.measured, self.related)
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

    def has_drawn(self, task: TuningTask) -> bool:
        """Return whether the first candidates of a task are drawn."""
        if task.key in self._done:
            with suppress(Exception):  # its turn reports the error
                seed = self._tuner.settings.seed
                return self._prepare(task).spaces.begin_sample(FIRST_CANDIDATES, seed)
        return False

    def _draw(self, task: TuningTask) -> None:
        self._done.add(task.key)
        with suppress(Exception):  # its turn reports the error
            self._prepare(task).spaces.begin_sample(FIRST_CANDIDATES, self._tuner.settings.seed)
