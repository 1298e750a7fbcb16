"""Runs that end early: sizes of the spaces of tasks, and candidates that are drawn, compiled or measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from tuninglink.errors import Diagnostic, Severity, TuninglinkError
from tuninglink.mlir import error
from tuninglink.solver import Limits, Verdict
from tuninglink.spaces import ProviderRegistry, SelectionError, SpaceSelection, pipeline_name
from tuninglink.tuning.candidates import (
    Candidate,
    CandidateCompiler,
    CandidateSpaces,
    NotTunableError,
    PreparedTask,
    TunableTask,
    prepare,
)
from tuninglink.tuning.deciding import LastStage, TuningResult
from tuninglink.tuning.dispatch_tuning import DispatchTuning
from tuninglink.tuning.programs import Failure, Omission, TuningTask, reason_of
from tuninglink.tuning.scheduling import estimated_work
from tuninglink.tuning.search import MOST_CANDIDATES, fastest_first

_CANDIDATES: Final = 100
"""The candidates of a dispatch that are listed or compiled without `--trials`."""

_SEED: Final = 0
_COUNTING: Final[Limits] = Limits(seconds=math.inf, steps=2000)
"""The limits for counting a space."""


@dataclass(frozen=True)
class StagedCandidate:
    """A candidate with the result of the last stage: its time if it was measured, or its failure."""

    task: TunableTask
    candidate: Candidate
    microseconds: float | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class SpaceSize:
    """The size of a space, with the reason if it is a lower bound."""

    pipeline: str
    provider: str
    knobs: int
    count: int
    is_exact: bool
    reason: str = ""


def space_sizes(spaces: CandidateSpaces) -> list[SpaceSize]:
    """Return the sizes of the spaces of a dispatch."""
    counted = (
        (space, space.constraints, space.constraints.count(_COUNTING)) for space in spaces.spaces
    )
    return [
        SpaceSize(
            pipeline_name(constraints.pipeline),
            space.provider,
            len(constraints.knobs),
            answer.count,
            answer.verdict is Verdict.PROVEN,
            answer.reason,
        )
        for space, constraints, answer in counted
    ]


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
    tasks = sorted(
        program.matching_tasks(settings.patterns),
        key=lambda task: (task.profiled_us or 0.0, estimated_work(task)),
        reverse=True,
    )
    # Prepare them, and omit those without a space.
    specs, registry = tuning.candidate_specs(program), ProviderRegistry(listener.noticed)
    selection = SpaceSelection(settings.pipelines, settings.fixed)
    result: list[PreparedTask] = []
    unselected: list[tuple[TuningTask, SelectionError]] = []
    for task in tasks[: settings.top]:
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


def staged_candidates(tuning: DispatchTuning) -> list[StagedCandidate]:
    """Return the candidates of each task with the best estimates, compiled if that is the last stage.

    Raises:
        TuninglinkError: no task can be tuned.
    """
    options, settings = tuning.options, tuning.options.settings
    staged: list[StagedCandidate] = []
    for task in prepared_tasks(tuning):
        spaces = task.spaces
        with tuning.listener.during(f"drawing candidates of {task.task.short_name}"):
            # Candidates from specs come first, then the others in the order of their estimates.
            sampled = spaces.sample(MOST_CANDIDATES, _SEED)
            candidates = [*spaces.given, *fastest_first(spaces.problem, sampled)]
        if not candidates:
            reason = spaces.reason or "it has no candidates"
            _omit(tuning, Omission(task.task.dispatches, reason))
        count = settings.trials or _CANDIDATES
        staged += [StagedCandidate(task, candidate) for candidate in candidates[:count]]
    if settings.stop_after is not LastStage.COMPILATION:
        return staged
    with (
        CandidateCompiler(options.flags, settings.jobs) as compiler,
        tuning.listener.during("compiling"),
    ):
        jobs = [
            compiler.submit(entry.task.template, entry.candidate, settings.timeout)
            for entry in staged
        ]
        outcomes = [job.result() for job in jobs]
    return [
        replace(entry, failure=outcome if isinstance(outcome, Failure) else None)
        for entry, outcome in zip(staged, outcomes, strict=True)
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
