"""One task of a run: all that is known of it, and the steps of its tuning."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from typing import Final

from tuninglink.devices import Rounds, Stage, Timing
from tuninglink.programs import Benchmark, Correctness, Failure, FailureKind, OutputVerdict
from tuninglink.tuning.candidates import Candidate, TunableTask
from tuninglink.tuning.database import MOST_RELATED
from tuninglink.tuning.deciding import (
    FINALISTS,
    Budget,
    Contestant,
    Decision,
    Ending,
    JudgedOutputs,
    MeasuredTask,
    Outcome,
    Race,
    RaceResult,
    RaceRules,
    SizeChecks,
    TaskOutcome,
    TaskResult,
    TrialResult,
    WinnerVerification,
    best_trials,
    contestant,
    decide,
    least_race_seconds,
    task_race_seconds,
)
from tuninglink.tuning.scheduling.context import TuningContext
from tuninglink.tuning.scheduling.exploration import Exploration, Progress
from tuninglink.tuning.search import FIRST_CANDIDATES, search_named
from tuninglink.workers import finished

FIRST_TRIALS: Final = 8
"""The trials before which a task counts as new."""

_COMPILE_FACTOR: Final = 10.0
_LEAST_COMPILE_SECONDS: Final = 5.0
"""The time limit for compiling a candidate: a multiple of the default's time, but at least this number of seconds."""

_RACING: Final = 0.3
"""The fraction of the time kept for the race if a task is tuned alone."""

_LEAST_PRICE: Final = 0.5
"""A race starts if this fraction of its price is left."""

_RESERVED: Final = 3
"""The number of finalists for which time is kept; more race if time allows."""

_REPAIR_TRIALS: Final = 16
"""The candidates of a first turn that searches for a right one."""

_MOST_REPAIR_TURNS: Final = 4
"""The limit on such turns; after them, a task is tuned like any other."""

_AWAITED_PART: Final = 0.75
"""The part of the candidates of a first turn that it waits for; stragglers are measured later."""

_LEAD: Final = 1.1
"""The speedup in a candidate's own samples from which it is compared with the default at once, not only in the race."""

_NEW_LEAD: Final = 1.03
"""The speedup over the standing winner from which a new best candidate is compared with the default, too."""

_CLEAR_LEAD: Final = 1.2
"""The lower bound of the standing winner's speedup from which its race needs one block of rounds only."""

_LONG_RACE: Final = 0.003
"""The fraction of the run from which such a race, which only chooses among the best candidates, is not worth its time."""

_STANDING_SECONDS: Final = 0.5
_STANDING_PART: Final = 0.02
"""The time for such a comparison: this number of seconds, or this part of the remaining time if that is longer."""

NOT_RACED: Final = "tuning ended before the race"

_DISTURBED: Final = "other work may have disturbed it; tune again on an idle device, or for longer"

_LOST: Final = Failure(FailureKind.COMPILE, "it does not compile again")

_VERDICTS: Final = {
    Outcome.FASTER: TaskOutcome.WON,
    Outcome.NOT_FASTER: TaskOutcome.DEFAULT,
    Outcome.UNDECIDED: TaskOutcome.UNDECIDED,
}


