"""What candidates have in common across knobs and pipelines.

A tiled loop nest is seen as a batch of matrix products: every loop belongs to one side of it by its role.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.search.cpu_shape import cpu_features, cpu_shape_of
from tuninglink.tuning.search.gpu_shape import gpu_features, shape_of
from tuninglink.tuning.search.sides import logarithm, side_of

if TYPE_CHECKING:
    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.search_problem import SearchProblem

_LEVELS: Final = {
    "wg": "workgroup",
    "distribution": "workgroup",
    "red": "step",
    "cache_parallel": "cache",
    "cache_reduction": "step",
    "thread": "inner",
    "sg": "subgroup",
    "vector_common_parallel": "inner",
    "vector_inner_parallel": "inner",
    "vector_reduction": "inner_step",
}
"""What the knobs of tiles are about, by the part of their name before the loop."""

_TILE: Final = re.compile(r"(.+)_(\d+)")


def features(problem: SearchProblem, candidate: Candidate) -> dict[str, float]:
    """Return what a model knows of a candidate: its knobs, its tiles by side, and what follows from them."""
    knobs = candidate.knobs
    result = {f"pipeline {candidate.pipeline}": 1.0}
    result |= {f"knob {name}": logarithm(value) for name, value in knobs.items()}
    for name, value in knobs.items():
        matched = _TILE.fullmatch(name)
        level = _LEVELS.get(matched[1]) if matched else None
        if matched is None or level is None or int(matched[2]) >= len(problem.roles):
            continue
        side = side_of(problem.roles[int(matched[2])])
        extent = problem.sizes[int(matched[2])] or 1
        key = f"{level} {side}"
        result[key] = result.get(key, 0.0) + logarithm(value or extent)
    threads = shape_of(problem, candidate)
    vectors = cpu_shape_of(problem, candidate)
    if threads is not None:
        result |= gpu_features(threads)
    elif vectors is not None:
        result |= cpu_features(vectors)
    return result
