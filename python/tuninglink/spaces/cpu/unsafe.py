"""Unsafe configurations: those whose code may overflow the stack of the runtime's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.solver.terms import Grade
from tuninglink.spaces.cpu.neighboring_ops import WIDENED
from tuninglink.spaces.cpu.vector_sizes import fused_vectors, masked_size

if TYPE_CHECKING:
    from tuninglink.spaces.cpu.cpu_rules import CpuRules


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