class TaskRun:
    """All that is known of one task, and the steps of its tuning.

    A task begins with its spaces, gets candidates in turns, and is decided in the end. After each turn, its best candidate
    is checked, so that the end of the time does not lose it. Where the compiler's choice computes a wrong result or fails,
    any right candidate wins.

    Attributes:
        measured: the task with the compiler's choice and the task's share of the program's time.
        standing: the result if the run ended now: with a right candidate that was faster in a short race, or that replaces
            a wrong default; None without one.
        is_repaired: whether a right candidate replaces a wrong default.
        race_taken: the seconds that the race has taken.
        race_price: the seconds that the race was expected to take.
    """

    def __init__(self, context: TuningContext, measured: MeasuredTask) -> None:
        self._context = context
        self.measured = measured
        self.standing: TaskResult | None = None
        self.is_repaired = False
        self.race_taken = self.race_price = 0.0
        self._default_us = measured.default_us
        self._prepared: TunableTask | None = None
        self._exploration: Exploration | None = None
        self._related: list[Candidate] = []
        self._repair_turns = 0
        self._rejected: list[tuple[Candidate, Failure]] = []
        self._undecided = Counter[str]()
        self._check: tuple[TrialResult, Future[Failure | None]] | None = None
        self._race: Race | None = None
        self._finish: Callable[[RaceResult], TaskResult]

    def begin(self, prepared: TunableTask) -> None:
        """Begin with the spaces of the task: measure its default again, and open its search."""
        context, measured, spaces = self._context, self.measured, prepared.spaces
        settings, journal, is_wrong = context.settings, context.journal, self.default_is_wrong
        self._prepared = prepared
        if not is_wrong:
            with context.timeline.stage(Stage.DEFAULTS):
                microseconds = context.devices.measure_default(measured.benchmark)
            if not isinstance(microseconds, Failure):
                self._default_us = microseconds
        if journal and measured.failure is None:
            journal.record_default(prepared, self._default_us)
        # The search begins with what is right and fast on related tasks, which most likely is so here, too, and with records
        # of this task in other environments, and of similar tasks.
        prior = journal.prior(prepared) if journal else None
        search = search_named(settings.search)(
            spaces,
            settings.seed,
            None if measured.failure else self._default_us,
            prior.winners(spaces) if prior else [],
            prior.measured() if prior else [],
        )
        if is_wrong and measured.failure is None:
            search.reject(spaces.default)
        self._related = context.related.candidates(spaces.problem, spaces)
        search.prefer(self._related)
        compile_seconds = max(_LEAST_COMPILE_SECONDS, _COMPILE_FACTOR * measured.compile_seconds)
        self._exploration = Exploration(
            context,
            prepared,
            search,
            self._default_us,
            min(compile_seconds, settings.timeout),
            at_any_speed=is_wrong,
            recorded=journal.known(prepared) if journal else None,
            always_race={winner.key for winner in prior.winners_elsewhere(spaces)} if prior else (),
        )
        if context.judgements:
            context.judgements.expect(prepared.task)
        shown_us = math.inf if measured.failure else self._default_us
        context.listener.begun(prepared, measured.share, shown_us)

    @property
    def is_begun(self) -> bool:
        return self._exploration is not None

    @property
    def prepared(self) -> TunableTask:
        assert self._prepared is not None
        return self._prepared

    @property
    def exploration(self) -> Exploration:
        assert self._exploration is not None
        return self._exploration

    @property
    def trials(self) -> Sequence[TrialResult]:
        return self._exploration.trials if self._exploration else ()

    @property
    def progress(self) -> Progress:
        return self._exploration.progress if self._exploration else Progress(self._default_us)

    @property
    def is_new(self) -> bool:
        return len(self.trials) < FIRST_TRIALS

    @property
    def promise(self) -> float:
        """The part of the program's time that tuning may save."""
        return self.measured.share * self.measured.potential

    @property
    def gain(self) -> float:
        """The microseconds of the program that the best candidate saves; a right one saves all of a wrong default."""
        best_us = 0.0 if self.is_repaired else self.progress.best_us
        return self.measured.weight * (self.measured.default_us - best_us)

    # --- Turns -------------------------------------------------------------------------------------------------

    @property
    def _judgement(self) -> OutputVerdict | None:
        judgements = self._context.judgements
        return judgements.verdict(self.measured.task) if judgements else None

    @property
    def default_is_wrong(self) -> bool:
        judgement = self._judgement
        return judgement is not None and judgement.correctness is Correctness.WRONG

    @property
    def needs_repair(self) -> bool:
        """Whether the search for a right candidate comes first."""
        may_repair = not self.is_repaired and self._repair_turns < _MOST_REPAIR_TURNS
        return may_repair and self.default_is_wrong

    @property
    def is_first_repair(self) -> bool:
        return self.needs_repair and not self._repair_turns

    @property
    def is_ready(self) -> bool:
        """Whether the first candidates need not be drawn."""
        if self._prepared is None:
            return False
        spaces = self._prepared.spaces
        is_drawn = spaces.is_drawn(FIRST_CANDIDATES, self._context.settings.seed)
        return is_drawn or len(self._related) >= MOST_RELATED

    def _turn_trials(self, count: int | None) -> int | None:
        """Return the candidates of the next turn: a few of a turn that searches for a right one, or else the given count."""
        if not self.needs_repair:
            return count
        # No candidate shares what is known to be wrong with the default.
        are_likely = len(self._related) >= MOST_RELATED or self.measured.fault
        return MOST_RELATED if are_likely and not self._repair_turns else _REPAIR_TRIALS

    def compile_ahead(self, budget: Budget, count: int) -> None:
        """Start to compile the candidates of the next turn; see `explore`."""
        ahead = self._turn_trials(count) or count
        self.exploration.compile_ahead(budget.limited(len(self.trials) + ahead))

    def explore(
        self,
        budget: Budget,
        count: int | None = None,
        is_over: Callable[[], bool] = lambda: False,
        meanwhile: Callable[[], bool] = lambda: False,
    ) -> None:
        """Try candidates for a turn, a number of them in a first one; see `Exploration.run`."""
        count = self._turn_trials(count)
        if self.is_first_repair and self.measured.failure is None:
            # The search takes a default for right until then.
            self.exploration.search.reject(self.prepared.spaces.default)
        self._repair_turns += self.needs_repair
        if count is None:
            self.exploration.run(budget, is_over, meanwhile)
            return
        trials, before = self.exploration.trials, len(self.trials)

        def is_enough() -> bool:
            return len(trials) >= before + _AWAITED_PART * count or is_over()

        self.exploration.run(budget.limited(before + count), is_enough, meanwhile)

    # --- The standing winner -----------------------------------------------------------------------------------

    @property
    def is_checked(self) -> bool:
        """Whether the outputs of a candidate were compared since the last call of `check_best`."""
        return self._check is not None and self._check[1].done()

    def check_best(self, budget: Budget, *, is_last: bool = False) -> None:
        """Compare the best candidate with the default if it is far faster, so that the end of the time does not lose it.

        Wrong candidates would lead the search astray: they are dropped until the best one is right. A right one that is
        clearly faster in a few interleaved rounds becomes the standing winner, which `decide` returns where there is no
        time for a race. Where the CPU is not the device, outputs are compared in the background, and the next call goes on.
        A right one that replaces a wrong default stands at any speed. The last comparison of a task that gets no race may
        take longer, and is awaited.

        Raises:
            DeviceError: the device is lost.
            DatabaseError: a result cannot be stored.
        """
        if self.default_is_wrong:
            self._end_check()
            self._find_right(budget)
            return
        # The race compares times at all sizes.
        if self._ends_after_trials or self.prepared.task.is_dynamic:
            return
        rules, context = self._rules(), self._context
        rules = replace(rules, places=1, blocks=1, passes=1, gap_seconds=0.0)
        while not budget.is_over:
            # Begin to compare the outputs of the best candidate, if it leads.
            if self._check is None:
                best = self._unchecked(budget, rules, is_last=is_last)
                if best is None:
                    return
                self._check = best, self._begin_check(best, waits=is_last)
            best, job = self._check
            if not (job.done() or is_last):
                return
            self._check = None
            with context.timeline.stage(Stage.REFERENCE):
                failure = job.result()
            if self.default_is_wrong:  # the check has found that out
                return
            if failure is not None:
                self._reject(best, failure)
                continue
            # Compare its time in a few rounds.
            self.exploration.search.confirm(best.candidate)
            result = self._result(budget)
            compiled = context.compiled(self.prepared, best)
            if compiled is not None and compiled.benchmark is not None:
                rivals, timeline = [contestant(compiled, self._default)], context.timeline
                device = context.devices.first
                race = Race(device, self._default, rivals, lambda _: None, rules, timeline=timeline)
                result = raced(context, result, [compiled], race.run())
            if result.verdict is TaskOutcome.WON:
                self._stand(best, result)
            else:
                self._undecided[best.candidate.key] += 1

    def _find_right(self, budget: Budget) -> None:
        """Check the best candidates against the reference until one is right, which replaces a wrong default."""
        while not budget.is_over and (ranked := self._ranked()):
            best = ranked[0]
            right = self.standing.winner if self.standing and self.is_repaired else None
            is_known = right is not None and right.candidate.key == best.candidate.key
            failure = None if is_known else self._failure(best)
            if failure is not None:
                self._reject(best, failure)
                continue
            # The time of a wrong default does not count.
            assert best.microseconds is not None
            self.progress.withdraw(best.microseconds)
            if not is_known:
                self.exploration.search.confirm(best.candidate)
                self.is_repaired = True
                self._stand(best, self._repaired(self._result(budget), best))
            return

    def _stand(self, best: TrialResult, result: TaskResult) -> None:
        """Let a candidate win unless a better one is found, and let related tasks begin with the best ones of this task."""
        self.standing = result
        fast = [trial.candidate for trial in self._ranked()[:MOST_RELATED]]
        self._context.related.add(self.prepared.spaces.problem, fast)
        if not self._context.is_local:
            self._verification.begin(best.candidate)

    def _reject(self, trial: TrialResult, failure: Failure) -> None:
        """Drop a measured candidate that fails or computes a wrong result, and let the search know."""
        self._rejected.append((trial.candidate, failure))
        self._context.keep_failure(self.prepared, trial.candidate, failure)
        self.exploration.reject(trial, failure)

    def _failure(self, trial: TrialResult) -> Failure | None:
        """Return the failure of a candidate's outputs, once the reference is computed; None if they are right."""
        with self._context.timeline.stage(Stage.REFERENCE):
            compiled = self._context.compiled(self.prepared, trial)
            if compiled is None or compiled.benchmark is None:
                return _LOST
            return self._checks.failure(compiled.benchmark)

    @cached_property
    def _checks(self) -> JudgedOutputs:
        return self._context.checks(self.prepared, self.measured.benchmark)

    @cached_property
    def _checks_against_default(self) -> JudgedOutputs:
        return self._context.checks(self.prepared, self.measured.benchmark, has_reference=False)

    def _begin_check(self, trial: TrialResult, *, waits: bool) -> Future[Failure | None]:
        """Compare the outputs of a candidate, here or in the background: with the default's until the reference is computed."""
        context = self._context
        compiled = context.compiled(self.prepared, trial)
        if compiled is None or compiled.benchmark is None:
            return finished(_LOST)
        is_ready = context.references is None or context.references.is_ready(self.prepared.task)
        is_judged = context.judgements is None or (is_ready and self._judgement is not None)
        checks = self._checks if is_judged else self._checks_against_default
        if waits or context.is_local:
            with context.timeline.stage(Stage.REFERENCE):
                return finished(checks.failure(compiled.benchmark))
        return context.threads.submit(checks.failure, compiled.benchmark)

    def _end_check(self) -> None:
        """Wait for the comparison in the background, and drop a candidate that is wrong."""
        if self._check is not None:
            (checked, job), self._check = self._check, None
            with self._context.timeline.stage(Stage.REFERENCE):
                failure = job.result()
            if failure is not None and not self.default_is_wrong:
                self._reject(checked, failure)

    def _unchecked(self, budget: Budget, rules: RaceRules, *, is_last: bool) -> TrialResult | None:
        """Return the best candidate if it leads, and its comparison is new and short; None otherwise."""
        best_us = self._default_us / _LEAD
        if self.standing is not None and self.standing.winner is not None:
            assert self.standing.winner.microseconds is not None
            best_us = self.standing.winner.microseconds / _NEW_LEAD
        best = next(iter(best_trials(self.trials, best_us)), None)
        if best is None or best.microseconds is None or best.microseconds > best_us:
            return None
        # Results of earlier runs have their race in the database, if there was one. Other work may have disturbed the
        # comparison of one that gets no race: it is compared once more.
        if not best.seconds or self._undecided[best.candidate.key] > is_last:
            return None
        price = task_race_seconds(self._default, [contestant(best, self._default)], rules)
        limit = max(_STANDING_SECONDS, _STANDING_PART * budget.remaining)
        return None if price > (budget.remaining if is_last else limit) else best

    # --- The race and the decision -----------------------------------------------------------------------------

    def _ranked(self) -> list[TrialResult]:
        is_wrong = self.default_is_wrong
        return best_trials(self.trials, self._default_us, at_any_speed=is_wrong)

    @property
    def race_seconds(self) -> float:
        """The time to keep for the race of the best few candidates; after few trials, the least price of a race."""
        if self._ends_after_trials or self._needs_no_race:
            return 0.0
        if len(self.trials) < _RESERVED:
            seconds = least_race_seconds(self.measured, self._rules())
        else:
            seconds = self._race_seconds(self._ranked()[:_RESERVED])
        is_long = seconds > _LONG_RACE * self._context.settings.seconds
        return 0.0 if is_long and self._leads_clearly else seconds

    @property
    def _leads_clearly(self) -> bool:
        decision = self.standing.decision if self.standing is not None else None
        is_comparable = not (self.default_is_wrong or self.measured.failure)
        return is_comparable and decision is not None and decision.speedup.low > _CLEAR_LEAD

    def _race_seconds(self, ranked: Sequence[TrialResult]) -> float:
        finalists = [contestant(trial, self._default) for trial in ranked]
        return task_race_seconds(self._default, finalists, self._rules())

    @property
    def _default(self) -> Contestant:
        return Contestant(self.measured.benchmark, self._default_us, stretch=self.measured.stretch)

    def _rules(self, budget: Budget | None = None, places: int = FINALISTS) -> RaceRules:
        """Return the rules of a race: one block of rounds is enough if the standing winner leads clearly."""
        is_wrong = self.default_is_wrong
        rules = self._context.rules(budget or Budget(), places, default_is_wrong=is_wrong)
        return replace(rules, blocks=1) if self._leads_clearly else rules

    @property
    def pause_seconds(self) -> float:
        """The pauses between the blocks of its race, in which other work is done, and before two more to outvote one."""
        rules = self._rules()
        return (rules.blocks + 1) * rules.gap_seconds

    @cached_property
    def _verification(self) -> WinnerVerification:
        context = self._context
        return WinnerVerification(self.prepared, context.compiler, context.settings.timeout)

    @property
    def due(self) -> float:
        """The earliest time of the next step of the race, in seconds of `time.monotonic()`."""
        return 0.0 if self._race is None else self._race.due

    def decide(self, budget: Budget) -> TaskResult | None:
        """Return the result, or begin the race of the best candidates that yields it, and return None."""
        self.exploration.close()
        if self.standing is not None and not 0 < self.race_seconds <= budget.remaining:
            self.check_best(budget, is_last=True)  # a better one may have been found since
        self._end_check()
        result = self._result(budget)
        undecided = replace(result, verdict=TaskOutcome.UNDECIDED)
        if self._ends_after_trials:
            return replace(undecided, reason="the run ends after measurement")
        # A winner of an earlier run is taken without a race.
        if (recorded := self._recorded(result)) is not None:
            return recorded
        standing = self.standing.winner if self.standing is not None else None
        if standing and self._leads_clearly and not self.race_seconds and not budget.is_over:
            # Its outputs may have been compared with the default's only. Elsewhere, it is verified in time for another.
            failure = self._failure(standing)
            if failure is None and not self._context.is_local and standing.benchmark is not None:
                failure = self._verification.failure(standing.candidate, standing.benchmark)
            if failure is not None:
                self._reject(standing, failure)
                self.standing = None
            elif self._leads_clearly:  # the check has not shown that the default is wrong
                self._release_reference()
                judgement = self._checks.judgement
                return self._or_standing(replace(undecided, judgement=judgement))
        ranked = self._ranked()
        if not ranked:
            return result
        # Race as many finalists as the budget allows.
        places = min(len(ranked), FINALISTS)
        while places > 1 and self._race_seconds(ranked[:places]) > budget.remaining:
            places -= 1
        is_short = budget.remaining < _LEAST_PRICE * self._race_seconds(ranked[:places])
        timing = standing.timing if standing else None
        if self.is_repaired and standing and (is_short or self._needs_no_race):
            # A right candidate wins without a race, by the samples of its trial if it was measured in this run.
            self._release_reference()
            result = self._repaired(result, standing)
            if result.decision is not None and timing and self._context.journal:
                rounds = Rounds(_pairs(result, timing), (timing.batch, timing.batch))
                race = RaceResult(0, result.decision, {}, {0: timing}, confirmation=(rounds,))
                self._context.journal.record_race(self.prepared, [standing], race, result.judgement)
            return self._verify(result)
        if self.measured.failure is not None:
            return replace(undecided, reason="no candidate is right")
        if is_short:
            self.check_best(budget, is_last=True)
            return self._or_standing(replace(undecided, reason=NOT_RACED))
        self._begin_race(result, ranked, budget, places)
        return None

    def _begin_race(
        self, result: TaskResult, ranked: Sequence[TrialResult], budget: Budget, places: int
    ) -> None:
        """Begin the race of the best candidates with the default."""
        context, checks, default = self._context, self._checks, self._default
        places += sum(trial.always_races for trial in ranked[places:])
        context.listener.racing(self.prepared, places)
        self.race_price = self.race_seconds
        result = replace(result, judgement=checks.judgement)
        sizes = SizeChecks(checks.device, checks.default, context.settings.seed, checks.failure)
        check = checks.failure if result.default_is_wrong else sizes.failure
        finalists: list[TrialResult] = []

        def draw() -> Iterator[Contestant]:
            for trial in ranked:
                compiled = context.compiled(self.prepared, trial)
                if compiled is not None and compiled.benchmark is not None:
                    finalists.append(compiled)
                    yield contestant(compiled, default)

        def failure(benchmark: Benchmark) -> Failure | None:
            trial = next(trial for trial in finalists if trial.benchmark is benchmark)
            # On a CPU, which is being measured, only the winner is verified, at the end.
            is_late = context.is_local
            lost = None if is_late else self._verification.failure(trial.candidate, benchmark)
            return lost or check(benchmark)

        def finish(race: RaceResult) -> TaskResult:
            self._release_reference()
            outcome = raced(context, result, finalists, race)
            winner = outcome.winner.benchmark if outcome.winner else None
            compared = replace(outcome, sizes=sizes.comparisons(winner))
            return self._or_standing(self._verify(compared))

        # Elsewhere, verification does not disturb the race, and begins at once.
        for trial in () if context.is_local else ranked[:places]:
            self._verification.begin(trial.candidate)
        rules, timeline = self._rules(budget, places), context.timeline
        self._race = Race(checks.device, default, draw(), failure, rules, timeline=timeline)
        self._finish = finish

    def advance_race(self) -> TaskResult | None:
        """Run the next step of the race; return the result of the task after the last one."""
        assert self._race is not None
        began = time.monotonic()
        self._race.advance()
        self.race_taken += time.monotonic() - began
        return None if self._race.result is None else self._finish(self._race.result)

    def end_race(self) -> TaskResult:
        """Run the race to its end, and return the result of the task."""
        assert self._race is not None
        return self._finish(self._race.run())

    def resume_race(self, budget: Budget) -> None:
        """Let a race that waits for time go on in a budget, or end with its next step."""
        assert self._race is not None
        self._race.resume(budget.deadline)

    def _repaired(self, result: TaskResult, best: TrialResult) -> TaskResult:
        """Return the result with a right candidate, by the samples of its trial if there is a default to compare with."""
        result = replace(result, verdict=TaskOutcome.WON, winner=best)
        if self.measured.failure is not None or best.timing is None:
            return result
        settings, pairs = self._context.settings, _pairs(result, best.timing)
        return replace(result, decision=decide([pairs], settings.min_gain, settings.seed))

    def _release_reference(self) -> None:
        if self._context.references:
            self._context.references.release(self.prepared.task)

    def _recorded(self, result: TaskResult) -> TaskResult | None:
        """Return the result with the last recorded race; None if there are trials since."""
        journal, settings = self._context.journal, self._context.settings
        recorded = journal.race(result.prepared) if journal else None
        if recorded is None or any(trial.seconds for trial in result.trials):
            return None
        winner = next((x for x in result.trials if x.candidate.key == recorded.winner), None)
        decision = decide(recorded.blocks, settings.min_gain, settings.seed)
        if decision.outcome is Outcome.UNDECIDED:
            return None
        return self._verify(decided(result, winner, decision))

    def _verify(self, result: TaskResult) -> TaskResult:
        """Verify that a spec reproduces the binary of the winner, if there is one, and return the result."""
        if result.winner is None:
            return result
        winner = self._context.compiled(result.prepared, result.winner)
        if winner is None or winner.benchmark is None:  # verified in an earlier run
            return replace(result, winner=None, verdict=TaskOutcome.UNDECIDED)
        with self._context.timeline.stage(Stage.VERIFICATION):
            self._verification.finish(winner.candidate, winner.benchmark)
        return replace(result, winner=winner)

    def _result(self, budget: Budget) -> TaskResult:
        """Return the result without a winner."""
        over = Ending.INTERRUPTED if budget.is_stopped else Ending.BUDGET
        return TaskResult(
            self.prepared,
            self.measured.share,
            self._default_us,
            tuple(self.trials),
            TaskOutcome.DEFAULT,
            ending=self.exploration.ending(budget) or over,
            failures=tuple(self._rejected),
            judgement=self._judgement,
            default_failure=self.measured.failure,
        )

    def end_early(self, budget: Budget) -> TaskResult:
        """Return the result for the end of a run without a race: the standing winner, if there is one."""
        result = replace(self._result(budget), verdict=TaskOutcome.UNDECIDED, reason=NOT_RACED)
        return self._or_standing(result)

    def _or_standing(self, result: TaskResult) -> TaskResult:
        """Return the result of a race, or the standing winner, verified, if the race could not be measured."""
        # A winner does not stand if the default that it was compared with turned out to be wrong.
        standing = None if self.default_is_wrong and not self.is_repaired else self.standing
        has_decision = result.verdict is not TaskOutcome.UNDECIDED or result.decision is not None
        if has_decision or standing is None or standing.winner is None:
            return result
        winner, decision = standing.winner, standing.decision
        if winner.candidate.key in {candidate.key for candidate, _ in result.failures}:
            return result
        won = replace(result, verdict=standing.verdict, winner=winner, decision=decision, reason="")
        return self._verify(won)

    @property
    def _needs_no_race(self) -> bool:
        is_incomparable = self.measured.failure is not None or self.measured.is_small
        return self.default_is_wrong and is_incomparable

    @property
    def _ends_after_trials(self) -> bool:
        return self._context.settings.stop_after is not None


