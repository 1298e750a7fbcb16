"""The order of candidates by estimated time, before any measurement."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.search.features import features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.search_problem import SearchProblem

_ESTIMATED_KINDS: Final = frozenset({"contraction", "convolution", "attention"})
"""Kinds of operations that the estimate was made for. For others, it does not compare pipelines with each other."""


def estimate(described: Mapping[str, float]) -> float:
    """Return the logarithm of a candidate's estimated time, up to a constant; 0 if unknown.

    Args:
        described: its features.
    """
    value = described.get("estimate", 0.0)
    return value if math.isfinite(value) else 0.0


def fastest_first(problem: SearchProblem, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in the order of their estimates."""
    ordered = sorted(candidates, key=lambda candidate: estimate(features(problem, candidate)))
    return ordered if problem.kind in _ESTIMATED_KINDS else _alternating(ordered)


def _alternating(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with the pipelines in turn, each in its original order."""
    by_pipeline: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_pipeline.setdefault(candidate.pipeline, []).append(candidate)
    rounds = zip_longest(*by_pipeline.values())
    return [candidate for turn in rounds for candidate in turn if candidate is not None]
