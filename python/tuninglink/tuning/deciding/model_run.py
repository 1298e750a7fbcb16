"""Runs of the whole program with and without a spec, which decide which entries stay."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import TIMEOUT_MAX
from typing import Any, Final, NamedTuple, TypeVar

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tuninglink.devices import COMPILING_DRIVERS, FEWEST_ROUNDS, AheadLoader, Device
from tuninglink.plain_data import FLAT
from tuninglink.programs import (
    PLAIN_INTEGERS,
    Correctness,
    DispatchedProgram,
    Failure,
    FailureKind,
    FunctionCall,
    OutputComparison,
    OutputVerdict,
    ProgramCalls,
    TuningTask,
    element_type,
)
from tuninglink.tuning.candidates import CandidateCompiler, Compiled
from tuninglink.tuning.deciding.decisions import (
    ConfidenceInterval,
    FunctionComparison,
    ModelComparison,
)
from tuninglink.tuning.deciding.race import Standings
from tuninglink.tuning.deciding.task_result import TaskResult
from tuninglink.tuning.deciding.tune_options import Numerics
from tuninglink.tuning.references import ProgramReference, narrow_sums
from tuninglink.workers import finished

Arrays = Sequence[NDArray[Any]]
FunctionOutputs = Mapping[str, tuple[NDArray[Any], ...]]
CollectedOutputs = dict[str, tuple[NDArray[Any], ...]]

_WIDE_BYTES: Final = 4
_WIDE_TOLERANCE: Final = 1e-4
_ROUNDINGS: Final = 10
"""The tolerance of types narrower than f32, in units of their precision: 1e-2 for f16."""

_LARGEST: Final = 0.5
"""The tolerance of types with a few bits."""

_BLOCK: Final = 1 << 15
"""The number of elements that are compared at a time."""


def relative_error(actual: Arrays, expected: Arrays) -> float:
    """Return the largest relative error of outputs, in the Frobenius norm.

    Infinities and NaNs must be at the expected positions. The error of integers is the fraction that differs. The types of
    expected outputs may be wider.

    Returns:
        The error; infinity if the number or shapes of the outputs differ, or their non-finite values.
    """
    if len(actual) != len(expected):
        return math.inf
    pairs = zip(actual, expected, strict=True)
    return max((_error(left, right) for left, right in pairs), default=0.0)


def _error(actual: NDArray[Any], expected: NDArray[Any]) -> float:
    if actual.shape != expected.shape:
        return math.inf
    if not actual.size:
        return 0.0
    if actual.dtype.kind in "iub":
        return float(np.mean(actual != expected))
    difference = norm = 0.0
    actual, expected = actual.reshape(-1), expected.reshape(-1)
    for begin in range(0, actual.size, _BLOCK):  # in the cache, without the threads of BLAS
        part = slice(begin, begin + _BLOCK)
        values, exact = actual[part].astype(np.float64), expected[part].astype(np.float64)
        finite = np.isfinite(exact)
        if not finite.all():
            if not np.array_equal(values[~finite], exact[~finite], equal_nan=True):
                return math.inf
            values, exact = values[finite], exact[finite]
        values -= exact
        difference += float(np.einsum("i,i->", values, values))
        norm += float(np.einsum("i,i->", exact, exact))
    error = math.sqrt(difference) / (math.sqrt(norm) or 1.0)
    return error if math.isfinite(error) else math.inf


def overflows(actual: Arrays, expected: Arrays) -> bool:
    """Return whether outputs are infinite or NaN where the expected ones are finite.

    Without expected outputs all should be finite, except for negative infinities, which may be masks.
    """
    floats = [values.astype(np.float64) for values in actual if values.dtype.kind not in "iub"]
    if not expected:
        return not all(bool((values < np.inf).all()) for values in floats)
    return any(
        values.shape == exact.shape
        and bool(
            (np.isfinite(exact.astype(np.float64)) & ~np.isfinite(values.astype(np.float64))).any()
        )
        for values, exact in zip(actual, expected, strict=False)
    )


def are_identical(actual: Arrays, expected: Arrays) -> bool:
    """Return whether outputs are bitwise equal."""
    return len(actual) == len(expected) and all(
        left.dtype == right.dtype
        and left.shape == right.shape
        and left.tobytes() == right.tobytes()
        for left, right in zip(actual, expected, strict=True)
    )


def tolerance_of(types: Iterable[np.dtype]) -> float:
    """Return the largest relative error of a correct program's outputs, by the narrowest floating-point type of some."""
    largest = _WIDE_TOLERANCE
    for dtype in types:
        if dtype.kind in "fV" and dtype.itemsize < _WIDE_BYTES:  # V for the types of ml_dtypes
            precision = float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]
            largest = max(largest, min(_LARGEST, round(_ROUNDINGS * precision, 2)))
    return largest


