"""Tiles as unknowns, and the sizes of the parts of loops that remain after tiling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.iree.lowering_configs import CpuLevel
from tuninglink.solver.expressions import Expression, all_of, any_of, number, select
from tuninglink.spaces.knobs import IntegerKnob, OneOfKnob

if TYPE_CHECKING:
    from tuninglink.spaces.cpu.nest import LoopNest
    from tuninglink.spaces.set_builder import ConstraintSetBuilder

LOOP_PEELING: Final = "loop_peeling"
"""The knob that peels the last iteration of a loop that its tile does not divide."""

_REDUCTION: Final = (CpuLevel.CACHE_REDUCTION, CpuLevel.VECTOR_REDUCTION)
_OUTER: Final = (CpuLevel.DISTRIBUTION, CpuLevel.CACHE_PARALLEL)

_UNKNOWN: Final = 1 << 40
"""The assumed size of a dynamic loop before tiling: more than any tiled loop has."""


def knob_name(level: CpuLevel, loop: int) -> str:
    """Return the name of the knob for a tile."""
    return f"{level.value}_{loop}"


@dataclass(frozen=True)
class TiledLoop:
    """The part of a loop that remains after tiling.

    Attributes:
        size: its maximum size.
        is_known: whether the compiler can prove that it always has this size.
        bound: the largest bound on its size that the compiler may derive.
    """

    size: Expression
    is_known: Expression
    bound: Expression


class Tiles:
    """The knobs of a configuration, and the sizes that follow from them.

    Args:
        builder: receives the knobs.
        nest: the loops.
        levels: the levels by which the pipeline tiles, from the outermost to the innermost.
    """

    def __init__(
        self, builder: ConstraintSetBuilder, nest: LoopNest, levels: Sequence[CpuLevel]
    ) -> None:
        self._nest = nest
        self._levels = levels
        self._knobs = {
            (level, loop): builder.knob(IntegerKnob(knob_name(level, loop)))
            for level in CpuLevel
            for loop in range(len(nest.loops))
        }
        self.peeling = builder.knob(OneOfKnob(LOOP_PEELING, ("off", "on")))

    def tile(self, level: CpuLevel, loop: int) -> Expression:
        """Return the tile of a loop in a level."""
        return self._knobs[level, loop]

    def vector_tile(self, loop: int) -> Expression:
        """Return the tile that is the vector size of a loop if vectors are masked; 0 for none."""
        return self.tile(self.vector_level(loop), loop)

    def vector_level(self, loop: int) -> CpuLevel:
        """Return the level whose tile of a loop is its vector size."""
        reduces = self._nest.loops[loop].reduces
        return CpuLevel.VECTOR_REDUCTION if reduces else CpuLevel.VECTOR_COMMON_PARALLEL

    def name(self, level: CpuLevel, loop: int) -> str:
        """Return the name of the tile of a loop in a level."""
        return knob_name(level, loop)

    def misplaced(self) -> Iterator[tuple[CpuLevel, int]]:
        """Yield the pairs of a level and a loop that the level does not apply to."""
        for level in CpuLevel:
            for loop, each in enumerate(self._nest.loops):
                if each.reduces != (level in _REDUCTION):
                    yield level, loop

    def part(self, loop: int) -> TiledLoop:
        """Return the part of a loop that remains after the levels that apply to it."""
        reduces = self._nest.loops[loop].reduces
        return self._part(
            loop, [level for level in self._levels if (level in _REDUCTION) == reduces]
        )

    def outer_part(self, loop: int) -> TiledLoop:
        """Return the part of a loop that remains before it is tiled for vectors."""
        return self._part(loop, _OUTER)

    def _part(self, loop: int, levels: Sequence[CpuLevel]) -> TiledLoop:
        extent = self._nest.loops[loop].size
        size = number(_UNKNOWN if extent is None else extent)
        bound = size
        is_known: Expression = number(extent is not None) != 0
        for level in levels:
            tile = self.tile(level, loop)
            # A tile of one iteration always has exactly one.
            is_known = any_of(
                tile == 1, all_of(is_known, any_of(tile <= 0, tile >= size, size % tile == 0))
            )
            bound = select(tile > bound, tile, bound)
            size = select(all_of(tile > 0, tile < size), tile, size)
        return TiledLoop(size, is_known, bound)
