"""The candidates of a recorded table, for a search that the table evaluates."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tuninglink.iree import Target
from tuninglink.tuning.database import problem_of_program, read_trials, recorded_candidate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tuninglink.tuning.candidates import Candidate

NEAR = 2


class RecordedPool:
    """The candidates of a table, without their times, which a search does not see.

    Attributes:
        problem: what the program computes.
        target: what it was compiled for; None keeps a search from using its model of gains.
        default: the compiler's choice; None if its knobs are unknown.
        default_us: its time.
        times: the time of each candidate by its key; None if it failed.
    """

    given = ()

    def __init__(self, path: Path) -> None:
        self.recorded = read_trials(path)
        default, *rest = self.recorded
        self.target: Target | None = Target.parse(default.environment.target)
        self.problem = problem_of_program(default.problem.program, default.environment.device)
        candidates = [
            recorded_candidate(trial.configuration.pipeline, trial.configuration.knobs)
            for trial in self.recorded
        ]
        self.default = candidates[0] if default.configuration.knobs else None
        self.default_us = default.median or 0.0
        self.candidates = candidates[1:]
        medians = [trial.median for trial in rest]
        keys = [candidate.key for candidate in self.candidates]
        self.times = dict(zip(keys, medians, strict=True))

    @property
    def best_us(self) -> float:
        """The best time of a candidate."""
        return min(time for time in self.times.values() if time is not None)

    def candidate(self, pipeline: str, knobs: Mapping[str, int]) -> Candidate | None:
        """Return the candidate of the table with these knobs; None if the table has none."""
        key = recorded_candidate(pipeline, knobs).key
        return next((candidate for candidate in self.candidates if candidate.key == key), None)

    def sample(self, n: int, seed: int) -> Sequence[Candidate]:
        """Return up to `n` candidates in random order."""
        return random.Random(seed).sample(self.candidates, min(n, len(self.candidates)))

    def begin_sample(self, n: int, seed: int) -> bool:  # noqa: ARG002 - always the same
        """Return True, since a draw takes no time."""
        return True

    def neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        """Return the candidates of the same pipeline with one different knob, then those with two."""
        distances = [(distance(candidate, other), other) for other in self.candidates]
        near = [pair for pair in distances if 0 < pair[0] <= NEAR]
        return [neighbor for _, neighbor in sorted(near, key=lambda pair: pair[0])]

    def variants(self, candidate: Candidate) -> Sequence[Candidate]:  # noqa: ARG002 - tables have no options
        """Return no candidates, since options of code generation were not recorded."""
        return ()


def distance(one: Candidate, other: Candidate) -> int:
    """Return the number of different knobs."""
    if one.pipeline != other.pipeline or one.knobs.keys() != other.knobs.keys():
        return NEAR + 1
    return sum(value != other.knobs[name] for name, value in one.knobs.items())
