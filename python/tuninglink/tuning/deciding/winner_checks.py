"""Checks of winners: their times at each size of a dynamic dispatch, and the binary that a spec for them produces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tuninglink.errors import TuninglinkError
from tuninglink.mlir import error, note
from tuninglink.plain_data import FLAT
from tuninglink.tuning.deciding.decisions import ConfidenceInterval, decide
from tuninglink.tuning.programs import Failure, FailureKind

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tuninglink.tuning.candidates import Candidate, CandidateCompiler, Compiled, TunableTask
    from tuninglink.tuning.devices import Device, Rounds
    from tuninglink.tuning.programs import Benchmark, SizedFunction


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
        speedup: the speedup of the candidate.
    """

    sizes: str
    weight: int
    default_us: float
    tuned_us: float
    speedup: ConfidenceInterval = field(metadata=FLAT)

    @property
    def is_slower(self) -> bool:
        """Whether the candidate is certainly slower."""
        return self.speedup.high < 1.0

    def __str__(self) -> str:
        return f"{self.sizes}: {self.speedup}"


@dataclass(frozen=True)
class SizeChecks:
    """Compares candidates with the default at each of the sizes of a dynamic dispatch.

    Attributes:
        device: runs them.
        default: the compiler's choice.
        seed: the seed of orders and resamples.
        check: returns the failure of a candidate's outputs, or None; it is called first.
    """

    device: Device
    default: Benchmark
    seed: int
    check: Callable[[Benchmark], Failure | None]
    _comparisons: dict[Benchmark, tuple[SizeComparison, ...]] = field(default_factory=dict)

    def failure(self, benchmark: Benchmark) -> Failure | None:
        """Return the failure of a candidate, including sizes at which it is clearly slower; None if it may win.

        Raises:
            DeviceError: the device is lost.
        """
        failure = self.check(benchmark)
        if failure is not None or len(benchmark.measured) < 2:  # noqa: PLR2004 - the race decides for one size
            return failure
        comparisons = compare_sizes(self.device, self.default, benchmark, self.seed)
        if isinstance(comparisons, Failure):
            return comparisons
        self._comparisons[benchmark] = comparisons
        slower = [comparison for comparison in comparisons if comparison.is_slower]
        if not slower:
            slow = first_slow(self.device, self.default, benchmark, benchmark.between, self.seed)
            if slow is None or isinstance(slow, Failure):
                return slow
            slower = [slow[1]]
        message = f"slower than the default at {'; at '.join(map(str, slower))}"
        return Failure(FailureKind.SLOWER, message)

    def comparisons(self, benchmark: Benchmark | None) -> tuple[SizeComparison, ...]:
        """Return the comparisons of a checked candidate; empty for others and for static dispatches."""
        return () if benchmark is None else self._comparisons.get(benchmark, ())


def compare_sizes(
    device: Device, default: Benchmark, benchmark: Benchmark, seed: int
) -> tuple[SizeComparison, ...] | Failure:
    """Compare a benchmark of a dynamic dispatch with the default at each size, up to the first failure."""
    comparisons: list[SizeComparison] = []
    for function in benchmark.measured:
        comparison = compare_at(
            device, default.at(function), benchmark.at(function), function, seed
        )
        if isinstance(comparison, Failure):
            return comparison
        comparisons.append(comparison)
    return tuple(comparisons)


def first_slow(
    device: Device,
    default: Benchmark,
    benchmark: Benchmark,
    functions: Sequence[SizedFunction],
    seed: int,
) -> tuple[SizedFunction, SizeComparison] | Failure | None:
    """Return the first of the additional sizes at which a benchmark is much slower than the default.

    Args:
        device: runs them.
        default: the benchmark of the default.
        benchmark: the benchmark to compare.
        functions: the functions for the sizes, in order.
        seed: the seed of orders and resamples.

    Raises:
        DeviceError: the device is lost.
    """
    for function in functions:
        pair = [default.at(function), benchmark.at(function)]
        rounds = device.rounds(pair, _BETWEEN_ROUNDS, seed, _BETWEEN_SECONDS)
        if isinstance(rounds, Failure):
            return rounds
        comparison = _comparison(rounds, function, seed)
        if comparison.speedup.high < _MUCH_SLOWER:
            return function, comparison
    return None


def compare_at(
    device: Device, default: Benchmark, benchmark: Benchmark, function: SizedFunction, seed: int
) -> SizeComparison | Failure:
    """Compare two static benchmarks.

    Args:
        device: runs them.
        default: the benchmark of the default.
        benchmark: the benchmark to compare.
        function: the function for the sizes of both.
        seed: the seed of orders and resamples.

    Raises:
        DeviceError: the device is lost.
    """
    rounds = device.rounds([default, benchmark], SIZE_ROUNDS, seed, SIZE_SECONDS)
    if isinstance(rounds, Failure):
        return rounds
    return _comparison(rounds, function, seed)


def _comparison(rounds: Rounds, function: SizedFunction, seed: int) -> SizeComparison:
    """Return the comparison of two benchmarks by their times."""
    decision = decide([[(first, second) for first, second in rounds.samples]], 0.0, seed)
    return SizeComparison(
        function.sizes, function.weight, decision.default_us, decision.tuned_us, decision.speedup
    )


@dataclass(frozen=True)
class WinnerVerification:
    """Compiles a task with specs for its winners, and compares the binaries with the measured ones.

    Attributes:
        prepared: the task.
        compiler: compiles it.
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
            message = f"{what}: {failure.message}"
            raise TuninglinkError(error(message, notes=[note(str(winner))]))
