"""Padded contractions: rows, columns and steps of a reduction that intrinsics divide.

A padded contraction computes the same. Operands are zero where they are padded. A longer reduction (k) adds products of
0 and 0; an added row (m) or column (n) depends on nothing but itself, and is cut off. The destination is passed on and
padded, too, so that an accumulation starts from what the program gives.

The compiler pads contractions itself, tile by tile, and uses intrinsics for all. Whether padding before helps is to be
measured: loads are then whole, and a reduction of 4,100 elements takes steps of 128 instead of 16 on sm_80.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm, prod
from typing import TYPE_CHECKING, Final

from tuninglink.forms.building import cut, padded
from tuninglink.forms.intrinsics import shapes
from tuninglink.payloads import Value, constant
from tuninglink.replacing import Contraction, NoFormError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree import Target

_LOOPS: Final = "mnk"
_TILES: Final = (
    {"m": 64, "n": 64, "k": 128},
    {"m": 32, "n": 32, "k": 64},
    {"m": 1, "n": 1, "k": 1},
)
"""The numbers whose multiples loops are padded to where no intrinsic divides them: the tiles of the default first."""

_MOST_WORK: Final = 1.5
"""The largest factor by which padding may multiply the operations."""


@dataclass(frozen=True)
class PaddedContraction:
    """A contraction of larger sizes in place of another.

    Attributes:
        problem: the contraction that is replaced.
        sizes: the new sizes of the padded loops.
    """

    problem: Contraction
    sizes: tuple[tuple[str, int], ...]

    @property
    def label(self) -> str:
        """The name of the form, for symbols."""
        return f"pad_matmul_{self.problem}_to_" + "_".join(f"{at}{n}" for at, n in self.sizes)

    def __str__(self) -> str:
        old = self.problem.loop_sizes
        return "padded: " + ", ".join(f"{old[at]} to {size} along {at}" for at, size in self.sizes)

    @cached_property
    def spellings(self) -> tuple[PaddedContraction, ...]:
        """The form for each spelling of its problem."""
        return tuple(replace(self, problem=problem) for problem in self.problem.spellings)

    @property
    def passed(self) -> range:
        """The positions of the operands that `build` takes: all."""
        return range(len(self.problem.operands))

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the form at the current insertion point."""
        sizes = dict(self.sizes)
        parts = [
            padded(part, loops, sizes, constant(part.type.element_type, 0))
            for part, loops in zip(operands, self.problem.operands, strict=True)
        ]
        return cut(self.problem.resized(sizes).build(parts), self.problem.tensors()[-1])


def padded_contractions(problem: Contraction, target: Target) -> tuple[PaddedContraction, ...]:
    """Return the padded forms of a problem for a target.

    Raises:
        NoFormError: there is none, with the reason.
    """
    sizes = problem.loop_sizes
    lhs, rhs, result = problem.types
    needs = [dict(zip(_LOOPS, shape, strict=True)) for shape in shapes(target, lhs, rhs)]
    if result != "f32" or not needs:
        raise NoFormError(f"no intrinsic of {target} multiplies {lhs}x{rhs} into {result}")
    if any(all(sizes[loop] % need[loop] == 0 for loop in _LOOPS) for need in needs):
        raise NoFormError(f"intrinsics of {target} divide its sizes")
    forms: dict[PaddedContraction, None] = {}
    need = min(needs, key=lambda need: need["m"] * need["n"] * need["k"])
    for tile in _TILES:
        steps = {loop: lcm(need[loop], tile[loop]) for loop in _LOOPS if sizes[loop] % need[loop]}
        new = {loop: -(-sizes[loop] // step) * step for loop, step in steps.items()}
        if prod(size / sizes[loop] for loop, size in new.items()) <= _MOST_WORK:
            forms[PaddedContraction(problem, tuple(new.items()))] = None
    if not forms:
        raise NoFormError(f"padding multiplies its operations by more than {_MOST_WORK}")
    return tuple(forms)
