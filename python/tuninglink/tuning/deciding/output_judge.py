"""Judgement of the outputs of a whole program, with and without a spec."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from tuninglink.tuning.deciding.output_errors import are_identical, relative_error, tolerance_of
from tuninglink.tuning.programs.element_types import element_type
from tuninglink.tuning.results.output_comparison import OutputComparison
from tuninglink.tuning.settings import Numerics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls

    Outputs = Mapping[str, tuple[NDArray[Any], ...]]

DEFAULT_SOURCE: Final = "the program without a spec"
GIVEN_SOURCE: Final = "--expected"


class ReferenceProgram(Protocol):
    """A program for another target, whose outputs are expected."""

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
            default_error = _error(default, expectation.outputs)
        if tuned is not None:
            tuned_error = _error(tuned, expected)
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


def _error(actual: Outputs, expected: Outputs) -> float:
    """Return the largest error. Users give no expected values for arguments that a function updates."""
    errors = (
        relative_error(actual[label][: len(values)], values) for label, values in expected.items()
    )
    return max(errors, default=0.0)
