"""The tuner: dispatches of a program, candidates, trials, winners, a spec that holds them, and progress callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.tuning.candidates.preparation import TunableTask
    from tuninglink.tuning.deciding.verdicts import ModelVerdict
    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.programs.dispatches import DispatchedProgram, Omission, TuningTask
    from tuninglink.tuning.results import OutputVerdict
    from tuninglink.tuning.results.task_result import TaskResult, TrialResult, WrongDefaults
    from tuninglink.tuning.scheduling import Timeline
    from tuninglink.tuning.scheduling.budget import Budget


class Listener:
    """A listener to the steps of a tuner. The base class ignores all events."""

    def found(self, program: DispatchedProgram, devices: Sequence[DeviceDescription]) -> None:
        """Handle the dispatches of a program, once the devices are open."""

    def omitted(self, omission: Omission) -> None:
        """Handle the omission of dispatches."""

    def begun(self, prepared: TunableTask, share: float, default_us: float) -> None:
        """Handle the start of a task."""

    def tried(self, prepared: TunableTask, trial: TrialResult, budget: Budget) -> None:
        """Handle a trial."""

    def racing(self, prepared: TunableTask, finalists: int) -> None:
        """Handle the start of a race."""

    def specializing(self, prepared: TunableTask, ranges: int) -> None:
        """Handle the start of tuning a dynamic task for ranges of sizes."""

    def default_is_wrong(self, task: TuningTask, judgement: OutputVerdict) -> None:
        """Handle a compiler default that computes a wrong result."""

    def ended(self, result: TaskResult) -> None:
        """Handle the result of a task."""

    def comparing(self, entries: int) -> None:
        """Handle the start of whole-program runs, given the number of entries of the spec."""

    def compared(self, verdict: ModelVerdict) -> None:
        """Handle the end of whole-program runs, failed ones included."""

    def repaired(self, wrong: WrongDefaults) -> None:
        """Handle the numbers of replaced and unreplaced wrong defaults, if there are any."""

    def finished(self, timeline: Timeline) -> None:
        """Handle the end of tuning."""