def _pairs(result: TaskResult, timing: Timing) -> tuple[tuple[float, float], ...]:
    return tuple((result.default_us, microseconds) for microseconds in timing.samples)


def raced(
    context: TuningContext, result: TaskResult, finalists: Sequence[TrialResult], race: RaceResult
) -> TaskResult:
    """Record a race, and return the result with its outcome."""
    if context.journal:
        context.journal.record_race(result.prepared, finalists, race, result.judgement)
    failures = tuple((finalists[at].candidate, failure) for at, failure in race.failures.items())
    for candidate, failure in failures:
        context.keep_failure(result.prepared, candidate, failure)
    result = replace(result, failures=(*result.failures, *failures), reason=race.reason)
    if race.winner is None or race.decision is None:
        return replace(
            result, verdict=TaskOutcome.UNDECIDED if race.reason else TaskOutcome.DEFAULT
        )
    return decided(result, finalists[race.winner], race.decision)


def decided(result: TaskResult, best: TrialResult | None, decision: Decision) -> TaskResult:
    """Return the result with a decision. Against a wrong default, a right candidate wins at any speed."""
    verdict = TaskOutcome.WON if result.default_is_wrong else _VERDICTS[decision.outcome]
    winner = best if verdict is TaskOutcome.WON else None
    result = replace(result, decision=decision, verdict=verdict, winner=winner)
    is_disturbed = verdict is TaskOutcome.UNDECIDED and decision.contrary is not None
    return replace(result, reason=_DISTURBED) if is_disturbed else result


