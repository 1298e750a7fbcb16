"""What comes of tuning, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.references.output_verdict import Correctness
from tuninglink.tuning.results.failures import FailureKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.errors import TuninglinkError
    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.tunable import TunableTask
    from tuninglink.tuning.deciding.decision import ConfidenceInterval, Decision
    from tuninglink.tuning.deciding.size_checks import SizeComparison
    from tuninglink.tuning.devices.timing import Timing
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.programs.dispatches import Omission, TuningTask
    from tuninglink.tuning.references.output_verdict import OutputVerdict
    from tuninglink.tuning.results.failures import Failure
    from tuninglink.tuning.results.output_comparison import OutputComparison
    from tuninglink.tuning.scheduling.timeline import Stage, StageTime


_WRONG: Final = frozenset({FailureKind.WRONG, FailureKind.OUT_OF_BOUNDS})


@dataclass(frozen=True)
class TrialResult:
    """What came of one candidate.

    Attributes:
        candidate: the candidate.
        microseconds: its time for an iteration, relative to the default on the device that measured it and scaled
            to the default's time; None if it failed.
        failure: why it failed.
        seconds: when it was known, in `time.monotonic()`'s seconds; 0 for what an earlier run has found out.
        benchmark: the compiled benchmark, where it was compiled in this run.
        timing: the samples, where they were taken in this run.
        always_races: whether it races however slow it was: it comes from a spec, or has won elsewhere.
    """

    candidate: Candidate
    microseconds: float | None
    failure: Failure | None
    seconds: float
    benchmark: Benchmark | None = None
    timing: Timing | None = None
    always_races: bool = False


class TaskOutcome(Enum):
    """What became of a task."""

    WON = "won"
    """A candidate is faster, and an entry is written for it."""

    DEFAULT = "default"
    """No candidate is faster than the compiler's choice."""

    UNDECIDED = "undecided"
    """Measurements did not tell."""

    LEFT_OUT = "left-out"
    """A candidate is faster, but the whole program is slower with it."""


class Ending(Enum):
    """Why no more candidates of a task were tried."""

    CONVERGED = "converged"
    """Further gains were not expected."""

    BUDGET = "budget"
    """The time was over, or went to other tasks."""

    TRIALS = "trials"
    """As many were tried as may be."""

    EXHAUSTED = "all tried"
    """There are no more."""

    NO_CANDIDATES = "no candidates"
    """There are none."""

    ALL_FAILED = "all failed"
    """There are no more, and all of them failed."""

    INTERRUPTED = "interrupted"
    """The run was interrupted."""


@dataclass(frozen=True)
class TaskResult:
    """What came of a task.

    Attributes:
        prepared: the task.
        share: its share of the time of all dispatches.
        default_us: the time of the compiler's choice.
        trials: all candidates that were tried, in order.
        verdict: what became of it.
        winner: the fastest candidate, where there is one that is faster.
        decision: the rounds that say so; None if there was no race, or nobody finished it.
        ending: why no more candidates were tried; None where none were to be tried.
        failures: finalists that compute something else or fail when they are measured again, with what is wrong.
        reason: why there is no decision although a candidate may be faster; empty otherwise.
        date: the day, in ISO 8601.
        judgement: what the reference says about the compiler's choice; None where it was not asked.
        sizes: of a dynamic dispatch with a winner, its times at each of the sizes.
        ranges: of a dynamic dispatch, the ranges of sizes with a configuration of their own; their decisions are against the
            compiler's choice for the dynamic dispatch.
    """

    prepared: TunableTask
    share: float
    default_us: float
    trials: tuple[TrialResult, ...]
    verdict: TaskOutcome
    winner: TrialResult | None = None
    decision: Decision | None = None
    ending: Ending | None = None
    failures: tuple[tuple[Candidate, Failure], ...] = ()
    reason: str = ""
    date: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())
    judgement: OutputVerdict | None = None
    sizes: tuple[SizeComparison, ...] = ()
    ranges: tuple[TaskResult, ...] = ()

    @property
    def task(self) -> TuningTask:
        """The task itself."""
        return self.prepared.task

    @property
    def default_is_wrong(self) -> bool:
        """Whether the compiler's choice computes something else than it should."""
        return self.judgement is not None and self.judgement.correctness is Correctness.WRONG

    @property
    def wrong(self) -> list[tuple[Candidate, Failure]]:
        """Candidates that are fast and compute something else, with what is wrong."""
        return [failure for failure in self.failures if failure[1].kind in _WRONG]


@dataclass(frozen=True)
class FunctionComparison:
    """A function of the program, without and with the spec.

    Attributes:
        name: its name.
        weight: how many calls of it count.
        default_ms: the median time of a call without the spec, in milliseconds.
        tuned_ms: with it.
        speedup: how much faster it is with the spec.
    """

    name: str
    weight: int
    default_ms: float
    tuned_ms: float
    speedup: ConfidenceInterval


@dataclass(frozen=True)
class ModelComparison:
    """The whole program, without and with the spec.

    Attributes:
        default_ms: the median time without the spec, in milliseconds: of all functions, each as often as it counts.
        tuned_ms: with it.
        speedup: how much faster it is with the spec.
        functions: the times by function.
        notes: what a reader should know of it.
        failure: why the program fails with the spec but not without, or is wrong; empty if it runs and is right.
        outputs: what it computes, against what it should compute; None if it does not run.
    """

    default_ms: float
    tuned_ms: float
    speedup: ConfidenceInterval
    functions: tuple[FunctionComparison, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str = ""
    outputs: OutputComparison | None = None

    @property
    def is_slower(self) -> bool:
        """Whether the program is slower with the spec, or fails; one that the spec mends may take any time."""
        if self.failure:
            return True
        is_mended = self.outputs is not None and self.outputs.is_mended
        return self.speedup.high < 1.0 and not is_mended


@dataclass(frozen=True)
class TuningResult:
    """What came of tuning a program.

    Attributes:
        spec: the spec, as text; with no entries if nothing was won.
        tasks: what came of each task that was tuned.
        omissions: what was not tuned, and why.
        model: how the whole program fares; None if it was not run.
        model_note: why not.
        outputs: what the whole program computes, against what it should compute; None if it was not run.
        began: when tuning began, in `time.monotonic()`'s seconds.
        stages: what its stages took.
        failure: what ended it early, such as a device that is gone; None if nothing did.
    """

    spec: str
    tasks: Sequence[TaskResult]
    omissions: Sequence[Omission]
    model: ModelComparison | None
    model_note: str
    outputs: OutputComparison | None
    began: float
    stages: Mapping[Stage, StageTime]
    failure: TuninglinkError | None = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum(stage.seconds for stage in self.stages.values())

    @property
    def is_guarded(self) -> bool:
        """Whether the whole program was run with the entries of the spec, if there are any."""
        return self.model is not None or not self.won

    @property
    def won(self) -> list[TaskResult]:
        """The tasks that have an entry in the spec."""
        return [task for task in self.tasks if task.verdict is TaskOutcome.WON]
