"""The scheduler, which gives the time of a run to the tasks with the largest expected gain."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.database import RelatedTrials
from tuninglink.tuning.deciding import Account, Budget, Ledger
from tuninglink.tuning.devices import Stage
from tuninglink.tuning.programs import FatalError, reason_of
from tuninglink.tuning.scheduling.default_queue import DefaultQueue
from tuninglink.tuning.scheduling.task_run import OpenTask, TaskEndings, TaskRun
from tuninglink.tuning.search import FIRST_CANDIDATES, search_named

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import PreparedTask
    from tuninglink.tuning.deciding import DefaultJudgements, TaskResult
    from tuninglink.tuning.programs import Omission, TuningTask
    from tuninglink.tuning.scheduling.exploration import Progress
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner


_DEFAULTS: Final = 0.25
"""The fraction of the time for measuring defaults before the first task is tuned."""

_JUDGING: Final = 0.05
"""The fraction of the time for judging defaults, unless the background does it."""

_OVERRUN: Final = 0.02
"""The fraction of the run by which a turn exceeds its time: pending measurements, and other work."""

_AHEAD: Final = 4
"""The number of the most promising tasks that are prepared ahead of their turns."""

_COMPILING_AHEAD: Final = 2
"""The candidates of wrong defaults that are compiled ahead, for each compilation at once."""

_MOST_FIRST: Final = 0.75
"""The fraction of the candidates of a first turn that it waits for; stragglers are measured later."""

_LATEST: Final = 3.0
"""The multiple of its time after which a turn ends although it had few trials."""

_LEAST_SECONDS: Final = 3.0
"""The least remaining time for starting a task, in seconds."""


class Scheduler:
    """Tunes tasks in turns until all have converged or the time is over, then decides all.

    Args:
        tuner: compiles and measures.
        ledger: the time of the run.
        prepare: prepares a task; raises an exception if it cannot be tuned.
        omit: receives the omitted tasks.
        keep: receives the results with all winners so far whenever there is a new one.
    """

    def __init__(
        self,
        tuner: TaskTuner,
        ledger: Ledger,
        prepare: Callable[[TuningTask], PreparedTask],
        omit: Callable[[Omission], None],
        keep: Callable[[Sequence[TaskResult]], object] = lambda _: None,
    ) -> None:
        self._tuner = tuner
        self._ledger = ledger
        self._omit = omit
        self._keep = keep
        self._admitted: set[str] = set()
        self._ahead = PreparationAhead(tuner, prepare)
        self._choice = TaskChoice(tuner.judgements)
        self._endings = TaskEndings(tuner, ledger, omit, self._choice.is_wrong)
        self._judging_seconds = 0.0
        self._judgements = tuner.judgements
        self._start = TaskStart(tuner, prepare, self._choice)
        self._defaults = DefaultQueue(tuner, (), omit)

    @property
    def results(self) -> list[TaskResult]:
        """The decided tasks."""
        return self._endings.results

    @property
    def repair_seconds(self) -> float:
        """The time of the search for one right candidate, as measured; an estimate before the first one."""
        return self._choice.repair_seconds

    def keep_standing(self) -> None:
        """End the undecided tasks that have a standing winner with it, after an error that ends the run."""
        self._endings.keep_standing()

    def run(
        self,
        tasks: Sequence[TuningTask],
        reserve: Callable[[DefaultQueue], None],
        deciding: Callable[[], None] = lambda: None,
        between_turns: Callable[[], None] = lambda: None,
    ) -> None:
        """Tune tasks.

        Args:
            tasks: the tasks.
            reserve: reserves time in the ledger once the first defaults are measured.
            deciding: starts background work for the time of the last races.
            between_turns: updates reservations in the ledger.

        Raises:
            DeviceError: the device is lost.
            DatabaseError: a result cannot be stored.
            TuninglinkError: none of the program's dispatches runs on the devices.
        """
        defaults = self._defaults = DefaultQueue(self._tuner, tasks, self._omit)
        defaults.submit()
        self._ahead.prepare_first(defaults, self._budget())
        self._measure_defaults(only_called=True)
        reserve(defaults)
        decided = -1
        while len(self.results) > decided:  # unused time may suffice for other tasks
            decided = len(self.results)
            self._give_turns(between_turns)
            deciding()
            self._endings.decide_all()
        self._endings.omit_rest(defaults.waiting)

    def _give_turns(self, between_turns: Callable[[], None]) -> None:
        """Give turns to tasks until all have converged or the time for turns is over."""
        defaults = self._defaults
        while not self._budget().is_over:
            between_turns()
            self._endings.races.advance()
            self._tuner.announce_wrong_defaults()
            # The task that gets the next turn; None if there is none.
            self._admit()
            is_late = self._budget().remaining < _LEAST_SECONDS
            tasks = [task for task in self._endings.open if task.run is not None or not is_late]
            chosen = next(iter(self._choice.ranked(tasks)), None)
            if chosen is not None:
                self._give_turn(chosen)
            elif defaults.waiting and not self._endings.is_complete:
                self._measure_defaults()
            elif self._endings.races:
                self._endings.races.wait()
            elif self._judgements and self._judgements.is_busy:
                self._judgements.wait(self._budget().remaining)
            else:
                break
        if self._judgements:
            self._judgements.close()

    def _measure_defaults(self, *, only_called: bool = False) -> None:
        """Measure defaults, and judge them here unless the background does it."""
        self._defaults.measure(self._budget().part(_DEFAULTS), only_called=only_called)
        seconds = _JUDGING * self._ledger.seconds - self._judging_seconds
        began = time.monotonic()
        self._defaults.judge(min(seconds, self._budget().remaining))
        self._judging_seconds += time.monotonic() - began

    def _budget(self) -> Budget:
        """Return the budget for trials: the time without reservations and pending races."""
        budget = self._ledger.budget(Account.TASKS)
        kept = self._endings.racing_seconds(self._endings.open)
        if math.isfinite(self._ledger.seconds):
            kept += _OVERRUN * self._ledger.seconds
        return budget.until(budget.deadline - kept)

    def _admit(self) -> None:
        """Open the tasks with measured defaults that are to be tuned, heaviest first."""
        for measured in self._defaults.weighed():
            if self._endings.is_complete:
                return
            is_light = measured.share < self._tuner.settings.min_share
            is_eligible = not is_light or self._choice.is_wrong(measured.task)
            if is_eligible and measured.task.key not in self._admitted:
                self._admitted.add(measured.task.key)
                self._endings.open.append(OpenTask(measured))

    def _give_turn(self, task: OpenTask) -> None:
        """Give a task a turn; decide it after its last one."""
        began, is_repair = time.monotonic(), self._choice.needs_repair(task)
        try:
            if task.run is None:
                self._begin(task)
            if task.run is not None:
                run = task.run
                budget = self._budget()
                if run.needs_repair:
                    run.begin_repair(budget)
                    if not self._tuner.is_local:
                        self._begin_next_repairs(task, budget)
                if run.default_is_wrong:
                    run.repair(budget, self._turn_end(task), self._work_aside)
                elif task.is_new and task.is_promising and not self._tuner.is_local:
                    # Try the first candidates of a task, and compile those of the next one as soon as processes are
                    # free.
                    before, is_over = len(run.trials), self._turn_end(task)

                    def is_enough() -> bool:
                        return (
                            len(run.trials) >= before + _MOST_FIRST * self._first_trials
                            or is_over()
                        )

                    def work_aside() -> bool:
                        has_room = run.trials.compiling < self._tuner.compiler.jobs
                        return (has_room and self._begin_next(task)) or self._work_aside()

                    run.trials.explore(
                        budget.limited(before + self._first_trials), is_enough, work_aside
                    )
                else:
                    run.trials.explore(budget, self._turn_end(task), self._work_aside)
                if run.check_best(budget):
                    standing = [each.run.standing for each in self._endings.open if each.run]
                    self._keep([*self.results, *filter(None, standing)])
                if run.trials.ending(budget) is not None:
                    self._endings.decide(task)
        except FatalError:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one task only
            self._endings.lose(task, reason_of(failure))
        self._choice.count_turn(time.monotonic() - began, is_repair=is_repair)

    def _begin_next_repairs(self, task: OpenTask, budget: Budget) -> None:
        """Start to compile candidates of the next tasks to repair, enough to keep the compiler busy.

        A task waits for its draw, or for the candidates of a related one.
        """
        others = [other for other in self._choice.ranked(self._endings.open) if other is not task]
        for following in filter(self._choice.needs_repair, others):
            begun = [open_task.run for open_task in self._endings.open if open_task.run]
            compiling = sum(run.trials.compiling for run in begun)
            if compiling >= _COMPILING_AHEAD * self._tuner.compiler.jobs:
                return
            if self._start.related or self._ahead.has_prepared(following.measured.task):
                self._begin_ahead(following, budget)  # others would have to be prepared and drawn

    def _begin_ahead(self, task: OpenTask, budget: Budget) -> None:
        """Start to compile candidates of a task for its turn."""
        try:
            if task.run is None:
                self._begin(task)
            run = task.run
            if run is not None and run.can_begin_repair():
                run.begin_repair(budget)
            elif run is not None and not run.needs_repair:
                run.trials.begin(budget.limited(self._first_trials))
        except FatalError:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one task only
            self._endings.lose(task, reason_of(failure))

    @property
    def _first_trials(self) -> int:
        return max(TURN_TRIALS, self._tuner.compiler.jobs)

    def _begin_next(self, task: OpenTask) -> bool:
        """Start to compile the first candidates of the next heavy task; return whether there was one."""
        others = self._choice.ranked([other for other in self._endings.open if other is not task])
        following = next((other for other in others if other.is_new and other.is_promising), None)
        if following is None or following.run is not None:
            return False  # one at a time: those that follow learn from it
        if not self._ahead.has_drawn(following.measured.task):
            return False
        self._begin_ahead(following, self._budget())
        return True

    def _turn_end(self, task: OpenTask) -> Callable[[], bool]:
        """Return a function that tests whether the turn of a task is over or a race is due."""
        # A task that is tuned alone has turns, too: after each of them, its best candidate is compared with the default.
        trials, seconds = task.progress.trials + turn_trials(task.progress), math.inf
        if len(self._endings.open) > 1:
            seconds = self._choice.pace.turn_seconds(task.progress)
        if task.is_new:
            new = sum(other.is_new and other.is_promising for other in self._endings.open)
            seconds = min(seconds, self._budget().remaining / (new + 1))
        began, due = time.monotonic(), self._endings.races.due

        def is_over() -> bool:
            limit = _LATEST * seconds if task.is_new else seconds
            is_late = time.monotonic() > min(began + limit, due)
            return is_late or task.progress.trials >= trials

        return is_over

    def _begin(self, task: OpenTask) -> None:
        if reason := self._start.begin(task, self._endings.open):
            self._endings.lose(task, reason)

    def _work_aside(self) -> bool:
        self._tuner.announce_wrong_defaults()
        return self._ahead.prepare_next(self._choice.ranked(self._endings.open)[:_AHEAD])


# --- The choice of the task that gets the next turn, and the start of tasks, prepared ahead of their turn in idle time

_RECENT: Final = 0.5
"""The fraction of a task's trials that counts as recent."""

_PROMISE: Final = 0.5
"""The fraction of its default time that a task is expected to save in the end."""

_HALF_TRIALS: Final = 60
"""The trials after which half of that is saved."""

_LEAST_TRIAL_SECONDS: Final = 0.01
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
        return max(_LEAST_TRIAL_SECONDS, taken / recent)


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
    """

    def __init__(self, judgements: DefaultJudgements | None) -> None:
        self._judgements = judgements
        self._progress: list[Progress] = []
        self._start_seconds = 0.0
        self._turn_seconds = 0.0
        self._repair_seconds = 0.0
        self._repair_turns = 0

    def count_start(self, progress: Progress, seconds: float) -> None:
        """Record the start of a task."""
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
        if task.run is not None:
            return task.run.needs_repair
        return self.is_wrong(task.measured.task)

    def is_wrong(self, task: TuningTask) -> bool:
        return self._judgements is not None and self._judgements.is_wrong(task)


class TaskStart:
    """Begins tasks."""

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
        """Prepare a task for its first turn, or add its weight to the task that the same entry configures."""
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
    """Prepares tasks and draws their first candidates."""

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
