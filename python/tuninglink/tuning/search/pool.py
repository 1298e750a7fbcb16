"""What a search chooses from, as far as it knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Candidate(Protocol):
    """A configuration that may be tried."""

    @property
    def pipeline(self) -> str:
        """The pipeline, as MLIR writes it."""

    @property
    def knobs(self) -> Mapping[str, int]:
        """The values of the knobs; empty where no space speaks of the configuration."""

    @property
    def key(self) -> str:
        """What tells the configuration from others."""


class SearchProblem(Protocol):
    """What a root op computes."""

    @property
    def kind(self) -> str:
        """The kind of operation, such as `contraction`."""

    @property
    def sizes(self) -> Sequence[int | None]:
        """How often each loop runs; None where that is dynamic."""

    @property
    def roles(self) -> Sequence[str]:
        """What each loop is to the operation, such as `m`."""

    @property
    def element_types(self) -> Sequence[str]:
        """Those of the operands, as MLIR writes them."""

    @property
    def limits(self) -> Mapping[str, int]:
        """What the target and the device can do; `compute_units` among it, where it is known."""


class CandidatePool(Protocol):
    """The candidates of a problem."""

    @property
    def problem(self) -> SearchProblem:
        """What they are for."""

    @property
    def default(self) -> Candidate | None:
        """The compiler's own choice, where it is known."""

    @property
    def given(self) -> Sequence[Candidate]:
        """Candidates from specs."""

    def sample(self, n: int, seed: int) -> Sequence[Candidate]:
        """Returns candidates that are spread over the spaces, all if there are no more than `n`."""

    def neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        """Returns the candidates that differ by a step, the nearest first."""
