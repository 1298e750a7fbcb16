"""What a report says, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Speedup:
    """How many times as fast something became, with its interval (97.5 %).

    Attributes:
        low: the lower bound.
        median: the estimate.
        high: the upper bound.
    """

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class TrialPoint:
    """One trial of a dispatch.

    Attributes:
        seconds: when it was known, from the start of tuning.
        microseconds: its time, None if it failed.
        failure: the kind of failure, None if there is a time.
        origin: where the candidate came from: `default`, `space` or `spec`.
        pipeline: its pipeline.
        knobs: the values of its knobs.
    """

    seconds: float
    microseconds: float | None
    failure: str | None
    origin: str
    pipeline: str
    knobs: Mapping[str, int]


@dataclass(frozen=True)
class SizeReport:
    """A dynamic dispatch at one combination of sizes, with the compiler's own choice and with the spec.

    Attributes:
        sizes: the sizes, as they were given.
        weight: how much they count.
        default_us: the median time of the compiler's own choice.
        tuned_us: that of the winner.
        speedup: from one to the other.
        range: the range of sizes that has a configuration of its own, such as `d0 = 2..22`; None where the one for all
            sizes holds.
    """

    sizes: str
    weight: int
    default_us: float
    tuned_us: float
    speedup: Speedup
    range: str | None = None


@dataclass(frozen=True)
class ProblemReport:
    """What came of one problem.

    Attributes:
        names: the dispatches that have this problem.
        problem: the problem in words.
        target: what it is compiled for.
        outcome: what became of it: `won`, `default`, `undecided` or `left-out`.
        share: its share of the time of all dispatches, from 0 to 1.
        default_us: the time of the compiler's own choice.
        tuned_us: the time of the winner, None without one.
        speedup: of the winner, None without one.
        configuration: the winner's, as MLIR writes it, None without one.
        trials: the trials, in the order in which they were known.
        notes: findings, such as a fast candidate with wrong results.
        ending: why no more candidates were tried, such as `converged` or `budget`; None if that is not known.
        default_result: whether the compiler's own choice computes what it should: `right`, `wrong`, `not decided` or
            `not checked`; None where no reference was asked.
        default_finding: the numbers behind it.
        sizes: of a dynamic dispatch with a winner, its times at each of the sizes. The times of the dispatch itself are
            their geometric means.
    """

    names: tuple[str, ...]
    problem: str
    target: str
    outcome: str
    share: float
    default_us: float
    tuned_us: float | None
    speedup: Speedup | None
    configuration: str | None
    trials: tuple[TrialPoint, ...]
    notes: tuple[str, ...] = ()
    ending: str | None = None
    default_result: str | None = None
    default_finding: str = ""
    sizes: tuple[SizeReport, ...] = ()

    @property
    def failures(self) -> dict[str, int]:
        """How many trials failed, by kind."""
        return dict(Counter(trial.failure for trial in self.trials if trial.failure is not None))


@dataclass(frozen=True)
class FunctionReport:
    """A function of the program without and with the spec.

    Attributes:
        name: its name.
        weight: how many calls of it count.
        default_ms: the median time of a call without the spec.
        tuned_ms: with it.
        speedup: from one to the other.
    """

    name: str
    weight: int
    default_ms: float
    tuned_ms: float
    speedup: Speedup


@dataclass(frozen=True)
class ModelReport:
    """The whole program without and with the spec.

    Attributes:
        default_ms: the median time without the spec, of all functions.
        tuned_ms: with it.
        speedup: from one to the other.
        functions: the times by function.
    """

    default_ms: float
    tuned_ms: float
    speedup: Speedup
    functions: tuple[FunctionReport, ...] = ()


@dataclass(frozen=True)
class OutputReport:
    """What the whole program computes, against what it should compute.

    Attributes:
        source: where the expected outputs come from.
        tolerance: the largest relative error that rounding explains.
        default_error: the relative error without the spec, None if the expected outputs are its own.
        tuned_error: with it, None if there is no spec.
        default_is_wrong: whether the error without the spec is beyond the tolerance.
        finding: what is wrong with the program without the spec; empty otherwise.
        note: why there is no reference; empty if there is one.
    """

    source: str
    tolerance: float
    default_error: float | None
    tuned_error: float | None
    default_is_wrong: bool
    finding: str
    note: str


@dataclass(frozen=True)
class FlagSetReport:
    """A set of compiler flags that was compared with the flags that the user gives.

    Attributes:
        name: its name.
        flags: its flags.
        milliseconds: the time of the program, None if it was not measured.
        speedup: against the default, None if it was not measured.
        error: how far the outputs are from those of the default, relative to their magnitude; None likewise.
        note: why it was not measured, or is not taken; empty otherwise.
        taken: whether its flags are written.
        entries: how many problems have an entry in the spec that was tuned under it; None for the set alone.
    """

    name: str
    flags: tuple[str, ...]
    milliseconds: float | None
    speedup: Speedup | None
    error: float | None
    note: str
    taken: bool
    entries: int | None = None


@dataclass(frozen=True)
class OmittedDispatch:
    """A dispatch that was not tuned.

    Attributes:
        name: its name.
        reason: why not.
    """

    name: str
    reason: str


@dataclass(frozen=True)
class StageReport:
    """What a stage of tuning took.

    Attributes:
        seconds: how long it lasted.
        device_seconds: how long a device was in use meanwhile, the mean of several.
        loading_seconds: the part of that in which modules were loaded.
    """

    seconds: float
    device_seconds: float
    loading_seconds: float


@dataclass(frozen=True)
class TuningReport:
    """What came of tuning a program.

    Attributes:
        program: the path of the program.
        device: the name of the device, or of several.
        driver: its driver.
        compiler: the version of the compiler.
        date: when tuning ended, in ISO 8601.
        seconds: how long it took.
        stages: what its stages took, by name.
        dispatches: what came of each problem.
        omissions: what was not tuned.
        model: the whole program, None if it was not run.
        is_guarded: whether the whole program was run with the spec, if that has entries.
        notes: what else is to be said, such as why the program was not run.
        spec: the spec, as MLIR text.
        flag_sets: the sets of flags that were compared.
        outputs: what the whole program computes, None if it was not run.
    """

    program: str
    device: str
    driver: str
    compiler: str
    date: str
    seconds: float
    stages: Mapping[str, StageReport]
    dispatches: tuple[ProblemReport, ...]
    omissions: tuple[OmittedDispatch, ...]
    model: ModelReport | None
    is_guarded: bool
    notes: tuple[str, ...]
    spec: str
    flag_sets: tuple[FlagSetReport, ...] = ()
    outputs: OutputReport | None = None
