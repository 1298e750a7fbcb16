"""Reports of tuning, and their files: `report.json`, whose schema follows from `TuningReport`, and `index.html`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Literal

from tuninglink.devices import Conditions, DeviceDescription, Stage, UsedTime
from tuninglink.files import make_directory, write_file
from tuninglink.iree import DispatchCost, PeakRates, Rates, peaks_of_device
from tuninglink.pages import render_page
from tuninglink.plain_data import FLAT, HIDDEN, named, plain, to_json, written
from tuninglink.programs import Correctness, FailureKind, OutputComparison
from tuninglink.tuning.candidates import CandidateOrigin
from tuninglink.tuning.deciding import (
    ConfidenceInterval,
    Ending,
    ModelComparison,
    SizeComparison,
    TaskOutcome,
    TaskResult,
    TuningResult,
)
from tuninglink.tuning.flag_sets import DEFAULT, FlagsResult, SetResult
from tuninglink.tuning.scheduling import task_cost


@dataclass(frozen=True)
class OmittedDispatch:
    """A dispatch that was not tuned."""

    name: str
    reason: str


@dataclass(frozen=True)
class TuningReport:
    """The result of tuning a program, which `tuninglink tune --report` writes as report.json.

    Attributes:
        program: the path of the program; `-` for standard input.
        device: the name of the device, or of several.
        date: the end of tuning, in ISO 8601.
        seconds: the duration of tuning.
        stages: the times of its stages, which add up to `seconds`.
        model: the whole program, without and with the spec, interleaved, under the selected flags; None if it was not
            run.
        whole: the whole program with the selected flags and the spec against the user's flags alone; None if it was not
            measured.
        is_guarded: whether the whole program was run with the entries of the spec, if there are any. Without it, an entry
            may make the program slower.
        notes: remarks, such as the reason for not running the program.
        flag_sets: the compared sets of flags: first alone, then with the specs tuned under them if there are several.
        outputs: the errors of the whole program's outputs; None if it was not run.
        conditions: the clock, the power and the temperature of the devices while candidates were measured; None if their
            drivers report nothing.
        profile: the path of the profile whose times weigh the dispatches with a `profiled_us`; empty if the times of
            dispatches alone do.
        noise: the speedup of the default against itself: the uncertainty of the times of the whole program; None if it was
            not measured.
        version: the version of the document. Additions do not change it; changes and removals do.
    """

    format: Literal["tuninglink.tuning"] = field(default="tuninglink.tuning", init=False)
    version: Literal[1] = field(default=1, init=False)
    program: str
    device: str = ""
    driver: str = ""
    compiler: str = field(default_factory=lambda: metadata.version("iree-base-compiler"))
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    seconds: float = 0.0
    stages: Mapping[Stage, UsedTime] = field(default_factory=dict)
    dispatches: tuple[ProblemReport, ...] = ()
    omissions: tuple[OmittedDispatch, ...] = ()
    model: ModelComparison | None = None
    is_guarded: bool = field(default=False, metadata=named("guarded"))
    notes: tuple[str, ...] = ()
    spec: str = ""
    flag_sets: tuple[SetResult, ...] = ()
    outputs: OutputComparison | None = None
    conditions: Conditions | None = None
    profile: str = ""
    whole: ModelComparison | None = None
    noise: ConfidenceInterval | None = None

    @property
    @written()
    def peaks(self) -> Mapping[str, PeakRates]:
        """The known peak rates of the device by target."""
        return {problem.target: problem.peaks for problem in self.dispatches if problem.peaks}


def report_of(
    program: str,
    device: DeviceDescription,
    result: TuningResult,
    profile: str = "",
    peaks: PeakRates | None = None,
) -> TuningReport:
    """Return a report."""
    # Collect remarks on the whole program.
    notes = [note for note in [str(result.wrong_defaults)] if note]
    if result.model_note:
        notes.append(f"the whole program was not compared: {result.model_note}")
    if result.model is not None:
        notes += result.model.notes
    if result.failure is not None:
        notes += [diagnostic.message for diagnostic in result.failure.diagnostics]
    peaks = peaks or peaks_of_device(device.name)
    return TuningReport(
        program=program,
        device=device.name,
        driver=" ".join(filter(None, (device.driver, device.driver_version))),
        seconds=result.seconds,
        stages=result.stages,
        dispatches=tuple(problem_report(task, result.began, peaks) for task in result.tasks),
        omissions=tuple(
            OmittedDispatch(name, omission.reason)
            for omission in result.omissions
            for name in omission.dispatches
        ),
        model=result.model,
        is_guarded=result.is_guarded,
        notes=tuple(notes),
        spec=result.spec,
        outputs=result.outputs,
        conditions=Conditions.of(
            reading
            for task in result.tasks
            for trial in task.trials
            if trial.timing is not None
            for reading in trial.timing.readings
        ),
        profile=profile,
        whole=result.model,
        noise=result.model.noise if result.model else None,
    )


def with_flag_sets(report: TuningReport, flags: FlagsResult) -> TuningReport:
    """Return a report with the comparison of sets of flags, alone and with their specs."""
    compared = (*flags.results, *flags.pairs)
    # The last one with the flags; without flags, only a set with its spec is taken.
    taken, best = None, flags.best.flag_set if flags.best is not None else DEFAULT
    for candidate in compared:
        if candidate.flag_set == best and (not best.is_default or candidate in flags.pairs):
            taken = candidate
    sets = tuple(replace(candidate, is_taken=candidate is taken) for candidate in compared)
    if flags.pairs and not (flags.best and flags.best.entries):  # the flags alone won
        left_out = dict.fromkeys((TaskOutcome.WON, TaskOutcome.PREDICTED), TaskOutcome.LEFT_OUT)
        outcomes = [left_out.get(one.outcome, one.outcome) for one in report.dispatches]
        pairs = zip(report.dispatches, outcomes, strict=True)
        dispatches = tuple(replace(problem, outcome=outcome) for problem, outcome in pairs)
        report = replace(report, dispatches=dispatches)
    whole = flags.whole if flags.pairs or best.forms else None if best.flags else report.model
    return replace(report, flag_sets=sets, whole=whole, noise=flags.noise or report.noise)


def write_report(report: TuningReport, directory: Path) -> None:
    """Write `report.json` and `index.html` into a directory, which is created if it does not exist.

    Raises:
        TuninglinkError: a file cannot be written.
    """
    place = make_directory(directory)
    write_file(place / "report.json", to_json(report))
    write_file(place / "index.html", to_html(report))


def to_html(report: TuningReport) -> str:
    """Return a report as a page."""
    return render_page("tuninglink.tuning", "report.html", plain(report))


# --- The report on a problem: its trials, its times and rates, and its outcome -------------------


@dataclass(frozen=True)
class TrialPoint:
    """A trial of a dispatch.

    Attributes:
        seconds: the time of the result, from the start of tuning.
        microseconds: the median time of an iteration; None if it failed.
        pipeline: the pipeline of the candidate, in MLIR syntax.
    """

    seconds: float
    microseconds: float | None
    failure: FailureKind | None
    origin: CandidateOrigin
    pipeline: str
    knobs: Mapping[str, int]


@dataclass(frozen=True)
class ProblemReport:
    """The result for a problem.

    Attributes:
        names: the dispatches with this problem.
        problem: the problem in words: kind, sizes and element types.
        outcome: won: the spec has an entry for it; default: nothing is faster than the compiler's choice; undecided:
            measurements were inconclusive; left-out: the dispatch became faster, and the whole program did not;
            predicted: undecided, with an entry that a model expects to be faster or right.
        share: its share of the time of all dispatches, from 0 to 1.
        default_us: the median time of the compiler's choice, in microseconds; an estimate if it fails.
        tuned_us: the median time of the winner; None without one.
        speedup: the speedup of the winner by interleaved rounds; None without one.
        configuration: the `compilation_info` of the winner, in MLIR syntax; None without one.
        history: the trials, in the order of their results.
        notes: findings, such as a fast candidate with wrong results.
        ending: the reason for trying no more candidates; None if unknown.
        default_result: whether the compiler's choice computes the right result, by a reference; None without a reference.
        default_finding: the figures for it.
        default_fails: whether the compiler's choice fails: it does not compile, or does not run.
        sizes: the times of a dynamic dispatch with a winner at each of its sizes, of which `default_us` and `tuned_us`
            are the geometric means.
        default_interval: the bounds of `default_us` by the race; None without one.
        tuned_interval: the bounds of `tuned_us`.
        calls: the number of calls of the dispatches by the functions of the program, in all; 0 if only its initialization does.
        profiled_us: the time of all its calls in a run of the program, by the profile that weighs dispatches, in
            microseconds; None if no profile has it, and its time alone counts.
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
    default_fails: bool = False
    sizes: tuple[SizeComparison, ...] = ()
    default_interval: tuple[float, float] | None = None
    tuned_interval: tuple[float, float] | None = None
    calls: int = 1
    cost: DispatchCost = field(default=DispatchCost(None, None), metadata=FLAT)
    profiled_us: float | None = None
    peaks: PeakRates | None = field(default=None, metadata=HIDDEN)

    @property
    @written()
    def default_rates(self) -> Rates:
        """The rates of the compiler's choice."""
        return self.cost.rates(self.default_us, self.peaks)

    @property
    @written()
    def tuned_rates(self) -> Rates:
        """The rates of the winner; unknown without one."""
        return self.cost.rates(self.tuned_us, self.peaks)

    @property
    @written()
    def saved_us(self) -> float | None:
        """The time that the entry saves in all calls of one run of the program; None without an entry."""
        if self.outcome is not TaskOutcome.WON or self.tuned_us is None or self.default_fails:
            return None
        if self.profiled_us is not None:
            return self.profiled_us * (1 - self.tuned_us / self.default_us)
        return self.calls * (self.default_us - self.tuned_us)

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


