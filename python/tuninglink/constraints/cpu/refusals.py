"""What the compiler refuses: configurations that break these rules do not compile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import z3

from tuninglink.constraints.cpu.device import Masking

if TYPE_CHECKING:
    from tuninglink.constraints.cpu.rules import Rules

REFUSED: Final = "the compiler refuses it otherwise"
"""The grade of these rules, each of which experiments have shown."""


def add_refusals(rules: Rules) -> None:
    """Adds what every configuration fulfils that compiles."""
    rules.limit_tiles(rules.pipeline.natural)
    if rules.pipeline.separates:
        rules.separate_levels()
    if rules.pipeline.checks_vectors:
        when = _vectorized(rules)
        for each in rules.nest.vectors:
            sizes = [rules.parts[loop].size for loop in each.loops]
            rules.limit_vector(f"the vector of {each.what} has", sizes, each.bits, when)


def _vectorized(rules: Rules) -> list[z3.BoolRef]:
    """Returns when the operation is vectorized for certain: when the compiler knows a size for every loop.

    It is the size of its part, or the configured one if vectors are masked. A masked vector is not smaller than the
    part that it covers.
    """
    if rules.cpu.masking is Masking.NEVER:
        return [each.is_known for each in rules.parts]
    return [
        z3.Or(part.is_known, rules.tiles.vector_tile(loop) > 0)
        for loop, part in enumerate(rules.parts)
    ]
