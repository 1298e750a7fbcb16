"""Features of candidates across knobs and pipelines, and their order by estimated time.

A tiled loop nest is treated as a batch of matrix products: the role of a loop determines its side of the product.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from tuninglink.iree import (
    MMA_KIND,
    PARTIAL_REDUCTION,
    REDUCTION_LEVEL,
    SUBGROUP_BASIS,
    SUBGROUP_SIZE,
    WORKGROUP_SIZE,
)
from tuninglink.tuning.candidates import Candidate, SearchProblem, logarithm, operand_bytes, side_of
from tuninglink.tuning.devices import COMPUTE_UNITS, TYPICAL

_LEVELS: Final = {
    **dict.fromkeys(("workgroup", "distribution"), "workgroup"),
    **dict.fromkeys(("reduction", "partial_reduction", "cache_reduction"), "step"),
    **dict.fromkeys(("thread", "vector_common_parallel", "vector_inner_parallel"), "inner"),
    "cache_parallel": "cache",
    "subgroup": "subgroup",
    "vector_reduction": "inner_step",
}
"""The levels that the knobs of tiles describe, by the part of their name before the loop."""

_TILE: Final = re.compile(r"(.+)\[(\d+)\]")


def features(problem: SearchProblem, candidate: Candidate) -> dict[str, float]:
    """Return the features of a candidate: its knobs, its tiles by side, and derived quantities.

    One of them may be the estimate: the logarithm of its time, up to a constant of the problem. It only has to identify
    the candidates that are worth a trial.
    """
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
    sizes = [size for name, size in knobs.items() if name.startswith(WORKGROUP_SIZE)]
    if sizes and math.prod(sizes) > 0 and None not in problem.sizes:
        result |= _gpu_features(problem, candidate, math.prod(sizes))
    elif any(name.startswith("vector_common_parallel[") for name in knobs):
        result |= _cpu_features(problem, knobs)
    return result


_ESTIMATED_KINDS: Final = frozenset({"contraction", "convolution", "attention"})
"""Kinds of operations that the estimate was made for. For others, it does not compare pipelines with each other."""


def estimate(described: Mapping[str, float]) -> float:
    """Return the logarithm of a candidate's estimated time, up to a constant; 0 if unknown."""
    value = described.get("estimate", 0.0)
    return value if math.isfinite(value) else 0.0


