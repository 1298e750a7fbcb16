"""The results of tuning, as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from importlib import metadata
from typing import TYPE_CHECKING, Final

from tuninglink.devices import Device, DeviceDescription, Stage, Timing, UsedTime
from tuninglink.errors import TuninglinkError
from tuninglink.iree import Spills
from tuninglink.mlir import error, note
from tuninglink.plain_data import FLAT
from tuninglink.programs import (
    WRONG_RESULTS,
    Benchmark,
    Correctness,
    Failure,
    FailureKind,
    Omission,
    OutputComparison,
    OutputVerdict,
    SizedFunction,
    TuningTask,
)
from tuninglink.tuning.candidates import Candidate, CandidateCompiler, Compiled
from tuninglink.tuning.deciding.decisions import (
    ConfidenceInterval,
    Decision,
    ModelComparison,
    decide,
)

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import TunableTask  # which loads all spaces

WRONG_DEFAULT: Final = "the default's result is wrong"
FAILING_DEFAULT: Final = "the compiler's own choice fails"
"""The reasons for an entry that need not be faster."""


@dataclass(frozen=True)
class TrialResult:
    """The result of one candidate.

    Attributes:
        microseconds: its time for an iteration, relative to the default on the device that measured it and scaled
            to the default's time; None if it failed.
        failure: the reason for its failure; None without one.
        seconds: the time of the result, in seconds of `time.monotonic()`; 0 for results of earlier runs.
        benchmark: the compiled benchmark, if it was compiled in this run.
        timing: the samples, if they were taken in this run.
        always_races: whether it races at any speed: it comes from a spec, or won elsewhere.
        spills: the spills of its code, where they are known.
    """

    candidate: Candidate
    microseconds: float | None
    failure: Failure | None
    seconds: float
    benchmark: Benchmark | None = None
    timing: Timing | None = None
    always_races: bool = False
    spills: Spills | None = None


class TaskOutcome(Enum):
    """The outcome of a task."""

    WON = "won"
    """A candidate is faster and gets an entry."""

    DEFAULT = "default"
    """No candidate is faster than the compiler's choice."""

    UNDECIDED = "undecided"
    """Measurements were inconclusive."""

    LEFT_OUT = "left-out"
    """A candidate is faster, but the whole program is not."""

    PREDICTED = "predicted"
    """Trials decided nothing; the configuration that a model expects to be faster or right gets an entry."""


class Ending(Enum):
    """The reason for trying no more candidates of a task."""

    CONVERGED = "converged"
    """No further gains were expected."""

    BUDGET = "budget"
    """The time was used up, or went to other tasks."""

    TRIALS = "trials"
    """The limit on trials was reached."""

    EXHAUSTED = "all tried"
    """All candidates were tried."""

    NO_CANDIDATES = "no candidates"
    """The task has no candidates."""

    ALL_FAILED = "all failed"
    """All candidates were tried, and all failed."""

    INTERRUPTED = "interrupted"
    """The run was interrupted."""


