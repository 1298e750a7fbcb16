"""Data-tiled products: the layout fixes the vectors, so only the workgroup tiles are knobs.

One step computes the packed tile, in a microkernel or in one vector. Other vector tiles change nothing or break the
compilation. Workgroup tiles determine how often an operand is read again from the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.iree.cpu_configurations import CpuLevel
from tuninglink.solver.expressions import any_of
from tuninglink.spaces.cpu.nest import PACKED_LOOPS

if TYPE_CHECKING:
    from tuninglink.spaces.cpu.cpu_rules import CpuRules
    from tuninglink.spaces.cpu.nest import LoopNest


def add_layout_rules(rules: CpuRules) -> None:
    """Add the rules of data-tiled products: a workgroup takes whole packed tiles, a vector takes one."""
    outer = _outer_loops(rules.nest)
    for loop in rules.loops:
        for level in CpuLevel:
            tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
            if level is rules.tiles.vector_level(loop):
                packed = 1 if loop < outer else rules.nest.loops[loop].size
                message = f"{name} should be {packed}, as the layout has it ({{}} == {packed})"
                rules.add(packed is not None and tile == packed, message, tile)
            elif level is CpuLevel.DISTRIBUTION and _is_distributed(rules.nest, loop):
                rules.limit_tile(level, loop)
            else:
                rules.add(tile == 0, f"{name} should be 0, as the layout has it ({{}} == 0)", tile)


def add_workgroup_rules(rules: CpuRules) -> None:
    """Restrict workgroup tiles to the divisors of a loop, among which the compiler chooses, too."""
    for loop in rules.loops:
        size = rules.nest.loops[loop].size
        if size is None or not _is_distributed(rules.nest, loop):
            continue
        level = CpuLevel.DISTRIBUTION
        tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
        divisors = [position for position in range(1, size + 1) if size % position == 0]
        message = f"{name} should divide the loop of {size} iterations ({{}})"
        rules.add(any_of(*(tile == divisor for divisor in divisors)), message, tile)


def _outer_loops(nest: LoopNest) -> int:
    return len(nest.loops) - PACKED_LOOPS[nest.operation]


def _is_distributed(nest: LoopNest, loop: int) -> bool:
    return loop < _outer_loops(nest) and not nest.loops[loop].reduces
