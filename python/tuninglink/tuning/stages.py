"""Individual stages of tuning: preparation of tasks, and drawing, compiling or measuring of candidates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from tuninglink.errors import Diagnostic, Severity, TuninglinkError
from tuninglink.mlir import error
from tuninglink.spaces import ProviderRegistry, SelectionError, SpaceSelection
from tuninglink.tuning.candidates import (
    Candidate,
    CandidateCompiler,
    NotTunableError,
    PreparedTask,
    TunableTask,
    prepare,
)
from tuninglink.tuning.deciding import TuningResult
from tuninglink.tuning.dispatch_tuning import DispatchTuning
from tuninglink.tuning.programs import Failure, Omission, TuningTask, reason_of
from tuninglink.tuning.scheduling import estimated_work
from tuninglink.tuning.suggestions import promising_candidates

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


def prepared_tasks(tuning: DispatchTuning) -> list[PreparedTask]:
    """Return the tasks that can be tuned, by descending time or work, and report the other tasks.

    Raises:
        TuninglinkError: no task can be tuned.
    """
    # Select the heaviest dispatches that the options name.
    options, listener, settings = tuning.options, tuning.listener, tuning.options.settings
    with listener.during(f"compiling {options.title}"):
        program = tuning.read_program()
    for omission in program.omissions:
        _omit(tuning, omission)
    tasks = program.matching_tasks(settings.patterns)
    tasks = sorted(tasks, key=_importance, reverse=True)[: settings.top]
    # Prepare them, and omit those without a space.
    specs, registry = tuning.candidate_specs(program), ProviderRegistry(listener.noticed)
    selection = SpaceSelection(settings.pipelines, settings.fixed)
    result: list[PreparedTask] = []
    unselected: list[tuple[TuningTask, SelectionError]] = []
    for task in tasks:
        with listener.during(f"reading the spaces of {task.short_name}"):
            try:
                result.append(
                    prepare(task, options.flags, specs, registry, {}, selection=selection)
                )
            except SelectionError as failure:
                unselected.append((task, failure))
            except (NotTunableError, TuninglinkError) as failure:
                _omit(tuning, Omission(task.dispatches, reason_of(failure)))
    # A selection that fits no dispatch is the user's error.
    if unselected and not result:
        raise unselected[0][1]
    for task, mistake in unselected:
        _omit(tuning, Omission(task.dispatches, reason_of(mistake)))
    if not result:
        raise TuninglinkError(error("there is no dispatch to tune"))
    return result


def _importance(task: TuningTask) -> tuple[float, float]:
    return task.profiled_us or 0.0, estimated_work(task)


def drawn_candidates(tuning: DispatchTuning) -> list[StagedCandidate]:
    """Return the candidates with the best estimates of each task.

    Raises:
        TuninglinkError: no task can be tuned.
    """
    count = tuning.options.settings.trials or _CANDIDATES
    drawn = []
    for task in prepared_tasks(tuning):
        with tuning.listener.during(f"drawing candidates of {task.task.short_name}"):
            candidates = promising_candidates(task)[:count]
        if not candidates:
            reason = task.spaces.reason or "it has no candidates"
            _omit(tuning, Omission(task.task.dispatches, reason))
        drawn += [StagedCandidate(task, candidate) for candidate in candidates]
    return drawn


def compiled_candidates(
    tuning: DispatchTuning, drawn: Iterable[StagedCandidate]
) -> list[StagedCandidate]:
    """Return the candidates with the failures of those that do not compile."""
    options, settings = tuning.options, tuning.options.settings
    with (
        CandidateCompiler(options.flags, settings.jobs) as compiler,
        tuning.listener.during("compiling"),
    ):
        jobs = [
            (staged, compiler.submit(staged.task.template, staged.candidate, settings.timeout))
            for staged in drawn
        ]
        outcomes = [(staged, job.result()) for staged, job in jobs]
    return [
        replace(staged, failure=outcome if isinstance(outcome, Failure) else None)
        for staged, outcome in outcomes
    ]


def measured_candidates(result: TuningResult) -> Iterator[StagedCandidate]:
    """Yield the compiler's default and the candidates of each task, fastest first."""
    for task in result.tasks:
        default = task.prepared.spaces.default
        yield StagedCandidate(task.prepared, default, task.default_us)
        for trial in sorted(task.trials, key=lambda trial: trial.microseconds or math.inf):
            if trial.candidate.key != default.key:
                yield StagedCandidate(
                    task.prepared, trial.candidate, trial.microseconds, trial.failure
                )


def _omit(tuning: DispatchTuning, omission: Omission) -> None:
    tuning.listener.noticed(Diagnostic(Severity.REMARK, f"not tuned: {omission}"))
