"""Sufficient rules: configurations that break none of them, and no necessary one, compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.iree.cpu_configurations import CpuLevel
from tuninglink.solver.assertions import Grade
from tuninglink.solver.expressions import all_of, any_of, negation, number, select
from tuninglink.spaces.cpu.data_tiled import add_layout_rules
from tuninglink.spaces.cpu.necessary import LOST
from tuninglink.spaces.cpu.target_cpu import Masking

if TYPE_CHECKING:
    from tuninglink.solver.expressions import Expression
    from tuninglink.spaces.cpu.cpu_rules import CpuRules


def add_sufficient_rules(rules: CpuRules) -> None:
    """Add the rules under which configurations compile, provided that `unknown` returns no reason."""
    rules.grade = Grade.SUFFICIENT
    if rules.is_data_tiled:
        add_layout_rules(rules)
    if not rules.checks_vectors:
        return
    for loop in rules.loops:
        for level in CpuLevel:
            rules.limit_tile(level, loop)
    if rules.pipeline.mixes_levels:
        rules.limit_misplaced_levels()
    else:
        rules.separate_levels()
    _bound_vectors(rules)
    _bound_neighbors(rules)
    if rules.cpu.masking is Masking.ALWAYS:
        _keep_peeling_finite(rules)


def unknown(rules: CpuRules) -> str:
    """Return why no configuration is known to compile; empty if the rules decide."""
    if rules.nest.is_lost and not rules.pipeline.needs_distribution:
        return LOST
    if not rules.pipeline.vectorizes or rules.is_data_tiled:
        return ""
    if not rules.checks_vectors:
        return "what this pipeline makes of the tiles is not known well enough"
    if any(neighbor.own is None for neighbor in rules.nest.beside):
        return "how large another operation in the dispatch is, is not known"
    return ""


def _bound_vectors(rules: CpuRules) -> None:
    """Require all vectors of the root op to stay below the limit, however the compiler bounds its parts."""
    has_known_parts = all_of(*(part.is_known for part in rules.parts))
    is_never = rules.cpu.masking is Masking.NEVER
    # A peeled part has the size of the tile, even if the loop has fewer iterations.
    when = [negation(has_known_parts), *([rules.tiles.peeling != 0] if is_never else [])]
    for vector in rules.nest.parts:
        what = f"the vectors of {vector.what} may have"
        masked = [_masked(rules, loop) for loop in vector.loops]
        if rules.cpu.masking is Masking.ALWAYS:
            rules.limit_vector(what, masked, vector.bits)
            continue
        sizes = [rules.parts[loop].size for loop in vector.loops]
        rules.limit_vector(what, sizes, vector.bits, [has_known_parts])
        rules.limit_vector(what, masked, vector.bits, when)


def _masked(rules: CpuRules, loop: int) -> Expression:
    """Return the maximum number of elements of a masked vector along a loop.

    If no size is configured, the compiler finds a bound, which may be any tile or the whole loop.
    """
    part, tile = rules.parts[loop], rules.tiles.vector_tile(loop)
    configured = select(tile > part.size, tile, part.size)
    return select(tile > 0, configured, select(part.is_known, part.size, part.bound))


def _bound_neighbors(rules: CpuRules) -> None:
    """Require all vectors of ops fused with the root op to stay below the limit.

    Fused ops get the vector tiles, too, unless a tiled reduction around these keeps the ops outside.
    """
    outside = [
        rules.tiles.tile(CpuLevel.CACHE_REDUCTION, loop) != 0
        for loop in rules.loops
        if rules.nest.loops[loop].reduces
    ]
    inside = [negation(condition) for condition in outside]
    for neighbor in rules.nest.beside:
        if neighbor.own is None:
            continue
        what = f"the vectors of {neighbor.what} may have"
        sizes = [_masked(rules, loop) for loop in neighbor.shared]
        rules.limit_vector(what, [number(neighbor.own), *sizes], neighbor.bits, inside)
        if outside:
            whole = [_outer(rules, loop) for loop in neighbor.shared]
            numbers = [number(neighbor.own), *whole]
            rules.limit_vector(what, numbers, neighbor.bits, [any_of(*outside)])


def _outer(rules: CpuRules, loop: int) -> Expression:
    """Return the maximum size of a loop before it is tiled for vectors."""
    part = rules.tiles.outer_part(loop)
    return select(part.is_known, part.size, part.bound)


def _keep_peeling_finite(rules: CpuRules) -> None:
    """Add the rules that keep the compiler from peeling forever where vectors are always masked."""
    outer, inner = CpuLevel.DISTRIBUTION, CpuLevel.CACHE_PARALLEL
    for loop in rules.parallel():
        around, tile = rules.tiles.tile(outer, loop), rules.tiles.tile(inner, loop)
        names = rules.tiles.name(inner, loop), rules.tiles.name(outer, loop)
        message = f"with peeling, {names[0]} must not be larger than {names[1]} ({{}} <= {{}})"
        condition = any_of(rules.tiles.peeling == 0, tile <= around, tile == 0)
        rules.add(condition, message, tile, around)
