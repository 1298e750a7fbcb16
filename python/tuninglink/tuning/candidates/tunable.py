"""Tasks that can be tuned: a problem, its candidates, and a spec for the winner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.candidate_spaces import CandidateSpaces
    from tuninglink.tuning.candidates.compilation import BenchmarkTemplate
    from tuninglink.tuning.programs.dispatches import TuningTask


@dataclass(frozen=True)
class TunableTask(ABC):
    """A task that can be tuned.

    Attributes:
        task: the task.
        template: the template of its candidates.
        spaces: its candidates.
    """

    task: TuningTask
    template: BenchmarkTemplate
    spaces: CandidateSpaces

    @abstractmethod
    def spec(self, candidate: Candidate, provenance: Mapping[str, object]) -> str:
        """Return a spec that configures the dispatches of the task and nothing else."""
