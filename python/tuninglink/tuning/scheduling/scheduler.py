"""The task scheduler, which gives the time of a run to the tasks with the largest expected gain."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

from tuninglink.devices import Stage
from tuninglink.programs import FatalError, Omission, TuningTask, reason_of
from tuninglink.tuning.candidates import PreparedTask
from tuninglink.tuning.deciding import (
    FAILING_DEFAULT,
    SMALL,
    START_SECONDS,
    WRONG_DEFAULT,
    Account,
    Budget,
    Interrupted,
    Ledger,
    MeasuredTask,
    TaskOutcome,
    TaskResult,
)
from tuninglink.tuning.scheduling.context import TuningContext
from tuninglink.tuning.scheduling.default_queue import DefaultQueue
from tuninglink.tuning.scheduling.exploration import Progress
from tuninglink.tuning.scheduling.task_run import FIRST_TRIALS, NOT_RACED, TaskRun
from tuninglink.tuning.search import FIRST_CANDIDATES, search_named

_OVERRUN: Final = 0.02
"""The fraction of the run by which a turn exceeds its time: pending measurements, and other work."""

_AHEAD: Final = 4
"""The number of the most promising tasks that are prepared ahead of their turns."""

_LATEST: Final = 2.0
"""The multiple of its time after which a turn ends although it had few trials."""

_KEEPING: Final = 0.05
"""The largest fraction of the time for writing the winners so far: many entries take long to write."""

_STANDING_PART: Final = 0.05
"""The largest fraction of the run for races of tasks with a standing winner."""


class Scheduler:
    """Tunes tasks in turns until all have converged or the time is over, then decides all.

    Args:
        context: what the tasks of the run share.
        prepare: prepares a task; raises an exception if it cannot be tuned.
        omit: receives the omitted tasks.
        keep: receives the results of all winners so far whenever there is a new one.

    Attributes:
        open: the tasks that may get another turn.
        racing: the tasks whose races are not finished.
        results: the results of the decided tasks.
        untried: the tasks without a turn.
    """

    def __init__(
        self,
        context: TuningContext,
        ledger: Ledger,
        prepare: Callable[[TuningTask], PreparedTask],
        omit: Callable[[Omission], None],
        keep: Callable[[Sequence[TaskResult]], object] = lambda _: None,
    ) -> None:
        self._context = context
        self._ledger = ledger
        self._prepare = prepare
        self._omit = omit
        self._keep = keep
        self._choice = TaskChoice()
        self._admitted: set[str] = set()
        self._drawn: set[str] = set()
        self._by_matcher: dict[str, TaskRun] = {}
        self._raced_seconds = self._priced_seconds = self._keep_due = 0.0
        self.open: list[TaskRun] = []
        self.racing: list[TaskRun] = []
        self.results: list[TaskResult] = []
        self.untried: list[MeasuredTask] = []

    @property
    def repair_seconds(self) -> float:
        """The time of the search for one right candidate, as measured; an estimate before the first one."""
        repairs = self._choice.repairs
        return sum(repairs) / len(repairs) if repairs else _REPAIR_SECONDS

    def run(
        self,
        tasks: Sequence[TuningTask],
        reserve: Callable[[DefaultQueue], None],
        deciding: Callable[[Sequence[TaskResult]], None] = lambda _: None,
        between_turns: Callable[[], None] = lambda: None,
        begun: Callable[[Sequence[TuningTask]], object] = lambda _: None,
    ) -> None:
        """Tune tasks.

        Args:
            tasks: the tasks.
            reserve: reserves time in the ledger once the first defaults are measured.
            deciding: receives the results of all winners so far before the last races.
            between_turns: updates reservations in the ledger.
            begun: receives the tasks, heaviest first, before the first defaults are measured.

        Raises:
            DeviceError: the device is lost.
            DatabaseError: a result cannot be stored.
            TuninglinkError: none of the program's dispatches runs on the devices.
        """
        defaults = DefaultQueue(self._context, tasks, self._omit, self._draw)
        defaults.submit()
        # Draw candidates of the heaviest tasks while the first defaults compile.
        with self._context.timeline.stage(Stage.SPACES):
            search_named(self._context.settings.search)  # may load a large library
            begun(list(defaults.waiting))
            for task in list(defaults.waiting):
                if defaults.is_ready or self._budget().is_over:
                    break
                self._draw(task)
        defaults.measure(self._budget(), only_called=True)
        reserve(defaults)
        decided = -1
        while len(self.results) > decided:  # unused time may suffice for other tasks
            decided = len(self.results)
            self._give_turns(defaults, between_turns)
            if (standing := self._standing) or self._keep_due:
                self._keep(standing)
            self._admit(defaults)
            self.untried = [task.measured for task in self.open if not task.trials]
            self.untried += [] if self._is_complete else defaults.estimated()
            deciding(standing)
            self._decide_all()
        self._omit_rest(defaults.waiting)

    def _budget(self) -> Budget:
        """Return the budget for trials: the time without reservations and pending races."""
        budget = self._ledger.budget()
        kept = self._racing_seconds(self.open)
        if math.isfinite(self._ledger.seconds):
            kept += _OVERRUN * self._ledger.seconds
        return budget.until(budget.deadline - kept)

    @contextmanager
    def _losing(self, task: TaskRun) -> Iterator[None]:
        """Omit a task if a block raises an error, unless the devices or the database are lost."""
        try:
            yield
        except FatalError:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one task only
            self._lose(task, reason_of(failure))

    # --- Turns -----------------------------------------------------------------------------------------------

    def _give_turns(self, defaults: DefaultQueue, between_turns: Callable[[], None]) -> None:
        """Give turns to tasks until all have converged or the time for turns is over."""
        judgements = self._context.judgements
        while not self._budget().is_over:
            # Do what is due: races, and checks that the background has ended. Open the tasks with measured defaults.
            between_turns()
            self._advance_races()
            for task in [task for task in self.open if task.is_checked]:
                with self._losing(task):
                    self._check(task)
            self._context.announce_wrong_defaults()
            self._admit(defaults)
            # Choose a task, and give it a turn.
            self._choice.seconds = self._budget().remaining
            is_late = self._choice.seconds < START_SECONDS
            tasks = [task for task in self.open if task.is_begun or not is_late]
            chosen = next(iter(self._choice.ranked(tasks)), None)
            if chosen is not None:
                self._give_turn(chosen)
            elif defaults.waiting and not self._is_complete:
                defaults.measure(self._budget())
            elif any(math.isfinite(task.due) for task in self.racing):
                self._await_race()
            elif judgements and judgements.is_busy:
                judgements.wait(self._budget().remaining)
            else:
                break
        if judgements:
            judgements.close()

    def _admit(self, defaults: DefaultQueue) -> None:
        """Open the tasks with measured defaults that are to be tuned, heaviest first."""
        for measured in defaults.weighed():
            if self._is_complete:
                return
            task = TaskRun(self._context, measured)
            is_heavy = measured.share >= self._context.settings.min_share
            is_new = measured.task.key not in self._admitted
            if is_new and (is_heavy or task.default_is_wrong):
                self._admitted.add(measured.task.key)
                self.open.append(task)

    @property
    def _is_complete(self) -> bool:
        top = self._context.settings.top
        return top is not None and len(self.open) + len(self.racing) + len(self.results) >= top

    def _give_turn(self, task: TaskRun) -> None:
        """Give a task a turn; decide it after its last one."""
        began, is_repair = time.monotonic(), task.needs_repair
        is_first = not is_repair and not task.trials
        with self._losing(task):
            self._begin(task)
            if task in self.open:
                # Explore candidates, then make sure that the best one is right and fast.
                self._explore(task)
                if is_first:
                    self._choice.count_first(task)
                self._check(task)
                if task.exploration.ending(self._budget()) is not None:
                    self._decide(task)
        seconds = time.monotonic() - began
        self._choice.turn_seconds += seconds
        self._choice.repairs += [seconds] if is_repair else []

    def _check(self, task: TaskRun, *, is_last: bool = False) -> None:
        """Make sure that the best candidate of a task is right and fast, and keep it then."""
        standing = task.standing
        task.check_best(self._ledger.budget(), is_last=is_last)
        winners = self._standing if task.standing is not standing else []
        if winners and time.monotonic() >= self._keep_due:
            start = time.monotonic()
            self._keep(winners)
            self._keep_due = (end := time.monotonic()) + (end - start) / _KEEPING

    @property
    def _standing(self) -> list[TaskResult]:
        """The results of all winners so far."""
        tasks = [*self.open, *self.racing]
        tasks = [task for task in tasks if task.is_repaired or not task.default_is_wrong]
        results = [*self.results, *filter(None, (task.standing for task in tasks))]
        return [result for result in results if result.verdict is TaskOutcome.WON]

    def _begin(self, task: TaskRun) -> None:
        """Prepare a task for its first turn, or add its weight to the task that the same entry configures."""
        if task.is_begun:
            return
        began = time.monotonic()
        with self._context.timeline.stage(Stage.SPACES):
            prepared = self._prepare(task.measured.task)
        other = self._by_matcher.setdefault(prepared.matcher, task)
        if other is not task:
            share = other.measured.share + task.measured.share
            other.measured = replace(other.measured, share=share)
            name = other.measured.task.name
            self._lose(task, f"it is configured by the same entry as {name}, which is heavier")
            return
        task.begin(prepared)
        self._choice.starts.append((task.progress, time.monotonic() - began))

    def _explore(self, task: TaskRun) -> None:
        """Try candidates of a task until its turn is over."""
        # A task that is tuned alone has turns, too: after each of them, its best candidate is compared with the default.
        budget, progress, seconds = self._budget(), task.progress, math.inf
        trials = progress.trials + turn_trials(progress)
        if len(self.open) > 1:
            seconds = self._choice.pace.turn_seconds(progress)
        if task.is_new:
            new = sum(map(self._choice.is_first, self.open))
            seconds = _LATEST * min(seconds, self._budget().remaining / (new + 1))
        # A race may be due before. Wrong defaults come first, and leave one another time.
        end = min([time.monotonic() + seconds, *(task.due for task in self.racing)])
        if task.needs_repair:
            part = budget.remaining / sum(other.needs_repair for other in self.open)
            end = time.monotonic() + max(START_SECONDS, part)

        def is_over() -> bool:
            return time.monotonic() > end or progress.trials >= trials

        def work_aside() -> bool:
            # Compile the first candidates of the next task as soon as processes are free, or draw candidates of others.
            self._context.announce_wrong_defaults()
            if self._context.is_local:  # the CPU is being measured
                return False
            if (count is not None or task.needs_repair) and self._compile_ahead(task):
                return True
            promising = self._choice.ranked(self.open)[:_AHEAD]
            following = next((task.measured.task for task in promising if not task.is_begun), None)
            if following is None or following.key in self._drawn:
                return False
            self._draw(following)
            return True

        is_first = task.is_new and not self._context.is_local
        count = self._first_trials(task) if is_first else None
        task.explore(budget, count, is_over, work_aside)

    def _first_trials(self, task: TaskRun) -> int:
        """Return the candidates of a first turn: the few best guesses for a task of little weight."""
        many = max(TURN_TRIALS, self._context.compiler.jobs)
        return FIRST_TRIALS if task.promise < SMALL else many

    def _compile_ahead(self, current: TaskRun) -> bool:
        """Start to compile the first candidates of the next task once processes are free; return whether there was one."""
        compiling = sum(task.exploration.compiling for task in self.open if task.is_begun)
        others = [task for task in self.open if task is not current and not task.is_begun]
        first = [task for task in others if task.needs_repair or self._choice.is_first(task)]
        following = next(iter(self._choice.ranked(first)), None)
        if following is None or compiling >= self._context.compiler.jobs:
            return False
        if not self._draw(following.measured.task):
            return False  # others would wait for its draw
        with self._losing(following):
            self._begin(following)
            if following.is_begun:
                following.compile_ahead(self._budget(), self._first_trials(following))
        return True

    def _draw(self, task: TuningTask) -> bool:
        """Begin to draw the first candidates of a task; return whether they are drawn."""
        self._drawn.add(task.key)
        with suppress(Exception):  # its turn reports the error
            spaces = self._prepare(task).spaces
            return spaces.begin_sample(FIRST_CANDIDATES, self._context.settings.seed)
        return False

    # --- Races and ends of tasks -----------------------------------------------------------------------------

    def _racing_seconds(self, tasks: Sequence[TaskRun]) -> float:
        """Return the time to keep for the races of the given tasks and for unfinished races."""
        begun = [task for task in tasks if task.is_begun]
        if not (begun or self.racing):
            return 0.0
        # Races so far took longer than their price by this factor.
        slowdown = max(1.0, self._raced_seconds / (self._priced_seconds or math.inf))
        left = [slowdown * task.race_price - task.race_taken for task in self.racing]
        # The race of a task with a standing winner may only find a slightly better one.
        undecided = [task for task in begun if task.standing is None]
        standing = sum(task.race_seconds for task in begun if task.standing is not None)
        standing = min(standing, _STANDING_PART * self._ledger.seconds)
        races = sum(task.race_seconds for task in undecided) + standing
        # The pauses of several races overlap.
        pauses = max((task.pause_seconds for task in undecided + self.racing), default=0.0)
        return sum(max(0.0, seconds) for seconds in left) + slowdown * races + pauses

    def _decide_all(self) -> None:
        """Decide the tasks that had a turn, largest gain first."""
        self._ledger.release(Account.REFERENCE)  # races start with this comparison
        # What leads stays, even if races take the time; the comparison of its outputs may not have ended before.
        for task in sorted(self.open, key=lambda task: -task.gain):
            if task.trials and task.standing is None:
                with self._losing(task):
                    self._check(task, is_last=True)
        waiting = sorted(self.open, key=lambda task: -task.gain)
        for position, task in enumerate(waiting):
            if not task.is_begun:
                continue
            left = self._ledger.budget().remaining
            if not (self._has_winner or self.racing) and left < task.race_seconds:
                self._ledger.release(Account.GUARD)  # a comparison needs a winner
            # A race of many finalists does not take the time of tasks that gain, too.
            others = [other for other in waiting[position + 1 :] if other.gain > 0]
            reserved = self._racing_seconds(others)
            surplus = left - reserved - task.race_seconds
            spare = surplus * len(others) / (len(others) + 1)
            reserved = self._racing_seconds(()) if surplus < 0 else reserved + spare
            self._decide(task, reserved, is_last=False)
            self._advance_races()
        self._end_races()
        # Races may take less than their price: tasks without a race get the remaining time.
        for task in [task for task in self.open if task.is_begun]:
            self._decide(task, self._racing_seconds(()))
        self._end_races()
        if not self._has_winner:
            self._ledger.release(Account.GUARD)

    @property
    def _has_winner(self) -> bool:
        is_won = any(result.verdict is TaskOutcome.WON for result in self.results)
        return is_won or any(task.standing for task in [*self.open, *self.racing])

    def _decide(
        self, task: TaskRun, reserved: float | None = None, *, is_last: bool = True
    ) -> None:
        """Start the race of a task's best candidates, or take its result without one."""
        budget = self._ledger.budget()
        if not task.trials and task.exploration.ending(budget) is None:
            return  # it counts as a task without a turn
        if reserved is None:
            reserved = self._racing_seconds([other for other in self.open if other is not task])
        with self._losing(task):
            result = task.decide(budget.until(budget.deadline - reserved))
            if result is not None and result.reason == NOT_RACED and not is_last:
                return
            self.open.remove(task)
            if result is None:
                self.racing.append(task)
            else:
                self._end(task, result)

    def _advance_races(self) -> None:
        """Run the steps of races that are due. Pauses between the blocks of a race leave room for other work."""
        while task := next((task for task in self.racing if task.due <= time.monotonic()), None):
            with self._losing(task):
                result = task.advance_race()
                if result is not None:
                    self.racing.remove(task)
                    self._raced_seconds += task.race_taken
                    self._priced_seconds += task.race_price
                    self._end(task, result)

    def _await_race(self) -> None:
        with self._context.timeline.stage(Stage.CONFIRMATION):
            time.sleep(max(0.0, min(task.due for task in self.racing) - time.monotonic()))

    def _end_races(self) -> None:
        with suppress(Interrupted), self._ledger.whole.ending():
            while self.racing:
                if all(math.isinf(task.due) for task in self.racing):
                    # Races that other work has disturbed get the time that is left, largest gain first.
                    self.racing.sort(key=lambda task: -task.gain)
                    for task in self.racing:
                        task.resume_race(self._ledger.budget())
                self._await_race()
                self._advance_races()
        while self.racing:  # after an interrupt
            with self._losing(task := self.racing.pop()):
                self._end(task, task.end_early(self._ledger.budget()))

    def _end(self, task: TaskRun, result: TaskResult) -> None:
        self.results.append(replace(result, share=task.measured.share))
        self._context.listener.ended(self.results[-1])

    def keep_standing(self) -> None:
        """End the undecided tasks that have a standing winner with it, after an error that ends the run."""
        for task in [*self.open, *self.racing]:
            with suppress(Exception):  # the error that ended the run is reported
                if task.standing is not None:
                    self._end(task, task.end_early(self._ledger.budget()))

    def _lose(self, task: TaskRun, reason: str) -> None:
        """Omit a task for a reason."""
        for tasks in (self.open, self.racing):
            if task in tasks:
                tasks.remove(task)
        measured, wrong = task.measured, ""
        if task.default_is_wrong:
            wrong = f"; {FAILING_DEFAULT if measured.failure else WRONG_DEFAULT}"
        self._omit(Omission(measured.task.dispatches, reason + _part(measured.share) + wrong))

    def _omit_rest(self, waiting: Sequence[TuningTask]) -> None:
        """Omit the tasks without a turn: open tasks, and tasks with unmeasured defaults."""
        why = "tuning was interrupted" if self._ledger.whole.is_stopped else "the budget was over"
        for task in list(self.open):
            if task.default_is_wrong:
                self._lose(task, f"{why} before its turn")
        rest = [task.measured.task for task in self.open]
        part = _part(sum(task.measured.share for task in self.open))
        if not self._is_complete:
            rest += waiting
        if rest:
            dispatches = tuple(name for task in rest for name in task.dispatches)
            turn = "its turn" if len(dispatches) == 1 else "their turn"
            self._omit(Omission(dispatches, f"{why} before {turn}{part}"))


