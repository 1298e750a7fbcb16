"""Tuning one task: explore its candidates, let the best ones race, and verify what the spec will give."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.contestants import Contestant, RaceRules
from tuninglink.tuning.deciding.decision import Decision, Outcome, decide
from tuninglink.tuning.deciding.output_checks import OutputChecks
from tuninglink.tuning.deciding.race import Race
from tuninglink.tuning.deciding.winner_verification import WinnerVerification
from tuninglink.tuning.listener import Listener
from tuninglink.tuning.results.failures import Failure
from tuninglink.tuning.results.task_result import TaskOutcome, TaskResult, TrialResult
from tuninglink.tuning.scheduling.exploration import Alternating, Exploration, Overlapping, Schedule
from tuninglink.tuning.scheduling.timeline import Stage, Timeline
from tuninglink.tuning.search import search_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.tuning.candidates.compilation import CandidateCompiler
    from tuninglink.tuning.candidates.tunable import TunableTask
    from tuninglink.tuning.deciding.defaults import MeasuredTask
    from tuninglink.tuning.deciding.race import RaceResult
    from tuninglink.tuning.devices.device_set import DeviceSet
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.results.journal import Journal, RecordedRace
    from tuninglink.tuning.results.reproducers import Reproducers
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.settings import TuningSettings

FINALISTS: Final = 6
_NEAR: Final = 1.05
"""A candidate that is this much slower than the default in its first samples may still be faster."""

_RACING: Final = 0.3
"""The part of a task's time that is kept for the race."""

_COMPILE_FACTOR: Final = 10.0
_LEAST_COMPILE_SECONDS: Final = 5.0
"""A candidate may compile this many times as long as the default, and at least so many seconds."""

_LEAST_BATCH: Final = 8
"""Candidates that are compiled at once where measuring has to wait for that."""

_VERDICTS: Final = {
    Outcome.FASTER: TaskOutcome.WON,
    Outcome.NOT_FASTER: TaskOutcome.DEFAULT,
    Outcome.UNDECIDED: TaskOutcome.UNDECIDED,
}


