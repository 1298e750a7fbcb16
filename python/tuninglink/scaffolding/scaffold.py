"""What a spec to start from is made of, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.iree.dispatch_cost import DispatchCost
    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.workload import Workload


@dataclass(frozen=True)
class StartingPoint:
    """Dispatches with one root op and one configuration: what an entry is written for.

    Attributes:
        dispatches: their names.
        label: the name of the function of the first one.
        words: what the root op computes.
        calls: how often the program calls them, together.
        cost: what one call costs.
        target: what they are compiled for.
        workload: the root op as matchers see it.
        configuration: the compiler's own choice.
        attributes: the same as a spec gives it to a root op: attributes by name, as MLIR writes them.
    """

    dispatches: tuple[str, ...]
    label: str
    words: str
    calls: int
    cost: DispatchCost
    target: str
    workload: Workload
    configuration: Configuration
    attributes: Mapping[str, str]

    @property
    def flops(self) -> int:
        """The arithmetic operations of all calls; 0 if they are not known."""
        return self.calls * (self.cost.flops or 0)

    @property
    def impact(self) -> tuple[int, int]:
        """What the dispatches that cost most have most of: arithmetic operations, then bytes."""
        return self.flops, self.calls * (self.cost.bytes or 0)


@dataclass(frozen=True)
class LeftOut:
    """Dispatches for which there is no entry.

    Attributes:
        dispatches: their names.
        words: what they compute, as far as that is known.
        reason: why there is no entry.
    """

    dispatches: tuple[str, ...]
    words: str
    reason: str

    def __str__(self) -> str:
        more = f" and {len(self.dispatches) - 1} more" if len(self.dispatches) > 1 else ""
        what = f" ({self.words})" if self.words else ""
        return f"{self.dispatches[0]}{more}{what}: {self.reason}"


@dataclass(frozen=True)
class InitSpec:
    """A spec to start from.

    Attributes:
        text: the spec, as MLIR text with comments.
        entries: what it has an entry for, by the symbol of the matcher; those that cost most come first.
        left_out: the dispatches that were asked for and have no entry.
    """

    text: str
    entries: Mapping[str, StartingPoint]
    left_out: tuple[LeftOut, ...]
