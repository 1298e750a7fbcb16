"""The tuning of one task: trials in turns, repair of a wrong default, and the decision."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.database import MOST_RELATED, RelatedTrials
from tuninglink.tuning.deciding import (
    FINALISTS,
    SMALL,
    Account,
    Budget,
    Contestant,
    Ending,
    Ledger,
    MeasuredTask,
    RaceRules,
    TaskOutcome,
    TaskResult,
    TrialResult,
    best_trials,
    contestant,
    least_race_seconds,
    task_race_seconds,
)
from tuninglink.tuning.devices import Stage, Timeline
from tuninglink.tuning.programs import (
    Correctness,
    Failure,
    FailureKind,
    FatalError,
    Omission,
    OutputVerdict,
    TuningTask,
    reason_of,
)
from tuninglink.tuning.scheduling.exploration import FIRST_TRIALS, Progress, TaskTrials
from tuninglink.tuning.scheduling.task_tuner import TaskRace
from tuninglink.tuning.search import FIRST_CANDIDATES

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import Candidate, TunableTask
    from tuninglink.tuning.deciding import JudgedOutputs
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner


_RACING: Final = 0.3
"""The fraction of the time kept for the race if a task is tuned alone."""

_LEAST_PRICE: Final = 0.5
"""A race starts if this fraction of its price is left."""

_RESERVED: Final = 3
"""The number of finalists for which time is kept; more race if time allows."""

_REPAIR_TRIALS: Final = 16
"""The candidates of a first turn that searches for a right one."""

_AWAITED_PART: Final = 0.75
"""The part of them that such a turn waits for."""

_MOST_REPAIR_TURNS: Final = 4
"""The limit on such turns; after them, a task is tuned like any other."""

_LEAD: Final = 1.3
"""The speedup in a candidate's own samples from which it is compared with the default at once, not only in the race."""

_NEW_LEAD: Final = 1.1
"""The speedup over the standing winner from which a new best candidate is compared with the default, too."""

_STANDING_SECONDS: Final = 0.5
_STANDING_PART: Final = 0.02
"""The time for such a comparison: this number of seconds, or this part of the remaining time if that is longer."""

NOT_RACED: Final = "the budget was over before the race"

NO_RACE: Final = "the run ends after measurement"


