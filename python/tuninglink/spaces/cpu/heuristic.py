"""Heuristic rules, which reduce the configurations that compile to a finite set for proposals and search."""

from __future__ import annotations

from typing import Final

from tuninglink.iree.cpu_configurations import CpuLevel
from tuninglink.solver.expressions import all_of, any_of, number
from tuninglink.solver.terms import Grade
from tuninglink.spaces.cpu.cpu_rules import BYTE, CpuRules
from tuninglink.spaces.cpu.data_tiled import add_workgroup_rules

_MOST_DISTRIBUTED: Final = 1024
"""A larger tile of a workgroup is not tried."""

_VECTOR_TILES: Final = tuple(1 << power for power in range(9))
"""The sizes of vector tiles that are tried, beside the whole loop."""

_CACHE_REDUCTIONS: Final = (32, 64, 128, 256)
"""The steps of a reduction that are tried between the tile of a workgroup and the vector tile, beside all of them: of a
right-hand side with k rows, the rows between lie on few pages, which other vector tiles read again."""

_LEVEL_1_CACHE_BYTES: Final = 32 * 1024
"""The size of the data cache of the first level on the smaller ones of today's CPUs."""


def add_heuristic_rules(rules: CpuRules) -> None:
    """Add the rules for proposed and enumerated configurations."""
    rules.grade = Grade.HEURISTIC
    if rules.is_data_tiled:
        add_workgroup_rules(rules)
        return
    if not rules.checks_vectors or rules.pipeline.mixes_levels:
        rules.leave_misplaced_levels()
    for level in (CpuLevel.CACHE_PARALLEL, CpuLevel.VECTOR_INNER_PARALLEL):
        for loop in rules.loops:
            tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
            rules.add(tile == 0, f"{name} is not tried ({{}} == 0)", tile)
    for loop in rules.loops:
        if loop in rules.nest.score_loops:
            _keep_whole(rules, loop)
        else:
            _shape_vector(rules, loop)
            _shape_cache_reduction(rules, loop)
    for loop in rules.parallel():
        _shape_distribution(rules, loop)
    if rules.nest.vectors:
        _use_registers(rules)
        _use_cache(rules)


def _keep_whole(rules: CpuRules, loop: int) -> None:
    """Require a loop to be untiled: code that tiles the scores of an attention computes wrong results."""
    for level in (CpuLevel.VECTOR_REDUCTION, CpuLevel.CACHE_REDUCTION):
        tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
        rules.add(
            tile == 0, f"{name} should be 0, as parts of scores are not added up ({{}})", tile
        )


def _shape_vector(rules: CpuRules, loop: int) -> None:
    size = rules.nest.loops[loop].size
    tile = rules.tiles.vector_tile(loop)
    tried = [each for each in _VECTOR_TILES if size is None or each < size]
    if size is not None and 0 < size <= _VECTOR_TILES[-1]:
        tried.append(size)
    message = f"the vector tile of loop {loop} should be a power of two or the whole loop ({{}})"
    rules.add(any_of(*(tile == each for each in tried or [1])), message, tile)


def _shape_cache_reduction(rules: CpuRules, loop: int) -> None:
    size = rules.nest.loops[loop].size
    level = CpuLevel.CACHE_REDUCTION
    tile, vector = rules.tiles.tile(level, loop), rules.tiles.vector_tile(loop)
    name = rules.tiles.name(level, loop)
    tried = [each for each in _CACHE_REDUCTIONS if size is None or each < size]
    message = f"{name} should be 0 or one of {', '.join(map(str, _CACHE_REDUCTIONS))} ({{}})"
    rules.add(any_of(*(tile == each for each in (0, *tried))), message, tile)
    message = f"{name} should be 0 or no smaller than the vector tile ({{}}, {{}})"
    rules.add(any_of(tile == 0, tile >= vector), message, tile, vector)


def _shape_distribution(rules: CpuRules, loop: int) -> None:
    size = rules.nest.loops[loop].size
    most = min(size or _MOST_DISTRIBUTED, _MOST_DISTRIBUTED)
    tile, vector = rules.tiles.tile(CpuLevel.DISTRIBUTION, loop), rules.tiles.vector_tile(loop)
    name = rules.tiles.name(CpuLevel.DISTRIBUTION, loop)
    message = f"{name} should be from 0 to {most} ({{}})"
    rules.add(all_of(tile >= 0, tile <= most), message, tile)
    doubled = [tile == vector * factor for factor in _VECTOR_TILES]
    whole = [tile == 0] if most == size else []
    message = (
        f"{name} should be the vector tile times a power of two, or the whole loop ({{}}, {{}})"
    )
    rules.add(any_of(*doubled, *whole), message, tile, vector)


def _use_registers(rules: CpuRules) -> None:
    """Require the results of a vector tile to fit into the registers."""
    tiles = [rules.tiles.vector_tile(loop) for loop in rules.parallel()]
    room = rules.cpu.registers * rules.cpu.vector_bytes
    total, bits = number(rules.nest.vectors[0].bits), rules.nest.vectors[0].bits
    for tile in tiles:
        total = total * tile
    shape = "x".join(["{}"] * len(tiles)) or "1"
    message = f"the results of a vector tile, {shape} elements of {bits} bits, should fit into {room} bytes of registers"
    rules.add(total <= BYTE * room, message, *tiles)


def _use_cache(rules: CpuRules) -> None:
    """Require the elements that one vector tile reads to fit into the first-level cache."""
    total = number(rules.nest.widest)
    for loop in rules.loops:
        if loop not in rules.nest.score_loops:
            total = total * rules.tiles.vector_tile(loop)
    message = (
        f"the elements under a vector tile should fit into {_LEVEL_1_CACHE_BYTES} bytes of cache"
    )
    rules.add(total <= BYTE * _LEVEL_1_CACHE_BYTES, message)
