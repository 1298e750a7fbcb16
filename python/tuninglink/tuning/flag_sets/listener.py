"""The tuner: dispatches of a program, candidates, trials, winners, a spec that holds them, and progress callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.errors import Diagnostic
    from tuninglink.tuning.candidates import TunableTask
    from tuninglink.tuning.deciding import (
        Budget,
        ModelVerdict,
        TaskResult,
        TrialResult,
        WrongDefaults,
    )
    from tuninglink.tuning.devices import DeviceDescription, Timeline
    from tuninglink.tuning.flag_sets.comparison import FlagsResult
    from tuninglink.tuning.flag_sets.sets import FlagSet
    from tuninglink.tuning.programs import (
        DispatchedProgram,
        Failure,
        Omission,
        OutputVerdict,
        TuningTask,
    )


class Listener:
    """A listener to the steps of a tuner. The base class ignores all events.

    `tune` pickles it for the process that tunes dispatches.
    """

    def noticed(self, diagnostic: Diagnostic) -> None:
        """Handle a remark or a warning."""

    def during(self, activity: str) -> AbstractContextManager[object]:  # noqa: ARG002
        """Return a context for an activity without further events, such as `compiling model.mlir`."""
        return nullcontext()

    def interrupts(self, budget: Budget) -> AbstractContextManager[object]:  # noqa: ARG002
        """Return a context in which interrupts stop a budget; by default, they have their usual effect."""
        return nullcontext()

    def comparing_sets(self) -> None:
        """Handle the start of a comparison of sets of flags, alone or with the specs tuned under them."""

    def sets_compared(self, result: FlagsResult) -> None:
        """Handle the end of such a comparison."""

    def tuning_under(self, flag_set: FlagSet) -> None:
        """Handle the start of tuning dispatches under a set of flags."""

    def found(self, program: DispatchedProgram, devices: Sequence[DeviceDescription]) -> None:
        """Handle the dispatches of a program, once the devices are open."""

    def omitted(self, omission: Omission) -> None:
        """Handle the omission of dispatches."""

    def begun(self, prepared: TunableTask, share: float, default_us: float) -> None:
        """Handle the start of a task; the time of a default that fails is infinite."""

    def tried(self, prepared: TunableTask, trial: TrialResult, budget: Budget) -> None:
        """Handle a trial."""

    def racing(self, prepared: TunableTask, finalists: int) -> None:
        """Handle the start of a race."""

    def specializing(self, prepared: TunableTask, ranges: int) -> None:
        """Handle the start of tuning a dynamic task for ranges of sizes."""

    def default_is_wrong(self, task: TuningTask, judgement: OutputVerdict) -> None:
        """Handle a compiler default that computes a wrong result."""

    def default_fails(self, task: TuningTask, failure: Failure) -> None:
        """Handle a compiler default that does not compile, or fails on the device."""

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
