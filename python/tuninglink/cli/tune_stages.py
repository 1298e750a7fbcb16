"""Individual stages of `tuninglink tune`: sizes of search spaces, and drawing, compiling or measuring of candidates."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring import check_outputs
from tuninglink.cli.terminal import print_table, progress
from tuninglink.cli.tune_progress import progress_listener
from tuninglink.compiler.session import set_up_command_line
from tuninglink.errors import TuninglinkError
from tuninglink.files import STANDARD_STREAM, check_directory, check_output_directory, write_file
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error
from tuninglink.spaces.knob_reference import knob_place
from tuninglink.spaces.provider_registry import ProviderRegistry
from tuninglink.spaces.selection import (
    SelectionError,
    SpaceSelection,
    pipeline_name,
    value_text,
)
from tuninglink.tuning.candidates.compilation import CandidateCompiler
from tuninglink.tuning.candidates.preparation import (
    NotTunableError,
    PreparedTask,
    TunableTask,
    prepare,
)
from tuninglink.tuning.dispatch_tuning import DispatchTuning
from tuninglink.tuning.programs.dispatches import Omission, TuningTask
from tuninglink.tuning.report import write_report
from tuninglink.tuning.results import Failure, reason_of
from tuninglink.tuning.scheduling.budget import Ledger
from tuninglink.tuning.scheduling.default_queue import estimated_work
from tuninglink.tuning.settings import LastStage
from tuninglink.tuning.suggestions import promising_candidates, space_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.tuning.candidates import Candidate
    from tuninglink.tuning.options import TuneOptions

_CANDIDATES: Final = 100
"""The candidates of a dispatch that are listed or compiled without `--trials`."""


@dataclass(frozen=True)
class StagedCandidate:
    """A candidate with the result of the last stage.

    Attributes:
        task: the task.
        candidate: the candidate.
        microseconds: its time; None if it was not measured or failed.
        failure: the failure; None without a failure.
    """

    task: TunableTask
    candidate: Candidate
    microseconds: float | None = None
    failure: Failure | None = None


def run_stages(options: TuneOptions, command: str) -> TuninglinkError | None:
    """Run some of the stages of tuning, and show the result.

    Args:
        options: the options.
        command: the command name for the message on an interrupt.

    Returns:
        The error that ended the run early; None without an error.

    Raises:
        TuninglinkError: there is nothing to tune, or a result cannot be written.
    """
    if options.dry_run:
        set_up_command_line(command, options.flags)
        _show_sizes(_prepared(options, command))
        return None
    if options.output != STANDARD_STREAM:
        check_output_directory(options.output)
    set_up_command_line(command, options.flags)
    if options.settings.stop_after is LastStage.MEASUREMENT:
        return _measure(options, command)
    drawn = _drawn(options, command)
    is_compiled = options.settings.stop_after is LastStage.COMPILATION
    _show(options, _compiled(options, drawn) if is_compiled else drawn)
    return None


# --- Stages ----------------------------------------------------------------------------------------------


def _prepared(options: TuneOptions, command: str) -> list[PreparedTask]:
    """Return the tasks that can be tuned, by descending time or work, and report the other tasks.

    Raises:
        TuninglinkError: no task can be tuned.
    """
    # Select the heaviest dispatches that the options name.
    settings = options.settings
    with progress(f"compiling {options.title}"):
        tuning = DispatchTuning(options, progress_listener(command))
        program = tuning.read_program()
    for omission in program.omissions:
        _omit(omission)
    tasks = program.matching_tasks(settings.patterns)
    tasks = sorted(tasks, key=_importance, reverse=True)[: settings.top]
    # Prepare them, and omit those without a space.
    specs, registry = tuning.candidate_specs(program), ProviderRegistry(process.show)
    selection = SpaceSelection(settings.pipelines, settings.fixed)
    result: list[PreparedTask] = []
    unselected: list[tuple[TuningTask, SelectionError]] = []
    for task in tasks:
        with progress(f"reading the spaces of {task.short_name}"):
            try:
                result.append(
                    prepare(task, options.flags, specs, registry, {}, selection=selection)
                )
            except SelectionError as failure:
                unselected.append((task, failure))
            except (NotTunableError, TuninglinkError) as failure:
                _omit(Omission(task.dispatches, reason_of(failure)))
    # A selection that fits no dispatch is the user's error.
    if unselected and not result:
        raise unselected[0][1]
    for task, mistake in unselected:
        _omit(Omission(task.dispatches, reason_of(mistake)))
    if not result:
        raise TuninglinkError(error("there is no dispatch to tune"))
    return result


def _importance(task: TuningTask) -> tuple[float, float]:
    return task.profiled_us or 0.0, estimated_work(task)


def _drawn(options: TuneOptions, command: str) -> list[StagedCandidate]:
    """Return the candidates with the best estimates of each task."""
    count = options.settings.trials or _CANDIDATES
    drawn = []
    for task in _prepared(options, command):
        with progress(f"drawing candidates of {task.task.short_name}"):
            candidates = promising_candidates(task)[:count]
        if not candidates:
            _omit(Omission(task.task.dispatches, task.spaces.reason or "it has no candidates"))
        drawn += [StagedCandidate(task, candidate) for candidate in candidates]
    return drawn


def _compiled(options: TuneOptions, drawn: Iterable[StagedCandidate]) -> list[StagedCandidate]:
    """Return the candidates with the failures of those that do not compile."""
    settings = options.settings
    with CandidateCompiler(options.flags, settings.jobs) as compiler, progress("compiling"):
        jobs = [
            (staged, compiler.submit(staged.task.template, staged.candidate, settings.timeout))
            for staged in drawn
        ]
        outcomes = [(staged, job.result()) for staged, job in jobs]
    return [
        StagedCandidate(
            staged.task,
            staged.candidate,
            failure=outcome if isinstance(outcome, Failure) else None,
        )
        for staged, outcome in outcomes
    ]


def _measure(options: TuneOptions, command: str) -> TuninglinkError | None:
    """Measure candidates, and show them with the compiler's default, fastest first."""
    check_outputs(replace(options, output=STANDARD_STREAM))
    if options.report:
        check_directory(options.report)
    listener = progress_listener(command)
    tuning = DispatchTuning(options, listener)
    ledger = Ledger(options.settings.seconds, options.settings.trials)
    with listener.interrupts(ledger.whole):
        result, device = tuning.run(ledger)
    measured = []
    for task in result.tasks:
        trials = sorted(task.trials, key=lambda trial: trial.microseconds or math.inf)
        default = StagedCandidate(task.prepared, task.prepared.spaces.default, task.default_us)
        others = [
            StagedCandidate(task.prepared, trial.candidate, trial.microseconds, trial.failure)
            for trial in trials
            if trial.candidate.key != default.candidate.key
        ]
        measured += [default, *others]
    _show(options, measured)
    if options.report:
        report = tuning.report(result, device, measures=not ledger.whole.is_stopped)
        write_report(report, Path(options.report))
    return result.failure


