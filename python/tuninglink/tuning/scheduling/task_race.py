"""The race of a task, in steps whose pauses leave room for other work."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.tuning.deciding.race import Race, RaceResult
    from tuninglink.tuning.results.task_result import TaskResult


@dataclass(frozen=True)
class TaskRace:
    """A race whose outcome becomes the result of a task.

    Attributes:
        race: the race.
        conclude: returns the result of the task from the outcome.
    """

    race: Race
    conclude: Callable[[RaceResult], TaskResult]

    @property
    def due(self) -> float:
        """The earliest time of the next step, in seconds of `time.monotonic()`."""
        return self.race.due

    def advance(self) -> TaskResult | None:
        """Run the next step; return the result of the task after the last one.

        Raises:
            DeviceError: the device is gone.
            DatabaseError: a result cannot be stored.
            TuninglinkError: the spec does not reproduce the measured binary.
        """
        self.race.advance()
        return None if self.race.result is None else self.conclude(self.race.result)

    def run(self) -> TaskResult:
        """Run all steps and wait during the pauses. Errors are those of `advance`."""
        while True:
            time.sleep(max(0.0, self.due - time.monotonic()))
            result = self.advance()
            if result is not None:
                return result
