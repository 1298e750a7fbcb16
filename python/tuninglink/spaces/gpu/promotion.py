"""Which operands of a contraction are copied to shared memory, as a knob."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import z3
from iree.compiler import ir as mlir

from tuninglink.spaces.gpu.places import Choice, Implied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.gpu.contractions import Contraction, Operand
    from tuninglink.spaces.gpu.rules import Number, Rules

_OPTIONS: Final = ((0, 1), (0,), (1,), ())


class Promotion:
    """The knob for the operands that are copied.

    Args:
        rules: gets the knob.
        context: for the attributes that a configuration holds.

    Attributes:
        chosen: the value of the knob.
        place: where it stands in a configuration.
        kinds: how they are copied, by all threads together.
    """

    def __init__(self, rules: Rules, context: mlir.Context) -> None:
        self.chosen = rules.choice("promoted", [list(each) or "none" for each in _OPTIONS])
        written = [promoted(each, context) for each in _OPTIONS if each]
        options, kinds = zip(*written, strict=True)
        self.place = Choice("promoted", (*options, None))
        self.kinds = Implied("promoted", (*kinds, None))

    def some(self) -> Number:
        """Returns the condition that any operand is copied."""
        return self.chosen != _OPTIONS.index(())

    def of(self, operand: int) -> Number:
        """Returns the condition that an operand is copied."""
        chosen = [index for index, each in enumerate(_OPTIONS) if operand in each]
        return z3.Or([self.chosen == index for index in chosen])

    def bits(self, contraction: Contraction, tiles: Mapping[int, Number]) -> list[Number]:
        """Returns how many bits of shared memory the copies of both operands take."""
        operands = (contraction.lhs, contraction.rhs)
        return [
            z3.If(self.of(index), tile_bits(each, tiles), 0) for index, each in enumerate(operands)
        ]


def tile_bits(operand: Operand, tiles: Mapping[int, Number]) -> Number:
    """Returns how many bits the tile of an operand has."""
    result: Number = operand.bits
    for loop in operand.loops:
        result = result * tiles[loop]
    return result


def promoted(
    operands: Sequence[int], context: mlir.Context
) -> tuple[mlir.Attribute, mlir.Attribute]:
    """Returns the attributes that have operands copied by all threads together: which ones, and how."""
    wide = mlir.IntegerType.get_signless(64, context)
    with context:
        together = mlir.Attribute.parse("#iree_gpu.derived_thread_config")
        numbers = [mlir.IntegerAttr.get(wide, index) for index in operands]
        return mlir.ArrayAttr.get(numbers), mlir.ArrayAttr.get([together] * len(operands))
