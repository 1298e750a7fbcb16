"""The promotion of operands of a contraction to shared memory, as a knob."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.solver.expressions import any_of, select
from tuninglink.spaces.configuration import (
    PROMOTED_OPERANDS,
    PROMOTION_TYPES,
    integer,
    promotion_types,
)
from tuninglink.spaces.slots import ConstantSlot, ImpliedSlot, OptionSlot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.gpu.contractions import Contraction, Operand
    from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number
    from tuninglink.spaces.slots import Slot

_KNOB: Final = "promoted"
_OPTIONS: Final = ((0, 1), (0,), (1,), ())


class Promotion:
    """The knob for the operands that are promoted.

    Args:
        rules: gets the knob.
        context: for the attributes in a configuration.

    Attributes:
        slots: the entries of the lowering config.
    """

    def __init__(self, rules: GpuRules, context: mlir.Context) -> None:
        self._chosen = rules.choice(_KNOB, [list(each) or "none" for each in _OPTIONS])
        with context:
            operands = tuple(_indices(each) for each in _OPTIONS)
            types = tuple(promotion_types(len(each)) for each in _OPTIONS)
        self.slots: dict[str, Slot] = {
            PROMOTED_OPERANDS: OptionSlot(_KNOB, operands),
            PROMOTION_TYPES: ImpliedSlot(_KNOB, types),
        }

    def any(self) -> Number:
        """Returns the condition that any operand is promoted."""
        return self._chosen != _OPTIONS.index(())

    def of(self, operand: int) -> Number:
        """Returns the condition that an operand is promoted."""
        chosen = [index for index, each in enumerate(_OPTIONS) if operand in each]
        return any_of(*(self._chosen == index for index in chosen))

    def bits(self, contraction: Contraction, tiles: Mapping[int, Number]) -> list[Number]:
        """Returns the size of the copies of both operands in shared memory."""
        operands = (contraction.lhs, contraction.rhs)
        return [
            select(self.of(index), tile_bits(each, tiles), 0) for index, each in enumerate(operands)
        ]


def tile_bits(operand: Operand, tiles: Mapping[int, Number]) -> Number:
    """Returns the size of the tile of an operand."""
    result: Number = operand.bits
    for loop in operand.loops:
        result = result * tiles[loop]
    return result


def promotion_slots(operands: Sequence[int], context: mlir.Context) -> dict[str, Slot]:
    """Returns the entries of a lowering config that always promotes the same operands."""
    with context:
        return {
            PROMOTED_OPERANDS: ConstantSlot(_indices(operands)),
            PROMOTION_TYPES: ConstantSlot(promotion_types(len(operands))),
        }


def _indices(operands: Sequence[int]) -> mlir.ArrayAttr:
    return mlir.ArrayAttr.get([integer(each) for each in operands])