def _part(share: float) -> str:
    return f" ({share:.0%} of the time)" if share >= SMALL else ""


# --- The choice of the task that gets the next turn

TURN_TRIALS: Final = 20
_RECENT: Final = 0.5
"""The recent trials of a task: at least this number, and this fraction of all. A turn has half of them, but as many at
least."""

_PROMISE: Final = 0.5
"""The fraction of its default time that a task is expected to save in the end."""

_HALF_TRIALS: Final = 60
"""The trials after which half of that is saved."""

_FIRST_SAVING: Final = 0.1
_EXPECTED_AS: Final = 2
"""The fraction of the time of a task without a turn that its first one is expected to save, before any task had a turn, and
the number of turns that weigh as much as this expectation."""

_LEAST_TRIAL_SECONDS: Final = 0.01
"""The least time of a trial, in seconds. Results of earlier runs take less."""


@dataclass(frozen=True)
class Pace:
    """The pace of tuning on a device.

    Attributes:
        start_seconds: the time of a task before its first trial and for its race.
        first_saving: the fraction of its time that the first turn of a task saves.
    """

    start_seconds: float = START_SECONDS
    first_saving: float = _FIRST_SAVING
    trial_seconds: float = 0.15

    def turn_seconds(self, progress: Progress) -> float:
        """Return the time of the next turn of a task, by that of its recent trials."""
        recent = min(progress.trials, _window(progress))
        if not recent:
            return turn_trials(progress) * self.trial_seconds
        taken = progress.seconds - progress.seconds_after(progress.trials - recent)
        return turn_trials(progress) * max(_LEAST_TRIAL_SECONDS, taken / recent)

    def expected_gain(self, calls: float, progress: Progress, potential: float = 1.0) -> float:
        """Return the microseconds that a program gains in each second of a task's next turn.

        Progress counts in trials, since the time of a trial may change by orders of magnitude: after a poor default,
        slow candidates are measured in full until a better one is known. The potential is the fraction of the time of the
        calls that tuning may save.
        """
        past, turn = progress.trials, turn_trials(progress)
        saved = potential * _PROMISE * progress.best_us
        behind = past + _HALF_TRIALS
        promise = saved * _HALF_TRIALS * turn / (behind * (behind + turn))
        if not past:
            seconds = self.start_seconds + FIRST_TRIALS * self.trial_seconds
            return calls * potential * self.first_saving * progress.best_us / seconds
        seconds = self.turn_seconds(progress)
        # The best time goes on falling by the same factor, not by the same time. What the first candidates saved after a
        # poor default says nothing on the next ones.
        window = _window(progress)
        before = max(past - window, min(past, FIRST_TRIALS))
        factor = min(1.0, progress.best_us / progress.best_after(before))
        trend = progress.best_us * (1 - math.pow(factor, turn / window))
        return calls * (promise + trend) / seconds / 2


