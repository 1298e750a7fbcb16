"""Judgement of the outputs of a whole program, with and without a spec, by their errors and tolerances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import ml_dtypes
import numpy as np

from tuninglink.tuning.programs.compiled_program import element_type
from tuninglink.tuning.results import OutputComparison
from tuninglink.tuning.settings import Numerics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls

    Arrays = Sequence[NDArray[Any]]
    Outputs = Mapping[str, tuple[NDArray[Any], ...]]


_WIDE_BYTES: Final = 4
_WIDE_TOLERANCE: Final = 1e-4
_ROUNDINGS: Final = 10
"""The tolerance of types narrower than f32, in units of their precision: 1e-2 for f16."""

_LARGEST: Final = 0.5
"""The tolerance of types with a few bits."""


def relative_error(actual: Arrays, expected: Arrays) -> float:
    """Return the largest relative error of outputs, in the Frobenius norm.

    Infinities and NaNs must be at the expected positions. The error of integers is the fraction that differs.

    Args:
        actual: the outputs.
        expected: the expected outputs; their types may be wider.

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
    values, exact = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(exact)
    if not np.array_equal(values[~finite], exact[~finite], equal_nan=True):
        return math.inf
    norm = float(np.linalg.norm(exact[finite])) or 1.0
    error = float(np.linalg.norm(values[finite] - exact[finite])) / norm
    return error if math.isfinite(error) else math.inf


def are_identical(actual: Arrays, expected: Arrays) -> bool:
    """Return whether outputs are bitwise equal."""
    return len(actual) == len(expected) and all(
        left.dtype == right.dtype
        and left.shape == right.shape
        and left.tobytes() == right.tobytes()
        for left, right in zip(actual, expected, strict=True)
    )


def tolerance_of(types: Iterable[np.dtype]) -> float:
    """Return the largest relative error of a correct program's outputs.

    Args:
        types: the types of its computation; the narrowest floating-point type counts.
    """
    return max((_tolerance(dtype) for dtype in types if _is_float(dtype)), default=_WIDE_TOLERANCE)


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind in "fV"  # NumPy has no kind for the types of ml_dtypes


def _tolerance(dtype: np.dtype) -> float:
    if dtype.itemsize >= _WIDE_BYTES:
        return _WIDE_TOLERANCE
    precision = float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]
    return min(_LARGEST, round(_ROUNDINGS * precision, 2))


DEFAULT_SOURCE: Final = "the program without a spec"
GIVEN_SOURCE: Final = "--expected"


class ReferenceProgram(Protocol):
    """A program for another target, whose outputs are the expected ones."""

    @property
    def name(self) -> str:
        """The name of the target."""

    def outputs(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Outputs | str:
        """Return the outputs of functions by label, or the reason for having none."""


@dataclass(frozen=True)
class Expectation:
    """The expected outputs of a program's functions.

    Attributes:
        outputs: the outputs by the labels of functions; functions compared only with the default are absent.
        source: the origin of the outputs.
        note: the reason for a missing reference; empty if none is missing.
    """

    outputs: Outputs
    source: str
    note: str = ""


@dataclass
class OutputJudge:
    """Compares outputs of a program with expected outputs.

    Expected outputs come from the user, else from the reference, else from the default.

    Attributes:
        tasks: the dispatches of the program, whose types determine the tolerance.
        reference: the reference; None for none.
        numerics: the acceptance policy for outputs of a tuned program.
    """

    tasks: Sequence[TuningTask] = ()
    reference: ReferenceProgram | None = None
    numerics: Numerics = Numerics.ROUNDING

    @cached_property
    def _task_types(self) -> frozenset[str]:
        bindings = (binding for task in self.tasks for binding in task.layout.bindings)
        return frozenset(binding.element_type for binding in bindings)

    def tolerance(self, functions: Sequence[FunctionCall], outputs: Outputs) -> float:
        """Return the largest error of a correct program.

        Args:
            functions: the called functions.
            outputs: their outputs.
        """
        inputs = {entry.element_type for function in functions for entry in function.inputs}
        types = {dtype for name in self._task_types | inputs if (dtype := element_type(name))}
        return tolerance_of(
            types | {array.dtype for arrays in outputs.values() for array in arrays}
        )

    def expectation(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Expectation:
        """Wait for the reference, and return the expected outputs of functions.

        Args:
            calls: the calls of the program.
            functions: the called functions.
            integers: the least and the largest random integer among the inputs.
        """
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
        return Expectation(outputs, " and ".join(sources) or DEFAULT_SOURCE, note)

    def compare(
        self, expectation: Expectation, default: Outputs, tuned: Outputs | None, tolerance: float
    ) -> OutputComparison:
        """Return the errors of outputs.

        Args:
            expectation: the expected outputs.
            default: the outputs without a spec.
            tuned: the outputs with a spec; None without one.
            tolerance: the largest error of a correct program.
        """
        expected = {**default, **expectation.outputs}
        default_error = tuned_error = None
        if expectation.outputs:
            default_error = _largest_error(default, expectation.outputs)
        if tuned is not None:
            tuned_error = _largest_error(tuned, expected)
        return OutputComparison(
            expectation.source, tolerance, default_error, tuned_error, expectation.note
        )

    def rejection(self, comparison: OutputComparison, default: Outputs, tuned: Outputs) -> str:
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


def _largest_error(actual: Outputs, expected: Outputs) -> float:
    """Return the largest error. Users give no expected values for arguments that a function updates."""
    errors = (
        relative_error(actual[label][: len(values)], values) for label, values in expected.items()
    )
    return max(errors, default=0.0)
