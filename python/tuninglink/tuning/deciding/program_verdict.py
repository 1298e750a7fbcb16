"""The verdict on what a whole program computes, for `tuninglink verify`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.tuning.deciding.model_run import ModelRunError
from tuninglink.tuning.deciding.output_judge import DEFAULT_SOURCE, GIVEN_SOURCE
from tuninglink.tuning.references.output_verdict import Correctness, OutputVerdict

if TYPE_CHECKING:
    from tuninglink.tuning.deciding.model_run import ModelRuns


@dataclass(frozen=True)
class ProgramVerdict:
    """Whether a whole program computes what it should.

    Attributes:
        judgement: whether its outputs are right.
        source: where the expected outputs come from; empty if it was not run.
        error: the relative error of the outputs; None if it was not compared.
        tolerance: the largest error that rounding explains; None likewise.
    """

    judgement: OutputVerdict
    source: str = ""
    error: float | None = None
    tolerance: float | None = None

    @property
    def is_right(self) -> bool:
        """Whether nothing shows otherwise."""
        return self.judgement.correctness is not Correctness.WRONG


def judge_program(runs: ModelRuns, spec: str) -> ProgramVerdict:
    """Return the verdict on the outputs of a whole program.

    They are called wrong only if they are not those that a user expects. A reference that differs may be less exact
    itself.

    Args:
        runs: runs it, and compares its outputs.
        spec: a spec to apply, or nothing.
    """
    try:
        comparison = runs.compared_outputs(spec)
    except ModelRunError as failure:
        return ProgramVerdict(OutputVerdict(Correctness.UNCHECKED, str(failure)))
    error = comparison.tuned_error if spec else comparison.default_error
    if comparison.source == DEFAULT_SOURCE or error is None:
        return ProgramVerdict(OutputVerdict(Correctness.UNCHECKED, comparison.note))
    finding = f"relative error {error:.2g} against {comparison.source}"
    correctness = Correctness.RIGHT
    if error > comparison.tolerance:
        finding += (
            f", at most {comparison.tolerance:.2g} is rounding; --trace tells where they part"
        )
        is_given = comparison.source == GIVEN_SOURCE
        correctness = Correctness.WRONG if is_given else Correctness.UNDECIDED
    judgement = OutputVerdict(correctness, finding)
    return ProgramVerdict(judgement, comparison.source, error, comparison.tolerance)
