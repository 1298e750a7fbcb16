"""Runs that end early: sizes of the spaces of tasks, and candidates that are drawn, compiled or measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tuninglink.errors import Diagnostic, Severity, TuninglinkError
from tuninglink.mlir import error
from tuninglink.solver import Limits
from tuninglink.spaces import ProviderRegistry, SelectionError, SpaceSelection
from tuninglink.tuning.candidates import (
    Candidate,
    CandidateCompiler,
    NotTunableError,
    Outcome,
    PreparedTask,
    TunableTask,
    prepare,
)
from tuninglink.tuning.deciding import LastStage, TrialResult, TuningResult
from tuninglink.tuning.dispatch_tuning import DispatchTuning
from tuninglink.tuning.programs import Failure, Omission, TuningTask, reason_of
from tuninglink.tuning.scheduling import estimated_work
from tuninglink.tuning.search import MOST_CANDIDATES, fastest_first

if TYPE_CHECKING:
    from tuninglink.solver import CountAnswer
    from tuninglink.spaces.model import Space
    from tuninglink.tuning.candidates import CandidateSpaces


_CANDIDATES: Final = 100
"""The candidates of a dispatch that are listed or compiled without `--trials`."""

_SEED: Final = 0
_COUNTING: Final[Limits] = Limits(seconds=math.inf, steps=2000)
"""The limits for counting a space."""


Staged = tuple[TunableTask, TrialResult]
"""A candidate of a task with the result of the last stage: its time if it was measured, or its failure."""


def space_sizes(spaces: CandidateSpaces) -> list[tuple[Space, CountAnswer]]:
    """Return the spaces of a dispatch with their sizes, which are lower bounds unless they are proven."""
    return [(space, space.constraints.count(_COUNTING)) for space in spaces.spaces]


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
    lost: list[tuple[TuningTask, Exception]] = []
    for task in tasks[: settings.top]:
        with listener.during(f"reading the spaces of {task.short_name}"):
            try:
                result.append(
                    prepare(task, options.flags, specs, registry, {}, selection=selection)
                )
            except (NotTunableError, TuninglinkError) as failure:
                lost.append((task, failure))
    # A selection that fits no dispatch is the user's error.
    mistakes = [reason for _, reason in lost if isinstance(reason, SelectionError)]
    if mistakes and not result:
        raise mistakes[0]
    for task, reason in lost:
        _omit(tuning, Omission(task.dispatches, reason_of(reason)))
    if not result:
        raise TuninglinkError(error("there is no dispatch to tune"))
    return result


def staged_candidates(tuning: DispatchTuning) -> list[Staged]:
    """Return the candidates of each task with the best estimates, compiled if that is the last stage.

    Raises:
        TuninglinkError: no task can be tuned.
    """
    options, settings = tuning.options, tuning.options.settings
    drawn: list[tuple[PreparedTask, Candidate]] = []
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
        drawn += [(task, candidate) for candidate in candidates[:count]]
    outcomes: list[Outcome | None] = [None] * len(drawn)
    if settings.stop_after is LastStage.COMPILATION:
        with (
            CandidateCompiler(options.flags, settings.jobs) as compiler,
            tuning.listener.during("compiling"),
        ):
            jobs = [
                compiler.submit(task.template, candidate, settings.timeout)
                for task, candidate in drawn
            ]
            outcomes = [job.result() for job in jobs]
    failures = (outcome if isinstance(outcome, Failure) else None for outcome in outcomes)
    return [
        (task, TrialResult(candidate, None, failure, 0.0))
        for (task, candidate), failure in zip(drawn, failures, strict=True)
    ]


def measured_candidates(result: TuningResult) -> Iterator[Staged]:
    """Yield the compiler's default and the candidates of each task, fastest first."""
    for task in result.tasks:
        default = task.prepared.spaces.default
        yield task.prepared, TrialResult(default, task.default_us, None, 0.0)
        for trial in sorted(task.trials, key=lambda trial: trial.microseconds or math.inf):
            if trial.candidate.key != default.key:
                yield task.prepared, trial


def _omit(tuning: DispatchTuning, omission: Omission) -> None:
    tuning.listener.noticed(Diagnostic(Severity.REMARK, f"not tuned: {omission}"))