@dataclass(frozen=True)
class TaskResult:
    """The result of a task.

    Attributes:
        share: its share of the time of all dispatches.
        default_us: the time of the compiler's choice, in microseconds.
        winner: the fastest candidate; None if none is faster than the default.
        decision: the decision of the race; None without a finished race.
        ending: the reason for trying no more candidates; None if none were to be tried.
        failures: the finalists with wrong results or failures in the race.
        reason: the reason for a missing decision although a candidate may be faster; empty otherwise.
        date: the day, in ISO 8601.
        judgement: the verdict of the reference on the compiler's choice; None without one.
        default_failure: the failure of the compiler's choice, whose time is then an estimate; None without one.
        sizes: the times of a dynamic dispatch with a winner at each of the sizes.
        ranges: of a dynamic dispatch, the ranges of sizes with a separate configuration; their decisions are against the
            compiler's choice for the dynamic dispatch.
        prediction: the provenance of a predicted winner; empty for others.
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
    default_failure: Failure | None = None
    sizes: tuple[SizeComparison, ...] = ()
    ranges: tuple[TaskResult, ...] = ()
    prediction: Mapping[str, object] = field(default_factory=dict)

    @property
    def task(self) -> TuningTask:
        return self.prepared.task

    @property
    def has_entry(self) -> bool:
        """Whether the spec has an entry for it."""
        return self.verdict in (TaskOutcome.WON, TaskOutcome.PREDICTED)

    @property
    def default_is_wrong(self) -> bool:
        """Whether the compiler's choice computes a wrong result, or none."""
        return self.judgement is not None and self.judgement.correctness is Correctness.WRONG

    @property
    def wrong(self) -> list[tuple[Candidate, Failure]]:
        """The fast candidates with wrong results, and their failures."""
        return [failure for failure in self.failures if failure[1].kind in WRONG_RESULTS]

    def provenance(self, device: DeviceDescription) -> dict[str, object]:
        """Return the provenance of the winner's configuration: the device that measured it, or the model."""
        if self.prediction:
            return {**self.prediction, "compiler": metadata.version("iree-base-compiler")}
        times: dict[str, object] = {}
        if self.decision is not None:
            speedup = self.decision.speedup
            times = {
                "default_us": round(self.decision.default_us, 3),
                "tuned_us": round(self.decision.tuned_us, 3),
                "interval": [round(speedup.low, 3), round(speedup.high, 3)],
            }
        elif self.winner is not None and self.winner.microseconds is not None:
            times = {"tuned_us": round(self.winner.microseconds, 3)}
        reason = FAILING_DEFAULT if self.default_failure else WRONG_DEFAULT
        return {
            "device": device.name,
            "driver": " ".join(filter(None, (device.driver, device.driver_version))),
            "target": self.task.target.name,
            "compiler": metadata.version("iree-base-compiler"),
            **times,
            "trials": len(self.trials),
            **({"sizes": [str(comparison) for comparison in self.sizes]} if self.sizes else {}),
            "date": self.date,
            **({"reason": reason} if self.default_is_wrong else {}),
        }


@dataclass(frozen=True)
class WrongDefaults:
    """The numbers of dispatches for which the compiler's choice computes a wrong result.

    Attributes:
        repaired: the number of dispatches with an entry.
        tried: the number of dispatches without a correct candidate, or whose candidate made the program fail.
        untried: the number of dispatches that the budget did not cover.
        seconds: the estimated budget for all these dispatches.
        advice: another remedy that may avoid wrong defaults; empty without one.
        outputs: the errors of the whole program's outputs; None if it was not run.
    """

    repaired: int = 0
    tried: int = 0
    untried: int = 0
    seconds: float = 0.0
    advice: str = ""
    outputs: OutputComparison | None = None

    @property
    def count(self) -> int:
        """The total number of dispatches with wrong defaults."""
        return self.repaired + self.tried + self.untried

    def __str__(self) -> str:
        """Return a line with the numbers and the remedy; an empty string if all defaults are correct."""
        if not self.count:
            return ""
        parts = [f"wrong defaults: {self.repaired} of {self.count} replaced by right candidates"]
        if self.untried:
            budget = f"{math.ceil(self.seconds / 10) * 10}s"
            parts.append(f"no time for {self.untried}: --budget {budget} may suffice for all")
        if self.tried:
            parts.append(f"no right candidate found for {self.tried}")
        parts += filter(None, (self._effect, self.advice))
        return "; ".join(parts)

    @property
    def _effect(self) -> str:
        """Whether the errors that are left, or that were repaired, reach the outputs of the program."""
        outputs, is_repaired = self.outputs, self.repaired == self.count
        if outputs is not None and outputs.default_error is not None:
            error = outputs.default_error if is_repaired else outputs.error
            if error is not None and error <= outputs.tolerance:
                when = "without the entries" if is_repaired else "nevertheless"
                return f"the outputs of the program are right to {error:.2g} {when}"
        return "" if is_repaired else "the program computes wrong results"