# --- Output ----------------------------------------------------------------------------------------------


def _show_sizes(tasks: Sequence[PreparedTask]) -> None:
    rows = []
    for task in tasks:
        with progress(f"counting the spaces of {task.task.short_name}"):
            sizes = space_sizes(task.spaces)
        if not sizes:
            # Configurations from other sources remain, such as a rewriting of the operation.
            given = f"configurations from other sources: {len(task.spaces.given)}"
            message = f"{task.task.short_name}: its operation has no space; {given}"
            process.show(Diagnostic(Severity.REMARK, message))
        rows += [
            (
                task.task.short_name,
                str(task.spaces.problem),
                str(task.task.calls),
                size.pipeline,
                size.provider,
                str(size.knobs),
                f"{size.count:,}",
                "counted" if size.is_exact else f"at least: {size.reason}",
            )
            for size in sizes
        ]
    print_table(
        ("dispatch", "problem", "calls", "pipeline", "constraints", "knobs", "size", "how"), rows
    )


def _show(options: TuneOptions, candidates: Sequence[StagedCandidate]) -> None:
    """List candidates; write candidates that have not failed as specs if a directory for specs is given."""
    rows = []
    ranks: dict[str, int] = {}
    folder = None if options.output == STANDARD_STREAM else Path(options.output)
    for staged in candidates:
        task = staged.task.task
        rank = ranks[task.key] = ranks.get(task.key, 0) + 1
        rows.append(
            (
                task.short_name,
                str(rank),
                _result(staged, options.settings.stop_after),
                pipeline_name(staged.candidate.pipeline),
                ", ".join(_knobs(staged)),
            )
        )
        if folder is not None and staged.failure is None:
            text = staged.task.spec(staged.candidate, {"origin": "candidate", "rank": rank})
            _write_spec(folder, f"{task.short_name}-{rank}", text)
    print_table(("dispatch", "rank", "result", "pipeline", "knobs"), rows)


def _write_spec(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = re.sub(r"[^\w.-]+", "_", name).strip("_")
    write_file(folder / f"{file}.mlir", text)


def _knobs(staged: StagedCandidate) -> Iterator[str]:
    """Yield the knobs of a candidate under their names in configurations."""
    candidate, spaces = staged.candidate, staged.task.spaces.spaces
    knobs = spaces[candidate.space].constraints.knobs if candidate.space >= 0 else ()
    for knob in knobs:
        yield f"{knob_place(knob.name)} = {value_text(knob, candidate.knobs[knob.name])}"


def _result(staged: StagedCandidate, stage: LastStage | None) -> str:
    if staged.failure is not None:
        return f"{staged.failure.kind.value}: {staged.failure.message}"
    if staged.microseconds is not None:
        return f"{staged.microseconds:.2f} us"
    return "compiles" if stage is LastStage.COMPILATION else "drawn"


def _omit(omission: Omission) -> None:
    process.show(Diagnostic(Severity.REMARK, f"not tuned: {omission}"))
