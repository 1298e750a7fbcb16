"""Reports of tuning, as data: a JSON document and its schema follow from `TuningReport`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tuninglink.plain_data import FLAT, named, written
from tuninglink.tuning.candidates.candidate import CandidateOrigin
from tuninglink.tuning.deciding.decision import ConfidenceInterval
from tuninglink.tuning.deciding.winner_checks import SizeComparison
from tuninglink.tuning.flag_sets.results import SetResult
from tuninglink.tuning.results.failures import FailureKind
from tuninglink.tuning.results.output_verdict import Correctness, OutputComparison
from tuninglink.tuning.results.task_result import Ending, ModelComparison, TaskOutcome
from tuninglink.tuning.scheduling.timeline import Stage, StageTime


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
        range: the range of sizes with a configuration of its own, such as `d0 = 2..22`; None where the one for all sizes
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


@dataclass(frozen=True)
class FlagSetReport:
    """A set of compiler flags that was compared with the user's flags.

    Attributes:
        result: the result.
        taken: whether its flags are written.
    """

    result: SetResult = field(metadata=FLAT)
    taken: bool


@dataclass(frozen=True)
class OmittedDispatch:
    """A dispatch that was not tuned.

    Attributes:
        name: its name.
        reason: the reason.
    """

    name: str
    reason: str


@dataclass(frozen=True)
class TuningReport:
    """The result of tuning a program, which `tuninglink tune --report` writes as report.json.

    Attributes:
        program: the path of the program; `-` for standard input.
        device: the name of the device, or of several.
        driver: the driver of the runtime.
        compiler: the version of the compiler.
        date: the end of tuning, in ISO 8601.
        seconds: the duration of tuning.
        stages: the times of its stages, which add up to `seconds`.
        dispatches: the results for the problems.
        omissions: the dispatches that were not tuned.
        model: the whole program, without and with the spec, interleaved; None if it was not run.
        is_guarded: whether the whole program was run with the entries of the spec, if there are any. Without it, an entry
            may make the program slower.
        notes: remarks, such as the reason for not running the program.
        spec: the spec, as MLIR text.
        flag_sets: the compared sets of flags: first alone, then with the specs tuned under them if there are several.
        outputs: the errors of the whole program's outputs; None if it was not run.
        format: the kind of the document.
        version: its version. What is added does not change it; what is changed or removed does.
    """

    format: Literal["tuninglink.tuning"] = field(default="tuninglink.tuning", init=False)
    version: Literal[1] = field(default=1, init=False)
    program: str
    device: str
    driver: str
    compiler: str
    date: str
    seconds: float
    stages: Mapping[Stage, StageTime]
    dispatches: tuple[ProblemReport, ...]
    omissions: tuple[OmittedDispatch, ...]
    model: ModelComparison | None
    is_guarded: bool = field(metadata=named("guarded"))
    notes: tuple[str, ...]
    spec: str
    flag_sets: tuple[FlagSetReport, ...] = ()
    outputs: OutputComparison | None = None