@dataclass(frozen=True)
class TuningResult:
    """The result of tuning a program.

    Attributes:
        spec: the spec, as text; without entries if there is no winner.
        tasks: the results of the tuned tasks.
        omissions: the omitted dispatches with reasons.
        model: the comparison of the whole program; None if it was not run.
        model_note: the reason for not running it.
        outputs: the errors of the whole program's outputs; None if it was not run.
        began: the start of tuning, in seconds of `time.monotonic()`.
        failure: the error that ended it early, such as a lost device; None without one.
        wrong_defaults: the numbers of dispatches with wrong defaults.
        image: the whole program compiled with the spec; None if it was not run.
    """

    spec: str
    tasks: Sequence[TaskResult]
    omissions: Sequence[Omission]
    model: ModelComparison | None
    model_note: str
    outputs: OutputComparison | None
    began: float
    stages: Mapping[Stage, UsedTime]
    failure: TuninglinkError | None = None
    wrong_defaults: WrongDefaults = WrongDefaults()
    image: bytes | None = field(default=None, repr=False)

    @property
    def seconds(self) -> float:
        """The duration of tuning, in seconds."""
        return sum(stage.seconds for stage in self.stages.values())

    @property
    def is_guarded(self) -> bool:
        """Whether the whole program was run with the entries of the spec, if there are any."""
        return self.model is not None or not self.entries

    @property
    def entries(self) -> list[TaskResult]:
        """The results with an entry in the spec."""
        return [task for task in self.tasks if task.has_entry]


# --- Checks of winners: times at each size of a dynamic dispatch, and the binary that a spec produces ---

SIZE_ROUNDS: Final = 11
"""The rounds at each size. With fewer, the interval is too wide to show small losses."""

SIZE_SECONDS: Final = 5.0
"""The time at each size, in seconds, unless the rounds would be too few."""

_BETWEEN_ROUNDS: Final = 7
_BETWEEN_SECONDS: Final = 1.5
"""The rounds and the time, in seconds, at a size between the given ones."""

_MUCH_SLOWER: Final = 0.95
"""The speedup below which a candidate is much slower, at a size between the given ones."""


@dataclass(frozen=True)
class SizeComparison:
    """The comparison of a candidate with the default at one combination of sizes.

    Attributes:
        sizes: the sizes, in the syntax of the command line.
        weight: the weight of the sizes.
        default_us: the median time of the default, in microseconds.
        tuned_us: the median time of the candidate, in microseconds.
        range: the range of sizes with a separate configuration, such as `d0 = 2..22`; None where that for all sizes holds.
    """

    sizes: str
    weight: int
    default_us: float
    tuned_us: float
    speedup: ConfidenceInterval = field(metadata=FLAT)
    range: str | None = None

    @property
    def is_slower(self) -> bool:
        """Whether the candidate is certainly slower."""
        return self.speedup.high < 1.0

    def __str__(self) -> str:
        return f"{self.sizes}: {self.speedup}"


