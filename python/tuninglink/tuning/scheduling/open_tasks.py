"""Tasks that may get another turn, and unfinished races."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.results.failures import FatalError, reason_of
from tuninglink.tuning.scheduling.task_trials import Progress
from tuninglink.tuning.scheduling.timeline import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.tuning.deciding.defaults import MeasuredTask
    from tuninglink.tuning.results.task_result import TaskResult
    from tuninglink.tuning.scheduling.task_race import TaskRace
    from tuninglink.tuning.scheduling.task_run import TaskRun
    from tuninglink.tuning.scheduling.timeline import Timeline


SMALL: Final = 0.03
"""The share of the program's time below which a task is small."""


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
    def is_small(self) -> bool:
        """Whether the default takes a small share of the program's time."""
        return self.measured.share < SMALL

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
        """The program's gain if the race confirms it; the whole time of a wrong default that is mended."""
        is_mended = self.run is not None and self.run.is_mended
        best_us = 0.0 if is_mended else self.progress.best_us
        return self.measured.task.calls * (self.measured.default_us - best_us)


def share_now(
    task: OpenTask,
    measured: Sequence[MeasuredTask],
    tasks: Sequence[OpenTask],
    results: Sequence[TaskResult],
) -> float:
    """Return the share of a task in the program's time with the best candidates so far.

    Args:
        task: the task.
        measured: the compiler's choices.
        tasks: the open tasks.
        results: the decided tasks.
    """
    calls = {default.task.key: default.task.calls for default in measured}
    best = {default.task.key: default.default_us for default in measured}
    decided = [result for result in results if result.winner is not None]
    best |= {result.task.key: result.decision.tuned_us for result in decided if result.decision}
    best |= {open_task.measured.task.key: open_task.progress.best_us for open_task in tasks}
    times = {key: calls.get(key, 0) * microseconds for key, microseconds in best.items()}
    return times[task.measured.task.key] / max(sum(times.values()), 1e-9)


@dataclass(frozen=True)
class _OpenRace:
    """An unfinished race.

    Attributes:
        task: the task of its candidates.
        race: the race.
        seconds: its estimated duration.
    """

    task: OpenTask
    race: TaskRace
    seconds: float


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

    def __len__(self) -> int:
        return len(self._races)

    @property
    def due(self) -> float:
        """The time of the next step, in seconds of `time.monotonic()`; infinity without a race."""
        return min((race.race.due for race in self._races), default=math.inf)

    @property
    def seconds(self) -> float:
        """The estimated duration of all races."""
        return sum(race.seconds for race in self._races)

    def add(self, task: OpenTask, race: TaskRace, seconds: float) -> None:
        """Add a race with its estimated duration."""
        self._races.append(_OpenRace(task, race, seconds))

    def advance(self) -> None:
        """Run the steps that are due.

        Raises:
            DeviceError: the device is gone.
            DatabaseError: a result cannot be stored.
        """
        while due := [race for race in self._races if race.race.due <= time.monotonic()]:
            self._advance(due[0])

    def wait(self) -> None:
        """Wait until a step is due."""
        with self._timeline.stage(Stage.CONFIRMATION):
            time.sleep(max(0.0, self.due - time.monotonic()))

    def _advance(self, open_race: _OpenRace) -> None:
        try:
            result = open_race.race.advance()
        except FatalError:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one task only
            self._races.remove(open_race)
            self._lose(open_race.task, reason_of(failure))
            return
        if result is not None:
            self._races.remove(open_race)
            self._end(open_race.task, result)
