"""Features of candidates: their knobs, their tiles by side of the product, and the physics that follows from them.

A tiled loop nest is treated as a batch of matrix products: the role of a loop determines its side of the product.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from tuninglink.iree import (
    COMPUTE_UNITS,
    LANE_BASIS,
    MMA_KIND,
    PARTIAL_REDUCTION,
    REDUCTION_LEVEL,
    SUBGROUP_BASIS,
    SUBGROUP_SIZE,
    TYPICAL,
    WORKGROUP_SIZE,
)
from tuninglink.spaces.cpu import LOOP_PEELING
from tuninglink.tuning.candidates import element_bytes, logarithm, operand_bytes, side_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.tuning.candidates import Candidate, SearchProblem

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


# --- Quantities derived from the tiles of threads on CPUs and of workgroups on GPUs, in elements of the matrix product


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
    # The widest vectors of x86-64 have 64 bytes; where they are narrower, one is two, and the order is the same.
    lanes = max(1.0, 64 / operand_bytes(problem))
    accumulators = rows * math.ceil(columns / lanes)
    tasks = math.prod(-(-size[side] // task[side]) for side in "mn")
    # Estimate the time: steps that load operands for few multiply-adds, keep sums for few steps, or spill, because more
    # than 28 of 32 registers hold sums,
    loads = rows + math.ceil(columns / lanes)
    sums = 2 * accumulators / steps
    spilled = 3 if accumulators > _CPU_REGISTERS else 1
    per_step = (accumulators + 0.5 * loads + 0.25 * sums + 1) * spilled
    # and workgroups that are too small to be worth starting, which takes as long as 20,000 multiply-adds, about a
    # microsecond, or too few for the threads, whose number is not known: below 16 workgroups, most machines idle.
    work = math.prod(size.values()) * per_step / (rows * columns) * lanes
    idle = max(1.0, 16 / tasks) ** 0.5
    return {
        "estimate": math.log2((work + tasks * 20_000) * idle),
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


_CPU_REGISTERS: Final = 28
_WARP: Final = 32


def _gpu_features(problem: SearchProblem, candidate: Candidate, threads: int) -> dict[str, float]:
    knobs = candidate.knobs
    lanes = max(1, knobs.get(SUBGROUP_SIZE, _WARP))
    subgroups = -(-threads // lanes)
    # Multiply sizes and tiles of all loops on each side of the product.
    size, tile, thread, subgroup = (dict.fromkeys("bmnk", 1) for _ in range(4))
    workgroups, counts, has_tiles = 1, [], False
    has_intrinsics = any(name.endswith((MMA_KIND, "matrix")) for name in knobs)
    # TileAndFuse counts its steps in intrinsics, most of which reduce 16 operands of 16 bits.
    step_unit = 16 if "TileAndFuse" in candidate.pipeline and MMA_KIND in knobs else 1
    for loop, (extent, role) in enumerate(zip(problem.sizes, problem.roles, strict=True)):
        side = side_of(role)
        size[side] *= extent or 1
        if side == "m":
            counts.append(knobs.get(f"{SUBGROUP_BASIS}[{loop}]"))
        if side in "mn" and f"subgroup[{loop}]" in knobs:
            subgroup[side] *= max(1, knobs[f"subgroup[{loop}]"])
            has_tiles = True
        if role == "k1":
            continue  # is never tiled: the scores of an attention are computed at once
        if side == "k":
            steps = (knobs.get(f"{e}[{loop}]", 0) for e in (REDUCTION_LEVEL, PARTIAL_REDUCTION))
            step = max(steps) * step_unit or (1 if role == "filter" else extent)
            tile["k"] *= min(step or 1, extent or 1)
        else:
            part = max(1, knobs.get(f"workgroup[{loop}]", 1))
            tile[side] *= part
            thread[side] *= max(1, knobs.get(f"thread[{loop}]", 1))
            workgroups *= -(-(extent or 1) // part)
    batch, m, n, k = tile.values()
    # Find the rows and columns of a subgroup by the knobs that divide the tile, else by the aspect of the intrinsic:
    # those of a warp have twice as many rows as columns, those of a wavefront as many.
    per_subgroup = max(1.0, m * n / subgroups)
    aspect = m / n
    if has_tiles:
        aspect = subgroup["m"] / subgroup["n"] * (2 if knobs.get(SUBGROUP_SIZE) == _WARP else 1)
    rows = math.sqrt(per_subgroup * aspect)
    if has_intrinsics and any(counts):
        rows = max(1.0, m / math.prod(filter(None, counts)))
    rows = min(rows, m)
    columns = per_subgroup / rows
    # Count what a thread and a compute unit hold: 40 registers of a thread hold neither operands nor results but addresses,
    # indices and loads in flight. An A100 has 164 KiB of shared memory.
    scores = batch * m * k if problem.kind == "attention" else 0
    accumulators = (batch * m * n + scores) / threads
    shared_bytes = batch * (m + n) * k * operand_bytes(problem)
    registers = min(255, accumulators + (rows + columns) / 4 + 40)
    by_registers = (1 << 16) / (registers * 32) // subgroups
    resident = int(max(1, min(32, by_registers, (164 << 10) // max(shared_bytes, 1))))
    # Estimate the time by a rough roofline: the padded work, made slower by operands that are read again by each
    # subgroup, or each thread without intrinsics (8 to 16 times as slow in data sheets), and each workgroup, and by lanes
    # without a thread and short steps,
    if has_intrinsics:
        per_element = 1 + 24 * (1 / rows + 1 / columns) + 16 * (1 / m + 1 / n) + 8 / k
    else:
        reads = 1 / thread["m"] + 1 / thread["n"]
        per_element = 1 + 4 * reads + 16 * (1 / m + 1 / n) + 32 / k
        per_element *= 8 * (subgroups * lanes / threads)
    # by a last wave that is not full, which is not quite lost,
    waves = workgroups / problem.limits.get(COMPUTE_UNITS, TYPICAL)
    rounds = max(1.0, (waves + math.ceil(waves)) / 2)
    # by less than the 8 warps that hide the latency of tensor cores and of most memory, and by accumulators that leave
    # no room for operands: more than 130 of a thread are spilled, at a heavy price.
    warps = min(resident, max(1.0, waves)) * subgroups
    throughput = min(1.0, warps / 8) ** 0.5
    spilled = max(1.0, accumulators / 130) ** 3
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


# --- Features for a prediction: those of the problem, and of the schedule of a candidate beside the default's ---------

_KINDS: Final = ("contraction", "convolution", "attention", "reduction", "elementwise", "other")
_LINE: Final = 64.0
"""The bytes of a cache line, and of a vector of AVX-512."""

_REGISTERS: Final = 32
_MOST_OPERANDS: Final = 4
_UNKNOWN: Final = -1.0


def schedule_features(problem: SearchProblem, candidate: Candidate) -> dict[str, float]:
    """Return the features of a candidate's schedule that do not depend on the numbers of its loops."""
    base = features(problem, candidate)
    result = {name: value for name, value in base.items() if not name.startswith("knob ")}
    for name, value in candidate.knobs.items():
        if "[" not in name:
            result[f"knob {name}"] = logarithm(value)
    if None not in problem.sizes and problem.operand_loops:
        tiles = _tiles(problem, candidate.knobs)
        if tiles is not None:
            is_peeled = bool(candidate.knobs.get(LOOP_PEELING))
            result |= _nest_features(problem, tiles) | _masks(problem, tiles, is_peeled=is_peeled)
            if any(name.startswith(WORKGROUP_SIZE) for name in candidate.knobs):
                result |= _access_features(problem, candidate.knobs, tiles[0])
    return result