def tune_task(
    context: TuningContext, prepared: TunableTask, measured: MeasuredTask, budget: Budget
) -> TaskResult:
    """Tune a task alone, with a budget for trials and race.

    Raises:
        DeviceError: the device is lost.
        DatabaseError: a result cannot be stored.
        TuninglinkError: the spec does not reproduce the measured binary.
    """
    run = TaskRun(context, measured)
    run.begin(prepared)
    run.exploration.run(budget.part(1 - _RACING))
    return run.decide(budget) or run.end_race()


def compare_candidate(
    context: TuningContext,
    result: TaskResult,
    default: Benchmark,
    trial: TrialResult,
    budget: Budget,
) -> TaskResult:
    """Compare one compiled candidate with the default, which is judged first. A recorded race is reused.

    Raises:
        DeviceError: the device is lost.
        DatabaseError: a result cannot be stored.
    """
    journal, settings = context.journal, context.settings
    checks = context.checks(result.prepared, default)
    result = replace(result, judgement=checks.judgement)
    recorded = journal.race(result.prepared, trial.candidate.key) if journal else None
    if recorded is not None:
        return decided(result, trial, decide(recorded.blocks, settings.min_gain, settings.seed))
    assert trial.benchmark is not None
    context.listener.racing(result.prepared, 1)
    race = Race(
        context.devices.first,
        Contestant(default, result.default_us),
        [Contestant(trial.benchmark, trial.microseconds or result.default_us)],
        checks.failure,
        context.rules(budget, default_is_wrong=result.default_is_wrong),
    )
    return raced(context, result, [trial], race.run())
