"""Necessary rules, determined by compiling: configurations that break one do not compile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree.cpu_configurations import CpuLevel
from tuninglink.solver.assertions import Grade
from tuninglink.solver.expressions import Expression, any_of
from tuninglink.spaces.cpu.decomposition import add_decomposition
from tuninglink.spaces.cpu.target_cpu import Masking

if TYPE_CHECKING:
    from tuninglink.spaces.cpu.cpu_rules import CpuRules

LOST: Final = "the compiler gives this operation a batch loop after it has read the configuration, and loses it"


def add_necessary_rules(rules: CpuRules) -> None:
    """Add the rules that every configuration that compiles satisfies."""
    rules.grade = Grade.NECESSARY
    for loop in rules.loops:
        _refuse_negative(rules, loop)
    if rules.pipeline.separates:
        rules.separate_levels()
    if rules.nest.is_attention and not rules.pipeline.decomposes_attention:
        rules.add(False, "this pipeline does not lower attention")  # noqa: FBT003 - that is the rule
    if rules.nest.is_on_tensors and not rules.pipeline.takes_tensors:
        rules.add(False, "this pipeline is for operations on buffers, and this one is on tensors")  # noqa: FBT003 - that is the rule
    if rules.nest.is_lost and rules.pipeline.needs_distribution:
        rules.add(False, LOST)  # noqa: FBT003 - the pipeline cannot be built without a configuration
    if rules.pipeline.decomposes_convolutions:
        add_decomposition(rules)
    if rules.checks_vectors:
        when = _vectorized(rules)
        for vector in rules.nest.vectors:
            sizes = [rules.parts[loop].size for loop in vector.loops]
            rules.limit_vector(f"the vector of {vector.what} has", sizes, vector.bits, when)


def _refuse_negative(rules: CpuRules, loop: int) -> None:
    """Require tiles not to be negative, except for loops of one iteration, which are not tiled."""
    size = rules.nest.loops[loop].size
    if size is not None and size <= 1:
        return
    for level in rules.pipeline.natural:
        tile, name = rules.tiles.tile(level, loop), rules.tiles.name(level, loop)
        others = [rules.tiles.tile(each, loop) for each in CpuLevel if each is not level]
        condition = any_of(tile >= 0, *(other == 1 for other in others))
        rules.add(condition, f"{name} must not be negative ({{}} >= 0)", tile)


def _vectorized(rules: CpuRules) -> list[Expression]:
    """Return the conditions under which the operation is certainly vectorized: the compiler knows the size of every loop.

    The size is that of the loop's part, or the configured size if vectors are masked. A masked vector is not smaller
    than the part that it covers.
    """
    # The effect of the innermost level is unknown, as is that of a level that tiles loops of the other kind.
    innermost = CpuLevel.VECTOR_INNER_PARALLEL
    others = [
        rules.tiles.tile(innermost, loop) == 0
        for loop in rules.loops
        if innermost not in rules.pipeline.unused
    ]
    others += [rules.tiles.tile(level, loop) == 0 for level, loop in rules.misplaced()]
    if rules.cpu.masking is Masking.NEVER:
        return [*others, *(each.is_known for each in rules.parts)]
    configured = (
        any_of(part.is_known, rules.tiles.vector_tile(loop) > 0)
        for loop, part in enumerate(rules.parts)
    )
    return [*others, *configured]
