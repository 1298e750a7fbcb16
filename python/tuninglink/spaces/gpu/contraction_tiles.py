"""The tiles of a contraction, as expressions over the knobs of a pipeline, and the compiler's limits on them.

The limits keep the compiler's search small. Configurations beyond them compile, as shown by batched contractions, for
which the compiler has no constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from iree.compiler.dialects import iree_gpu

from tuninglink.errors import nearest
from tuninglink.iree.intrinsics import element_types
from tuninglink.iree.lowering_configs import MMA_KIND
from tuninglink.solver.expressions import any_of, number
from tuninglink.spaces.configuration import InvalidFormError
from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number, product, round_up
from tuninglink.spaces.slots import OptionSlot

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu import Intrinsic
    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.knob_table import KnobTable
    from tuninglink.spaces.gpu.promotion import Promotion

_INTRINSIC: Final = MMA_KIND


@dataclass
class ContractionTiles:
    """The tiles of a contraction, by loop.

    Attributes:
        contraction: the contraction.
        rules: receive the knobs and the rules.
        table: receives the knobs.
        tiles: the tile of a workgroup; for a reduction, the tile of one step.
        shapes: the extent of the intrinsic, 1 along loops that it does not run over.
        counts: the number of subgroups, or of threads.
        pieces: the part of a tile that one subgroup, or thread, computes.
    """

    contraction: Contraction
    rules: GpuRules
    table: KnobTable
    tiles: dict[int, Number] = field(default_factory=dict)
    shapes: dict[int, Number] = field(default_factory=dict)
    counts: dict[int, Number] = field(default_factory=dict)
    pieces: dict[int, Number] = field(default_factory=dict)

    def choose_intrinsic(self, intrinsics: Sequence[Intrinsic]) -> OptionSlot:
        """Add the knob for the intrinsic, set `shapes` to its extents, and return the slot of the knob."""
        slot = intrinsic_slot(intrinsics)
        chosen = self.rules.choice(slot.name, slot.options)
        for loop in (*self.contraction.outer, *self.contraction.outer_k):
            self.shapes[loop] = number(1)
        for loop, side in zip(self.contraction.matrix_loops, "mnk", strict=True):
            extents = [getattr(intrinsic, side) for intrinsic in intrinsics]
            self.shapes[loop] = self.rules.look_up(chosen, extents)
        return slot


def intrinsic_slot(intrinsics: Sequence[Intrinsic]) -> OptionSlot:
    """Return the slot of the knob that chooses an intrinsic."""
    return OptionSlot(_INTRINSIC, tuple(intrinsic.attribute for intrinsic in intrinsics))


@dataclass(frozen=True)
class ExactIntrinsicSlot(OptionSlot):
    """The knob for the intrinsic where only an intrinsic for exactly these types compiles.

    Attributes:
        types: the element types that it must multiply and accumulate.
    """

    types: tuple[str, ...]

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        """Read an intrinsic."""
        if isinstance(actual, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr):
            types = element_types(actual)
            if types != self.types:
                fitting = [str(kind) for kind in self.options if element_types(kind) == self.types]
                closest = nearest(str(actual), fitting, cutoff=0)
                raise InvalidFormError(
                    f"'{path}' is {actual}, which is for {'x'.join(types)}, not {'x'.join(self.types)}"
                    f"{f' as {closest} is' if closest else ''}",
                    path,
                )
        super().read(path, actual, assignment)


_MOST_TILE: Final = 512
_MOST_SUBGROUPS: Final = 10
_STAGES: Final = 2


def tile_and_fuse_limits(tiling: ContractionTiles, stages: Number, promotion: Promotion) -> None:
    """Add the limits for TileAndFuse, those of `emitTileAndFuseConstraints`.

    Args:
        tiling: the tiles.
        stages: the number of prefetched stages.
        promotion: the promoted operands.
    """
    contraction, rules = tiling.contraction, tiling.rules
    for loop in (contraction.m, contraction.n):
        padded = round_up(contraction.size(loop), tiling.shapes[loop])
        rules.not_chosen(
            padded % tiling.tiles[loop] == 0,
            f"dimension {loop}, in whole intrinsics, must be divisible by workgroup[{loop}] ({{}} % {{}} == 0)",
            padded,
            tiling.tiles[loop],
        )
    _limit_tiles(tiling)
    _limit_subgroups(rules, product(tiling.counts.values()))
    _limit_rest(rules, stages, promotion)


def vector_distribute_limits(
    tiling: ContractionTiles, threads: Number, stages: Number, promotion: Promotion
) -> None:
    """Add the limits for VectorDistribute, those of `emitVectorDistributeConstraints`.

    Args:
        tiling: the tiles.
        threads: the number of threads in a workgroup.
        stages: the number of prefetched stages.
        promotion: the promoted operands.
    """
    rules, tiles, shapes, counts = tiling.rules, tiling.tiles, tiling.shapes, tiling.counts
    m, n, k = tiling.contraction.matrix_loops
    _limit_tiles(tiling)
    _limit_subgroups(rules, counts[m] * counts[n])
    for name, loop in (("left", m), ("right", n)):
        rules.not_chosen(
            tiles[loop] * tiles[k] % threads == 0,
            f"the {name} tile's {{}} elements must be divisible by the {{}} threads",
            tiles[loop] * tiles[k],
            threads,
        )
    rules.not_chosen(
        any_of(threads <= tiles[m], threads <= tiles[n]),
        f"the {{}} threads must not be more than workgroup[{m}] ({{}}) and workgroup[{n}] ({{}})",
        threads,
        tiles[m],
        tiles[n],
    )
    rules.not_chosen(
        tiles[k] % shapes[m] == 0,
        f"reduction[{k}] must be a multiple of the intrinsic's m ({{}} % {{}} == 0)",
        tiles[k],
        shapes[m],
    )
    _limit_rest(rules, stages, promotion)


def _limit_tiles(tiling: ContractionTiles) -> None:
    for loop in tiling.contraction.matrix_loops:
        tiling.rules.not_chosen(
            tiling.tiles[loop] <= _MOST_TILE,
            f"the tile of dimension {loop} must be at most {_MOST_TILE}, not {{}}",
            tiling.tiles[loop],
        )


def _limit_subgroups(rules: GpuRules, count: Number) -> None:
    rules.not_chosen(
        count <= _MOST_SUBGROUPS,
        f"a workgroup must have at most {_MOST_SUBGROUPS} subgroups, not {{}}",
        count,
    )


def _limit_rest(rules: GpuRules, stages: Number, promotion: Promotion) -> None:
    rules.not_chosen(stages == _STAGES, f"prefetch_num_stages must be {_STAGES}, not {{}}", stages)
    rules.not_chosen(promotion.any(), "operands must be promoted")
