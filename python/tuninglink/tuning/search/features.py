"""Features of candidates across knobs and pipelines, and their order by estimated time.

A tiled loop nest is treated as a batch of matrix products: the role of a loop determines its side of the product.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from tuninglink.tuning.candidates import Candidate, SearchProblem, logarithm, side_of
from tuninglink.tuning.search.shapes import (
    CpuShape,
    Shape,
    cpu_estimate,
    cpu_shape_of,
    gpu_estimate,
    shape_of,
)

_LEVELS: Final = {
    "workgroup": "workgroup",
    "distribution": "workgroup",
    "reduction": "step",
    "partial_reduction": "step",
    "cache_parallel": "cache",
    "cache_reduction": "step",
    "thread": "inner",
    "subgroup": "subgroup",
    "vector_common_parallel": "inner",
    "vector_inner_parallel": "inner",
    "vector_reduction": "inner_step",
}
"""The levels that the knobs of tiles describe, by the part of their name before the loop."""

_TILE: Final = re.compile(r"(.+)\[(\d+)\]")


def features(problem: SearchProblem, candidate: Candidate) -> dict[str, float]:
    """Return the features of a candidate: its knobs, its tiles by side, and derived quantities."""
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
        result |= _gpu_features(threads)
    elif vectors is not None:
        result |= _cpu_features(vectors)
    return result


def _cpu_features(shape: CpuShape) -> dict[str, float]:
    """Return the features derived from the tiles of a candidate."""
    rows, columns, steps = shape.vector
    task_rows, task_columns = shape.task
    return {
        "estimate": cpu_estimate(shape),
        "accumulators": logarithm(shape.accumulators),
        "lanes in use": columns / shape.lanes / math.ceil(columns / shape.lanes),
        "unrolled": logarithm(shape.accumulators * steps),
        "inner intensity": logarithm(rows * columns / (rows + columns)),
        "block": logarithm(shape.block),
        "tasks": logarithm(shape.tasks),
        "task elements": logarithm(task_rows * task_columns),
        "task intensity": logarithm(task_rows * task_columns / (task_rows + task_columns)),
        "tiles of a task": logarithm(task_rows * task_columns / (rows * columns)),
    }


def _gpu_features(shape: Shape) -> dict[str, float]:
    """Return the features derived from the tiles of a candidate."""
    _, m, n, k = shape.tile
    rows, columns = shape.subgroup
    waves = shape.workgroups / shape.units
    return {
        "estimate": gpu_estimate(shape),
        "threads": logarithm(shape.threads),
        "workgroups": logarithm(shape.workgroups),
        "tail": waves / math.ceil(waves),
        "waves": logarithm(math.ceil(waves / shape.resident)),
        "occupancy": logarithm(shape.resident * shape.subgroups),
        "accumulators": logarithm(shape.accumulators),
        "shared": logarithm(shape.shared_bytes),
        "intensity": logarithm(m * n / (m + n)),
        "subgroup intensity": logarithm(rows * columns / (rows + columns)),
        "aspect": logarithm(m / n),
        "subgroup aspect": logarithm(rows / columns),
        "steps": logarithm(shape.size[3] / k),
        "flops per thread": logarithm(shape.accumulators * shape.size[3]),
        "bytes per thread": logarithm(shape.shared_bytes / shape.threads),
    }


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
    """Interleave candidates of different pipelines; keep the order within a pipeline."""
    by_pipeline: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_pipeline.setdefault(candidate.pipeline, []).append(candidate)
    rounds = zip_longest(*by_pipeline.values())
    return [candidate for turn in rounds for candidate in turn if candidate is not None]
