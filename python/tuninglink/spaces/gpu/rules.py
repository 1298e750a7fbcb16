"""Writing down the rules of a space: knobs, and assertions that say why they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import z3

from tuninglink.spaces.builder import ConstraintSetBuilder
from tuninglink.spaces.gpu.forms import MOST_STAGES, STAGES, SUBGROUP_SIZE, THREADS
from tuninglink.spaces.knobs import IntegerKnob, OneOfKnob

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.gpu.device import Device
    from tuninglink.spaces.problem import Problem

Number = Any
"""An integer expression, or an integer."""

PROVIDER: Final = "the GPU provider"
"""Who provides the sets that are made here."""

HARD: Final = "code generation fails otherwise"
"""Where rules come from that experiments have shown: what breaks them does not compile."""

ADOPTED: Final = "the compiler's own constraints ask so where they speak"
"""Where rules come from that keep a configuration in order, though others may compile."""

SLOW: Final = "code generation takes minutes otherwise"
"""Where rules come from that keep what is unrolled small."""

MOST_INTRINSICS: Final = 512
"""More of these in one step of a loop take minutes to compile."""

_MOST_UNROLLED: Final = 1 << 12
_BITS: Final = 8


class Rules:
    """Collects the knobs and the assertions of a space."""

    def __init__(self) -> None:
        self.builder = ConstraintSetBuilder()

    def number(self, value: int) -> z3.ArithRef:
        """Returns an integer as an expression."""
        return z3.IntVal(value, self.builder.context)

    def knob(self, name: str, low: int, high: int) -> z3.ArithRef:
        """Adds an integer knob."""
        return self.builder.knob(IntegerKnob(name, low, high))

    def choice(self, name: str, options: Iterable[object]) -> z3.ArithRef:
        """Adds a knob that chooses among options."""
        return self.builder.knob(OneOfKnob(name, tuple(map(str, options))))

    def hard(self, condition: Number, message: str, *values: Number) -> None:
        """Adds a rule without which nothing compiles."""
        self.builder.require(condition, message, *values, provenance=HARD)

    def adopted(self, condition: Number, message: str, *values: Number) -> None:
        """Adds a rule of the compiler's own constraints."""
        self.builder.require(condition, message, *values, provenance=ADOPTED)

    def unrolled(self, count: Number, what: str, most: int = _MOST_UNROLLED) -> None:
        """Asks for at most so many of something in the code of a thread."""
        self.builder.require(
            count <= most,
            f"a thread must have at most {most} {what} in a step ({{}} <= {most})",
            count,
            provenance=SLOW,
        )

    def look_up(self, index: z3.ArithRef, values: Sequence[int]) -> Number:
        """Returns the value at an index."""
        result = self.number(values[-1])
        for position, value in reversed([*enumerate(values)][:-1]):
            result = z3.If(index == position, self.number(value), result)
        return result

    def workgroup(self, device: Device) -> tuple[Number, Number]:
        """Adds the knobs of a workgroup.

        Returns:
            How many threads a workgroup has, and how many a subgroup has.
        """
        threads = self.knob(THREADS, 1, device.threads)
        return threads, self.knob(SUBGROUP_SIZE, 1, max(device.subgroup_sizes))

    def stages(self) -> Number:
        """Adds the knob for how many stages are prefetched."""
        return self.knob(STAGES, 0, MOST_STAGES)

    def subgroup_size(self, size: Number, device: Device) -> None:
        """Asks for the subgroup size that intrinsics and layouts are made for."""
        self.adopted(
            size == device.subgroup_size,
            f"a subgroup must have {device.subgroup_size} threads, not {{}}",
            size,
        )

    def memory(self, bits: Sequence[Number], device: Device) -> None:
        """Asks for shared memory to suffice for some numbers of bits."""
        used: Number = self.number(0)
        for each in bits:
            used = used + each
        self.hard(
            used <= device.memory * _BITS,
            f"shared memory must suffice ({{}} <= {device.memory} bytes)",
            used / _BITS,
        )

    def build(self, problem: Problem, pipeline: str) -> ConstraintSet:
        """Returns the set; the rules are spent."""
        return self.builder.build(problem, pipeline, PROVIDER)


def product(factors: Iterable[Number]) -> Number:
    """Returns the product of at least one factor."""
    result: Number = None
    for each in factors:
        result = each if result is None else result * each
    return result


def round_up(number: Number, step: Number) -> Number:
    """Returns the least multiple of `step` that is not less than a positive number."""
    return (number + step - 1) / step * step
