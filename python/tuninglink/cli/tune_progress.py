"""Saying how tuning goes on, on standard error."""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from tuninglink.tuning.devices.timing import duration
from tuninglink.tuning.listener import Listener
from tuninglink.tuning.results.task_result import TaskOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.candidates.tunable import TunableTask
    from tuninglink.tuning.deciding.model_run import ModelVerdict
    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.programs.dispatches import DispatchedProgram, Omission
    from tuninglink.tuning.results.task_result import (
        FunctionComparison,
        ModelComparison,
        TaskResult,
        TrialResult,
    )
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.scheduling.timeline import Timeline


class ProgressLines(Listener):
    """Writes a line for each step, and on a terminal one that changes with each trial."""

    def __init__(self) -> None:
        self._is_watched = sys.stderr.isatty()
        self._default = 0.0
        self._best = 0.0
        self._tried = 0
        self._failed = 0

    def found(self, program: DispatchedProgram, devices: Sequence[DeviceDescription]) -> None:
        """Names the devices."""
        names = ", ".join(each.uri for each in devices)
        problems = _count(len(program.tasks), "problem")
        calls = sum(each.calls for each in program.tasks)
        self._say(f"{problems} in {_count(calls, 'call')}, on {devices[0].name} ({names})")

    def omitted(self, omission: Omission) -> None:
        """Names what is not tuned."""
        self._say(f"not tuned: {omission}")

    def begun(self, prepared: TunableTask, share: float, default_us: float) -> None:
        """Names what is tuned next."""
        self._default = self._best = default_us
        self._tried = self._failed = 0
        what = f"{prepared.task.name}: {prepared.spaces.problem}"
        self._say(f"{what}: {duration(default_us)}, {share:.0%} of the time")

    def tried(self, prepared: TunableTask, trial: TrialResult, budget: Budget) -> None:  # noqa: ARG002
        """Shows the best so far."""
        self._tried += 1
        self._failed += trial.failure is not None
        is_best = trial.microseconds is not None and trial.microseconds < self._best
        if is_best and trial.microseconds is not None:
            self._best = trial.microseconds
        if not (is_best or self._is_watched):
            return
        failed = f", {self._failed} failed" if self._failed else ""
        left = budget.remaining
        rest = "" if math.isinf(left) else f", {left:.0f} s left"
        best = f"best {duration(self._best)} ({self._default / self._best:.2f}x)"
        self._say(f"  {self._tried} tried{failed}, {best}{rest}", is_fleeting=not is_best)

    def racing(self, prepared: TunableTask, finalists: int) -> None:  # noqa: ARG002
        """Says that the best candidates are compared."""
        self._say(f"  comparing {_count(finalists, 'candidate')} with the compiler's choice")

    def ended(self, result: TaskResult) -> None:
        """Says what became of a task."""
        for candidate, failure in result.wrong:
            self._say(f"  wrong result of {candidate}: {failure.message}")
        self._say(f"  {_outcome(result)}")

    def comparing(self) -> None:
        """Says that the whole program is run."""
        self._say("running the whole program with the spec and without")

    def compared(self, verdict: ModelVerdict) -> None:
        """Says how that went."""
        for failure in verdict.failures:
            self._say(f"  an entry was left out, as the program fails with it: {failure}")
        comparison = verdict.comparison
        if comparison is None:
            self._say(f"not guarded: the whole program was not compared: {verdict.reason}")
            return
        for function in comparison.functions if len(comparison.functions) > 1 else ():
            weight = f" x {function.weight}" if function.weight > 1 else ""
            self._say(f"  {function.name}{weight}: {_comparison(function)}")
        self._say(f"  {_comparison(comparison)}")
        for note in comparison.notes:
            self._say(f"  {note}")

    def finished(self, timeline: Timeline) -> None:
        """Says where the time went."""
        total = timeline.total
        stages = sorted(timeline.times.items(), key=lambda each: -each[1].seconds)
        parts = ", ".join(f"{name.value} {each.seconds:.1f} s" for name, each in stages)
        busy = total.use.busy_seconds / total.seconds
        self._say(f"{total.seconds:.1f} s, the device busy for {busy:.0%} of it: {parts}")

    def _say(self, text: str, *, is_fleeting: bool = False) -> None:
        erase = "\r\033[K" if self._is_watched else ""
        with suppress(OSError):  # the terminal may be closed
            print(f"{erase}{text}", end="" if is_fleeting else "\n", file=sys.stderr, flush=True)  # noqa: T201


def _comparison(comparison: ModelComparison | FunctionComparison) -> str:
    times = f"{comparison.default_ms:.4g} ms, with the spec {comparison.tuned_ms:.4g} ms"
    return f"{times}: {comparison.speedup}"


def _outcome(result: TaskResult) -> str:
    tried = f"{_count(len(result.trials), 'candidate')} tried"
    decision = result.decision
    if result.verdict is TaskOutcome.WON and decision is not None:
        times = f"{duration(decision.default_us)} to {duration(decision.tuned_us)}"
        return f"won: {decision.speedup}, {times}; {tried}"
    if result.verdict is TaskOutcome.UNDECIDED:
        interval = f": {decision.speedup}" if decision is not None else ""
        reason = f": {result.reason}" if result.reason else ""
        return f"undecided{interval}{reason}; {tried}"
    return f"nothing is faster than the compiler's choice; {tried}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
