"""The sizes of the vectors of a root op and of the ops fused with it, and the configurations whose vectors may overflow the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tuninglink.iree.lowering_configs import CpuLevel
from tuninglink.solver import Grade
from tuninglink.solver.expressions import Expression, any_of, negation, number, select
from tuninglink.spaces.cpu.neighboring_ops import WIDENED, Neighbor

if TYPE_CHECKING:
    from tuninglink.spaces.cpu.cpu_rules import CpuRules


def masked_size(rules: CpuRules, loop: int) -> Expression:
    """Return the maximum number of elements of a masked vector along a loop.

    If no size is configured, the compiler finds a bound, which may be any tile or the whole loop.
    """
    part, tile = rules.parts[loop], rules.tiles.vector_tile(loop)
    configured = select(tile > part.size, tile, part.size)
    return select(tile > 0, configured, select(part.is_known, part.size, part.bound))


def fused_vectors(
    rules: CpuRules,
) -> Iterator[tuple[Neighbor, list[Expression], list[Expression]]]:
    """Yield the ops fused with the root op, the sizes of their vectors, and the conditions for these.

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
        own = number(neighbor.own)
        yield neighbor, [own, *(masked_size(rules, loop) for loop in neighbor.shared)], inside
        if outside:
            whole = [_outer(rules, loop) for loop in neighbor.shared]
            yield neighbor, [own, *whole], [any_of(*outside)]


def _outer(rules: CpuRules, loop: int) -> Expression:
    """Return the maximum size of a loop before it is tiled for vectors."""
    part = rules.tiles.outer_part(loop)
    return select(part.is_known, part.size, part.bound)


def add_stack_rules(rules: CpuRules) -> None:
    """Add the rules that keep the vectors of elementwise code on the stack.

    Registers hold a few hundred bytes. The values of an elementwise body that are alive at once are on the stack, each as
    a vector over its loops.
    """
    rules.grade = Grade.UNSAFE
    if not rules.checks_vectors or rules.is_data_tiled:
        return
    nest = rules.nest
    if nest.live:
        sizes = [masked_size(rules, loop) for loop in rules.loops]
        rules.limit_stack(f"'{nest.operation}'", sizes, max(WIDENED, nest.widest), nest.live)
    for neighbor, sizes, when in fused_vectors(rules):
        if neighbor.live:
            rules.limit_stack(neighbor.what, sizes, neighbor.bits, neighbor.live, when)
