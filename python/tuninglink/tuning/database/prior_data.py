"""Prior data: times of a program's dispatches, and trials of the same problem elsewhere and of related problems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, Protocol, Self

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.errors import TuninglinkError
from tuninglink.mlir import thread_context
from tuninglink.tuning.candidates import Candidate, SearchProblem, distance, operand_bytes
from tuninglink.tuning.database.database import Database, EnvironmentRecord, Trial
from tuninglink.tuning.database.tables import problem_of_program, recorded_candidate
from tuninglink.tuning.programs import read_program
from tuninglink.tuning.search import MeasuredProblem

if TYPE_CHECKING:
    from tuninglink.compiler import Phase
    from tuninglink.explaining import ConfigurationText, DispatchReport

    Times = Mapping[tuple[str, str, str], float]
    """Microseconds by translation_info, lowering_config and decomposition_config."""


_MOST_WINNERS: Final = 8
"""The number of fastest configurations of other problems that are tried first."""

_MOST_SAME: Final = 3
"""The number of fastest configurations of the same problem in other environments that always race."""

_MOST_TRIALS: Final = 3000
"""The maximum number of trials of other problems that the model learns from, which takes about a second."""

_FEWEST_TRIALS: Final = 8
"""The least number of trials that show which candidates of a problem are fast."""


class KnownCandidates(Protocol):
    """The candidates of a problem, found by their knobs."""

    def candidate(self, pipeline: str, knobs: Mapping[str, int]) -> Candidate | None:
        """Return the candidate with these values of the knobs; None if it is not valid."""


@dataclass(frozen=True)
class PriorData:
    """Trials of the same problem in other environments, and of problems of its kind for its target.

    Attributes:
        problem: the problem that is being tuned.
        same: the trials of the problem in other environments, the fastest first.
        others: the trials of each other problem by environment, the fastest first; the nearest problems first.
    """

    problem: SearchProblem
    same: tuple[Trial, ...]
    others: tuple[tuple[Trial, ...], ...]

    @classmethod
    def read(
        cls, database: Database, problem: SearchProblem, key: str, environment: EnvironmentRecord
    ) -> Self:
        """Read the prior data of a problem.

        Args:
            database: the database with the prior data.
            problem: the problem that is being tuned.
            key: the key of the problem.
            environment: the environment of tuning. Its own measurements are not prior data.

        Raises:
            DatabaseError: the file cannot be read.
        """
        same: list[Trial] = []
        others: list[tuple[Trial, ...]] = []
        for group in database.ranked(problem.kind, environment.target):
            if group[0].problem.key != key:
                others.append(group)
            elif group[0].environment != environment:
                same += group
        same.sort(key=lambda trial: trial.median or 0.0)
        others.sort(key=lambda trials: distance(str(problem), trials[0].problem.description))
        return cls(problem, tuple(same), tuple(others))

    def winners(self, candidates: KnownCandidates) -> list[Candidate]:
        """Return the fastest valid configurations of the same problem, then those of each other problem."""
        by_rank = chain.from_iterable(zip_longest(*self.others))
        return self._candidates(candidates, chain(self.same, filter(None, by_rank)), _MOST_WINNERS)

    def winners_elsewhere(self, candidates: KnownCandidates) -> list[Candidate]:
        """Return the fastest valid configurations of the same problem in other environments."""
        return self._candidates(candidates, self.same, _MOST_SAME)

    @staticmethod
    def _candidates(
        candidates: KnownCandidates, trials: Iterable[Trial], most: int
    ) -> list[Candidate]:
        result: dict[str, Candidate] = {}
        for trial in trials:
            configuration = trial.configuration
            candidate = candidates.candidate(configuration.pipeline, configuration.knobs)
            if candidate is not None:
                result.setdefault(candidate.key, candidate)
            if len(result) == most:
                break
        return list(result.values())

    def measured(self) -> list[MeasuredProblem]:
        """Return the problems to learn from: those with a stored program and operands of the same width."""
        result: list[MeasuredProblem] = []
        left = _MOST_TRIALS
        for group in filter(None, (self.same, *self.others)):
            problem = self._measured(group[:left])
            if problem is not None:
                result.append(problem)
                left -= len(problem.times)
        return result

    def _measured(self, trials: Sequence[Trial]) -> MeasuredProblem | None:
        times = tuple(_times(trials))
        if len(times) < _FEWEST_TRIALS:
            return None
        try:
            first = trials[0]
            problem = problem_of_program(first.problem.program, first.environment.device)
        except TuninglinkError:
            return None  # older databases keep the names of programs only
        if operand_bytes(problem) != operand_bytes(self.problem):
            return None
        return MeasuredProblem(problem, times)


def _times(trials: Sequence[Trial]) -> Iterator[tuple[Candidate, float]]:
    for trial in trials:
        configuration, median = trial.configuration, trial.median
        if configuration.knobs and median:
            yield recorded_candidate(configuration.pipeline, configuration.knobs), median


@dataclass(frozen=True)
class RecordedTimes:
    """The recorded times of the dispatches of a program."""

    by_dispatch: Mapping[str, Times]
    device: str = ""

    def microseconds(self, dispatch: DispatchReport) -> float | None:
        if len(dispatch.operations) != 1:
            return None
        return self._time(dispatch, dispatch.operations[0].configuration)

    def default_microseconds(self, dispatch: DispatchReport) -> float | None:
        choices = [operation.compilers_choice for operation in dispatch.operations]
        return self._time(dispatch, choices[0]) if len(choices) == 1 and choices[0] else None

    def _time(self, dispatch: DispatchReport, configuration: ConfigurationText) -> float | None:
        return self.by_dispatch.get(dispatch.name, {}).get(_key(configuration))


def recorded_times(
    database: Database, program: str, flags: Sequence[str], first: Phase
) -> RecordedTimes:
    """Look up the dispatches of a program.

    Times of several environments with the same problem are not distinguished: the latest trial counts.

    Args:
        database: the database.
        program: the path of the program.
        flags: flags of the compiler; those of the whole process must have been set before.
        first: the phase that the program has gone through already.

    Raises:
        CompileError: the program does not compile.
        DatabaseError: the database cannot be read.
    """
    tasks = read_program(program, flags, first=first).tasks
    trials = {task.key: database.trials(task.key) for task in tasks}
    result = {key: _times_by_configuration(recorded) for key, recorded in trials.items()}
    devices = {trial.environment.device for recorded in trials.values() for trial in recorded}
    return RecordedTimes(
        {name: result[task.key] for task in tasks for name in task.dispatches},
        devices.pop() if len(devices) == 1 else "",
    )


def _times_by_configuration(trials: Iterable[Trial]) -> Times:
    times: dict[tuple[str, str, str], float] = {}
    for trial in trials:
        attribute = trial.configuration.attribute
        info = mlir.Attribute.parse(attribute, thread_context()) if attribute else None
        if trial.median is not None and isinstance(info, iree_codegen.CompilationInfoAttr):
            parts = str(info.translation_info), str(info.lowering_config)
            times[(*parts, trial.configuration.decomposition)] = trial.median
    return times


def _key(configuration: ConfigurationText) -> tuple[str, str, str]:
    return (
        configuration.translation_info,
        configuration.lowering_config,
        configuration.decomposition_config,
    )


MOST_RELATED: Final = 8
"""The number of candidates of other tasks with which a task begins."""

_NEAREST: Final = 3
"""The number of tasks that they are taken from."""


@dataclass(frozen=True)
class RelatedTrials:
    """Candidates that repaired wrong defaults, and the fastest neighbors of these.

    Tasks are related if their operations, element types and roles of loops are equal: a configuration that is correct
    for one is most likely correct for the others. Candidates remain valid unless their tiles exceed the sizes.
    """

    _fast: dict[str, tuple[SearchProblem, tuple[Candidate, ...]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._fast)

    def add(self, problem: SearchProblem, candidates: Sequence[Candidate]) -> None:
        """Add the candidates of a task, beginning with the one whose output is right."""
        self._fast[str(problem)] = problem, tuple(candidates)

    def candidates(self, problem: SearchProblem, valid: KnownCandidates) -> list[Candidate]:
        """Return candidates of the nearest related tasks that are valid for another one.

        Args:
            problem: the problem of the other task.
            valid: its candidates.
        """
        groups = sorted(
            (distance(str(problem), str(other)), number, candidates)
            for number, (other, candidates) in enumerate(self._fast.values())
            if other.roles == problem.roles
        )
        near = [candidates for far, _, candidates in groups if math.isfinite(far)][:_NEAREST]
        result: dict[str, Candidate] = {}
        for other in chain.from_iterable(zip_longest(*near)):
            candidate = valid.candidate(other.pipeline, other.knobs) if other else None
            if candidate is not None:
                result.setdefault(candidate.key, candidate)
            if len(result) == MOST_RELATED:
                break
        return list(result.values())
