"""Spaces without a device: their sizes, and the configurations with the best estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from tuninglink.emission import SpecEntry, write_spec
from tuninglink.errors import TuninglinkError
from tuninglink.mlir import names
from tuninglink.scaffolding import is_tunable
from tuninglink.solver import Limits, Verdict
from tuninglink.spaces import (
    EVERYTHING,
    ProviderRegistry,
    SelectionError,
    SpaceSelection,
    pipeline_name,
    verify_configuration,
)
from tuninglink.spaces.model import Configuration
from tuninglink.tuning.candidates import (
    Candidate,
    CandidateOrigin,
    CandidateSpaces,
    NotTunableError,
    PreparedTask,
    configuration_of,
    prepare,
)
from tuninglink.tuning.programs import Omission, TuningTask, reason_of
from tuninglink.tuning.search import MOST_CANDIDATES, fastest_first

_SEED: Final = 0


@dataclass(frozen=True)
class Suggestions:
    """The configurations for a dispatch with the best estimates.

    Attributes:
        prepared: the dispatch.
        candidates: the configurations, best estimate first. Each is proven to compile.
    """

    prepared: PreparedTask
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Question:
    """A request for configurations.

    Attributes:
        flags: the compiler flags.
        count: the limit per dispatch.
        selection: the part of the spaces to choose from.
        names_dispatches: whether dispatches were named; else purely elementwise dispatches are left out.
    """

    flags: Sequence[str]
    count: int
    selection: SpaceSelection = EVERYTHING
    names_dispatches: bool = False


def suggest(
    task: TuningTask, question: Question, registry: ProviderRegistry
) -> Suggestions | Omission:
    """Return configurations for a dispatch, or the reason for having none.

    The flags must have been set for the process before.

    Raises:
        SelectionError: the selection leaves no space of the dispatch.
    """
    try:
        prepared = prepare(task, question.flags, (), registry, {}, selection=question.selection)
    except SelectionError:
        raise
    except (NotTunableError, TuninglinkError) as failure:
        return Omission(task.dispatches, reason_of(failure))
    if not question.names_dispatches and not is_tunable(prepared.dispatch.problem.kind):
        reason = "it only computes element by element or moves data; name it with --dispatch"
        return Omission(task.dispatches, reason)
    ordered = promising_candidates(prepared)
    candidates = tuple(islice(_proven(prepared, ordered, registry), question.count))
    if candidates:
        return Suggestions(prepared, candidates)
    reason = prepared.spaces.reason or "no candidate is proven to compile"
    return Omission(task.dispatches, reason)


def promising_candidates(prepared: PreparedTask) -> list[Candidate]:
    """Return candidates of a dispatch: candidates from specs, then the others in the order of their estimates."""
    sampled = prepared.spaces.sample(MOST_CANDIDATES, _SEED)
    return [*prepared.spaces.given, *fastest_first(prepared.spaces.problem, sampled)]


@dataclass(frozen=True)
class SpaceSize:
    """The size of a space."""

    pipeline: str
    provider: str
    knobs: int
    count: int
    is_exact: bool
    reason: str = ""


def space_sizes(spaces: CandidateSpaces) -> list[SpaceSize]:
    """Return the sizes of the spaces of a dispatch."""
    sizes = []
    for space in spaces.spaces:
        constraints = space.constraints
        answer = constraints.count(_COUNTING)
        sizes.append(
            SpaceSize(
                pipeline_name(constraints.pipeline),
                space.provider,
                len(constraints.knobs),
                answer.count,
                answer.verdict is Verdict.PROVEN,
                answer.reason,
            )
        )
    return sizes


_COUNTING: Final[Limits] = Limits(seconds=math.inf, steps=2000)
"""The limits for counting a space."""


def suggested_specs(suggestions: Sequence[Suggestions]) -> list[str]:
    """Return specs, the first with the best configuration of each dispatch, the second with the second best.

    A dispatch with fewer configurations than others is missing from the last specs.
    """
    count = max((len(suggestion.candidates) for suggestion in suggestions), default=0)
    return [
        write_spec(f"suggestion_{rank + 1}", _entries(suggestions, rank)) for rank in range(count)
    ]


def _entries(suggestions: Sequence[Suggestions], rank: int) -> list[SpecEntry]:
    provenance = {"origin": "suggested by the estimate, not measured", "rank": rank + 1}
    return [
        suggestion.prepared.entry(suggestion.candidates[rank], provenance)
        for suggestion in suggestions
        if rank < len(suggestion.candidates)
    ]


def _proven(
    prepared: PreparedTask, candidates: Sequence[Candidate], registry: ProviderRegistry
) -> Iterator[Candidate]:
    """Yield the candidates that are proven to compile."""
    workload = prepared.dispatch
    for candidate in candidates:
        if candidate.origin is CandidateOrigin.REWRITING:
            continue
        attributes = configuration_of(candidate, workload.root.context)
        info: Any = attributes[names.COMPILATION_INFO]
        configuration = Configuration(
            info.lowering_config,
            info.translation_info,
            attributes.get(names.DECOMPOSITION_CONFIG),
        )
        if verify_configuration(workload, configuration, registry).verdict is Verdict.PROVEN:
            yield candidate
