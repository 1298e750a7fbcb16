"""The report on a problem: its trials, its times and rates, and its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tuninglink.iree.dispatch_cost import DispatchCost
from tuninglink.iree.peak_rates import PeakRates, Rates
from tuninglink.plain_data import FLAT, HIDDEN, written
from tuninglink.tuning.candidates import CandidateOrigin
from tuninglink.tuning.deciding import ConfidenceInterval
from tuninglink.tuning.deciding.winner_checks import SizeComparison
from tuninglink.tuning.results import Correctness, FailureKind
from tuninglink.tuning.results.task_result import Ending, TaskOutcome, TaskResult, TrialResult
from tuninglink.tuning.scheduling.default_queue import task_cost


@dataclass(frozen=True)
class TrialPoint:
    """A trial of a dispatch.

    Attributes:
        seconds: the time of the result, from the start of tuning.
        microseconds: the median time of an iteration; None if it failed.
        failure: the kind of failure; None if there is a time.
        origin: the origin of the candidate.
        pipeline: its pipeline, in MLIR syntax.
        knobs: the values of its knobs.
    """

    seconds: float
    microseconds: float | None
    failure: FailureKind | None
    origin: CandidateOrigin
    pipeline: str
    knobs: Mapping[str, int]


@dataclass(frozen=True)
class SizeReport:
    """A dynamic dispatch at one combination of sizes.

    Attributes:
        comparison: the times.
        range: the range of sizes with a separate configuration, such as `d0 = 2..22`; None where the one for all sizes
            holds.
    """

    comparison: SizeComparison = field(metadata=FLAT)
    range: str | None = None


@dataclass(frozen=True)
class ProblemReport:
    """The result for a problem.

    Attributes:
        names: the dispatches with this problem.
        problem: the problem in words: kind, sizes and element types.
        target: the target.
        outcome: won: the spec has an entry for it; default: nothing is faster than the compiler's choice; undecided:
            measurements were inconclusive; left-out: the dispatch became faster, and the whole program slower.
        share: its share of the time of all dispatches, from 0 to 1.
        default_us: the median time of the compiler's choice, in microseconds.
        tuned_us: the median time of the winner; None without one.
        speedup: the speedup of the winner by interleaved rounds; None without one.
        configuration: the `compilation_info` of the winner, in MLIR syntax; None without one.
        history: the trials, in the order of their results.
        notes: findings, such as a fast candidate with wrong results.
        ending: the reason for trying no more candidates; None if unknown.
        default_result: whether the compiler's choice computes the right result, by a reference; None without a reference.
        default_finding: the figures for it.
        sizes: the times of a dynamic dispatch with a winner at each of its sizes, of which `default_us` and `tuned_us`
            are the geometric means.
        default_interval: the bounds of `default_us` by the race; None without one.
        tuned_interval: the bounds of `tuned_us`.
        calls: the number of calls of the dispatches by the functions of the program, in all; 0 if only its initialization does.
        cost: the cost of a call; unknown for a dynamic dispatch.
        profiled_us: the time of all its calls in a run of the program, by the profile that weighs dispatches, in
            microseconds; None if no profile has it, and its time alone counts.
        peaks: the peak rates of the device; None if unknown.
    """

    names: tuple[str, ...]
    problem: str
    target: str
    outcome: TaskOutcome
    share: float
    default_us: float
    tuned_us: float | None
    speedup: ConfidenceInterval | None = field(metadata=FLAT)
    configuration: str | None
    history: tuple[TrialPoint, ...]
    notes: tuple[str, ...] = ()
    ending: Ending | None = None
    default_result: Correctness | None = None
    default_finding: str = ""
    sizes: tuple[SizeReport, ...] = ()
    default_interval: tuple[float, float] | None = None
    tuned_interval: tuple[float, float] | None = None
    calls: int = 1
    cost: DispatchCost = field(default=DispatchCost(None, None), metadata=FLAT)
    profiled_us: float | None = None
    peaks: PeakRates | None = field(default=None, metadata=HIDDEN)

    @property
    @written()
    def default_rates(self) -> Rates:
        """The rates of the compiler's choice."""
        return self.cost.rates(self.default_us, self.peaks)

    @property
    @written()
    def tuned_rates(self) -> Rates:
        """The rates of the winner; unknown without one."""
        return self.cost.rates(self.tuned_us, self.peaks)

    @property
    @written()
    def saved_us(self) -> float | None:
        """The time that the entry saves in all calls of one run of the program; None without an entry."""
        if self.outcome is not TaskOutcome.WON or self.tuned_us is None:
            return None
        if self.profiled_us is not None:
            return self.profiled_us * (1 - self.tuned_us / self.default_us)
        return self.calls * (self.default_us - self.tuned_us)

    @property
    @written()
    def trials(self) -> int:
        """The number of trials."""
        return len(self.history)

    @property
    @written()
    def failures(self) -> Mapping[FailureKind, int]:
        """The number of failed trials, by kind."""
        return Counter(trial.failure for trial in self.history if trial.failure is not None)


def problem_report(result: TaskResult, began: float, peaks: PeakRates | None) -> ProblemReport:
    """Return the report on a task.

    Args:
        result: the result of the task.
        began: the start of tuning, in seconds of `time.monotonic()`.
        peaks: the measured peak rates of the device; None to use those of the target, if known.
    """
    decision, winner = result.decision, result.winner
    return ProblemReport(
        names=result.task.dispatches,
        problem=str(result.prepared.spaces.problem),
        target=result.task.target.name,
        outcome=result.verdict,
        ending=result.ending,
        share=result.share,
        default_us=decision.default_us if decision else result.default_us,
        tuned_us=decision.tuned_us if decision and winner else None,
        speedup=decision.speedup if decision and winner else None,
        configuration=winner.candidate.configuration if winner else None,
        history=tuple(_point(trial, began) for trial in result.trials),
        notes=tuple(f"{failure.message}: {candidate}" for candidate, failure in result.wrong),
        default_result=result.judgement.correctness if result.judgement else None,
        default_finding=result.judgement.reason if result.judgement else "",
        sizes=tuple(_sizes(result)),
        default_interval=decision.default_interval if decision else None,
        tuned_interval=decision.tuned_interval if decision and winner else None,
        calls=result.task.calls,
        cost=task_cost(result.task),
        profiled_us=result.task.profiled_us,
        peaks=peaks or result.task.target.peaks,
    )


def _sizes(result: TaskResult) -> Iterator[SizeReport]:
    ranges = {
        comparison.sizes: part.task.span for part in result.ranges for comparison in part.sizes
    }
    for comparison in result.sizes:
        yield SizeReport(comparison, ranges.get(comparison.sizes))


def _point(trial: TrialResult, began: float) -> TrialPoint:
    candidate = trial.candidate
    return TrialPoint(
        seconds=max(0.0, trial.seconds - began),
        microseconds=trial.microseconds,
        failure=trial.failure.kind if trial.failure else None,
        origin=candidate.origin,
        pipeline=candidate.pipeline,
        knobs=candidate.knobs,
    )
