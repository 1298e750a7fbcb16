"""Padded contractions: rows, columns and steps of a reduction that intrinsics divide.

A padded contraction computes the same. Operands are zero where they are padded. A longer reduction (k) adds products of
0 and 0; an added row (m) or column (n) depends on nothing but itself, and is cut off. The destination is passed on and
padded, too, so that an accumulation starts from what the program gives.

The compiler pads contractions itself, tile by tile, and uses intrinsics for all with sums in f32. Whether padding before
helps is to be measured: loads are then whole, and a reduction of 4,100 elements takes steps of 128 instead of 16 on
sm_80. Of f16 or bf16, as JAX exports them, it uses intrinsics that have such sums, or those with sums in f32 if they
divide all sizes: for 1,028 rows none on gfx942, and none for bf16 on sm_80. So sums of such types become f32, and the
result is rounded once: up to the order of the sums, it is at least as near to the exact one, and finite where that is,
as a sum of f16 is not if it exceeds 65,504 on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lcm, prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.forms.building import FormOf, cut, padded
from tuninglink.forms.intrinsics import shapes
from tuninglink.payloads import Value, build, cast, computed, constant
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

_SUMS: Final = "f32"
"""The element type of the sums of a form."""

_MOST_WORK: Final = 1.5
"""The largest factor by which padding may multiply the operations."""


@dataclass(frozen=True)
class PaddedContraction(FormOf[Contraction]):
    """A contraction of larger sizes in place of another, with sums in f32.

    Attributes:
        sizes: the new sizes of the padded loops.
    """

    sizes: tuple[tuple[str, int], ...]

    @property
    def label(self) -> str:
        """The name of the form, for symbols."""
        action = "pad_matmul" if self.sizes else "sum_matmul_in_f32"
        sizes = "_".join(f"{at}{n}" for at, n in self.sizes)
        return f"{action}_{self.problem}" + f"_to_{sizes}" * bool(sizes)

    def __str__(self) -> str:
        old = self.problem.loop_sizes
        padded_loops = ", ".join(f"{old[at]} to {size} along {at}" for at, size in self.sizes)
        parts = [f"padded: {padded_loops}"] * bool(padded_loops)
        parts += ["sums in f32"] * (self.problem.types[-1] != _SUMS)
        return "; ".join(parts)

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the form at the current insertion point."""
        sizes = dict(self.sizes)
        *parts, init = [
            padded(part, loops, sizes, constant(part.type.element_type, 0))
            for part, loops in zip(operands, self.problem.operands, strict=True)
        ]
        *types, narrow = self.problem.types
        larger = replace(self.problem.resized(sizes), types=(*types, _SUMS))
        result = _converted(larger.build([*parts, _converted(init, _SUMS)]), narrow)
        return cut(result, self.problem.tensors()[-1])


def _converted(value: Value, element: str) -> Value:
    """Build a tensor of the elements of another one in a type; return a tensor of that type itself."""
    kind, type_ = value.type, mlir.Type.parse(element)
    if kind.element_type == type_:
        return value
    maps = [mlir.AffineMap.get_identity(kind.rank)] * 2
    empty = build("tensor.empty", mlir.RankedTensorType.get(kind.shape, type_))
    return computed([value], maps, empty, lambda number, _: cast(number, type_))


def padded_contractions(problem: Contraction, target: Target) -> tuple[PaddedContraction, ...]:
    """Return the forms of a problem for a target that intrinsics divide, or whose sums become f32.

    Raises:
        NoFormError: there is none, with the reason.
    """
    sizes = problem.loop_sizes
    lhs, rhs, result = problem.types
    needs = [dict(zip(_LOOPS, shape, strict=True)) for shape in shapes(target, lhs, rhs)]
    if not needs:
        raise NoFormError(f"no intrinsic of {target} multiplies {lhs}x{rhs} into {_SUMS}")
    # Without padding, the compiler pads tiles, unless sums are narrow.
    forms = {PaddedContraction(problem, ()): None} if result != _SUMS else {}
    need = min(needs, key=lambda need: need["m"] * need["n"] * need["k"])
    if not any(all(sizes[loop] % need[loop] == 0 for loop in _LOOPS) for need in needs):
        for tile in _TILES:
            steps = {at: lcm(need[at], tile[at]) for at in _LOOPS if sizes[at] % need[at]}
            new = {loop: -(-sizes[loop] // step) * step for loop, step in steps.items()}
            if prod(size / sizes[loop] for loop, size in new.items()) <= _MOST_WORK:
                forms[PaddedContraction(problem, tuple(new.items()))] = None
    elif not forms:
        raise NoFormError(f"intrinsics of {target} divide its sizes")
    if not forms:
        raise NoFormError(f"padding multiplies its operations by more than {_MOST_WORK}")
    return tuple(forms)
