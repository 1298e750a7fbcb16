"""The promotion of operands of a contraction to shared memory, as a knob."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.gpu_configurations import PROMOTED_OPERANDS, PROMOTION_TYPES
from tuninglink.solver.expressions import any_of, select
from tuninglink.spaces.configuration import integer, promotion_types
from tuninglink.spaces.slots import ConstantSlot, ImpliedSlot, OptionSlot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.gpu.contractions import Contraction, Operand
    from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number
    from tuninglink.spaces.slots import Slot

_KNOB: Final = "promoted"
_OPTIONS: Final = ((0, 1), (0,), (1,), ())

_ORDER_KNOB: Final = "loaded"
_LOAD: Final = "#iree_gpu.use_global_load_dma"
_LOADS: Final = {
    "in order": _LOAD,
    "swizzled": f"#iree_gpu.swizzle_operand<copy_config = {_LOAD}, swizzle = #iree_codegen.xor_shuffle<64, 8>>",
}
_ORDERS: Final = tuple(product(_LOADS, _LOADS))


class Promotion:
    """The knob for the promoted operands.

    Args:
        rules: receives the knob.
        context: the context of the attributes in a configuration.

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
        """Return the condition that any operand is promoted."""
        return self._chosen != _OPTIONS.index(())

    def of(self, operand: int) -> Number:
        """Return the condition that an operand is promoted."""
        chosen = [index for index, each in enumerate(_OPTIONS) if operand in each]
        return any_of(*(self._chosen == index for index in chosen))

    def bits(self, contraction: Contraction, tiles: Mapping[int, Number]) -> list[Number]:
        """Return the size of the copies of both operands in shared memory."""
        operands = (contraction.lhs, contraction.rhs)
        return [
            select(self.of(index), tile_bits(each, tiles), 0) for index, each in enumerate(operands)
        ]


class DirectLoads(Promotion):
    """The promotion of both operands by loads from global memory straight into shared memory.

    Args:
        rules: receives the knob for their order in shared memory.
        context: the context of the attributes in a configuration.
    """

    def __init__(self, rules: GpuRules, context: mlir.Context) -> None:
        self._order = rules.choice(_ORDER_KNOB, [f"{lhs}, {rhs}" for lhs, rhs in _ORDERS])
        self.slots = direct_load_slots(context)

    def any(self) -> Number:
        """Return the condition that any operand is promoted."""
        return True

    def of(self, operand: int) -> Number:  # noqa: ARG002
        """Return the condition that an operand is promoted."""
        return True

    def is_swizzled(self, operand: int) -> Number:
        """Return the condition that the elements of an operand are swizzled in shared memory."""
        chosen = (index for index, each in enumerate(_ORDERS) if each[operand] == "swizzled")
        return any_of(*(self._order == index for index in chosen))


def direct_load_slots(context: mlir.Context) -> dict[str, Slot]:
    """Return the entries of a lowering config that loads both operands straight into shared memory."""
    with context:
        loads = {name: mlir.Attribute.parse(text) for name, text in _LOADS.items()}
        types = tuple(mlir.ArrayAttr.get([loads[each] for each in order]) for order in _ORDERS)
        return {
            PROMOTED_OPERANDS: ConstantSlot(_indices((0, 1))),
            PROMOTION_TYPES: OptionSlot(_ORDER_KNOB, types),
        }


def tile_bits(operand: Operand, tiles: Mapping[int, Number]) -> Number:
    """Return the size of the tile of an operand."""
    result: Number = operand.bits
    for loop in operand.loops:
        result = result * tiles[loop]
    return result


def promotion_slots(operands: Sequence[int], context: mlir.Context) -> dict[str, Slot]:
    """Return the entries of a lowering config that always promotes the same operands."""
    with context:
        return {
            PROMOTED_OPERANDS: ConstantSlot(_indices(operands)),
            PROMOTION_TYPES: ConstantSlot(promotion_types(len(operands))),
        }


def _indices(operands: Sequence[int]) -> mlir.ArrayAttr:
    return mlir.ArrayAttr.get([integer(operand) for operand in operands])