def turn_trials(progress: Progress) -> float:
    return max(TURN_TRIALS, _RECENT / 2 * progress.trials)


def _window(progress: Progress) -> int:
    return max(TURN_TRIALS, math.ceil(_RECENT * progress.trials))


_FEWEST_TRIALS: Final = 16
"""The least trials for estimating their time."""

_RACE_SECONDS: Final = 2.0
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

    def __init__(self) -> None:
        self.seconds = math.inf  # left for turns
        self.starts: list[tuple[Progress, float]] = []  # with the seconds before the first trial
        self.turn_seconds = 0.0  # of all turns
        self.repairs: list[float] = []  # seconds of turns that searched for a right candidate
        self._first_savings = [_FIRST_SAVING] * _EXPECTED_AS

    def count_first(self, task: TaskRun) -> None:
        """Record what the first turn of a task has saved: defaults that are far off are so in many tasks."""
        default_us = task.progress.best_after(0)
        if 0 < task.progress.best_us < math.inf and math.isfinite(default_us):
            saved = 1.0 - task.progress.best_us / default_us
            self._first_savings.append(saved / task.measured.potential)

    @property
    def pace(self) -> Pace:
        """The pace of tuning so far."""
        trials = sum(progress.trials for progress, _ in self.starts)
        if trials < _FEWEST_TRIALS:
            return Pace()
        seconds = sum(progress.seconds for progress, _ in self.starts)
        starts = sum(start for _, start in self.starts) / len(self.starts)
        first = sum(self._first_savings) / len(self._first_savings)
        return Pace(starts + _RACE_SECONDS, min(1.0, first), seconds / trials)

    def is_first(self, task: TaskRun) -> bool:
        """Return whether the first candidates of a task come before further ones of others."""
        # They do if the task is heavy, or if its part of the program's time is larger than theirs of what is left.
        pace = self.pace
        seconds = pace.start_seconds - _RACE_SECONDS + FIRST_TRIALS * pace.trial_seconds
        least = min(SMALL, seconds / self.seconds) if self.seconds > 0 else SMALL
        return task.is_new and task.promise >= least

    def ranked(self, tasks: Sequence[TaskRun]) -> list[TaskRun]:
        """Return tasks, most promising first."""
        pace = self.pace
        has_repaired_enough = sum(self.repairs) > _REPAIR_SHARE * self.turn_seconds

        def promise(task: TaskRun) -> tuple[bool, bool, bool, bool, bool, float]:
            measured, progress = task.measured, task.progress
            is_new = self.is_first(task)
            may_wait = has_repaired_enough and measured.is_small and task.is_begun
            is_urgent = task.needs_repair and (task.is_first_repair or not may_wait)
            is_first = is_urgent and task.is_first_repair
            is_ready = is_first and task.is_ready
            potential = measured.potential
            if task.is_repaired and progress.best_us > measured.default_us:
                # The wrong default shows what the device can do.
                potential = max(potential, (1 - measured.default_us / progress.best_us) / _PROMISE)
            gain = pace.expected_gain(measured.weight, progress, potential)
            return is_urgent, is_first, is_ready, is_new, is_new and task.is_begun, gain

        return sorted(tasks, key=promise, reverse=True)