class TaskRun:
    """The tuning of one task, in turns, with a decision at the end."""

    def __init__(
        self,
        tuner: TaskTuner,
        prepared: TunableTask,
        measured: MeasuredTask,
        related: RelatedTrials | None = None,
    ) -> None:
        self._tuner = tuner
        self.prepared = prepared
        self.measured = measured
        self.default_us = measured.default_us if self.default_is_wrong else self._measure_default()
        self._related = related if related is not None else RelatedTrials()
        self._verification = tuner.verification(prepared)
        self.is_repaired = False
        self._repair_turns = 0
        self._right: set[str] = set()
        self.standing: TaskResult | None = None  # the result if the run ended now
        self._rejected: list[tuple[Candidate, Failure]] = []
        if tuner.journal:
            tuner.journal.record_default(prepared, self.default_us)
        self._related_candidates: list[Candidate] = []
        self.trials = TaskTrials(
            tuner,
            prepared,
            self.default_us,
            measured.compile_seconds,
            at_any_speed=self.default_is_wrong,
        )
        if tuner.judgements:
            tuner.judgements.expect(prepared.task)
        tuner.listener.begun(prepared, measured.share, self.default_us)

    def _measure_default(self) -> float:
        with self._tuner.timeline.stage(Stage.DEFAULTS):
            microseconds = self._tuner.devices.measure_default(self.measured.benchmark)
        return self.measured.default_us if isinstance(microseconds, Failure) else microseconds

    # --- A wrong default -------------------------------------------------------------------------------------

    @property
    def _judgement(self) -> OutputVerdict | None:
        judgements = self._tuner.judgements
        return judgements.verdict(self.prepared.task) if judgements else None

    @property
    def default_is_wrong(self) -> bool:
        judgement = self._judgement
        return judgement is not None and judgement.correctness is Correctness.WRONG

    @property
    def needs_repair(self) -> bool:
        """Whether the search for a right candidate comes first."""
        return (
            not self.is_repaired
            and self._repair_turns < _MOST_REPAIR_TURNS
            and self.default_is_wrong
        )

    @property
    def is_first_repair(self) -> bool:
        return self.needs_repair and not self._repair_turns

    def can_begin_repair(self) -> bool:
        """Look for candidates of related tasks; return whether a first turn need not wait for a draw."""
        self._begin_with_related()
        seed = self._tuner.settings.seed
        is_drawn = self.prepared.spaces.sampler.is_drawn(FIRST_CANDIDATES, seed)
        return self.is_first_repair and (is_drawn or self._has_related)

    @property
    def _has_related(self) -> bool:
        return len(self._related_candidates) >= MOST_RELATED

    def _begin_with_related(self) -> None:
        """Look for candidates of related tasks, unless trials have begun."""
        if not (len(self.trials) or self._related_candidates):
            spaces = self.prepared.spaces
            self._related_candidates = self._related.candidates(spaces.problem, spaces)
            self.trials.prefer(self._related_candidates)

    @property
    def _repair_trials(self) -> int:
        is_short = self._has_related and not self._repair_turns
        return MOST_RELATED if is_short else _REPAIR_TRIALS

    def begin_repair(self, budget: Budget) -> None:
        """Start to compile the candidates that `repair` will try."""
        self._begin_with_related()
        self.trials.begin(budget.limited(len(self.trials) + self._repair_trials))

    def repair(
        self,
        budget: Budget,
        is_over: Callable[[], bool] = lambda: False,
        meanwhile: Callable[[], bool] = lambda: False,
    ) -> None:
        """Try candidates, and check the best ones until one is right."""
        if self.needs_repair:
            self._begin_with_related()
            before, count = len(self.trials), self._repair_trials
            self._repair_turns += 1
            few = budget.limited(before + count)
            enough = before + _AWAITED_PART * count
            self.trials.explore(few, lambda: len(self.trials) >= enough, meanwhile)
        else:
            self.trials.explore(budget, is_over, meanwhile)
        while not budget.is_over and (ranked := self._ranked()):
            best = ranked[0]
            failure = None if best.candidate.key in self._right else self._failure(best)
            if failure is None:
                self._right.add(best.candidate.key)
                self.is_repaired = True
                assert best.microseconds is not None
                self.trials.progress.withdraw(
                    best.microseconds
                )  # the time of a wrong default does not count
                fast = [trial.candidate for trial in ranked[:MOST_RELATED]]
                self._related.add(self.prepared.spaces.problem, fast)
                if not self._tuner.is_local:
                    self._verification.begin(best.candidate)
                return
            self._reject(best, failure)

    def _reject(self, trial: TrialResult, failure: Failure) -> None:
        """Drop a measured candidate that fails or computes a wrong result, and let the search know."""
        self._rejected.append((trial.candidate, failure))
        self._tuner.keep_failure(self.prepared, trial.candidate, failure)
        self.trials.reject(trial, failure)

    def _failure(self, trial: TrialResult) -> Failure | None:
        """Return the failure of a candidate's outputs; None if they are right."""
        compiled = self._tuner.compiled(self.prepared, trial)
        if compiled is None or compiled.benchmark is None:
            return Failure(FailureKind.COMPILE, "it does not compile again")
        with self._tuner.timeline.stage(Stage.REFERENCE):
            return self._checks.failure(compiled.benchmark)

    @cached_property
    def _checks(self) -> JudgedOutputs:
        return self._tuner.checks(self.prepared, self.measured.benchmark)

    # --- The standing winner -----------------------------------------------------------------------------------

    def check_best(self, budget: Budget) -> TaskResult | None:
        """Compare the best candidate with the default if it is far faster, so that the end of the time does not lose it.

        Wrong candidates would lead the search astray: they are dropped until the best one is right. A right one that is
        clearly faster in a few interleaved rounds becomes the standing winner, which `decide` returns where there is no
        time for a race.

        Returns:
            The result with the new standing winner; None if there is none.

        Raises:
            DeviceError: the device is lost.
            DatabaseError: a result cannot be stored.
        """
        # `repair` checks candidates against the reference, and the race compares times at all sizes.
        if self.default_is_wrong or self._ends_after_trials or self.prepared.task.is_dynamic:
            return None
        best_us = self.default_us / _LEAD
        if self.standing is not None and self.standing.winner is not None:
            assert self.standing.winner.microseconds is not None
            best_us = self.standing.winner.microseconds / _NEW_LEAD
        while not budget.is_over:
            best = next(iter(best_trials(self.trials.all, best_us)), None)
            if best is None or best.microseconds is None or best.microseconds > best_us:
                return None
            if not best.seconds:
                return None  # it is in the database, with its race if there was one, which is not run again
            finalist = contestant(best, self._default)
            rules = replace(self._rules, places=1, blocks=1, passes=1, gap_seconds=0.0)
            price = task_race_seconds(self._default, [finalist], rules)
            if price > max(_STANDING_SECONDS, _STANDING_PART * budget.remaining):
                return None
            if best.candidate.key not in self._right:
                failure = self._failure(best)
                if self.default_is_wrong:  # the check has found that out
                    return None
                if failure is not None:
                    self._reject(best, failure)
                    continue
                self._right.add(best.candidate.key)
            result = self._tuner.stand(self._result(budget), self._default, best, rules)
            if result.verdict is not TaskOutcome.WON:
                return None
            self.standing = result
            return result
        return None

    # --- Deciding --------------------------------------------------------------------------------------------

    def _ranked(self) -> list[TrialResult]:
        is_wrong = self.default_is_wrong
        return best_trials(self.trials.all, self.default_us, at_any_speed=is_wrong)

    @property
    def race_seconds(self) -> float:
        """The time to keep for the race of the best few candidates; after few trials, the least price of a race."""
        if self._ends_after_trials or self._needs_no_race:
            return 0.0
        if len(self.trials) < _RESERVED:
            return least_race_seconds(self.measured, self._rules)
        return self._race_seconds(self._ranked()[:_RESERVED])

    def _race_seconds(self, ranked: Sequence[TrialResult]) -> float:
        finalists = [contestant(trial, self._default) for trial in ranked]
        return task_race_seconds(self._default, finalists, self._rules)

    @property
    def _default(self) -> Contestant:
        return Contestant(self.measured.benchmark, self.default_us, stretch=self.measured.stretch)

    @property
    def _rules(self) -> RaceRules:
        return self._tuner.rules(Budget(), FINALISTS, default_is_wrong=self.default_is_wrong)

    def decide(self, budget: Budget) -> TaskResult | TaskRace:
        """Return the result, or the race of the best candidates that yields it."""
        self.trials.close()
        tuner = self._tuner
        result = self._result(budget)
        if self._ends_after_trials:
            return replace(result, verdict=TaskOutcome.UNDECIDED, reason=NO_RACE)
        # A winner of an earlier run is taken without a race.
        recorded = tuner.recorded(result)
        if recorded is not None:
            return recorded
        ranked = self._ranked()
        if not ranked:
            return result
        # Race as many finalists as the budget allows.
        places = min(len(ranked), FINALISTS)
        while places > 1 and self._race_seconds(ranked[:places]) > budget.remaining:
            places -= 1
        is_short = budget.remaining < _LEAST_PRICE * self._race_seconds(ranked[:places])
        right = self._fastest_right(ranked)
        if right is not None and (is_short or self._needs_no_race):
            return tuner.unraced(result, right, self._verification)
        if is_short:
            not_raced = replace(result, verdict=TaskOutcome.UNDECIDED, reason=NOT_RACED)
            return self.or_standing(not_raced)
        return tuner.race(result, self._default, self._checks, ranked, budget, places=places)

    def _result(self, budget: Budget) -> TaskResult:
        """Return the result without a winner."""
        over = Ending.INTERRUPTED if budget.is_stopped else Ending.BUDGET
        return TaskResult(
            self.prepared,
            self.measured.share,
            self.default_us,
            tuple(self.trials.all),
            TaskOutcome.DEFAULT,
            ending=self.trials.ending(budget) or over,
            failures=tuple(self._rejected),
            judgement=self._judgement,
        )

    def end_standing(self) -> TaskResult | None:
        """Return the result with the standing winner, for the end of a run without a race."""
        return None if self.standing is None else self._with_standing(self._result(Budget(0.0)))

    def or_standing(self, result: TaskResult) -> TaskResult:
        """Return the result of a race, or the standing winner if the race could not be measured."""
        standing = self.standing
        has_decision = result.verdict is not TaskOutcome.UNDECIDED or result.decision is not None
        if has_decision or standing is None or standing.winner is None:
            return result
        failed = {candidate.key for candidate, _ in result.failures}
        return result if standing.winner.candidate.key in failed else self._with_standing(result)

    def _with_standing(self, result: TaskResult) -> TaskResult:
        """Return a result with the standing winner, verified."""
        standing = self.standing
        assert standing is not None
        won = replace(
            result,
            verdict=standing.verdict,
            winner=standing.winner,
            decision=standing.decision,
            reason="",
        )
        return self._tuner.verified(won, self._verification)

    @property
    def _needs_no_race(self) -> bool:
        return self.default_is_wrong and self.measured.is_small

    @property
    def _ends_after_trials(self) -> bool:
        return self._tuner.settings.stop_after is not None

    def _fastest_right(self, ranked: Sequence[TrialResult]) -> TrialResult | None:
        """Return the fastest candidate that is known to be right where the compiler's choice is wrong."""
        return next(
            (
                trial
                for trial in ranked
                if trial.candidate.key in self._right and trial.timing is not None
            ),
            None,
        )


