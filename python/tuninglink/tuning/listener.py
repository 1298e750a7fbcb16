"""Being told how tuning goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.candidates.tunable import TunableTask
    from tuninglink.tuning.deciding.entry_verdict import ModelVerdict
    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.programs.dispatches import DispatchedProgram, Omission, TuningTask
    from tuninglink.tuning.references.output_verdict import OutputVerdict
    from tuninglink.tuning.results.task_result import TaskResult, TrialResult
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.scheduling.timeline import Timeline


class Listener:
    """Is told about each step of a tuner; this one does nothing with it."""

    def found(self, program: DispatchedProgram, devices: Sequence[DeviceDescription]) -> None:
        """The dispatches of a program are known, and the devices are open."""

    def omitted(self, omission: Omission) -> None:
        """Dispatches are not tuned."""

    def begun(self, prepared: TunableTask, share: float, default_us: float) -> None:
        """A task is tuned next."""

    def tried(self, prepared: TunableTask, trial: TrialResult, budget: Budget) -> None:
        """A candidate was tried."""

    def racing(self, prepared: TunableTask, finalists: int) -> None:
        """The best candidates of a task are compared."""

    def specializing(self, prepared: TunableTask, ranges: int) -> None:
        """A dynamic task is tuned for ranges of its sizes next."""

    def default_is_wrong(self, task: TuningTask, judgement: OutputVerdict) -> None:
        """The compiler's own choice computes something else than the dispatch should."""

    def ended(self, result: TaskResult) -> None:
        """It is known what became of a task."""

    def comparing(self) -> None:
        """The whole program is about to be run."""

    def compared(self, verdict: ModelVerdict) -> None:
        """The whole program was run, or could not be."""

    def finished(self, timeline: Timeline) -> None:
        """Tuning is over."""
