"""Prior data: times of a program's dispatches, and trials of the same problem elsewhere and of related problems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, Self

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.errors import TuninglinkError
from tuninglink.mlir import thread_context
from tuninglink.tuning.candidates import (
    Candidate,
    CandidateSpaces,
    SearchProblem,
    distance,
    operand_bytes,
)
from tuninglink.tuning.database.database import (
    ConfigurationRecord,
    Database,
    EnvironmentRecord,
    Trial,
)
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
        """Read the prior data of a problem; measurements in the environment of tuning are none.

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

    def winners(self, candidates: CandidateSpaces) -> list[Candidate]:
        """Return the fastest valid configurations of the same problem, then those of each other problem."""
        by_rank = filter(None, chain.from_iterable(zip_longest(*self.others)))
        trials = chain(self.same, by_rank)
        return _valid(candidates, (trial.configuration for trial in trials), _MOST_WINNERS)

    def winners_elsewhere(self, candidates: CandidateSpaces) -> list[Candidate]:
        """Return the fastest valid configurations of the same problem in other environments."""
        return _valid(candidates, (trial.configuration for trial in self.same), _MOST_SAME)

    def measured(self) -> list[MeasuredProblem]:
        """Return the problems to learn from: those with a stored program and operands of the same width."""
        result: list[MeasuredProblem] = []
        left = _MOST_TRIALS
        for group in filter(None, (self.same, *self.others)):
            times = tuple(
                (recorded_candidate(configuration.pipeline, configuration.knobs), trial.median)
                for trial in group[:left]
                if (configuration := trial.configuration).knobs and trial.median
            )
            if len(times) < _FEWEST_TRIALS:
                continue
            try:
                problem = problem_of_program(group[0].problem.program, group[0].environment.device)
            except TuninglinkError:
                continue  # older databases keep the names of programs only
            if operand_bytes(problem) == operand_bytes(self.problem):
                result.append(MeasuredProblem(problem, times))
                left -= len(times)
        return result


def _valid(
    candidates: CandidateSpaces, others: Iterable[ConfigurationRecord | Candidate], most: int
) -> list[Candidate]:
    """Return the first valid candidates with the knobs of others."""
    result: dict[str, Candidate] = {}
    for other in others:
        candidate = candidates.candidate(other.pipeline, other.knobs)
        if candidate is not None:
            result.setdefault(candidate.key, candidate)
        if len(result) == most:
            break
    return list(result.values())


@dataclass(frozen=True)
class RecordedTimes:
    """The recorded times of the dispatches of a program."""

    by_dispatch: Mapping[str, Times]
    device: str = ""

    def times(self, dispatch: DispatchReport) -> tuple[float | None, float | None]:
        if len(dispatch.operations) != 1:
            return None, None
        (operation,) = dispatch.operations
        choice = operation.compilers_choice
        default = self._time(dispatch, choice) if choice else None
        return self._time(dispatch, operation.configuration), default

    def _time(self, dispatch: DispatchReport, configuration: ConfigurationText) -> float | None:
        parts = configuration.translation_info, configuration.lowering_config
        times = self.by_dispatch.get(dispatch.name, {})
        return times.get((*parts, configuration.decomposition_config))


def recorded_times(
    database: Database, program: str, flags: Sequence[str], first: Phase
) -> RecordedTimes:
    """Look up the dispatches of a program.

    Times of several environments with the same problem are not distinguished: the latest trial counts.

    Args:
        database: the database.
        program: the path of the program.
        flags: flags of the compiler; process-wide flags must already be set.
        first: the phase that the program has gone through already.

    Raises:
        CompileError: the program does not compile.
        DatabaseError: the database cannot be read.
    """
    tasks = read_program(program, flags, first=first).tasks
    times: dict[str, dict[tuple[str, str, str], float]] = {}
    devices = set()
    for task in tasks:
        own = times[task.key] = {}
        for trial in database.trials(task.key):
            devices.add(trial.environment.device)
            attribute = trial.configuration.attribute
            info = mlir.Attribute.parse(attribute, thread_context()) if attribute else None
            if trial.median is not None and isinstance(info, iree_codegen.CompilationInfoAttr):
                parts = str(info.translation_info), str(info.lowering_config)
                own[(*parts, trial.configuration.decomposition)] = trial.median
    return RecordedTimes(
        {name: times[task.key] for task in tasks for name in task.dispatches},
        devices.pop() if len(devices) == 1 else "",
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

    def candidates(self, problem: SearchProblem, valid: CandidateSpaces) -> list[Candidate]:
        """Return candidates of the nearest related tasks that are valid for another problem."""
        groups = sorted(
            (distance(str(problem), str(other)), number, candidates)
            for number, (other, candidates) in enumerate(self._fast.values())
            if other.roles == problem.roles
        )
        near = [candidates for far, _, candidates in groups if math.isfinite(far)][:_NEAREST]
        ranked = filter(None, chain.from_iterable(zip_longest(*near)))
        return _valid(valid, ranked, MOST_RELATED)
