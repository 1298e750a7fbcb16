"""The tools for tuning a task: compiler, devices, journal, races in steps, and verification."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding import (
    Contestant,
    Decision,
    DefaultJudgements,
    JudgedOutputs,
    Outcome,
    Race,
    RaceResult,
    RaceRules,
    SizeChecks,
    TaskOutcome,
    TaskResult,
    TrialResult,
    WinnerVerification,
    contestant,
    decide,
)
from tuninglink.tuning.devices import Rounds, Stage, Timeline
from tuninglink.tuning.flag_sets import Listener
from tuninglink.tuning.programs import Failure

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import Candidate, CandidateCompiler, TunableTask
    from tuninglink.tuning.database import Journal, RecordedRace
    from tuninglink.tuning.deciding import Budget, TuningSettings
    from tuninglink.tuning.devices import DeviceSet
    from tuninglink.tuning.programs import Benchmark
    from tuninglink.tuning.references import References, Reproducers


@dataclass(frozen=True)
class TaskRace:
    """A race whose outcome becomes the result of a task."""

    race: Race
    conclude: Callable[[RaceResult], TaskResult]

    @property
    def due(self) -> float:
        return self.race.due

    def advance(self) -> TaskResult | None:
        """Run the next step; return the result of the task after the last one."""
        self.race.advance()
        return None if self.race.result is None else self.conclude(self.race.result)

    def run(self) -> TaskResult:
        """Run all steps and wait during the pauses. Errors are those of `advance`."""
        while True:
            time.sleep(max(0.0, self.due - time.monotonic()))
            result = self.advance()
            if result is not None:
                return result


_VERDICTS: Final = {
    Outcome.FASTER: TaskOutcome.WON,
    Outcome.NOT_FASTER: TaskOutcome.DEFAULT,
    Outcome.UNDECIDED: TaskOutcome.UNDECIDED,
}


@dataclass(frozen=True)
class TaskTuner:
    """Tunes tasks, one at a time.

    Attributes:
        settings: the settings of the run.
        compiler: compiles candidates.
        devices: the devices for measurements.
        listener: receives progress events.
        journal: records results; None for no record.
        reproducers: stores reproducers of failures; None for none.
        timeline: records the time of the stages.
        references: the references of dispatches; None compares candidates with the compiler's choices only.
    """

    settings: TuningSettings
    compiler: CandidateCompiler
    devices: DeviceSet
    listener: Listener = field(default_factory=Listener)
    journal: Journal | None = None
    reproducers: Reproducers | None = None
    timeline: Timeline = field(default_factory=Timeline)
    references: References | None = None

    @cached_property
    def judgements(self) -> DefaultJudgements | None:
        """The verdicts on the compiler's choices; None without references."""
        if self.references is None:
            return None
        first = self.devices.first
        return DefaultJudgements(first, self.references, in_background=not self.is_local)

    @property
    def is_local(self) -> bool:
        """Whether the compiling CPU is also the device."""
        return self.devices.first.description.is_local

    def recorded(self, result: TaskResult) -> TaskResult | None:
        """Return the result of a task with its last recorded race; None if there are trials since."""
        recorded = self.journal.race(result.prepared) if self.journal else None
        if recorded is None or any(trial.seconds for trial in result.trials):
            return None
        winner = next((x for x in result.trials if x.candidate.key == recorded.winner), None)
        return self.verified(self._decided(result, winner, self._decision(recorded)))

    def unraced(
        self, result: TaskResult, best: TrialResult, verification: WinnerVerification
    ) -> TaskResult:
        """Return the result with a right candidate that wins without a race, by the samples of its trial.

        Args:
            result: the result so far; the compiler's choice is wrong.
            best: the candidate, whose outputs were compared with the reference.
            verification: verifies that a spec reproduces its binary.
        """
        timing = best.timing
        assert timing is not None
        samples = tuple((result.default_us, microseconds) for microseconds in timing.samples)
        decision = decide([samples], self.settings.min_gain, self.settings.seed)
        rounds = Rounds(samples, (timing.batch, timing.batch))
        race = RaceResult(0, decision, {}, {0: timing}, confirmation=(rounds,))
        if self.references:
            self.references.release(result.task)
        return self.verified(self._raced(result, [best], race), verification)

    def stand(
        self, result: TaskResult, default: Contestant, best: TrialResult, rules: RaceRules
    ) -> TaskResult:
        """Return the result of a short race of a right candidate with the default, as the standing winner if it is faster.

        Args:
            result: the result so far.
            default: the compiler's choice.
            best: the candidate.
            rules: the rules of the race, of one place and one block.
        """
        compiled = self.compiled(result.prepared, best)
        if compiled is None or compiled.benchmark is None:
            return result
        race = Race(
            self.devices.first,
            default,
            [contestant(compiled, default)],
            lambda _: None,
            rules,
            timeline=self.timeline,
        )
        return self._raced(result, [compiled], race.run())

    def race(
        self,
        result: TaskResult,
        default: Contestant,
        checks: JudgedOutputs,
        ranked: Sequence[TrialResult],
        budget: Budget,
        *,
        places: int,
    ) -> TaskRace:
        """Return the race of the best candidates with the default.

        Args:
            result: the result so far.
            default: the compiler's choice.
            checks: the checks of candidates' outputs.
            ranked: the candidates that may win, best first.
            budget: the time limit for extending a confirmation.
            places: the number of finalists, in addition to those that always race.
        """
        places += sum(trial.always_races for trial in ranked[places:])
        self.listener.racing(result.prepared, places)
        verification = self.verification(result.prepared)
        result = replace(result, judgement=checks.default_judgement)
        sizes = SizeChecks(checks.device, checks.default, self.settings.seed, checks.failure)
        finalists: list[TrialResult] = []

        def draw() -> Iterator[Contestant]:
            for trial in ranked:
                compiled = self.compiled(result.prepared, trial)
                if compiled is not None and compiled.benchmark is not None:
                    finalists.append(compiled)
                    yield contestant(compiled, default)

        def failure(benchmark: Benchmark) -> Failure | None:
            trial = next(trial for trial in finalists if trial.benchmark is benchmark)
            # On a CPU, which is being measured, only the winner is verified, at the end.
            lost = None if self.is_local else verification.failure(trial.candidate, benchmark)
            return lost or check(benchmark)

        check = checks.failure if result.default_is_wrong else sizes.failure
        # Elsewhere, verification does not disturb the race, and begins at once.
        for trial in () if self.is_local else ranked[:places]:
            verification.begin(trial.candidate)
        race = Race(
            checks.device,
            default,
            draw(),
            failure,
            self.rules(budget, places, default_is_wrong=result.default_is_wrong),
            timeline=self.timeline,
        )

        def conclude(outcome: RaceResult) -> TaskResult:
            if self.references:
                self.references.release(result.task)
            raced = self._raced(result, finalists, outcome)
            winner = raced.winner.benchmark if raced.winner else None
            return self.verified(replace(raced, sizes=sizes.comparisons(winner)), verification)

        return TaskRace(race, conclude)

    def compare(
        self, result: TaskResult, default: Benchmark, trial: TrialResult, budget: Budget
    ) -> TaskResult:
        """Compare one compiled candidate with the default. A recorded race is reused.

        Raises:
            DeviceError: the device is lost.
            DatabaseError: a result cannot be stored.
        """
        journal, key = self.journal, trial.candidate.key
        recorded = journal.race(result.prepared, key) if journal else None
        if recorded is not None:
            return self._decided(result, trial, self._decision(recorded))
        assert trial.benchmark is not None
        self.listener.racing(result.prepared, 1)
        device = self.devices.first
        checks = self.checks(result.prepared, default)
        result = replace(result, judgement=checks.default_judgement)
        race = Race(
            device,
            Contestant(default, result.default_us),
            [Contestant(trial.benchmark, trial.microseconds or result.default_us)],
            checks.failure,
            self.rules(budget, default_is_wrong=result.default_is_wrong),
        )
        return self._raced(result, [trial], race.run())

    def keep_failure(self, prepared: TunableTask, candidate: Candidate, failure: Failure) -> None:
        """Store a reproducer of a failing candidate if reproducers are enabled."""
        if self.reproducers:
            uri = self.devices.first.description.uri
            self.reproducers.keep_candidate(prepared, candidate, failure, uri)

    # --- Steps -------------------------------------------------------------------------------------------

    def checks(self, prepared: TunableTask, default: Benchmark) -> JudgedOutputs:
        """Return the checks of candidates' outputs, once the default is judged.

        Raises:
            DeviceError: the device is lost.
        """
        reduction = prepared.spaces.problem.reduction
        judgement = None
        if self.judgements:
            with self.timeline.stage(Stage.REFERENCE):
                judgement = self.judgements.judge(prepared.task, default)
            self.announce_wrong_defaults()
        return JudgedOutputs(
            self.devices.first,
            default,
            reduction,
            prepared.task,
            self.references,
            judgement,
            self.settings.numerics,
        )

    def announce_wrong_defaults(self) -> None:
        """Report newly discovered wrong defaults, and store their reproducers."""
        for task, judgement in self.judgements.take_news() if self.judgements else ():
            self.listener.default_is_wrong(task, judgement)
            if self.reproducers:
                uri = self.devices.first.description.uri
                self.reproducers.keep_wrong(task, judgement, uri)

    def rules(self, budget: Budget, places: int = 1, *, default_is_wrong: bool) -> RaceRules:
        """Return the rules of a race. Against a wrong default, a right candidate need not be faster."""
        settings = self.settings
        rules = RaceRules(settings.min_gain, settings.seed, places, deadline=budget.deadline)
        rules = rules.within(settings.seconds)
        if default_is_wrong:
            return replace(rules, blocks=1, passes=1, least_speedup=0.0)
        return rules

    def compiled(self, prepared: TunableTask, trial: TrialResult) -> TrialResult | None:
        """Return a trial with its benchmark. A trial of an earlier run is compiled again; None if that fails."""
        if trial.benchmark is not None:
            return trial
        job = self.compiler.submit(prepared.template, trial.candidate, self.settings.timeout)
        result = job.result()
        return None if isinstance(result, Failure) else replace(trial, benchmark=result)

    def _raced(
        self, result: TaskResult, finalists: Sequence[TrialResult], race: RaceResult
    ) -> TaskResult:
        """Record a race, and return the result with its outcome."""
        if self.journal:
            self.journal.record_race(result.prepared, finalists, race, result.judgement)
        failures = tuple(
            (finalists[position].candidate, failure) for position, failure in race.failures.items()
        )
        for candidate, failure in failures:
            self.keep_failure(result.prepared, candidate, failure)
        result = replace(result, failures=(*result.failures, *failures), reason=race.reason)
        if race.winner is None or race.decision is None:
            verdict = TaskOutcome.UNDECIDED if race.reason else TaskOutcome.DEFAULT
            return replace(result, verdict=verdict)
        return self._decided(result, finalists[race.winner], race.decision)

    def _decision(self, recorded: RecordedRace) -> Decision:
        return decide(recorded.blocks, self.settings.min_gain, self.settings.seed)

    def _decided(
        self, result: TaskResult, best: TrialResult | None, decision: Decision
    ) -> TaskResult:
        # Against a wrong default, a right candidate deserves an entry at any speed.
        verdict = TaskOutcome.WON if result.default_is_wrong else _VERDICTS[decision.outcome]
        winner = best if verdict is TaskOutcome.WON else None
        return replace(result, decision=decision, verdict=verdict, winner=winner)

    def verified(
        self, result: TaskResult, verification: WinnerVerification | None = None
    ) -> TaskResult:
        """Verify that a spec reproduces the binary of the winner, if there is one, and return the result."""
        if result.winner is None:
            return result
        winner = self.compiled(result.prepared, result.winner)
        if winner is None or winner.benchmark is None:  # verified in an earlier run
            return replace(result, winner=None, verdict=TaskOutcome.UNDECIDED)
        with self.timeline.stage(Stage.VERIFICATION):
            verification = verification or self.verification(result.prepared)
            verification.finish(winner.candidate, winner.benchmark)
        return replace(result, winner=winner)

    def verification(self, prepared: TunableTask) -> WinnerVerification:
        """Return a verification of the winner of a task."""
        return WinnerVerification(prepared, self.compiler, self.settings.timeout)
