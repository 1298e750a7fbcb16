"""The parts of an initial spec, as data."""

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
    """Dispatches with one root op and one configuration, for one entry.

    Attributes:
        dispatches: their names.
        label: the name of the function of the first dispatch.
        words: a description of the root op.
        calls: the total number of calls in the program.
        cost: the cost of one call.
        target: the target of the dispatches.
        workload: the root op as matchers see it.
        configuration: the compiler's own choice.
        attributes: the attributes by which a spec sets this configuration, by name, as MLIR prints them.
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
        """The arithmetic operations of all calls; 0 if they are unknown."""
        return self.calls * (self.cost.flops or 0)

    @property
    def impact(self) -> tuple[int, int]:
        """The sort key for the cost of the dispatches: arithmetic operations, then bytes."""
        return self.flops, self.calls * (self.cost.bytes or 0)


@dataclass(frozen=True)
class LeftOut:
    """Dispatches without an entry.

    Attributes:
        dispatches: their names.
        words: a description of their root op, as far as it is known.
        reason: the reason why there is no entry.
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
    """An initial spec.

    Attributes:
        text: the spec, as MLIR text with comments.
        entries: its entries by the symbol of the matcher, the most expensive first.
        left_out: the selected dispatches without an entry.
    """

    text: str
    entries: Mapping[str, StartingPoint]
    left_out: tuple[LeftOut, ...]
