"""Tasks that may get another turn, unfinished races, and the ends of tasks: results with or without a race, and omissions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuninglink.tuning.deciding.defaults import SMALL, MeasuredTask
from tuninglink.tuning.programs.dispatches import Omission, TuningTask
from tuninglink.tuning.results import FatalError, reason_of
from tuninglink.tuning.results.task_result import TaskOutcome, TaskResult
from tuninglink.tuning.scheduling import Stage, Timeline
from tuninglink.tuning.scheduling.budget import Account, Ledger
from tuninglink.tuning.scheduling.task_run import NOT_RACED, TaskRun
from tuninglink.tuning.scheduling.task_trials import FIRST_TRIALS, Progress
from tuninglink.tuning.scheduling.task_tuner import TaskRace

if TYPE_CHECKING:
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner


@dataclass
class OpenTask:
    """A task that may get another turn.

    Attributes:
        measured: the compiler's choice and the share of the task.
        run: the tuning of the task; None before its first turn.
    """

    measured: MeasuredTask
    run: TaskRun | None = None

    @property
    def is_new(self) -> bool:
        """Whether too few candidates were tried to estimate the possible gain."""
        return self.run is None or len(self.run.trials) < FIRST_TRIALS

    @property
    def is_promising(self) -> bool:
        """Whether tuning may save more than a small share of the program's time."""
        return self.measured.share * self.measured.potential >= SMALL

    @property
    def progress(self) -> Progress:
        """The progress of the best time."""
        return self.run.trials.progress if self.run else Progress(self.measured.default_us)

    @property
    def gain(self) -> float:
        """The program's gain if the race confirms it; the whole time of a wrong default that is repaired."""
        is_repaired = self.run is not None and self.run.is_repaired
        best_us = 0.0 if is_repaired else self.progress.best_us
        return self.measured.weight * (self.measured.default_us - best_us)


@dataclass
class _OpenRace:
    """An unfinished race.

    Attributes:
        task: the task of its candidates.
        race: the race.
        seconds: its estimated duration.
        taken: the seconds that its steps took so far.
    """

    task: OpenTask
    race: TaskRace
    seconds: float
    taken: float = 0.0


class OpenRaces:
    """The unfinished races. Each advances after its pause.

    Args:
        timeline: records the time of the pauses.
        end: receives the result of a task.
        lose: receives a task that ends with an error, and the reason.
    """

    def __init__(
        self,
        timeline: Timeline,
        end: Callable[[OpenTask, TaskResult], None],
        lose: Callable[[OpenTask, str], None],
    ) -> None:
        self._timeline = timeline
        self._end = end
        self._lose = lose
        self._races: list[_OpenRace] = []
        self._estimated = 0.0
        self._taken = 0.0

    def __len__(self) -> int:
        return len(self._races)

    @property
    def due(self) -> float:
        """The time of the next step, in seconds of `time.monotonic()`; infinity without a race."""
        return min((race.race.due for race in self._races), default=math.inf)

    @property
    def seconds(self) -> float:
        """The estimated duration of the rest of all races."""
        return sum(max(0.0, self.slowdown * race.seconds - race.taken) for race in self._races)

    @property
    def slowdown(self) -> float:
        """The factor by which races take longer than estimated: others may use the machine, too."""
        return max(1.0, self._taken / self._estimated) if self._estimated else 1.0

    def add(self, task: OpenTask, race: TaskRace, seconds: float) -> None:
        """Add a race with its estimated duration."""
        self._races.append(_OpenRace(task, race, seconds))

    def advance(self) -> None:
        """Run the steps that are due.

        Raises:
            DeviceError: the device is lost.
            DatabaseError: a result cannot be stored.
        """
        while due := [race for race in self._races if race.race.due <= time.monotonic()]:
            self._advance(due[0])

    def wait(self) -> None:
        """Wait until a step is due."""
        with self._timeline.stage(Stage.CONFIRMATION):
            time.sleep(max(0.0, self.due - time.monotonic()))

    def _advance(self, open_race: _OpenRace) -> None:
        began = time.monotonic()
        try:
            result = open_race.race.advance()
        except FatalError:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one task only
            self._races.remove(open_race)
            self._lose(open_race.task, reason_of(failure))
            return
        open_race.taken += time.monotonic() - began
        if result is not None:
            self._races.remove(open_race)
            self._estimated += open_race.seconds
            self._taken += open_race.taken
            self._end(open_race.task, result)


