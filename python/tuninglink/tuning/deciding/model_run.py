"""Runs of the whole program with and without a spec, which decide which entries stay."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tuninglink.tuning.deciding import ConfidenceInterval, ModelComparison
from tuninglink.tuning.deciding.output_judge import Expectation, OutputJudge
from tuninglink.tuning.deciding.round_times import NARROW_ROUNDS, ModelSamples
from tuninglink.tuning.devices.device import COMPILING_DRIVERS
from tuninglink.tuning.devices.sampling import FEWEST_ROUNDS
from tuninglink.tuning.programs.compiled_program import PLAIN_INTEGERS
from tuninglink.tuning.results import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from tuninglink.tuning.candidates.compilation import CandidateCompiler, Compiled
    from tuninglink.tuning.devices.device_process import Device
    from tuninglink.tuning.programs.compiled_program import CompiledProgram
    from tuninglink.tuning.programs.dispatches import DispatchedProgram
    from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls
    from tuninglink.tuning.results import OutputComparison

    Outputs = dict[str, tuple[NDArray[Any], ...]]

_COMPILE_SECONDS: Final = 1800.0
"""The time limit for compiling a whole program."""

_ROUNDS: Final = NARROW_ROUNDS
"""The rounds of a batch."""

_FIRST_ROUNDS: Final = 6
"""The rounds of the first batch, which suffice if the interval of the ratio is clear."""

_LEAST_SECONDS: Final = 1.0
"""The time for a comparison even if the budget is used up."""

MOST_SECONDS: Final = 20.0
"""The default time limit for a comparison whose interval remains wide."""

_SLOW: Final = 4.0
"""The time that slow functions always get for a comparison, in multiples of one run of all functions."""

_NOTHING: Final = ConfidenceInterval(0.0, 0.0, 0.0)
"""The speedup reported for a program that fails with the spec."""

_INTEGER_RANGES: Final = (PLAIN_INTEGERS, (0, 1), (1, 1))
"""Ranges of random integers, in the order in which they are tried: of indices, of masks, and of masks without zeros."""


class ModelRunError(Exception):
    """The program cannot be compared; the message is the reason."""


@dataclass(frozen=True)
class _Duration:
    """The duration of a run of the program.

    Attributes:
        total: the seconds with loading.
        calling: the seconds of the calls.
        reloading: the seconds of loading the program again.
    """

    total: float
    calling: float
    reloading: float

    @property
    def rounds(self) -> float:
        """The duration of the minimum number of rounds, including reloading and a warm-up call, in seconds."""
        return self.reloading + (1 + FEWEST_ROUNDS) * self.calling


@dataclass
class ModelRuns:
    """Runs a program with and without specs.

    Attributes:
        program: the program.
        compiler: compiles it.
        device: runs it.
        seed: the seed of inputs and orders.
        seconds: the time limit for a comparison whose interval remains wide, unless the program is slow.
        deadline: the end of all comparisons, in seconds of `time.monotonic()`.
        judge: compares outputs with expected outputs.
    """

    program: DispatchedProgram
    compiler: CandidateCompiler
    device: Device
    seed: int
    seconds: float = MOST_SECONDS
    deadline: float = math.inf
    judge: OutputJudge = field(default_factory=OutputJudge)
    _images: dict[str, Future[Compiled | Failure]] = field(default_factory=dict)
    _integers: tuple[int, int] | None = None
    _durations: dict[bytes, _Duration] = field(default_factory=dict)
    _default: Outputs = field(default_factory=dict)
    _bases: dict[str, Outputs] = field(default_factory=dict)
    _expectation: Expectation | None = None

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
        calls = self._calls()
        self.begin(*filter(None, (base, spec)))
        integers = self.finite_integers()
        default = self._image(base)
        expected = self._outputs_of_base(base)
        once = self._durations[default]
        self._require(once.total + 2 * once.rounds)
        try:
            tuned = self._image(spec)
            computed = self._run(tuned, integers)
        except ModelRunError as failure:
            return ModelComparison(0.0, 0.0, _NOTHING, failure=str(failure))
        outputs = self._judged(expected, computed)
        rejection = self.judge.rejection(outputs, expected, computed)
        if rejection and not (is_repair and outputs.default_error is None):
            return ModelComparison(0.0, 0.0, _NOTHING, failure=rejection, outputs=outputs)
        programs = [
            calls.compiled(call, image, integers)
            for call in self._functions()
            for image in (default, tuned)
        ]
        taken = self._durations[tuned]
        self._require(once.rounds + taken.rounds)
        samples = self._samples(programs, max(self.seconds, _SLOW * taken.total))
        return samples.comparison(tuple(self._notes()), outputs)

    def compared_outputs(self, spec: str = "") -> OutputComparison:
        """Return the errors of the program's outputs, without a spec and with one.

        Raises:
            ModelRunError: it cannot be compiled or run.
        """
        self.finite_integers()
        return self._judged(self._default, self.outputs(spec) if spec else None)

    def _outputs_of_base(self, base: str) -> Outputs:
        """Return the outputs with the base spec, computed once."""
        if not base:
            return self._default
        if base not in self._bases:
            self._bases[base] = self.outputs(base)
        return self._bases[base]

    def _judged(self, default: Outputs, tuned: Outputs | None) -> OutputComparison:
        functions = self._functions()
        if self._expectation is None:
            integers = self.finite_integers()
            self._expectation = self.judge.expectation(self._calls(), functions, integers)
        tolerance = self.judge.tolerance(functions, self._default)
        return self.judge.compare(self._expectation, default, tuned, tolerance)

    def outputs(self, spec: str = "") -> Outputs:
        """Return the outputs of each function, with or without a spec, always from the same inputs.

        Raises:
            ModelRunError: it cannot be compiled or run.
        """
        integers = self.finite_integers()
        return self._run(self._image(spec), integers)

    def _calls(self) -> ProgramCalls:
        if self.program.calls is None:
            raise ModelRunError("it is one dispatch, or its functions can no longer be read")
        return self.program.calls

    def _functions(self) -> list[FunctionCall]:
        """Return the callable functions.

        Raises:
            ModelRunError: the program has no callable function.
        """
        calls = self._calls()
        callable_ = [function for function in calls.functions if not function.obstacle]
        if not callable_:
            reasons = "; ".join(_skipped(function) for function in calls.functions)
            raise ModelRunError(reasons or "it has no function that callers see")
        return callable_

    def begin_ahead(self, spec: str) -> None:
        """Start to compile the program with a spec that a later comparison needs, unless this disturbs measurements."""
        if not self.device.description.is_local:
            self.begin(spec)

    def begin(self, *specs: str) -> Future[Compiled | Failure]:
        """Start to compile the program without a spec and with each of the given ones; return the first job."""
        for spec in ("", *specs):
            if spec not in self._images:
                self._images[spec] = self.compiler.submit_whole(
                    self.program.saved, spec, _COMPILE_SECONDS
                )
        return self._images[""]

    def _image(self, spec: str) -> bytes:
        self.begin(spec)
        compiled = self._images[spec].result()
        if isinstance(compiled, Failure):
            raise ModelRunError(compiled.message)
        return compiled.image

    def finite_integers(self) -> tuple[int, int]:
        """Return a range of random integers that gives finite outputs without a spec.

        Integers may be indices, which should differ, or masks, from which some functions compute infinities unless the
        masks are zeros and ones.

        Raises:
            ModelRunError: the program cannot be compiled or run.
        """
        if self._integers is None:
            image = self._image("")
            usable: list[tuple[int, int]] = []
            for integers in _INTEGER_RANGES if self._takes_integers() else _INTEGER_RANGES[:1]:
                try:
                    self._default = outputs = self._run(image, integers)
                except ModelRunError as failure:
                    error = failure
                    continue
                usable.append(integers)
                if all(_is_finite(array) for arrays in outputs.values() for array in arrays):
                    break
            if not usable:
                raise error
            self._integers = usable[-1]
        return self._integers

    def _takes_integers(self) -> bool:
        return any(
            argument.content is None and argument.element_type.startswith("i")
            for function in self._functions()
            for argument in function.inputs
        )

    def _require(self, seconds: float) -> None:
        """Check that enough time is left.

        Raises:
            ModelRunError: too little time is left.
        """
        if seconds > max(_LEAST_SECONDS, self.deadline - time.monotonic()):
            reason = f"its runs take about {seconds:.0f} s, which the budget did not leave"
            raise ModelRunError(reason)

    def _run(self, image: bytes, integers: tuple[int, int]) -> Outputs:
        outputs: Outputs = {}
        began, calling = time.monotonic(), 0.0
        for function in self._functions():
            program = self._calls().compiled(function, image, integers)
            computed = self.device.program_outputs(program)
            if isinstance(computed, Failure):
                raise ModelRunError(f"function '{function.label}': {computed.message}")
            outputs[function.label] = computed.arrays
            calling += computed.seconds
        total = time.monotonic() - began
        # The driver has compiled the program now.
        is_cached = self.device.description.driver in COMPILING_DRIVERS
        reloading = 0.0 if is_cached else total - calling
        self._durations[image] = _Duration(total, calling, reloading)
        return outputs

    def _samples(self, programs: Sequence[CompiledProgram], seconds: float) -> ModelSamples:
        """Return the times of programs by round, until the interval of the weighted ratio is narrow enough."""
        samples = ModelSamples(self._functions(), self.seed)
        began = time.monotonic()
        end = max(min(began + seconds, self.deadline), began + _LEAST_SECONDS)
        while not samples.are_decided:
            left = max(0.0, end - time.monotonic())
            count = _ROUNDS if len(samples) else _FIRST_ROUNDS
            rounds = self.device.program_rounds(programs, count, self.seed + len(samples), left)
            if isinstance(rounds, Failure):
                raise ModelRunError(rounds.message)
            samples.add(rounds.samples)
            if time.monotonic() > end:
                break
        return samples

    def _notes(self) -> Iterator[str]:
        calls = self._calls()
        for function in calls.functions:
            if function.obstacle:
                yield f"not compared: {_skipped(function)}"
        if calls.parameters.is_synthetic:
            yield "the weights are random; --parameters names files with others"
        if calls.is_stateful:
            yield "the program keeps state between calls; it was timed again from its first state"


def _skipped(function: FunctionCall) -> str:
    return f"function '{function.label}': {function.obstacle}"


def _is_finite(array: NDArray[Any]) -> bool:
    """Return whether all elements of an array are finite; integers are."""
    return array.dtype.kind in "iub" or bool(np.isfinite(array.astype(np.float64)).all())
