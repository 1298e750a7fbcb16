"""The tiles of a contraction, as expressions over the knobs of a pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from iree.compiler.dialects import iree_gpu

from tuninglink.iree.intrinsics import element_types
from tuninglink.solver.expressions import number
from tuninglink.spaces.configuration import InvalidFormError
from tuninglink.spaces.slots import OptionSlot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.gpu.contractions import Contraction
    from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number
    from tuninglink.spaces.gpu.knob_table import KnobTable
    from tuninglink.spaces.gpu.target_gpu import Intrinsic

_INTRINSIC: Final = "mma_idx"


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
                raise InvalidFormError(
                    f"'{path}' is {actual}, which is for {'x'.join(types)}, not {'x'.join(self.types)}"
                )
        super().read(path, actual, assignment)
