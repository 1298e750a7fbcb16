"""Features of candidates across knobs and pipelines, and their order by estimated time.

A tiled loop nest is treated as a batch of matrix products: the role of a loop determines its side of the product.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """Return the logarithm of a candidate's estimated time, up to a constant; 0 if unknown."""
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


# --- Tiles of threads on CPUs and of workgroups on GPUs, quantities derived from them, and a first estimate of the time

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


@dataclass(frozen=True)
class CpuShape:
    """The tiles of a candidate on a CPU, in elements of the matrix product."""

    size: tuple[int, int, int]
    task: tuple[int, int]
    vector: tuple[int, int, int]
    lanes: float
    block: int

    @property
    def accumulators(self) -> int:
        rows, columns, _ = self.vector
        return rows * math.ceil(columns / self.lanes)

    @property
    def tasks(self) -> int:
        pairs = zip(self.size[:2], self.task, strict=True)
        return math.prod(-(-size // tile) for size, tile in pairs)


def cpu_shape_of(problem: SearchProblem, candidate: Candidate) -> CpuShape | None:
    """Return the tiles of a candidate that is vectorized for a CPU; None for any other candidate."""
    knobs = candidate.knobs
    if not any(name.startswith("vector_common_parallel[") for name in knobs):
        return None
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
    return CpuShape(
        (size["m"], size["n"], size["k"]),
        (task["m"], task["n"]),
        (vector["m"], vector["n"], vector["k"]),
        max(1.0, _VECTOR_BYTES / operand_bytes(problem)),
        block,
    )


def cpu_estimate(shape: CpuShape) -> float:
    """Return the logarithm of the time that a candidate takes, up to a constant of the problem.

    It increases with vectors that are not full, operands that are loaded for few multiply-adds, sums that are kept for
    few steps or do not fit into registers, and workgroups that are too small to be worth starting or too few for the
    threads.
    """
    rows, columns, steps = shape.vector
    vectors = math.ceil(columns / shape.lanes)
    loads = rows + vectors
    sums = 2 * shape.accumulators / steps
    spilled = _CPU_SPILLING if shape.accumulators > _CPU_REGISTERS else 1
    per_step = (shape.accumulators + 0.5 * loads + 0.25 * sums + 1) * spilled
    work = math.prod(shape.size) * per_step / (rows * columns) * shape.lanes
    started = shape.tasks * _TASK
    idle = max(1.0, _THREADS / shape.tasks) ** 0.5
    return math.log2((work + started) * idle)


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


@dataclass(frozen=True)
class Shape:
    """The tiles of a candidate on a GPU, in elements of the matrix product."""

    size: tuple[int, int, int, int]
    tile: tuple[int, int, int, int]
    subgroup: tuple[float, float]
    thread: tuple[int, int]
    threads: int
    subgroups: int
    workgroups: int
    lanes: int
    operand_bytes: float
    intermediates: int
    units: int
    has_intrinsics: bool

    @property
    def idle_lanes(self) -> float:
        return self.subgroups * self.lanes / self.threads

    @property
    def accumulators(self) -> float:
        return (math.prod(self.tile[:3]) + self.intermediates) / self.threads

    @property
    def shared_bytes(self) -> float:
        batch, m, n, k = self.tile
        return batch * (m + n) * k * self.operand_bytes

    @property
    def resident(self) -> int:
        registers = min(255, self.accumulators + sum(self.subgroup) / 4 + _BASE_REGISTERS)
        by_registers = _REGISTERS / (registers * 32) // self.subgroups
        return int(max(1, min(32, by_registers, _FEW_BYTES // max(self.shared_bytes, 1))))


_STEPS: Final = (REDUCTION_LEVEL, PARTIAL_REDUCTION)
"""The entries of a configuration with tiles of steps."""


def shape_of(problem: SearchProblem, candidate: Candidate) -> Shape | None:
    """Return the tiles of a candidate with workgroups of threads; None for any other candidate."""
    knobs = candidate.knobs
    sizes = [size for name, size in knobs.items() if name.startswith(WORKGROUP_SIZE)]
    threads = math.prod(sizes)
    if not sizes or threads <= 0 or None in problem.sizes:
        return None
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
    # Divide the tile among subgroups: by the knob, else by the intrinsic's aspect.
    per_subgroup = max(1.0, tile["m"] * tile["n"] / subgroups)
    sides = map(side_of, problem.roles)
    counts = [
        knobs.get(f"{SUBGROUP_BASIS}[{loop}]") for loop, side in enumerate(sides) if side == "m"
    ]
    if has_intrinsics and any(counts):
        rows = max(1.0, tile["m"] / math.prod(filter(None, counts)))
    else:
        aspect = _aspect(problem, knobs) or tile["m"] / tile["n"]
        rows = math.sqrt(per_subgroup * aspect)
    rows = min(rows, tile["m"])
    return Shape(
        size=(size["b"], size["m"], size["n"], size["k"]),
        tile=(tile["b"], tile["m"], tile["n"], tile["k"]),
        subgroup=(rows, per_subgroup / rows),
        thread=(thread["m"], thread["n"]),
        threads=threads,
        subgroups=subgroups,
        workgroups=workgroups,
        lanes=lanes,
        operand_bytes=operand_bytes(problem),
        intermediates=tile["b"] * tile["m"] * tile["k"] if problem.kind == "attention" else 0,
        units=problem.limits.get(COMPUTE_UNITS, TYPICAL),
        has_intrinsics=has_intrinsics,
    )


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


def gpu_estimate(shape: Shape) -> float:
    """Return the logarithm of the time that a candidate takes, up to a constant of the problem.

    A rough roofline: the padded work, made slower by operands that are read again by each subgroup, or each thread
    without intrinsics, and each workgroup, by lanes without a thread, by short reduction steps, by too few warps to hide
    latencies, by a last wave that is not full, and by spilled accumulators. It only has to identify the candidates that
    are worth a trial.
    """
    batch, m, n, k = shape.tile
    if shape.has_intrinsics:
        rows, columns = shape.subgroup
        per_element = 1 + 24 * (1 / rows + 1 / columns) + 16 * (1 / m + 1 / n) + 8 / k
    else:
        rows, columns = shape.thread
        per_element = 1 + 4 * (1 / rows + 1 / columns) + 16 * (1 / m + 1 / n) + 32 / k
        per_element *= _WITHOUT_INTRINSICS * shape.idle_lanes
    waves = shape.workgroups / shape.units
    # A last wave that is not full is not quite lost.
    rounds = max(1.0, (waves + math.ceil(waves)) / 2)
    warps = min(shape.resident, max(1.0, waves)) * shape.subgroups
    throughput = min(1.0, warps / _BUSY_WARPS) ** 0.5
    spilled = max(1.0, shape.accumulators / _SPILLING) ** 3
    work = batch * m * n * shape.size[3] * per_element
    return math.log2(work * rounds / throughput * spilled)
