"""The promotion of operands of a contraction to shared memory, as a knob, and how threads read the promoted tiles.

With `#iree_gpu.derived_thread_config`, each thread reads a piece of a tile, if possible as wide as one load. The pieces
are assigned to the threads from the innermost dimension outward. In the pipeline VectorDistribute, the number of pieces
along a dimension must divide the number of remaining threads, or vice versa. Otherwise the compiler reports
`failed to derive layout for promoted read-like op`. Tests compare these rules with the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import PROMOTED_OPERANDS, PROMOTION_TYPES
from tuninglink.solver.expressions import all_of, any_of, negation, select
from tuninglink.spaces.configuration import integer, promotion_types
from tuninglink.spaces.slots import ConstantSlot, ImpliedSlot, OptionSlot, Slot

if TYPE_CHECKING:
    from tuninglink.spaces.gpu.contractions import Contraction, Operand
    from tuninglink.spaces.gpu.gpu_rules import GpuRules, Number

LOAD_BITS: Final = 128
"""The maximum width of a load of one thread, in bits."""

_KNOB: Final = PROMOTED_OPERANDS
_OPTIONS: Final = ((0, 1), (0,), (1,), ())

_ORDER_KNOB: Final = PROMOTION_TYPES
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
    """The promotion of both operands by loads from global memory directly into shared memory.

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
    """Return the entries of a lowering config that loads both operands directly into shared memory."""
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


def require_derivable(
    rules: GpuRules,
    operand: Operand,
    tiles: Mapping[int, Number],
    threads: Number,
    name: str,
    *,
    unless: Number = False,
) -> None:
    """Add the rule that the threads of a workgroup can share reading the tile of an operand.

    Args:
        rules: receive the rule.
        operand: the operand.
        tiles: the tile of each loop.
        threads: the number of threads.
        name: the name of the operand in messages.
        unless: the condition under which the rule does not apply.
    """
    tile = [tiles[loop] for loop in operand.loops]
    rules.necessary(
        any_of(unless, is_derivable(tile, threads, operand.bits)),
        f"the {{}} threads must be able to share reading the tile {'x'.join(['{}'] * len(tile))} "
        f"of {name} evenly",
        threads,
        *tile,
    )


def is_derivable(tile: Sequence[Number], threads: Number, bits: int) -> Number:
    """Return the condition that the threads of a workgroup can share reading a tile.

    Args:
        tile: its positive sizes, the innermost last.
        threads: the positive number of threads.
        bits: the width of an element.
    """
    pieces = _pieces(tile, threads, max(1, LOAD_BITS // bits))
    left = threads
    conditions = []
    for size, piece in reversed([*zip(tile, pieces, strict=True)]):
        count = size / piece
        conditions += [size % piece == 0, any_of(left % count == 0, count % left == 0)]
        left = select(count <= left, left / count, 1)
    return all_of(*conditions)


def _pieces(tile: Sequence[Number], threads: Number, widest: int) -> list[Number]:
    """Return the sizes of the piece that a thread reads at a time; see `getVectorTileSizesFromLoopRanges`."""
    *outer, inner = tile
    elements = inner
    for each in outer:
        elements = elements * each
    is_even = elements % threads == 0
    share = elements / threads
    width = select(all_of(is_even, share < widest), share, widest)
    # The width of a load must divide the innermost dimension, or vice versa.
    fits = any_of(negation(is_even), inner % width == 0, width % inner == 0)
    clipped = select(inner < width, inner, width)
    pieces = [select(fits, clipped, 1)]
    # The rest of the width extends to the next dimensions as long as it covers them completely.
    rest = select(all_of(is_even, fits, inner < width), width / inner, 1)
    for each in reversed(outer):
        covers = rest % each == 0
        pieces.append(select(covers, each, 1))
        rest = select(covers, rest / each, 1)
    return pieces[::-1]