@dataclass(frozen=True)
class SizeChecks:
    """Compares candidates with the default at each of the sizes of a dynamic dispatch.

    Its methods raise a `DeviceError` if the device is lost.

    Attributes:
        default: the compiler's choice.
        seed: the seed of orders and resamples.
        check: returns the failure of a candidate's outputs, or None; it is called first.
    """

    device: Device
    default: Benchmark
    seed: int
    check: Callable[[Benchmark], Failure | None] = lambda _: None
    _comparisons: dict[Benchmark, tuple[SizeComparison, ...]] = field(default_factory=dict)

    def failure(self, benchmark: Benchmark) -> Failure | None:
        """Return the failure of a candidate, including sizes at which it is clearly slower; None if it may win."""
        failure = self.check(benchmark)
        if failure is not None or len(benchmark.measured) < 2:  # noqa: PLR2004 - the race decides for one size
            return failure
        comparisons: list[SizeComparison] = []
        for function in benchmark.measured:
            comparison = self.compare(benchmark, function)
            if isinstance(comparison, Failure):
                return comparison
            comparisons.append(comparison)
        self._comparisons[benchmark] = tuple(comparisons)
        slower = [comparison for comparison in comparisons if comparison.is_slower]
        if not slower:
            slow = self.first_slow(benchmark, benchmark.between)
            if slow is None or isinstance(slow, Failure):
                return slow
            slower = [slow[1]]
        message = f"slower than the default at {'; at '.join(map(str, slower))}"
        return Failure(FailureKind.SLOWER, message)

    def comparisons(self, benchmark: Benchmark | None) -> tuple[SizeComparison, ...]:
        """Return the comparisons of a checked candidate; empty for others and for static dispatches."""
        return () if benchmark is None else self._comparisons.get(benchmark, ())

    def first_slow(
        self, benchmark: Benchmark, functions: Sequence[SizedFunction]
    ) -> tuple[SizedFunction, SizeComparison] | Failure | None:
        """Return the first of the additional sizes at which a candidate is much slower than the default."""
        for function in functions:
            comparison = self.compare(benchmark, function, _BETWEEN_ROUNDS, _BETWEEN_SECONDS)
            if isinstance(comparison, Failure):
                return comparison
            if comparison.speedup.high < _MUCH_SLOWER:
                return function, comparison
        return None

    def compare(
        self,
        benchmark: Benchmark,
        function: SizedFunction,
        count: int = SIZE_ROUNDS,
        seconds: float = SIZE_SECONDS,
    ) -> SizeComparison | Failure:
        """Compare a candidate with the default at the sizes of a function, in some rounds, or in fewer if they are long."""
        pair = [self.default.at(function), benchmark.at(function)]
        rounds = self.device.rounds(pair, count, self.seed, seconds)
        if isinstance(rounds, Failure):
            return rounds
        samples = [(first, second) for first, second in rounds.samples]
        decision = decide([samples], 0.0, self.seed)
        times = decision.default_us, decision.tuned_us
        return SizeComparison(function.sizes, function.weight, *times, decision.speedup)


@dataclass(frozen=True)
class WinnerVerification:
    """Compiles a task with specs for its winners, and compares the binaries with the measured ones.

    Attributes:
        seconds: the time limit of a compilation.
    """

    prepared: TunableTask
    compiler: CandidateCompiler
    seconds: float
    _begun: dict[str, Future[Compiled | Failure]] = field(default_factory=dict)

    def begin(self, winner: Candidate) -> Future[Compiled | Failure]:
        """Start to compile the task with the spec for a winner, without provenance."""
        job = self._begun.get(winner.key)
        if job is None:
            spec, source = self.prepared.spec(winner, {}), self.prepared.task.source
            job = self.compiler.submit_program(source, spec, self.seconds)
            self._begun[winner.key] = job
        return job

    def failure(self, winner: Candidate, measured: Benchmark) -> Failure | None:
        """Wait for the compilation of a winner; return the reason if the binary differs from the measured one.

        Candidates are compiled without the verification of the IR after each pass, which takes a fifth of the time. With
        it, as in a compilation with a spec, the compiler may reject a candidate.
        """
        compiled = self.begin(winner).result()
        if isinstance(compiled, Failure):
            return compiled
        if compiled.image == measured.image:
            return None
        return Failure(FailureKind.COMPILE, "the binaries differ")

    def finish(self, winner: Candidate, measured: Benchmark) -> None:
        """Wait for the compilation of a winner, and compare the binaries.

        Raises:
            TuninglinkError: the binaries differ, which is a bug in the tuner.
        """
        failure = self.failure(winner, measured)
        if failure is not None:
            what = f"the spec for {self.prepared.task.name} does not reproduce the measured code"
            notes = [note(str(winner))]
            raise TuninglinkError(error(f"{what}: {failure.message}", notes=notes))