@dataclass(frozen=True)
class TaskTuner:
    """Tunes tasks, one at a time.

    Attributes:
        settings: what is asked for.
        compiler: compiles candidates.
        devices: measure them.
        listener: is told how it goes on.
        journal: keeps what is found out; None for nobody.
        reproducers: keeps candidates that fail to compile; None for nobody.
        timeline: counts what the stages take.
    """

    settings: TuningSettings
    compiler: CandidateCompiler
    devices: DeviceSet
    listener: Listener = field(default_factory=Listener)
    journal: Journal | None = None
    reproducers: Reproducers | None = None
    timeline: Timeline = field(default_factory=Timeline)

    def tune(self, prepared: TunableTask, measured: MeasuredTask, budget: Budget) -> TaskResult:
        """Tunes a task.

        Raises:
            DeviceError: the device is gone.
            DatabaseError: a result cannot be kept.
        """
        with self.timeline.stage(Stage.DEFAULTS):
            default_us = self.devices.measure_default(measured.benchmark)
        if isinstance(default_us, Failure):
            default_us = measured.default_us
        if self.journal:
            self.journal.record_default(prepared, default_us)
        self.listener.begun(prepared, measured.share, default_us)
        reduction = prepared.spaces.problem.reduction
        checks = OutputChecks(self.devices.first, measured.benchmark, reduction)
        trials = self.explore(prepared, measured, default_us, budget, checks)
        result = TaskResult(
            prepared, measured.share, default_us, tuple(trials), TaskOutcome.DEFAULT
        )
        recorded = self.journal.race(prepared) if self.journal else None
        if recorded is not None and not any(each.seconds for each in trials):
            # Nothing is new: the race would be the same.
            winner = next((x for x in trials if x.candidate.key == recorded.winner), None)
            result = self._decided(result, winner, self._decision(recorded))
            return self._verified(result)
        ranked = _ranked(trials, default_us)
        if not ranked:
            return result
        if budget.is_over:
            reason = "the budget was over before the race"
            return replace(result, verdict=TaskOutcome.UNDECIDED, reason=reason)
        return self.race(result, checks, ranked, budget)

    def explore(
        self,
        prepared: TunableTask,
        measured: MeasuredTask,
        default_us: float,
        budget: Budget,
        checks: OutputChecks,
    ) -> list[TrialResult]:
        """Tries candidates of a task in the part of the budget that is not for the race."""
        budget = budget.part(1 - _RACING)
        journal = self.journal
        prior = journal.prior(prepared) if journal else None
        search = search_named(self.settings.search)(
            prepared.spaces,
            self.settings.seed,
            default_us,
            [(each, None) for each in prior.winners(prepared.spaces)] if prior else [],
            prior.measured() if prior else [],
        )

        def report(trial: TrialResult) -> None:
            is_new = trial.seconds > 0
            if is_new and journal:
                journal.record(prepared, trial)
            self.listener.tried(prepared, trial, budget)
            if is_new and self.reproducers and trial.failure and trial.benchmark is None:
                candidate, failure = trial.candidate, trial.failure
                self.reproducers.keep(prepared.task.label, prepared.template, candidate, failure)

        def check_one(trials: Sequence[TrialResult]) -> bool:
            with self.timeline.stage(Stage.RACE):
                best = _ranked(trials, default_us)[:FINALISTS]
                return checks.check_one(each.benchmark for each in best)

        seconds = max(_LEAST_COMPILE_SECONDS, _COMPILE_FACTOR * measured.compile_seconds)
        exploration = Exploration(
            prepared.template,
            self.compiler,
            self.devices,
            search,
            self._schedule(),
            budget,
            min(seconds, self.settings.timeout),
            default_us,
            journal.known(prepared) if journal else {},
            report,
            self.timeline,
            (lambda _: False) if self._is_local else check_one,
        )
        return exploration.run()

    def race(
        self,
        result: TaskResult,
        checks: OutputChecks,
        ranked: Sequence[TrialResult],
        budget: Budget,
    ) -> TaskResult:
        """Lets the best candidates race with the default; the winner of the result was confirmed, if there is one.

        Args:
            result: the result so far.
            checks: the checks of what candidates compute.
            ranked: the candidates that may be faster than the default, best first.
            budget: no confirmation is extended after its end.

        Raises:
            DeviceError: the device is gone.
            DatabaseError: a result cannot be kept.
        """
        self.listener.racing(result.prepared, min(len(ranked), FINALISTS))
        verification = self._verification(result.prepared)
        finalists: list[TrialResult] = []

        def draw() -> Iterator[Contestant]:
            for trial in ranked:
                compiled = self._compiled(result.prepared, trial)
                if compiled is not None and compiled.benchmark is not None:
                    finalists.append(compiled)
                    yield Contestant(compiled.benchmark, trial.microseconds or result.default_us)

        def verify(position: int) -> None:
            if not self._is_local:  # whose processors measure
                verification.begin(finalists[position].candidate)

        race = Race(
            checks.device,
            Contestant(checks.reference, result.default_us),
            draw(),
            checks.failure,
            self._rules(budget),
            timeline=self.timeline,
            confirming=verify,
        )
        return self._verified(self._raced(result, finalists, race.run()), verification)

    def compare(
        self, result: TaskResult, default: Benchmark, trial: TrialResult, budget: Budget
    ) -> TaskResult:
        """Compares one candidate, which is compiled, with the default; what was recorded is not measured again.

        Raises:
            DeviceError: the device is gone.
            DatabaseError: a result cannot be kept.
        """
        journal, key = self.journal, trial.candidate.key
        recorded = journal.race(result.prepared, key) if journal else None
        if recorded is not None:
            return self._decided(result, trial, self._decision(recorded))
        assert trial.benchmark is not None
        self.listener.racing(result.prepared, 1)
        device = self.devices.first
        checks = OutputChecks(device, default, result.prepared.spaces.problem.reduction)
        race = Race(
            device,
            Contestant(default, result.default_us),
            [Contestant(trial.benchmark, trial.microseconds or result.default_us)],
            checks.failure,
            self._rules(budget),
        )
        return self._raced(result, [trial], race.run())

    def provenance(self, result: TaskResult) -> dict[str, object]:
        """Returns where the configuration of a winner comes from."""
        device = self.devices.first.description
        decision = result.decision
        assert decision is not None
        return {
            "device": device.name,
            "driver": " ".join(filter(None, (device.driver, device.driver_version))),
            "target": result.task.target.name,
            "compiler": metadata.version("iree-base-compiler"),
            "default_us": round(decision.default_us, 3),
            "tuned_us": round(decision.tuned_us, 3),
            "interval": [round(decision.speedup.low, 3), round(decision.speedup.high, 3)],
            "trials": len(result.trials),
            "date": result.date,
        }

    # --- Steps -------------------------------------------------------------------------------------------

    @property
    def _is_local(self) -> bool:
        """Whether the processors that compile also measure."""
        return self.devices.first.description.is_local

    def _schedule(self) -> Schedule:
        if self._is_local:
            return Alternating(max(_LEAST_BATCH, self.compiler.jobs))
        return Overlapping(2 * self.compiler.jobs)

    def _rules(self, budget: Budget) -> RaceRules:
        settings = self.settings
        return RaceRules(settings.min_gain, settings.seed, FINALISTS, deadline=budget.deadline)

    def _compiled(self, prepared: TunableTask, trial: TrialResult) -> TrialResult | None:
        """Returns a candidate with its benchmark, which is not kept from earlier runs; None if it fails now."""
        if trial.benchmark is not None:
            return trial
        job = self.compiler.submit(prepared.template, trial.candidate, self.settings.timeout)
        found = job.result()
        return None if isinstance(found, Failure) else replace(trial, benchmark=found)

    def _raced(
        self, result: TaskResult, finalists: Sequence[TrialResult], found: RaceResult
    ) -> TaskResult:
        """Records a race, and returns the result with what came of it."""
        if self.journal:
            self.journal.record_race(result.prepared, finalists, found)
        failures = tuple(
            (finalists[position].candidate, each) for position, each in found.failures.items()
        )
        result = replace(result, failures=failures, reason=found.reason)
        if found.winner is None or found.decision is None:
            verdict = TaskOutcome.UNDECIDED if found.reason else TaskOutcome.DEFAULT
            return replace(result, verdict=verdict)
        return self._decided(result, finalists[found.winner], found.decision)

    def _decision(self, recorded: RecordedRace) -> Decision:
        return decide(recorded.blocks, self.settings.min_gain, self.settings.seed)

    def _decided(
        self, result: TaskResult, best: TrialResult | None, decision: Decision
    ) -> TaskResult:
        """Returns the result with a decision about the best candidate."""
        verdict = _VERDICTS[decision.outcome]
        winner = best if verdict is TaskOutcome.WON else None
        return replace(result, decision=decision, verdict=verdict, winner=winner)

    def _verified(
        self, result: TaskResult, verification: WinnerVerification | None = None
    ) -> TaskResult:
        """Returns a result whose winner, if there is one, has the binary that a spec gives.

        Args:
            result: the result.
            verification: one that may have begun before.

        Raises:
            TuninglinkError: the binaries differ, which is a mistake of the tuner.
        """
        if result.winner is None:
            return result
        winner = self._compiled(result.prepared, result.winner)
        if winner is None or winner.benchmark is None:  # it did compile in an earlier run
            return replace(result, winner=None, verdict=TaskOutcome.UNDECIDED)
        with self.timeline.stage(Stage.VERIFICATION):
            verification = verification or self._verification(result.prepared)
            verification.finish(winner.candidate, winner.benchmark)
        return replace(result, winner=winner)

    def _verification(self, prepared: TunableTask) -> WinnerVerification:
        return WinnerVerification(prepared, self.compiler, self.settings.timeout)


def _ranked(trials: Sequence[TrialResult], default_us: float) -> list[TrialResult]:
    """Returns the candidates that may be faster than the default, best first."""
    near = [
        (each.microseconds, position, each)
        for position, each in enumerate(trials)
        if each.microseconds is not None and each.microseconds < default_us * _NEAR
    ]
    return [each for *_, each in sorted(near)]
