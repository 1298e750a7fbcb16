"""The guard of a run: the whole program is compared with the spec and without, in time that is kept for it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from tuninglink.errors import TuninglinkError
from tuninglink.tuning.deciding.model_run import ModelRuns, ModelVerdict, judge_entries
from tuninglink.tuning.scheduling.ledger import Account
from tuninglink.tuning.scheduling.prices import guard_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.tuning.programs.dispatches import DispatchedProgram
    from tuninglink.tuning.results.task_result import TaskResult
    from tuninglink.tuning.scheduling.default_queue import DefaultQueue
    from tuninglink.tuning.scheduling.ledger import Ledger
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner

_LEAST_PART: Final = 0.7
"""The whole program is compared if this part of the price is left."""


class Guard:
    """Compares a whole program without a spec and with one.

    Args:
        program: the program.
        task_tuner: compiles and measures.
        ledger: the time.
    """

    def __init__(self, program: DispatchedProgram, task_tuner: TaskTuner, ledger: Ledger) -> None:
        self._program = program
        self._task_tuner = task_tuner
        self._ledger = ledger
        self._price = 0.0

    @cached_property
    def _runs(self) -> ModelRuns:
        task_tuner = self._task_tuner
        return ModelRuns(
            self._program,
            task_tuner.compiler,
            task_tuner.devices.first,
            task_tuner.settings.seed,
            deadline=self._ledger.whole.deadline,
        )

    def reserve(self, defaults: DefaultQueue) -> None:
        """Keeps time, as much as the defaults that were measured let expect."""
        if not self._task_tuner.settings.runs_model:
            return
        measured = defaults.measured
        scale = (len(measured) + len(defaults.waiting)) / len(measured)
        seconds = [each.compile_seconds for each in measured] * round(scale)
        program_us = sum(each.task.calls * each.default_us for each in measured) * scale
        self._price = guard_seconds(seconds, program_us, self._task_tuner.compiler.jobs)
        self._ledger.reserve(Account.GUARD, self._price)

    def begin(self) -> None:
        """Begins to compile the program without a spec, unless that would disturb measurements."""
        task_tuner = self._task_tuner
        is_needed = task_tuner.settings.runs_model and not self._ledger.whole.is_stopped
        if is_needed and not task_tuner.is_local:
            self._runs.begin()

    def judge(
        self,
        won: Sequence[TaskResult],
        write: Callable[[Sequence[TaskResult]], str],
        *,
        ended_early: bool,
    ) -> ModelVerdict:
        """Runs the whole program with entries and without, unless there is a reason not to.

        Args:
            won: what has an entry.
            write: writes the spec with some of the entries.
            ended_early: whether a failure ended the run.
        """
        task_tuner = self._task_tuner
        reason = self._obstacle(won, ended_early=ended_early)
        if reason:
            verdict = ModelVerdict(tuple(won), reason=reason)
            if won and task_tuner.settings.runs_model:
                task_tuner.listener.compared(verdict)
            return verdict
        task_tuner.listener.comparing()
        try:
            verdict = judge_entries(won, self._runs, write)
        except TuninglinkError as gone:
            # What was won is worth writing even if the device is gone by now.
            verdict = ModelVerdict(tuple(won), reason=gone.diagnostics[0].message)
        task_tuner.listener.compared(verdict)
        return verdict

    def _obstacle(self, won: Sequence[TaskResult], *, ended_early: bool) -> str:
        """Returns why the program is not compared; nothing if it can be."""
        if not won:
            return "there is no entry"
        if not self._task_tuner.settings.runs_model:
            return "it was not asked for"
        if self._ledger.whole.is_stopped or ended_early:
            return "tuning ended early"
        if self._ledger.whole.remaining < _LEAST_PART * self._price:
            return f"it takes about {self._price:.0f} s, which the budget did not leave"
        return ""
