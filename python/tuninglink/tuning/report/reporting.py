"""Reports of what tuning came to, and their files: `report.json`, and `index.html`, one page that loads nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING

from tuninglink.files import make_directory, write_file
from tuninglink.pages import render_page
from tuninglink.plain_data import plain, to_json
from tuninglink.tuning.report import (
    FlagSetReport,
    OmittedDispatch,
    ProblemReport,
    SizeReport,
    TrialPoint,
    TuningReport,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.flag_sets.results import FlagsResult, SetResult
    from tuninglink.tuning.results.task_result import TaskResult, TrialResult, TuningResult


def report_of(program: str, device: DeviceDescription, result: TuningResult) -> TuningReport:
    """Return a report.

    Args:
        program: the path of the program.
        device: what measured.
        result: what came of tuning it.
    """
    notes = (
        [f"the whole program was not compared: {result.model_note}"] if result.model_note else []
    )
    if result.model is not None:
        notes += result.model.notes
    if result.failure is not None:
        notes += [diagnostic.message for diagnostic in result.failure.diagnostics]
    return TuningReport(
        program=program,
        device=device.name,
        driver=" ".join(filter(None, (device.driver, device.driver_version))),
        compiler=metadata.version("iree-base-compiler"),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=result.seconds,
        stages=result.stages,
        dispatches=tuple(_dispatch(task, result.began) for task in result.tasks),
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
    )


def with_flag_sets(report: TuningReport, flags: FlagsResult) -> TuningReport:
    """Return a report with what came of comparing sets of flags, alone and with their specs."""
    compared = (*flags.results, *flags.pairs)
    taken = next(
        (candidate for candidate in reversed(compared) if _is_taken(candidate, flags)), None
    )
    sets = tuple(FlagSetReport(set_result, set_result is taken) for set_result in compared)
    return replace(report, flag_sets=sets)


def _is_taken(result: SetResult, flags: FlagsResult) -> bool:
    return result.flag_set.flags == flags.flags and (bool(flags.flags) or result in flags.pairs)


def _dispatch(result: TaskResult, began: float) -> ProblemReport:
    decision, winner = result.decision, result.winner
    return ProblemReport(
        names=result.task.dispatches,
        problem=str(result.prepared.spaces.problem),
        target=result.task.target.name,
        outcome=result.verdict,
        ending=result.ending,
        share=result.share,
        default_us=decision.default_us if decision else result.default_us,
        tuned_us=decision.tuned_us if decision and winner else None,
        speedup=decision.speedup if decision and winner else None,
        configuration=winner.candidate.configuration if winner else None,
        history=tuple(_point(trial, began) for trial in result.trials),
        notes=tuple(f"{failure.message}: {candidate}" for candidate, failure in result.wrong),
        default_result=result.judgement.correctness if result.judgement else None,
        default_finding=result.judgement.reason if result.judgement else "",
        sizes=tuple(_sizes(result)),
    )


def _sizes(result: TaskResult) -> Iterator[SizeReport]:
    ranges = {
        comparison.sizes: part.task.span for part in result.ranges for comparison in part.sizes
    }
    for comparison in result.sizes:
        yield SizeReport(comparison, ranges.get(comparison.sizes))


def _point(trial: TrialResult, began: float) -> TrialPoint:
    candidate = trial.candidate
    return TrialPoint(
        seconds=max(0.0, trial.seconds - began),
        microseconds=trial.microseconds,
        failure=trial.failure.kind if trial.failure else None,
        origin=candidate.origin,
        pipeline=candidate.pipeline,
        knobs=candidate.knobs,
    )


def write_report(report: TuningReport, directory: Path) -> None:
    """Write `report.json` and `index.html`.

    Args:
        report: what is written.
        directory: where; made if there is none.

    Raises:
        TuninglinkError: a file cannot be written.
    """
    place = make_directory(directory)
    write_file(place / "report.json", to_json(report).encode())
    write_file(place / "index.html", to_html(report).encode())


def to_html(report: TuningReport) -> str:
    """Return a report as a page."""
    return render_page("tuninglink.tuning.report", "report.html", plain(report))
