"""Tiles of threads that work in vectors, what follows from them, and a first estimate of the time.

All logarithms are to the base of 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.candidates.candidate import logarithm, operand_bytes, side_of

if TYPE_CHECKING:
    from tuninglink.tuning.candidates.candidate import Candidate, SearchProblem

_VECTOR_BYTES: Final = 64
"""The widest vectors of x86-64; where they are narrower, one is two, and the order is the same."""

_REGISTERS: Final = 28
"""The number of vector registers for sums, of 32; the others hold operands."""

_SPILLING: Final = 3
"""The factor on the time if they do not suffice."""

_TASK: Final = 20_000
"""Multiply-adds in the time of starting the work of one workgroup, about a microsecond."""

_THREADS: Final = 16
"""Threads that share the workgroups. Their number is not known here: fewer workgroups idle on most machines."""


@dataclass(frozen=True)
class CpuShape:
    """The tiles of a candidate on a CPU, in elements of the matrix product.

    Attributes:
        size: the whole problem: batch and m together, n and k.
        task: what a workgroup takes: rows and columns.
        vector: what is computed at once: rows, columns, and steps of the reduction.
        lanes: the elements of a vector.
        block: the steps of the reduction between which other tiles of the task are computed.
    """

    size: tuple[int, int, int]
    task: tuple[int, int]
    vector: tuple[int, int, int]
    lanes: float
    block: int

    @property
    def accumulators(self) -> int:
        """The vectors that hold sums."""
        rows, columns, _ = self.vector
        return rows * math.ceil(columns / self.lanes)

    @property
    def tasks(self) -> int:
        """The number of workgroups."""
        pairs = zip(self.size[:2], self.task, strict=True)
        return math.prod(-(-size // tile) for size, tile in pairs)


def cpu_shape_of(problem: SearchProblem, candidate: Candidate) -> CpuShape | None:
    """Return the tiles of a candidate that is vectorized for a CPU, None for any other."""
    knobs = candidate.knobs
    if not any(name.startswith("vector_common_parallel_") for name in knobs):
        return None
    size, task, vector = ({"m": 1, "n": 1, "k": 1} for _ in range(3))
    block = 1
    for loop, (extent, role) in enumerate(zip(problem.sizes, problem.roles, strict=True)):
        result = side_of(role)
        side = "m" if result == "b" else result
        whole = extent or 1
        level = "vector_reduction" if side == "k" else "vector_common_parallel"
        size[side] *= whole
        task[side] *= min(knobs.get(f"distribution_{loop}", 0) or whole, whole)
        if side == "k":
            block *= min(knobs.get(f"cache_reduction_{loop}", 0) or whole, whole)
        vector[side] *= min(knobs.get(f"{level}_{loop}", 0) or 1, whole)
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
    spilled = _SPILLING if shape.accumulators > _REGISTERS else 1
    per_step = (shape.accumulators + 0.5 * loads + 0.25 * sums + 1) * spilled
    work = math.prod(shape.size) * per_step / (rows * columns) * shape.lanes
    started = shape.tasks * _TASK
    idle = max(1.0, _THREADS / shape.tasks) ** 0.5
    return math.log2((work + started) * idle)


def cpu_features(shape: CpuShape) -> dict[str, float]:
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
