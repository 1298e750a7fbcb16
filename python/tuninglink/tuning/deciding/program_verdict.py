"""The verdict on the outputs of a whole program, for `tuninglink verify`."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuninglink.plain_data import FLAT
from tuninglink.tuning.deciding.model_run import ModelRunError, ModelRuns
from tuninglink.tuning.deciding.output_judge import DEFAULT_SOURCE, GIVEN_SOURCE
from tuninglink.tuning.references.output_verdict import Correctness, OutputVerdict


@dataclass(frozen=True)
class ProgramVerdict:
    """The verdict on the outputs of a whole program.

    Attributes:
        judgement: whether its outputs are right.
        source: the origin of the expected outputs; empty if the program was not run.
        error: the relative error of the outputs; None without a comparison.
        tolerance: the largest error explained by rounding; None likewise.
    """

    judgement: OutputVerdict = field(metadata=FLAT)
    source: str = ""
    error: float | None = None
    tolerance: float | None = None

    @property
    def is_right(self) -> bool:
        """Whether the outputs are not shown to be wrong."""
        return self.judgement.correctness is not Correctness.WRONG


def judge_program(runs: ModelRuns, spec: str) -> ProgramVerdict:
    """Return the verdict on the outputs of a whole program.

    Outputs are wrong only if they differ from those given by the user. If they differ from a reference, the reference
    may be the less exact one.

    Args:
        runs: runs the program and compares its outputs.
        spec: the spec to apply; empty for none.
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