def fastest_first(problem: SearchProblem, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in the order of their estimates; pipelines take turns unless estimates compare them."""
    ordered = sorted(candidates, key=lambda candidate: estimate(features(problem, candidate)))
    if problem.kind in _ESTIMATED_KINDS:
        return ordered
    by_pipeline: dict[str, list[Candidate]] = {}
    for candidate in ordered:
        by_pipeline.setdefault(candidate.pipeline, []).append(candidate)
    rounds = zip_longest(*by_pipeline.values())
    return [candidate for turn in rounds for candidate in turn if candidate is not None]


# --- Quantities derived from the tiles of threads on CPUs and of workgroups on GPUs, in elements of the matrix product

_VECTOR_BYTES: Final = 64
"""The widest vectors of x86-64; where they are narrower, one is two, and the order is the same."""

_CPU_REGISTERS: Final = 28
"""The number of vector registers for sums, of 32; the others hold operands."""

_CPU_SPILLING: Final = 3
"""The factor on the time if they do not suffice."""

_TASK: Final = 20_000
"""Multiply-adds in the time of starting the work of one workgroup, about a microsecond."""

_THREADS: Final = 16
"""Threads that share the workgroups. Their number is not known here: fewer workgroups idle on most machines."""


def _cpu_features(problem: SearchProblem, knobs: Mapping[str, int]) -> dict[str, float]:
    size, task, vector = ({"m": 1, "n": 1, "k": 1} for _ in range(3))
    block = 1
    for loop, (extent, role) in enumerate(zip(problem.sizes, problem.roles, strict=True)):
        result = side_of(role)
        side = "m" if result == "b" else result
        whole = extent or 1
        level = "vector_reduction" if side == "k" else "vector_common_parallel"
        size[side] *= whole
        task[side] *= min(knobs.get(f"distribution[{loop}]", 0) or whole, whole)
        if side == "k":
            block *= min(knobs.get(f"cache_reduction[{loop}]", 0) or whole, whole)
        vector[side] *= min(knobs.get(f"{level}[{loop}]", 0) or 1, whole)
    rows, columns, steps = vector.values()
    lanes = max(1.0, _VECTOR_BYTES / operand_bytes(problem))
    accumulators = rows * math.ceil(columns / lanes)
    tasks = math.prod(-(-size[side] // task[side]) for side in "mn")
    # Estimate the time: steps that load operands for few multiply-adds, keep sums for few steps, or spill,
    loads = rows + math.ceil(columns / lanes)
    sums = 2 * accumulators / steps
    spilled = _CPU_SPILLING if accumulators > _CPU_REGISTERS else 1
    per_step = (accumulators + 0.5 * loads + 0.25 * sums + 1) * spilled
    # and workgroups that are too small to be worth starting, or too few for the threads.
    work = math.prod(size.values()) * per_step / (rows * columns) * lanes
    idle = max(1.0, _THREADS / tasks) ** 0.5
    return {
        "estimate": math.log2((work + tasks * _TASK) * idle),
        "accumulators": logarithm(accumulators),
        "lanes in use": columns / lanes / math.ceil(columns / lanes),
        "unrolled": logarithm(accumulators * steps),
        "inner intensity": logarithm(rows * columns / (rows + columns)),
        "block": logarithm(block),
        "tasks": logarithm(tasks),
        "task elements": logarithm(task["m"] * task["n"]),
        "task intensity": logarithm(task["m"] * task["n"] / (task["m"] + task["n"])),
        "tiles of a task": logarithm(task["m"] * task["n"] / (rows * columns)),
    }


_INTRINSIC_K: Final = 16
"""The reduction of one intrinsic on 16-bit operands, as most have it; TileAndFuse counts its steps in them."""

_FEW_BYTES: Final = 164 << 10
"""Shared memory of a compute unit of an A100."""

_REGISTERS: Final = 1 << 16
_BASE_REGISTERS: Final = 40
"""Registers of a thread that hold neither operands nor results: addresses, indices, loads in flight."""

_SPILLING: Final = 130
"""The number of accumulators of a thread that leaves no room for operands: more are spilled, at a heavy price."""

_WITHOUT_INTRINSICS: Final = 8
"""The slowdown of plain multiply-adds against intrinsics; 8 to 16 for 16-bit operands in data sheets."""

_BUSY_WARPS: Final = 8
"""Warps of a compute unit that hide the latency of its tensor cores and of most of its memory."""


_STEPS: Final = (REDUCTION_LEVEL, PARTIAL_REDUCTION)
"""The entries of a configuration with tiles of steps."""


def _gpu_features(problem: SearchProblem, candidate: Candidate, threads: int) -> dict[str, float]:
    knobs = candidate.knobs
    lanes = max(1, knobs.get(SUBGROUP_SIZE, 32))
    subgroups = -(-threads // lanes)
    # Multiply sizes and tiles of all loops on each side of the product.
    size = dict.fromkeys("bmnk", 1)
    tile = dict.fromkeys("bmnk", 1)
    thread = dict.fromkeys("bmnk", 1)
    workgroups = 1
    has_intrinsics = any(name.endswith((MMA_KIND, "matrix")) for name in knobs)
    step_unit = _INTRINSIC_K if "TileAndFuse" in candidate.pipeline and MMA_KIND in knobs else 1
    for loop, (extent, role) in enumerate(zip(problem.sizes, problem.roles, strict=True)):
        side = side_of(role)
        size[side] *= extent or 1
        if role == "k1":
            continue  # is never tiled: the scores of an attention are computed at once
        if side == "k":
            tile_of_step = max(knobs.get(f"{entry}[{loop}]", 0) for entry in _STEPS)
            step = tile_of_step * step_unit or (1 if role == "filter" else extent)
            tile["k"] *= min(step or 1, extent or 1)
        else:
            part = max(1, knobs.get(f"workgroup[{loop}]", 1))
            tile[side] *= part
            thread[side] *= max(1, knobs.get(f"thread[{loop}]", 1))
            workgroups *= -(-(extent or 1) // part)
    batch, m, n, k = tile.values()
    # Divide the tile among subgroups: by the knob, else by the intrinsic's aspect.
    per_subgroup = max(1.0, m * n / subgroups)
    sides = map(side_of, problem.roles)
    counts = [
        knobs.get(f"{SUBGROUP_BASIS}[{loop}]") for loop, side in enumerate(sides) if side == "m"
    ]
    if has_intrinsics and any(counts):
        rows = max(1.0, m / math.prod(filter(None, counts)))
    else:
        rows = math.sqrt(per_subgroup * (_aspect(problem, knobs) or m / n))
    rows = min(rows, m)
    columns = per_subgroup / rows
    # Count what a thread and a compute unit hold.
    scores = batch * m * k if problem.kind == "attention" else 0
    accumulators = (batch * m * n + scores) / threads
    shared_bytes = batch * (m + n) * k * operand_bytes(problem)
    registers = min(255, accumulators + (rows + columns) / 4 + _BASE_REGISTERS)
    by_registers = _REGISTERS / (registers * 32) // subgroups
    resident = int(max(1, min(32, by_registers, _FEW_BYTES // max(shared_bytes, 1))))
    # Estimate the time by a rough roofline: the padded work, made slower by operands that are read again by each
    # subgroup, or each thread without intrinsics, and each workgroup, and by lanes without a thread and short steps,
    if has_intrinsics:
        per_element = 1 + 24 * (1 / rows + 1 / columns) + 16 * (1 / m + 1 / n) + 8 / k
    else:
        reads = 1 / thread["m"] + 1 / thread["n"]
        per_element = 1 + 4 * reads + 16 * (1 / m + 1 / n) + 32 / k
        per_element *= _WITHOUT_INTRINSICS * (subgroups * lanes / threads)
    # by a last wave that is not full, which is not quite lost,
    waves = workgroups / problem.limits.get(COMPUTE_UNITS, TYPICAL)
    rounds = max(1.0, (waves + math.ceil(waves)) / 2)
    # by too few warps to hide latencies, and by spilled accumulators.
    warps = min(resident, max(1.0, waves)) * subgroups
    throughput = min(1.0, warps / _BUSY_WARPS) ** 0.5
    spilled = max(1.0, accumulators / _SPILLING) ** 3
    work = batch * m * n * size["k"] * per_element
    return {
        "estimate": math.log2(work * rounds / throughput * spilled),
        "threads": logarithm(threads),
        "workgroups": logarithm(workgroups),
        "tail": waves / math.ceil(waves),
        "waves": logarithm(math.ceil(waves / resident)),
        "occupancy": logarithm(resident * subgroups),
        "accumulators": logarithm(accumulators),
        "shared": logarithm(shared_bytes),
        "intensity": logarithm(m * n / (m + n)),
        "subgroup intensity": logarithm(rows * columns / (rows + columns)),
        "aspect": logarithm(m / n),
        "subgroup aspect": logarithm(rows / columns),
        "steps": logarithm(size["k"] / k),
        "flops per thread": logarithm(accumulators * size["k"]),
        "bytes per thread": logarithm(shared_bytes / threads),
    }


def _aspect(problem: SearchProblem, knobs: Mapping[str, int]) -> float | None:
    """Return the ratio of rows to columns of a subgroup; None if no knobs determine it."""
    sides = {"m": 1.0, "n": 1.0}
    has_tiles = False
    for loop, role in enumerate(problem.roles):
        side = side_of(role)
        if side in sides and f"subgroup[{loop}]" in knobs:
            sides[side] *= max(1, knobs[f"subgroup[{loop}]"])
            has_tiles = True
    # The intrinsics of a warp have twice as many rows as columns, those of a wavefront as many.
    intrinsic = 2 if knobs.get(SUBGROUP_SIZE) == 32 else 1  # noqa: PLR2004
    return sides["m"] / sides["n"] * intrinsic if has_tiles else None