_NOT_FINITE: Final = "the reference has infinities or NaNs, too: --expected tells whether it should"
DEFAULT_SOURCE: Final = "the program without a spec"
GIVEN_SOURCE: Final = "--expected"


@dataclass(frozen=True)
class Expectation:
    """The expected outputs by the labels of functions, without those compared only with the default, and a note on them."""

    outputs: FunctionOutputs
    source: str
    note: str = ""


@dataclass
class OutputJudge:
    """Compares outputs of a program with those that the user gives, else with the reference's, else with the default's.

    Attributes:
        tasks: the dispatches of the program, whose types determine the tolerance.
        numerics: the acceptance policy for outputs of a tuned program.
        near: the part of the tolerance within which outputs of two programs show that both are right, without a reference.
    """

    tasks: Sequence[TuningTask] = ()
    reference: ProgramReference | None = None
    numerics: Numerics = Numerics.ROUNDING
    near: float = 0.0

    def tolerance(self, functions: Sequence[FunctionCall], outputs: FunctionOutputs) -> float:
        """Return the largest error of a correct program."""
        names = {entry.element_type for function in functions for entry in function.inputs}
        names |= {part.element_type for task in self.tasks for part in task.layout.bindings}
        types = {dtype for name in names if (dtype := element_type(name))}
        return tolerance_of(
            types | {array.dtype for arrays in outputs.values() for array in arrays}
        )

    def expectation(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Expectation:
        """Wait for the reference, and return the expected outputs of functions for a range of random integers."""
        outputs = {entry.label: entry.expected for entry in functions if entry.expected}
        sources = [GIVEN_SOURCE] if outputs else []
        missing = [entry for entry in functions if not entry.expected]
        note = ""
        if missing and self.reference is not None:
            computed = self.reference.outputs(calls, missing, integers)
            if isinstance(computed, str):
                note = f"no reference: {computed}"
            else:
                outputs |= computed
                sources.append(self.reference.name)
                if any(overflows(values, ()) for values in computed.values()):
                    note = _NOT_FINITE
        return Expectation(outputs, " and ".join(sources) or DEFAULT_SOURCE, note)

    def compare(
        self,
        expectation: Expectation,
        default: FunctionOutputs,
        tuned: FunctionOutputs | None,
        tolerance: float,
    ) -> OutputComparison:
        """Return the errors of outputs without a spec, and with one unless that is None."""
        expected = expectation.outputs
        default_error = _largest_error(default, expected) if expected else None
        tuned_error = None if tuned is None else _largest_error(tuned, {**default, **expected})
        has_overflow = any(
            overflows(outputs[label], values)
            for outputs in (default, tuned or {})
            for label, values in expected.items()
            if label in outputs
        )
        is_off = max(default_error or 0.0, tuned_error or 0.0) > tolerance
        return OutputComparison(
            expectation.source,
            tolerance,
            default_error,
            tuned_error,
            expectation.note,
            has_overflow,
            narrow_sums(self.tasks) if is_off else "",
        )

    def rejection(
        self, comparison: OutputComparison, default: FunctionOutputs, tuned: FunctionOutputs
    ) -> str:
        """Return the reason for rejecting the outputs of a tuned program; empty if they are accepted."""
        match self.numerics:
            case Numerics.ANY:
                return ""
            case Numerics.BITWISE:
                differing = [
                    label for label in default if not are_identical(default[label], tuned[label])
                ]
                if differing:
                    return f"its outputs are not those of {DEFAULT_SOURCE} bit for bit: function '{differing[0]}'"
                return ""
            case Numerics.ROUNDING:
                return comparison.failure


def _largest_error(actual: FunctionOutputs, expected: FunctionOutputs) -> float:
    """Return the largest error. Users give no expected values for arguments that a function updates."""
    errors = (
        relative_error(actual[label][: len(values)], values) for label, values in expected.items()
    )
    return max(errors, default=0.0)


# --- Variants of a program: their outputs, and their times in interleaved rounds ------------------

_ROUNDS: Final = 25
"""The least number of rounds of a later batch; there are half as many as before if these are more."""

_MOST_ROUNDS: Final = 1000


class ModelRunError(Exception):
    """The program cannot be compared; the message is the reason."""


class CallError(ModelRunError):
    """A function of the program fails.

    Attributes:
        failure: the failure.
    """

    def __init__(self, label: str, failure: Failure) -> None:
        super().__init__(f"function '{label}': {failure.message}")
        self.failure = failure


CALLS_OF_FEWEST_ROUNDS: Final = FEWEST_ROUNDS + 1
"""The calls of a program in the fewest rounds: the first one finds the size of batches."""


class CallDuration(NamedTuple):
    """The seconds of a run of the program: with loading, and of its calls alone."""

    total: float
    calling: float

    def rounds(self, driver: str) -> float:
        """Return the seconds of the fewest rounds. A driver that compiles has compiled the program now."""
        reloading = 0.0 if driver in COMPILING_DRIVERS else self.total - self.calling
        return reloading + CALLS_OF_FEWEST_ROUNDS * self.calling


@dataclass
class ProgramVariants:
    """Runs variants of a program, with other flags or specs: for their outputs, and in interleaved rounds.

    Attributes:
        calls: the calls that make up the time of the program.
        judge: compares outputs with expected outputs.
        seed: the seed of orders and resamples.
        integers: the range of random integers among the inputs.
        durations: the durations of runs, by the code of a variant.
    """

    calls: ProgramCalls
    device: Device
    judge: OutputJudge
    seed: int
    integers: tuple[int, int] = PLAIN_INTEGERS
    durations: dict[bytes, CallDuration] = field(default_factory=dict)
    _expectation: Expectation | None = None

    @cached_property
    def functions(self) -> list[FunctionCall]:
        return [function for function in self.calls.functions if not function.obstacle]

    @property
    def obstacles(self) -> list[str]:
        """The functions that cannot be called, with the reasons."""
        skipped = [function for function in self.calls.functions if function.obstacle]
        return [f"function '{function.label}': {function.obstacle}" for function in skipped]

    def outputs(self, image: bytes, most_seconds: float) -> CollectedOutputs:
        """Return the outputs of each function of a variant, calls of all of which may take some seconds.

        Raises:
            CallError: a function fails.
        """
        outputs: CollectedOutputs = {}
        began, calling = time.monotonic(), 0.0
        for function in self.functions:
            program = self.calls.compiled(function, image, self.integers)
            if (left := began + most_seconds - time.monotonic()) <= 0:
                reason = f"no answer within {most_seconds:.3g} s"
                raise CallError(function.label, Failure(FailureKind.TIMEOUT, reason))
            computed = self.device.program_outputs(program, left)
            if isinstance(computed, Failure):
                raise CallError(function.label, computed)
            outputs[function.label] = computed.arrays
            calling += computed.seconds
        self.durations[image] = CallDuration(time.monotonic() - began, calling)
        return outputs

    def compare_outputs(
        self, default: FunctionOutputs, tuned: FunctionOutputs | None, *, is_brief: bool = False
    ) -> OutputComparison:
        """Return the errors of outputs of the default, and of another variant if there is one.

        If it is brief, outputs that are those of the default are compared only with what the user expects.
        """
        tolerance = self.judge.tolerance(self.functions, default)
        if is_brief and tuned and not any(function.expected for function in self.functions):
            limit, error = self.judge.near * tolerance, 0.0
            if any(not are_identical(default[label], tuned[label]) for label in default):
                error = _largest_error(tuned, default) if limit else math.inf
            if error <= limit:
                return OutputComparison(DEFAULT_SOURCE, tolerance, tuned_error=error)
        if self._expectation is None:
            expectation = self.judge.expectation(self.calls, self.functions, self.integers)
            self._expectation = expectation
        return self.judge.compare(self._expectation, default, tuned, tolerance)

    def standings(self, copies: int) -> Standings:
        """Return standings without rounds, with a number of copies of the default."""
        weights = [function.weight for function in self.functions]
        return Standings(weights, copies=copies, seed=self.seed)

    def rounds(
        self,
        standings: Standings,
        default: bytes,
        running: Mapping[int, bytes],
        first: int,
        end: float,
    ) -> Iterator[None]:
        """Add batches of interleaved rounds to standings until no rival is left, or the time is over.

        The caller drops rivals, or stops, after each batch; `first` is the number of rounds of the first one. The fewest
        rounds are run in any case, also after the end, in seconds of `time.monotonic()`.

        Raises:
            ModelRunError: the rounds fail.
        """
        while running:
            programs = [
                self.calls.compiled(function, image, self.integers)
                for image in (*[default] * standings.copies, *running.values())
                for function in self.functions
            ]
            count = len(standings)
            more = max(_ROUNDS, count // 2) if count else first
            left = max(0.0, end - time.monotonic())
            rounds = self.device.rounds(programs, more, self.seed + count, left)
            if isinstance(rounds, Failure):
                raise ModelRunError(rounds.message)
            standings.add([*running], rounds.samples)
            yield
            if len(standings) >= _MOST_ROUNDS or time.monotonic() >= end:
                return


# --- Runs of the whole program with and without a spec, which decide which entries stay ----------

_COMPILE_SECONDS: Final = 1800.0
"""The time limit for compiling a whole program."""

_FIRST_ROUNDS: Final = 6
"""The rounds of the first batch, which suffice if the interval of the ratio is clear."""

_LEAST_SECONDS: Final = 2.0
"""The time for a comparison even if the budget is used up: a decoder whose step takes 4 ms needed more than 1 s on a GPU."""

_LEAST_CALL_SECONDS: Final = 10.0
"""The time that a call of the program may take, in seconds, where drivers may compile in it, if it is not to end earlier."""

_SLOW: Final = 4.0
"""The time that slow functions always get for a comparison, in multiples of one run of all functions."""

_NOTHING: Final[ConfidenceInterval] = ConfidenceInterval(0.0, 0.0, 0.0)
"""The speedup reported for a program that fails with the spec."""

_INTEGER_RANGES: Final = (PLAIN_INTEGERS, (0, 1), (1, 1))
"""Ranges of random integers, in the order in which they are tried: of indices, of masks, and of masks without zeros."""


@dataclass
class ModelRuns:
    """Runs a program with and without specs. Its methods raise a `ModelRunError` if it cannot be compiled or run.

    Attributes:
        seed: the seed of inputs and orders.
        seconds: the time limit for a comparison whose interval remains wide, unless the program is slow.
        deadline: the end of all comparisons, in seconds of `time.monotonic()`.
        judge: compares outputs with expected outputs.
        base: the spec of the program that others are compared with; empty unless it does not run without one.
        failure: the failure of the program without a spec, if it is compared with a base; empty otherwise.
        loader: loads programs ahead; None for none.
    """

    program: DispatchedProgram
    compiler: CandidateCompiler
    device: Device
    seed: int
    seconds: float = 20.0
    deadline: float = math.inf
    judge: OutputJudge = field(default_factory=OutputJudge)
    base: str = ""
    failure: str = ""
    loader: AheadLoader | None = None
    _images: dict[str, Future[Compiled | Failure]] = field(default_factory=dict)
    _outputs: dict[str, CollectedOutputs] = field(default_factory=dict)

    @cached_property
    def _variants(self) -> ProgramVariants:
        calls = self.program.calls
        if calls is None:
            raise ModelRunError("it is one dispatch, or its functions can no longer be read")
        variants = ProgramVariants(calls, self.device, self.judge, self.seed)
        if not variants.functions:
            obstacles = "; ".join(variants.obstacles)
            raise ModelRunError(obstacles or "it has no function that callers see")
        return variants

    def rebase(self, repairs: str) -> None:
        """Compare with the program that has the repairs only if it does not run without a spec."""
        self._await(self.base)
        try:
            self.finite_integers()
        except ModelRunError as failure:
            self.base, self.failure = repairs, next(iter(str(failure).splitlines()), "")

    def compare(self, spec: str, *, base: str = "", is_repair: bool = False) -> ModelComparison:
        """Compare the times of the program with and without a spec in interleaved runs of a few seconds.

        Args:
            spec: the spec.
            base: the spec to compare with; empty for the program without one.
            is_repair: whether the spec repairs dispatches that are wrong with the base. The outputs are then
                compared only with a reference for the program, not with those of the base.

        Raises:
            ModelRunError: it cannot be compiled or run without the spec, or too little time is left.
        """
        variants, base, driver = self._variants, base or self.base, self.device.description.driver
        self._await(base, spec)
        self.finite_integers()
        default = self._image(base)
        if base not in self._outputs:
            self._outputs[base] = self.outputs(base)
        expected, once = self._outputs[base], variants.durations[default]
        self._require(once.total + 2 * once.rounds(driver))
        # The program with the spec must run, and be right.
        try:
            tuned, computed = self._image(spec), self.outputs(spec)
        except ModelRunError as failure:
            return ModelComparison(0.0, 0.0, _NOTHING, failure=str(failure))
        outputs = variants.compare_outputs(expected, computed)
        rejection = self.judge.rejection(outputs, expected, computed)
        if rejection and not (is_repair and outputs.default_error is None):
            return ModelComparison(0.0, 0.0, _NOTHING, failure=rejection, outputs=outputs)
        taken, began = variants.durations[tuned], time.monotonic()
        self._require(once.rounds(driver) + taken.rounds(driver))
        # Both are timed until the interval of the speedup is narrow enough.
        end = min(began + max(self.seconds, _SLOW * taken.total), self.deadline)
        end = max(end, began + _LEAST_SECONDS)
        standings = variants.standings(copies=1)
        for _ in variants.rounds(standings, default, {0: tuned}, _FIRST_ROUNDS, end):
            if standings.is_decided(0):
                break
        whole, *single = [
            (standings.default_ms(one), standings.milliseconds(0, one), standings.speedup(0, one))
            for one in (None, *range(len(variants.functions)))
        ]
        functions = tuple(
            FunctionComparison(function.label, function.weight, *times)
            for function, times in zip(variants.functions, single, strict=True)
        )
        # Fewer rounds do not bound the noise.
        noise = standings.noise if len(standings) >= _FIRST_ROUNDS else None
        notes, fails = tuple(self._notes()), bool(self.failure)
        return ModelComparison(
            *whole, functions, notes, outputs=outputs, noise=noise, default_fails=fails
        )

    def compared_outputs(self, spec: str = "") -> OutputComparison:
        """Return the errors of the program's outputs, without a spec and with one."""
        self.finite_integers()
        tuned = self.outputs(spec) if spec else None
        return self._variants.compare_outputs(self._outputs[self.base], tuned)

    def outputs(self, spec: str = "") -> CollectedOutputs:
        """Return the outputs of each function, with or without a spec, always from the same inputs."""
        self.finite_integers()
        return self._run(self._image(spec))

    def _run(self, image: bytes) -> CollectedOutputs:
        compiles = self.device.description.driver in COMPILING_DRIVERS
        least = _LEAST_CALL_SECONDS if compiles else _LEAST_SECONDS
        if self.loader is not None:
            self.loader.await_program(image, self.deadline - time.monotonic())
        return self._variants.outputs(image, max(least, self.deadline - time.monotonic()))

    def begin_ahead(self, spec: str) -> None:
        """Start to compile the program with a spec that a later comparison needs, unless this disturbs measurements."""
        if not self.device.description.is_local:
            self.begin(spec)

    def begin(self, *specs: str) -> Future[Compiled | Failure]:
        """Start to compile the program without a spec and with each of the given ones; return the first job."""
        for spec in (self.base, *specs):
            if spec not in self._images:
                job = self.compiler.submit_whole(self.program.saved, spec, _COMPILE_SECONDS)
                self._images[spec] = job
                job.add_done_callback(self._load_ahead)
        return self._images[self.base]

    def provide(self, compiled: Compiled) -> None:
        """Take the program without a spec from an earlier compilation."""
        self._images[""] = finished(compiled)
        self._load_ahead(self._images[""])

    def _load_ahead(self, job: Future[Compiled | Failure]) -> None:
        if self.loader is not None and (compiled := _result(job)) is not None:
            self.loader.begin_program(compiled.image, self.program.calls)

    def compiled(self, spec: str = "") -> Compiled | None:
        """Return the program with a spec if it is compiled; None otherwise."""
        job = self._images.get(spec)
        return None if job is None or not job.done() else _result(job)

    def compile(self, *specs: str) -> None:
        """Compile the program with specs and without one, and wait for all where another compilation disturbs measurements."""
        self.begin(*specs)
        if self.device.description.is_local:
            with suppress(ModelRunError):
                self._await(self.base, *specs)

    def _await(self, *specs: str) -> None:
        """Wait until the program is compiled with each of some specs, or the time is over, which says nothing on them."""
        self.begin(*specs)
        left = min(TIMEOUT_MAX, max(0.0, self.deadline - time.monotonic()))
        if wait([self._images[spec] for spec in specs], left).not_done:
            raise ModelRunError("it did not compile in the time that the budget left")

    def _image(self, spec: str) -> bytes:
        self._await(spec)
        compiled = self._images[spec].result()
        if isinstance(compiled, Failure):
            raise ModelRunError(compiled.message)
        return compiled.image

    def finite_integers(self) -> tuple[int, int]:
        """Return a range of random integers that gives finite outputs without a spec.

        Integers may be indices, which should differ, or masks, from which some functions compute infinities unless the
        masks are zeros and ones.
        """
        variants = self._variants
        if self.base in self._outputs:
            return variants.integers
        usable: dict[tuple[int, int], CollectedOutputs] = {}
        ranges = _INTEGER_RANGES if variants.calls.takes_integers else _INTEGER_RANGES[:1]
        for integers in ranges:
            variants.integers = integers
            try:
                usable[integers] = outputs = self._run(self._image(self.base))
            except ModelRunError as failure:
                error = failure
                if time.monotonic() >= self.deadline:
                    break
                continue
            if all(
                array.dtype.kind in "iub" or bool(np.isfinite(array.astype(np.float64)).all())
                for arrays in outputs.values()
                for array in arrays
            ):
                break
        if not usable:
            raise error
        variants.integers, self._outputs[self.base] = usable.popitem()
        return variants.integers

    def _require(self, seconds: float) -> None:
        if seconds > max(_LEAST_SECONDS, self.deadline - time.monotonic()):
            reason = f"its runs take about {seconds:.0f} s, which the budget did not leave"
            raise ModelRunError(reason)

    def _notes(self) -> Iterator[str]:
        variants = self._variants
        if self.failure:
            yield f"it does not run without the entries for defaults that fail, with which it is compared: {self.failure}"
        for obstacle in variants.obstacles:
            yield f"not compared: {obstacle}"
        if variants.calls.parameters.is_synthetic:
            yield "the weights are random; --parameters names files with others"
        if variants.calls.is_stateful:
            yield "the program keeps state between calls; it was timed again from its first state"


def _result(job: Future[Compiled | Failure]) -> Compiled | None:
    compiled = None if job.cancelled() or job.exception() else job.result()
    return None if isinstance(compiled, Failure) else compiled


# --- Verdicts of whole-program runs: on the entries of a spec, and on the outputs of the program -

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class ModelVerdict:
    """The verdict of whole-program runs on a spec.

    Attributes:
        kept: the entries that stay.
        comparison: the comparison of the program with them and without; None if it was not run or none stays.
        reason: the reason for a missing comparison.
        failures: the failures of the program with the entries that were dropped.
        default_outputs: the outputs of the program without a spec; None if it was not run.
    """

    kept: tuple[TaskResult, ...]
    comparison: ModelComparison | None = None
    reason: str = ""
    failures: tuple[str, ...] = ()
    default_outputs: OutputComparison | None = None

    @property
    def outputs(self) -> OutputComparison | None:
        """The outputs of the program, with the entries that stay if there are any."""
        if self.comparison is not None and self.comparison.outputs is not None:
            return self.comparison.outputs
        return self.default_outputs


def judge_entries(
    won: Sequence[TaskResult], runs: ModelRuns, write: Callable[[Sequence[TaskResult]], str]
) -> ModelVerdict:
    """Drop entries that make the whole program slower although their dispatch is faster.

    Right results come before speed: entries for dispatches with a wrong default stay at any speed, unless the program
    fails with them. The other entries are compared with the program that has only the repairs. Entries
    with which the outputs of the program are rejected are dropped.

    `write` writes the spec with some of the entries.
    """
    comparisons: dict[tuple[str, str], ModelComparison] = {}
    failures: dict[int, str] = {}

    def compare(entries: Sequence[TaskResult], base: Sequence[TaskResult] = ()) -> ModelComparison:
        """Compare the program with a base and some entries with that of the base alone."""
        chosen = [entry for entry in won if entry in (*base, *entries)]
        specs = write(chosen), write(base) if base else ""
        if specs not in comparisons:
            is_repair = not base and any(entry.default_is_wrong for entry in entries)
            comparisons[specs] = runs.compare(specs[0], base=specs[1], is_repair=is_repair)
        if len(entries) == 1 and comparisons[specs].failure:
            failures[won.index(entries[0])] = comparisons[specs].failure
        return comparisons[specs]

    failing = [entry for entry in won if entry.default_failure is not None]
    repairs = [entry for entry in won if entry.default_is_wrong]
    faster = [entry for entry in won if not entry.default_is_wrong]
    if repairs and faster:
        runs.begin_ahead(write(repairs))
    try:
        if failing:
            runs.rebase(write(failing))
        if repairs and compare(won).failure:
            repairs = harmless(repairs, compare, lambda comparison: bool(comparison.failure))
        faster = harmless(faster, lambda entries: compare(entries, repairs))
        kept = [entry for entry in won if entry in repairs or entry in faster]
        comparison = _with_note(compare(kept), repairs) if kept else None
    except ModelRunError as failure:
        full = comparisons.get((write(won), ""))
        if full is None:
            return ModelVerdict(tuple(won), reason=str(failure))
        # Repairs may slow the program down by as much as their dispatches are slower.
        slower_us = sum(
            repair.task.calls * (repair.decision.tuned_us - repair.decision.default_us)
            for repair in repairs
            if repair.decision is not None
        )
        is_explained = full.tuned_ms - full.default_ms <= slower_us / 1000
        if not full.is_slower or (is_explained and not full.failure):
            return ModelVerdict(tuple(won), _with_note(full, repairs))
        # The program is slower with the spec or fails, and the entries at fault were not found.
        harm = full.failure or "the program is slower with the spec"
        reason = f"{harm}; the entries at fault were not found: {failure}"
        kept = [] if full.failure else repairs
        outputs = full.outputs and replace(full.outputs, tuned_error=None)
        return ModelVerdict(tuple(kept), reason=reason, default_outputs=outputs)
    # Report the failures of entries that were left out.
    reason = "" if kept else "the program is slower with each entry, or fails"
    left_out = [failures[number] for number in sorted(failures) if won[number] not in kept]
    judged = (compared.outputs for compared in comparisons.values() if compared.outputs is not None)
    outputs = next((replace(first, tuned_error=None) for first in judged), None)
    return ModelVerdict(tuple(kept), comparison, reason, tuple(dict.fromkeys(left_out)), outputs)


def _with_note(comparison: ModelComparison, repairs: Sequence[TaskResult]) -> ModelComparison:
    """Return a comparison with a remark if some entries stay at any speed."""
    count = sum(repair.default_failure is None for repair in repairs)
    if not count:
        return comparison
    entries = f"{count} entries replace wrong defaults and stay"
    if count == 1:
        entries = "1 entry replaces a wrong default and stays"
    note = f"{entries} at any speed: right results come before speed"
    return replace(comparison, notes=(*comparison.notes, note))


def with_predicted(
    verdict: ModelVerdict,
    predicted: Sequence[TaskResult],
    runs: ModelRuns,
    write: Callable[[Sequence[TaskResult]], str],
) -> ModelVerdict:
    """Add predicted entries to a verdict if the program is right with them, and not slower than without them.

    Where it is slower, those that replace wrong defaults are added alone, at any speed.
    """
    kept, repairs = verdict.kept, [entry for entry in predicted if entry.default_is_wrong]
    choices = [predicted, repairs] if 0 < len(repairs) < len(predicted) else [predicted]
    try:
        failing = [own for own in (*kept, *predicted) if own.default_failure is not None]
        if failing:
            runs.rebase(write(failing))
        for chosen in choices:
            entries, is_repair = [*kept, *chosen], any(own in repairs for own in chosen)
            base = [own for own in entries if own in kept or own in failing]
            specs = write(entries), write(base) if base else ""
            added = runs.compare(specs[0], base=specs[1], is_repair=is_repair)
            if added.failure or (added.is_slower and len(chosen) > len(repairs)):
                continue
            is_repair = any(own.default_is_wrong for own in entries)
            whole = runs.compare(specs[0], is_repair=is_repair) if base else added
            if not whole.failure:
                shown = _with_note(whole, [own for own in entries if own.default_is_wrong])
                return replace(verdict, kept=tuple(entries), comparison=shown, reason="")
    except ModelRunError:
        pass  # the winners alone were compared
    return verdict


def judge_default(runs: ModelRuns) -> ModelVerdict:
    """Return the verdict on the outputs of the whole program without entries."""
    reason = "there is no entry"
    try:
        return ModelVerdict((), reason=reason, default_outputs=runs.compared_outputs())
    except ModelRunError as failure:
        return ModelVerdict((), reason=f"{reason}, and {failure}")


def harmless(
    entries: Sequence[Entry],
    compare: Callable[[Sequence[Entry]], ModelComparison],
    is_harmed: Callable[[ModelComparison], bool] = lambda comparison: comparison.is_slower,
) -> list[Entry]:
    """Return the entries that do not harm the program, by bisection; `compare` compares it with some and without any."""
    if not entries or not is_harmed(compare(entries)):
        return list(entries)
    if len(entries) == 1:
        return []
    middle = len(entries) // 2
    parts = (entries[:middle], entries[middle:])
    halves = [harmless(part, compare, is_harmed) for part in parts]
    kept = [*halves[0], *halves[1]]
    if all(halves) and is_harmed(compare(kept)):
        # Each half is harmless alone, but both together are not.
        return max(halves, key=lambda half: compare(half).speedup.median)
    return kept


@dataclass(frozen=True)
class ProgramVerdict:
    """The verdict on the outputs of a whole program; error and tolerance are None without a comparison.

    Attributes:
        source: the origin of the expected outputs; empty if the program was not run.
        has_overflow: whether they are infinite or NaN where the expected ones are finite.
    """

    judgement: OutputVerdict = field(metadata=FLAT)
    source: str = ""
    error: float | None = None
    tolerance: float | None = None
    has_overflow: bool = False

    @property
    def is_right(self) -> bool:
        """Whether the outputs are not shown to be wrong."""
        return self.judgement.correctness is not Correctness.WRONG


def judge_program(runs: ModelRuns, spec: str) -> ProgramVerdict:
    """Return the verdict on the outputs of a whole program.

    Outputs are wrong only if they differ from those given by the user. If they differ from a reference, the reference
    may be the less exact one.

    The spec is empty for none.
    """
    try:
        comparison = runs.compared_outputs(spec)
    except ModelRunError as failure:
        return ProgramVerdict(OutputVerdict(Correctness.UNCHECKED, str(failure)))
    error = comparison.tuned_error if spec else comparison.default_error
    if comparison.source == DEFAULT_SOURCE or error is None:
        return ProgramVerdict(OutputVerdict(Correctness.UNCHECKED, comparison.note))
    is_off = error > comparison.tolerance
    finding = f"relative error {error:.2g} against {comparison.source}"
    if is_off and comparison.has_overflow:
        finding = f"infinities or NaNs where {comparison.source} is finite"
    elif is_off:
        limit = f"at most {comparison.tolerance:.2g} is rounding"
        finding += f", {limit}; --trace shows where they diverge"
        finding += f"; {comparison.narrow_sums}" if comparison.narrow_sums else ""
    elif comparison.note:
        finding += f"; {comparison.note}"
    wrong = Correctness.WRONG if comparison.source == GIVEN_SOURCE else Correctness.UNDECIDED
    judgement = OutputVerdict(wrong if is_off else Correctness.RIGHT, finding)
    errors = error, comparison.tolerance, is_off and comparison.has_overflow
    return ProgramVerdict(judgement, comparison.source, *errors)