def problem_report(result: TaskResult, began: float, peaks: PeakRates | None) -> ProblemReport:
    """Return the report on a task."""
    decision, winner = result.decision, result.winner
    tuned_us = None
    if winner is not None:
        tuned_us = decision.tuned_us if decision else winner.microseconds
    ranges = {own.sizes: part.task.span for part in result.ranges for own in part.sizes}
    return ProblemReport(
        names=result.task.dispatches,
        problem=str(result.prepared.spaces.problem),
        target=result.task.target.name,
        outcome=result.verdict,
        ending=result.ending,
        share=result.share,
        default_us=decision.default_us if decision else result.default_us,
        tuned_us=tuned_us,
        speedup=decision.speedup if decision and winner else None,
        configuration=winner.candidate.configuration if winner else None,
        history=tuple(
            TrialPoint(
                seconds=max(0.0, trial.seconds - began),
                microseconds=trial.microseconds,
                failure=trial.failure.kind if trial.failure else None,
                origin=trial.candidate.origin,
                pipeline=trial.candidate.pipeline,
                knobs=trial.candidate.knobs,
            )
            for trial in result.trials
        ),
        notes=tuple(f"{failure.message}: {candidate}" for candidate, failure in result.wrong),
        default_result=result.judgement.correctness if result.judgement else None,
        default_finding=result.judgement.reason if result.judgement else "",
        default_fails=result.default_failure is not None,
        sizes=tuple(replace(own, range=ranges.get(own.sizes)) for own in result.sizes),
        default_interval=decision.default_interval if decision else None,
        tuned_interval=decision.tuned_interval if decision and winner else None,
        calls=result.task.calls,
        cost=task_cost(result.task),
        profiled_us=result.task.profiled_us,
        peaks=peaks or result.task.target.peaks,
    )