def tune_task(
    tuner: TaskTuner, prepared: TunableTask, measured: MeasuredTask, budget: Budget
) -> TaskResult:
    """Tune a task alone.

    Args:
        tuner: compiles and measures.
        prepared: the task.
        measured: the compiler's choice.
        budget: the time for trials and race.

    Raises:
        DeviceError: the device is lost.
        DatabaseError: a result cannot be stored.
        TuninglinkError: the spec does not reproduce the measured binary.
    """
    run = TaskRun(tuner, prepared, measured)
    run.trials.explore(budget.part(1 - _RACING))
    decided = run.decide(budget)
    return decided.run() if isinstance(decided, TaskRace) else decided


# --- Tasks that may get another turn, unfinished races, and the ends of tasks: results with or without a race, and omissions


@dataclass
class OpenTask:
    """A task that may get another turn."""

    measured: MeasuredTask
    run: TaskRun | None = None

    @property
    def is_new(self) -> bool:
        return self.run is None or len(self.run.trials) < FIRST_TRIALS

    @property
    def is_promising(self) -> bool:
        return self.measured.share * self.measured.potential >= SMALL

    @property
    def progress(self) -> Progress:
        return self.run.trials.progress if self.run else Progress(self.measured.default_us)

    @property
    def gain(self) -> float:
        is_repaired = self.run is not None and self.run.is_repaired
        best_us = 0.0 if is_repaired else self.progress.best_us
        return self.measured.weight * (self.measured.default_us - best_us)


