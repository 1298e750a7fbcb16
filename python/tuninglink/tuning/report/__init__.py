"""Reports of tuning, and their files: `report.json`, whose schema follows from `TuningReport`, and `index.html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Literal

from tuninglink.files import make_directory, write_file
from tuninglink.iree.peak_rates import PeakRates, peaks_of_device
from tuninglink.pages import render_page
from tuninglink.plain_data import FLAT, named, plain, to_json, written
from tuninglink.tuning.deciding import ConfidenceInterval, ModelComparison
from tuninglink.tuning.devices import Conditions
from tuninglink.tuning.devices.device import DeviceDescription
from tuninglink.tuning.flag_sets.results import FlagsResult, SetResult
from tuninglink.tuning.report.problem_report import ProblemReport, problem_report
from tuninglink.tuning.results import OutputComparison
from tuninglink.tuning.results.task_result import TuningResult
from tuninglink.tuning.scheduling import Stage, StageTime


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
        model: the whole program, without and with the spec, interleaved, under the selected flags; None if it was not
            run.
        whole: the whole program with the selected flags and the spec against the user's flags alone; None if it was not
            measured.
        is_guarded: whether the whole program was run with the entries of the spec, if there are any. Without it, an entry
            may make the program slower.
        notes: remarks, such as the reason for not running the program.
        spec: the spec, as MLIR text.
        flag_sets: the compared sets of flags: first alone, then with the specs tuned under them if there are several.
        outputs: the errors of the whole program's outputs; None if it was not run.
        conditions: the clock, the power and the temperature of the devices while candidates were measured; None if their
            drivers report nothing.
        profile: the path of the profile whose times weigh the dispatches with a `profiled_us`; empty if the times of
            dispatches alone do.
        noise: the speedup of the default against itself: the uncertainty of the times of the whole program; None if it was
            not measured.
        format: the kind of the document.
        version: its version. Additions do not change it; changes and removals do.
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
    """Return a report.

    Args:
        program: the path of the program.
        device: the measuring device.
        result: the result of tuning it.
        profile: the path of the profile whose times are the weights; empty without one.
        peaks: the measured peak rates of the device; None for those of data sheets.
    """
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
        compiler=metadata.version("iree-base-compiler"),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
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
    taken = next(
        (candidate for candidate in reversed(compared) if _is_taken(candidate, flags)), None
    )
    sets = tuple(FlagSetReport(set_result, set_result is taken) for set_result in compared)
    whole = flags.whole if flags.pairs else None if flags.flags else report.model
    return replace(report, flag_sets=sets, whole=whole, noise=flags.noise or report.noise)


def _is_taken(result: SetResult, flags: FlagsResult) -> bool:
    return result.flag_set.flags == flags.flags and (bool(flags.flags) or result in flags.pairs)


def write_report(report: TuningReport, directory: Path) -> None:
    """Write `report.json` and `index.html`.

    Args:
        report: the report.
        directory: the directory of the files; created if it does not exist.

    Raises:
        TuninglinkError: a file cannot be written.
    """
    place = make_directory(directory)
    write_file(place / "report.json", to_json(report))
    write_file(place / "index.html", to_html(report))


def to_html(report: TuningReport) -> str:
    """Return a report as a page."""
    return render_page("tuninglink.tuning.report", "report.html", plain(report))