class TaskEndings:
    """Ends open tasks with a result, or omits them.

    Args:
        tuner: runs races.
        ledger: the time of the run.
        omit: receives the omitted tasks.
        is_wrong: returns whether the default of a task computes a wrong result.

    Attributes:
        open: the tasks that have neither ended nor started a race.
        races: the unfinished races.
        results: the decided tasks.
    """

    def __init__(
        self,
        tuner: TaskTuner,
        ledger: Ledger,
        omit: Callable[[Omission], None],
        is_wrong: Callable[[TuningTask], bool],
    ) -> None:
        self._tuner, self._ledger = tuner, ledger
        self._omit = omit
        self._is_wrong = is_wrong
        self.open: list[OpenTask] = []
        self.races = OpenRaces(tuner.timeline, self._end, self.lose)
        self.results: list[TaskResult] = []

    @property
    def is_complete(self) -> bool:
        """Whether the limit on tuned tasks is reached."""
        top = self._tuner.settings.top
        return top is not None and len(self.open) + len(self.races) + len(self.results) >= top

    def racing_seconds(self, tasks: Sequence[OpenTask]) -> float:
        """Return the time to keep for the races of the given tasks and for unfinished races."""
        begun = [task.run for task in tasks if task.run is not None]
        if not (begun or self.races):
            return 0.0
        rules = self._tuner.rules(self._ledger.whole, default_is_wrong=False)
        pauses = (rules.blocks - 1) * rules.gap_seconds  # the pauses of several races overlap
        priced = sum(run.race_seconds for run in begun)
        return self.races.seconds + self.races.slowdown * priced + pauses

    def decide_all(self) -> None:
        """Decide the tasks that had a turn, largest gain first."""
        self._ledger.release(Account.REFERENCE)  # races start with this comparison
        waiting = sorted(self.open, key=lambda open_task: -open_task.gain)
        for position, task in enumerate(waiting):
            if task.run is None:
                continue
            left = self._ledger.budget(Account.TASKS).remaining
            if not (self._has_winner or self.races) and left < task.run.race_seconds:
                self._ledger.release(Account.GUARD)  # a comparison needs a winner
            # A race of many finalists does not take the time of tasks that gain, too.
            others = [other for other in waiting[position + 1 :] if other.gain > 0]
            reserved = self.racing_seconds(others)
            surplus = left - reserved - task.run.race_seconds
            if surplus < 0:
                reserved = self.racing_seconds(())
            else:
                reserved += surplus * len(others) / (len(others) + 1)
            self.decide(task, reserved=reserved, is_last=False)
            self.races.advance()
        self._end_races()
        # Races may take less than their price: tasks without a race get the remaining time.
        for task in [task for task in self.open if task.run is not None]:
            self.decide(task, reserved=self.racing_seconds(()))
        self._end_races()
        if not self._has_winner:
            self._ledger.release(Account.GUARD)

    @property
    def _has_winner(self) -> bool:
        return any(result.verdict is TaskOutcome.WON for result in self.results)

    def _end_races(self) -> None:
        while self.races:
            self.races.wait()
            self.races.advance()

    def decide(
        self, task: OpenTask, *, reserved: float | None = None, is_last: bool = True
    ) -> None:
        """Start the race of a task's best candidates, or take its result without one.

        Args:
            task: the task.
            reserved: the seconds to keep; by default, those for the races of all open tasks.
            is_last: whether a task ends if there is too little time for its race; else it stays open.
        """
        assert task.run is not None
        budget = self._ledger.budget(Account.TASKS)
        if not len(task.run.trials) and task.run.trials.ending(budget) is None:
            return  # it counts as a task without a turn
        self.open.remove(task)
        if reserved is None:
            reserved = self.racing_seconds(self.open)
        try:
            decided = task.run.decide(budget.until(budget.deadline - reserved))
            if isinstance(decided, TaskRace):
                self.races.add(task, decided, task.run.race_seconds)
            elif decided.reason == NOT_RACED and not is_last:
                self.open.append(task)
            else:
                self._end(task, decided)
        except FatalError:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one task only
            self.lose(task, reason_of(failure))

    def _end(self, task: OpenTask, result: TaskResult) -> None:
        self.results.append(replace(result, share=task.measured.share))
        self._tuner.listener.ended(self.results[-1])

    def lose(self, task: OpenTask, reason: str) -> None:
        """Omit a task for a reason."""
        if task in self.open:
            self.open.remove(task)
        wrong = "; the default's result is wrong" if self._is_wrong(task.measured.task) else ""
        measured = task.measured
        self._omit(Omission(measured.task.dispatches, reason + _part(measured.share) + wrong))

    def omit_rest(self, waiting: Sequence[TuningTask]) -> None:
        """Omit the tasks without a turn: open tasks, and tasks with unmeasured defaults."""
        why = "tuning was interrupted" if self._ledger.whole.is_stopped else "the budget was over"
        for task in list(self.open):
            if self._is_wrong(task.measured.task):
                self.lose(task, f"{why} before its turn")
        rest = [open_task.measured.task for open_task in self.open]
        part = _part(sum(open_task.measured.share for open_task in self.open))
        if not self.is_complete:
            rest += waiting
        if rest:
            dispatches = tuple(name for task in rest for name in task.dispatches)
            turn = "its turn" if len(dispatches) == 1 else "their turn"
            self._omit(Omission(dispatches, f"{why} before {turn}{part}"))


def _part(share: float) -> str:
    """Return a phrase for the untuned share of the program's time; empty if it is small."""
    return f" ({share:.0%} of the time)" if share >= SMALL else ""