@dataclass
class _OpenRace:
    """An unfinished race."""

    task: OpenTask
    race: TaskRace
    seconds: float
    taken: float = 0.0


class OpenRaces:
    """The unfinished races. Each advances after its pause."""

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
        return min((race.race.due for race in self._races), default=math.inf)

    @property
    def seconds(self) -> float:
        return sum(max(0.0, self.slowdown * race.seconds - race.taken) for race in self._races)

    @property
    def slowdown(self) -> float:
        return max(1.0, self._taken / self._estimated) if self._estimated else 1.0

    @property
    def tasks(self) -> list[OpenTask]:
        return [race.task for race in self._races]

    def add(self, task: OpenTask, race: TaskRace, seconds: float) -> None:
        self._races.append(_OpenRace(task, race, seconds))

    def advance(self) -> None:
        """Run the steps that are due."""
        while due := [race for race in self._races if race.race.due <= time.monotonic()]:
            self._advance(due[0])

    def wait(self) -> None:
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
    """Ends open tasks with a result, or omits them."""

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
        """Start the race of a task's best candidates, or take its result without one."""
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
        if task.run is not None:
            result = task.run.or_standing(result)
        self.results.append(replace(result, share=task.measured.share))
        self._tuner.listener.ended(self.results[-1])

    def keep_standing(self) -> None:
        """End the undecided tasks that have a standing winner with it."""
        for task in [*self.open, *self.races.tasks]:
            with suppress(Exception):  # the error that ended the run is reported
                standing = task.run.end_standing() if task.run is not None else None
                if standing is not None:
                    self._end(task, standing)

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
    return f" ({share:.0%} of the time)" if share >= SMALL else ""