_Tiles: TypeAlias = tuple[list[int], list[int], list[int]]


def _access_features(
    problem: SearchProblem, knobs: Mapping[str, int], tile: list[int]
) -> dict[str, float]:
    """Return how the threads of a warp access the operands, and what each of them does."""
    # 1. The elements of a thread and the threads along each loop; the last loop has neighboring threads.
    sizes = [size or 1 for size in problem.sizes]
    order = range(len(sizes) - 1, -1, -1)
    along = [knobs.get(f"{WORKGROUP_SIZE}[{place}]", 0) for place in range(len(sizes))]
    own, threads = [1] * len(sizes), [1] * len(sizes)
    for place, loop in enumerate(order):
        basis = knobs.get(f"{LANE_BASIS}[{loop}]", 0) * knobs.get(f"{SUBGROUP_BASIS}[{loop}]", 1)
        steps = (knobs.get(f"{level}[{loop}]", 0) for level in (REDUCTION_LEVEL, PARTIAL_REDUCTION))
        step = max(steps)
        part = min(step, sizes[loop]) if step else tile[loop]
        if along[0]:
            threads[loop] = min(along[place] or 1, part)
            own[loop] = -(-part // threads[loop])
        elif basis:
            threads[loop], own[loop] = basis, max(1, knobs.get(f"thread[{loop}]", 1))
        else:
            own[loop] = max(1, min(knobs.get(f"thread[{loop}]", 0) or (part if step else 1), part))
            threads[loop] = 1 if step else -(-part // own[loop])
    lanes, left = [1] * len(sizes), _WARP
    for loop in order:
        lanes[loop] = min(threads[loop], left)
        left = max(1, left // lanes[loop])
    # 2. What a warp reads and writes at once: vectors of a thread, runs of neighboring threads, and the number of runs.
    output = {loop for loop in problem.operand_loops[-1] if loop is not None}
    result = {}
    loads = 0.0
    operands = [*enumerate(problem.operand_loops[: _MOST_OPERANDS - 1])]
    operands += [(_MOST_OPERANDS, problem.operand_loops[-1])]
    widths = _widths(problem)
    for number, loops in operands:
        width = widths[-1 if number == _MOST_OPERANDS else number]
        used = {loop for loop in loops if loop is not None}
        last = loops[-1] if loops else None
        vector = min(_WIDEST, own[last] * width) if last is not None else width
        run = lanes[last] * own[last] * width if last is not None else width
        runs = math.prod(lanes[loop] for loop in used if loop != last)
        elements = math.prod(own[loop] for loop in used)
        loads += elements * width / vector
        name = "result" if number == _MOST_OPERANDS else str(number)
        result[f"warp vector {name}"] = math.log2(vector)
        result[f"warp run {name}"] = math.log2(run)
        result[f"warp runs {name}"] = math.log2(runs)
        covered = math.ceil(run / _SECTOR) * _SECTOR / run
        result[f"warp waste {name}"] = math.log2(covered)
    elements = math.prod(own[loop] for loop in output)
    return result | {
        "warp lanes": math.log2(math.prod(lanes)),
        "warp reduced": math.log2(
            math.prod(lanes[e] for e in range(len(lanes)) if e not in output)
        ),
        "thread results": math.log2(elements),
        "thread steps": math.log2(math.prod(own) / elements),
        "thread accesses": logarithm(loads),
        "threads in use": math.log2(math.prod(threads)),
        "threads in all": math.log2(
            math.prod(-(-size // part) for size, part in zip(sizes, tile, strict=True))
        )
        + math.log2(math.prod(threads)),
    }


_WIDEST: Final = 16.0
_SECTOR: Final = 32.0
"""The bytes of the widest access of a thread, and of what a GPU reads from memory at least."""


def _masks(problem: SearchProblem, tiles: _Tiles, *, is_peeled: bool) -> dict[str, float]:
    """Return which loops have tiles that do not divide them, whose vectors are masked unless the rest is peeled off."""
    outer, block, inner = tiles
    output = problem.operand_loops[-1]
    last = output[-1] if output else None
    result = dict.fromkeys(("masked last", "masked rows", "masked steps"), 0.0)
    vectors = []
    for loop, size in enumerate(problem.sizes):
        whole = size or 1
        is_divided = not (whole % outer[loop] or outer[loop] % block[loop])
        is_divided = is_divided and not block[loop] % inner[loop]
        side = "steps" if loop not in output else "last" if loop == last else "rows"
        vectors += [inner[loop]] if side == "rows" and inner[loop] > 1 else []
        if not is_divided and inner[loop] > 1:
            result[f"masked {side}"] += 1.0
    masked = sum(result.values())
    rows = sorted(vectors, reverse=True)
    return result | {
        "masked": masked,
        "masked whole": 0.0 if is_peeled else masked,
        "vector loops": float(len(rows)),
        "vector rows": logarithm(rows[0] if rows else 1),
        "vector steps": logarithm(
            math.prod(inner[loop] for loop in range(len(inner)) if loop not in output)
        ),
        "vector last odd": float(last is not None and inner[last] & (inner[last] - 1) > 0),
    }


def _widths(problem: SearchProblem) -> list[float]:
    widths = [element_bytes(text) for text in problem.element_types]
    return widths + [widths[-1] if widths else 4.0] * (len(problem.operand_loops) - len(widths))


def _tiles(problem: SearchProblem, knobs: Mapping[str, int]) -> _Tiles | None:
    """Return the sizes of the loops in a workgroup, in a block for the caches, and in a vector or a thread."""
    outer: list[int] = []
    block: list[int] = []
    inner: list[int] = []
    is_tiled = False
    for loop, size in enumerate(problem.sizes):
        left = size or 1
        for sizes, levels in (
            (outer, ("distribution", "workgroup", "tile_sizes")),
            (block, ("cache_parallel", "cache_reduction", "reduction", "partial_reduction")),
            (
                inner,
                ("vector_common_parallel", "vector_reduction", "vector_inner_parallel", "thread"),
            ),
        ):
            tile = max((knobs.get(f"{level}[{loop}]", 0) for level in levels), default=0)
            is_tiled = is_tiled or tile > 0
            left = min(tile, left) if tile > 0 else left
            sizes.append(left)
    return (outer, block, inner) if is_tiled else None


def _nest_features(problem: SearchProblem, nest: _Tiles) -> dict[str, float]:
    outer, block, inner = nest
    whole = [size or 1 for size in problem.sizes]
    loops, widths = problem.operand_loops, _widths(problem)
    output = [loop for loop in loops[-1] if loop is not None]
    last = output[-1] if output else None
    count = range(len(whole))
    result: dict[str, float] = {}
    # Workgroups, and the parts of tiles that lie outside of the loops.
    result["nest tasks"] = sum(math.log2(-(-whole[loop] // outer[loop])) for loop in count)
    for name, large, small in (("outer", whole, outer), ("inner", block, inner)):
        waste = (math.ceil(large[i] / small[i]) * small[i] / large[i] for i in count)
        result[f"nest {name} waste"] = math.log2(math.prod(waste))
    tiles = math.prod(math.ceil(whole[loop] / inner[loop]) for loop in count)
    result["nest tiles"] = math.log2(tiles)
    elements = math.prod(inner)
    result["nest vector elements"] = math.log2(elements)
    # The vectors along the last loop of the result: bytes of a run, and the part of their lanes in use.
    run = (inner[last] if last is not None else 1) * widths[-1]
    vectors = math.ceil(run / _LINE)
    result["nest run"] = math.log2(run)
    result["nest lanes"] = run / _LINE / vectors
    result["nest last outer"] = math.log2(outer[last]) if last is not None else 0.0
    result["nest last covers"] = float(last is not None and outer[last] == whole[last])
    lanes = run / vectors / widths[-1]
    accumulators = math.prod(inner[loop] for loop in set(output) - {last}) * vectors
    result["nest accumulators"] = math.log2(accumulators)
    result["nest spilled"] = math.log2(max(1.0, accumulators / _REGISTERS))
    # Instructions that compute and that load: what is not contiguous along the vectors is loaded one by one, and
    # transposed or spread.
    compute = elements / lanes
    loads = 0.0
    for number, (own, width) in enumerate(zip(loops[:-1], widths, strict=False)):
        read = {loop: inner[loop] for loop in own if loop is not None}
        contiguous = read.get(own[-1], 1) if own and own[-1] is not None else 1
        total = math.prod(read.values())
        run_bytes = contiguous * width
        instructions = total * width / min(_LINE, max(run_bytes, width))
        if last is not None and last in read and own[-1] != last:
            instructions = float(total)  # transposed in registers
        loads += instructions
        if number < _MOST_OPERANDS - 1:
            result[f"nest run {number}"] = math.log2(max(run_bytes, width))
    result["nest loads"] = logarithm(loads)
    result["nest loads per op"] = logarithm(loads / compute)
    result["nest unrolled"] = logarithm(compute)
    result["nest chains"] = math.log2(min(accumulators, 16))
    result["nest instructions"] = math.log2((max(compute, loads) + 0.25 * accumulators + 4) * tiles)
    # Bytes that a tile of each level touches, and the bytes that the levels move in all.
    for name, sizes in (("outer", outer), ("block", block), ("inner", inner)):
        touched = [
            math.prod(sizes[loop] for loop in set(own) if loop is not None) * width
            for own, width in zip(loops, widths, strict=False)
        ]
        times = math.prod(math.ceil(whole[loop] / sizes[loop]) for loop in count)
        result[f"nest {name} bytes"] = logarithm(sum(touched))
        result[f"nest {name} traffic"] = logarithm(sum(touched) * times)
    # Parts of lines that the tiles of workgroups leave.
    for number, own in enumerate(loops[: _MOST_OPERANDS - 1]):
        if own and own[-1] is not None:
            result[f"nest line {number}"] = math.log2(min(_LINE, outer[own[-1]] * widths[number]))
    return result


def prediction_features(
    problem: SearchProblem, default: Candidate, candidates: Sequence[Candidate]
) -> list[dict[str, float]]:
    """Return the features from which the gain of each candidate over the default is predicted."""
    # 1. What all candidates share: those of the problem.
    sizes = [size or 1 for size in problem.sizes]
    shared = {f"is {kind}": float(problem.kind == kind) for kind in _KINDS}
    sides = dict.fromkeys("bmnk", 0.0)
    for size, role in zip(sizes, problem.roles, strict=True):
        sides[side_of(role)] += math.log2(size)
    shared |= {f"problem {side}": value for side, value in sides.items()}
    shared["problem work"] = sum(sides.values())
    widths = _widths(problem)
    moved = [
        math.prod(sizes[loop] for loop in set(loops) if loop is not None) * width
        for loops, width in zip(problem.operand_loops, widths, strict=False)
    ]
    shared["problem bytes"] = logarithm(sum(moved))
    shared["problem intensity"] = shared["problem work"] - shared["problem bytes"]
    shared["problem output"] = logarithm(moved[-1] if moved else 0)
    shared["problem loops"] = float(len(sizes))
    shared["problem body"] = float(problem.body)
    shared["problem beside"] = float(problem.beside)
    shared["problem stride"] = float(max(problem.steps, default=0))
    shared["problem operands"] = float(len(problem.operand_loops))
    shared["operand bytes"] = operand_bytes(problem)
    shared["problem named"] = float(problem.operation != "linalg.generic")
    # How each operand is read along the loop that the result is contiguous in: along it, across it, or not at all.
    output = problem.operand_loops[-1] if problem.operand_loops else ()
    last = output[-1] if output else None
    shared["problem last"] = logarithm(sizes[last]) if last is not None else _UNKNOWN
    for number, loops in enumerate(problem.operand_loops[: _MOST_OPERANDS - 1]):
        along = float(bool(loops) and loops[-1] == last)
        shared[f"operand {number} along"] = along if last in loops else _UNKNOWN
        shared[f"operand {number} odd"] = float(None in loops)
    shared["default known"] = float(bool(default.knobs))
    # 2. The schedule of each, and its difference to the default's.
    own = schedule_features(problem, default)
    schedules = [schedule_features(problem, candidate) for candidate in candidates]
    changes = (
        {f"change {name}": value - own[name] for name, value in one.items() if name in own}
        for one in schedules
    )
    return [shared | one | change for one, change in zip(schedules, changes, strict=True)]
