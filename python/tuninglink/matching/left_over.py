"""Static sizes that several conditions together leave: the one question about sizes that takes a solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import z3

from tuninglink.solver.answers import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.matching.conditions import Dimension
    from tuninglink.matching.extents import Box, Extent
    from tuninglink.solver.answers import Deadline


@dataclass(frozen=True)
class LeftOver:
    """Static sizes that are left.

    Attributes:
        verdict: proven: there are such `sizes`; refuted: there are none; not decided: for `reason`.
        sizes: of each dimension that is asked about.
        reason: if not decided, why not.
    """

    verdict: Verdict
    sizes: dict[Dimension, int] | None = None
    reason: str = ""


class LeftOvers:
    """Asks the solver about the static sizes of one kind of operations, in one context.

    Args:
        deadline: when the last answer is due.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._context = z3.Context()
        self._solver = z3.Solver(ctx=self._context)
        self._sizes: dict[Dimension, z3.ArithRef] = {}

    def find(self, within: Box, without: Sequence[Box]) -> LeftOver:
        """Looks for static sizes of at least 1 that are in one box and in none of others.

        Args:
            within: the box, as `extents.static_box` returns it.
            without: the others, likewise.
        """
        solver = self._solver
        solver.set("timeout", self._deadline.solver_milliseconds())
        solver.push()
        solver.add(self._all_of(within))
        solver.add(*(z3.Not(self._all_of(each)) for each in without))
        dimensions = {dimension for each in (within, *without) for dimension in each}
        solver.add(*(self._size(each) >= 1 for each in sorted(dimensions)))
        result = solver.check()
        answer = LeftOver(Verdict.REFUTED)
        if result == z3.sat:
            model = solver.model()
            answer = LeftOver(
                Verdict.PROVEN,
                {
                    each: model.eval(self._size(each), model_completion=True).as_long()
                    for each in sorted(dimensions)
                },
            )
        elif result == z3.unknown:
            reason = f"the solver gave up: {solver.reason_unknown()}"
            answer = LeftOver(Verdict.NOT_DECIDED, reason=reason)
        solver.pop()
        return answer

    def _size(self, dimension: Dimension) -> z3.ArithRef:
        if dimension not in self._sizes:
            self._sizes[dimension] = z3.Int(f"size {dimension}", self._context)
        return self._sizes[dimension]

    def _all_of(self, asked: Box) -> z3.BoolRef:
        true = z3.BoolVal(val=True, ctx=self._context)
        parts = [
            part
            for dimension, each in asked.items()
            for part in _parts(self._size(dimension), each)
        ]
        return z3.And(true, *parts)


def _parts(size: z3.ArithRef, asked: Extent) -> list[z3.BoolRef]:
    parts = []
    if asked.size is not None:
        parts.append(size == asked.size)
    if asked.low is not None:
        parts.append(size >= asked.low)
    if asked.high is not None:
        parts.append(size <= asked.high)
    if asked.factor > 1:
        parts.append(size % asked.factor == 0)
    return parts
