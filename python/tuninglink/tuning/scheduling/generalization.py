"""Generalized entries: ranges of sizes for which measurements show that a winner is not slower than the default.

Ranges are for loops whose sizes change between models: rows, columns and steps of products, images and channels of
convolutions, and the lengths of attentions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from tuninglink.emission.spec_writer import SpecEntry, write_spec
from tuninglink.iree.dynamic_sizes import SizeRange
from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.payloads.unsized_ops import constants, tiles
from tuninglink.specs.revision import alone
from tuninglink.specs.spec import load_spec
from tuninglink.tuning.retuning.results import EntryResult, Standing
from tuninglink.tuning.retuning.retuner import Retuner

if TYPE_CHECKING:
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner

_BELOW: Final = 4
_ABOVE: Final = 2
"""The factors by which a range extends below and above the size of a loop; it begins at 1 for a batch."""

_INNER_POINTS: Final = 2
"""The number of points measured inside a range, in addition to its corners."""

_ROLES: Final = {
    OpKind.CONTRACTION: (
        *((Role.M, Role.N, Role.K), (Role.M, Role.N), (Role.M,)),
        *((Role.N, Role.K), (Role.N,), (Role.K,)),
    ),
    OpKind.CONVOLUTION: (
        (Role.OUTPUT_IMAGE, Role.OUTPUT_CHANNEL),
        *((Role.OUTPUT_CHANNEL, Role.INPUT_CHANNEL), (Role.OUTPUT_IMAGE,)),
        *((Role.BATCH,), (Role.OUTPUT_CHANNEL,), (Role.INPUT_CHANNEL,)),
    ),
    OpKind.ATTENTION: (
        *((Role.BATCH, Role.M, Role.K2), (Role.M, Role.K2)),
        *((Role.BATCH,), (Role.M,), (Role.K2,)),
    ),
}
"""The sets of roles whose loops get ranges together, in the order in which they are tried."""

_WHOLE: Final = (Role.BATCH, Role.OUTPUT_IMAGE)
"""The roles whose loops all get ranges."""

Ranges = dict[int, SizeRange]


@dataclass(frozen=True)
class Generalizer:
    """Finds ranges of sizes for entries.

    Attributes:
        tuner: compares configurations.
        flags: compiler flags; process-wide flags must already be set.
        budget: the time limit.
    """

    tuner: TaskTuner
    flags: Sequence[str]
    budget: Budget

    def generalize(self, entry: SpecEntry) -> SpecEntry | None:
        """Return an entry that also covers other sizes of some loops.

        The configuration was not slower than the compiler's choice at the corners of the ranges and at points inside.

        Args:
            entry: an entry for one size.

        Returns:
            The entry with the widest suitable ranges; None if no range is suitable.
        """
        if entry.target is None:
            return None
        for ranges in _proposals(entry):
            if self.budget.is_over:
                return None
            points = _points(ranges, _batches(entry), self.tuner.settings.seed)
            if self._is_good(entry, points):
                provenance = {
                    **entry.provenance,
                    "ranges": [f"loop {loop}: {sizes}" for loop, sizes in ranges.items()],
                    "points": len(points),
                }
                label = f"{entry.label}_like"
                return replace(entry, label=label, ranges=ranges, provenance=provenance)
        return None

    def _is_good(self, entry: SpecEntry, points: Sequence[Mapping[int, int]]) -> bool:
        """Return whether the configuration of an entry loses at none of the points; each point gets its own entry."""
        assert entry.target is not None
        entries = [
            replace(
                entry,
                label=f"point_{number}",
                ranges={loop: SizeRange(size, size) for loop, size in point.items()},
            )
            for number, point in enumerate(points)
        ]
        spec = load_spec(write_spec("points", entries).encode())
        results: list[EntryResult] = []
        for position in range(len(entries)):
            one = alone(spec, position)
            part = self.budget.part(1 / (len(entries) - position))
            retuner = Retuner([one], self.flags, self.tuner, part, entry.target, improves=False)
            results += retuner.run().entries
            if not _does_not_lose(results[-1], self.tuner.settings.min_gain):
                return False
        return True


def _proposals(entry: SpecEntry) -> Iterator[Ranges]:
    """Yield proposed ranges, those of most loops first."""
    op = StructuredOp(entry.dispatch.root)
    spec = load_spec(write_spec("exact", [replace(entry, ranges={})]).encode())
    matcher = spec.anatomy.table.lookup(spec.anatomy.pairs[0][0])
    divisors = tiles(constants([matcher]), op) if matcher is not None else {}
    tried: list[Ranges] = []
    for roles in _ROLES.get(op.kind, ()):
        ranges = _ranges(op, roles, divisors)
        if ranges and ranges not in tried:
            tried.append(ranges)
            yield ranges


def _ranges(op: StructuredOp, roles: Sequence[Role], divisors: Mapping[int, int]) -> Ranges:
    """Return the ranges of loops with the given roles: of each role the innermost loop, or all of `_WHOLE`."""
    bounded = {loop for loops in op.operand_loops for loop in loops}
    ranges: Ranges = {}
    for role in roles:
        for loop in op.loops[role][0 if role in _WHOLE else -1 :]:
            below = math.inf if role is Role.BATCH else _BELOW
            sizes = _range(op.sizes[loop] or 1, divisors.get(loop, 1), below)
            if loop in bounded and sizes is not None:
                ranges[loop] = sizes
    return ranges


def _range(size: int, tile: int, below: float) -> SizeRange | None:
    """Return sizes around `size` in whole tiles; None if `size` is the only one or not a multiple of the tile."""
    low = max(tile, int(size / below) // tile * tile)
    high = size * _ABOVE
    return SizeRange(low, high, tile) if size % tile == 0 and low < high else None


def _batches(entry: SpecEntry) -> Sequence[int]:
    """Return the loops of the batch, which are independent iterations of the same code."""
    return StructuredOp(entry.dispatch.root).loops.get(Role.BATCH, ())


def _points(ranges: Ranges, batches: Sequence[int], seed: int) -> list[dict[int, int]]:
    """Return the corners of ranges, and points inside them.

    Args:
        ranges: the ranges.
        batches: loops that are all at their low or all at their high ends.
        seed: the seed of the points inside.
    """
    batch = [loop for loop in ranges if loop in batches]
    others = [loop for loop in ranges if loop not in batches]
    ends = [
        dict(zip(others, point, strict=True))
        for point in product(*((ranges[loop].low, ranges[loop].high) for loop in others))
    ]
    outer = [
        {loop: ranges[loop].low for loop in batch},
        {loop: ranges[loop].high for loop in batch},
    ]
    corners = [
        tuple({**end, **bounds}[loop] for loop in ranges) for bounds in outer for end in ends
    ]
    chance = random.Random(seed)  # noqa: S311 - not a secret
    inner = [
        tuple(
            chance.randrange(range_.low, range_.high + 1, range_.divisor)
            for range_ in ranges.values()
        )
        for _ in range(_INNER_POINTS)
    ]
    points = dict.fromkeys((*corners, *inner))
    return [dict(zip(ranges, point, strict=True)) for point in points]


def _does_not_lose(result: EntryResult, tolerance: float) -> bool:
    """Return whether an entry was measured and is nowhere slower."""
    return bool(result.comparisons) and all(
        comparison.standing in (Standing.FASTER, Standing.SAME)
        or (
            comparison.standing is Standing.NOT_FASTER
            and comparison.decision is not None
            and comparison.decision.speedup.low > 1 - tolerance
        )
        for comparison in result.comparisons
    )
