"""What specs did to a program, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tuninglink.iree.dispatch_cost import DispatchCost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.explaining.operation_report import EntryReference, OperationReport


class Status(Enum):
    """What became of a dispatch; the value is the word in reports."""

    TUNED = "tuned"
    """A spec configured it."""
    KEPT = "kept"
    """An entry matched, but the dispatch had a configuration before, and kept it."""
    NO_EFFECT = "no-effect"
    """An entry matched, and its action sets no configuration."""
    UNMATCHED = "unmatched"
    """There are entries for ops of its kind, and none matched."""
    NO_ENTRY = "no-entry"
    """No entry is for ops of its kind."""
    NOT_TUNABLE = "not-tunable"
    """It only computes element by element or moves data, or has no op that takes a configuration."""


@dataclass(frozen=True)
class Weight:
    """What dispatches cost in one run of a program.

    Attributes:
        dispatches: how many there are.
        calls: how often they are called.
        flops: their arithmetic operations, as far as sizes are known.
        bytes: the bytes that they read and write, likewise.
        microseconds: how long they take, as far as that was measured; None if it was for none.
    """

    dispatches: int = 0
    calls: int = 0
    flops: int = 0
    bytes: int = 0
    microseconds: float | None = None

    def __add__(self, other: Weight) -> Weight:
        times = [each for each in (self.microseconds, other.microseconds) if each is not None]
        return Weight(
            self.dispatches + other.dispatches,
            self.calls + other.calls,
            self.flops + other.flops,
            self.bytes + other.bytes,
            sum(times) if times else None,
        )

    @property
    def impact(self) -> tuple[float, int, int]:
        """What the dispatches that matter most have most of: time, then arithmetic, then bytes."""
        return self.microseconds or 0.0, self.flops, self.bytes


@dataclass(frozen=True)
class ProblemRow:
    """Dispatches that compute the same, and of which the same became.

    Attributes:
        dispatches: the dispatches, in order.
        weight: what they cost together.
    """

    dispatches: tuple[DispatchReport, ...]
    weight: Weight


@dataclass(frozen=True)
class DispatchReport:
    """What became of a dispatch.

    Attributes:
        name: the dispatch, such as `@executable::@variant`.
        functions: the functions in it.
        target: what it is compiled for; empty if nothing says so.
        status: what became of it.
        operations: its root ops; as a rule one.
        calls: how often the program calls it, loops with known trips included.
        cost: what one call costs.
        microseconds: how long one call takes, None if that was not measured.
        start: a spec to start from, as `tuninglink init` writes it; nothing where there is none or it was not asked.
    """

    name: str
    functions: tuple[str, ...]
    target: str
    status: Status
    operations: tuple[OperationReport, ...]
    calls: int = 1
    cost: DispatchCost = DispatchCost(0, 0)  # noqa: RUF009 - it is frozen
    microseconds: float | None = None
    start: str = ""

    @property
    def words(self) -> str:
        """What it computes."""
        return "; ".join(operation.words for operation in self.operations)

    @property
    def weight(self) -> Weight:
        """What all calls cost."""
        time = None if self.microseconds is None else self.calls * self.microseconds
        flops, moved = self.cost.flops or 0, self.cost.bytes or 0
        return Weight(1, self.calls, self.calls * flops, self.calls * moved, time)


@dataclass(frozen=True)
class EntryUsage:
    """What became of an entry.

    Attributes:
        entry: the entry.
        count: how many operations it configured.
        shadowed_by: what came first where it matches; in order of first appearance.
        unreachable: why it can never be the first to match, whatever the program; nothing if that is not known.
    """

    entry: EntryReference
    count: int
    shadowed_by: tuple[EntryReference, ...] = ()
    unreachable: str = ""

    @property
    def is_unused(self) -> bool:
        """Whether it matches nothing here, and might elsewhere."""
        return not (self.count or self.shadowed_by or self.unreachable)


@dataclass(frozen=True)
class SpecSummary:
    """What became of a spec.

    Attributes:
        source: where it comes from.
        name: what it is called.
        kind: `matcher list` or `opaque spec`.
        is_default: whether it is the default spec of a target, not one that was given.
        usages: its entries, in order.
        configured: how many operations it configured.
        covered: how many dispatches it configured.
        dispatches: how many there are that it was for.
        is_automatic: whether nothing asked for it by name.
    """

    source: str
    name: str
    kind: str
    is_default: bool
    usages: tuple[EntryUsage, ...]
    configured: int
    covered: int
    dispatches: int
    is_automatic: bool = False

    @property
    def used(self) -> int:
        """How many entries configured something."""
        return sum(usage.count > 0 for usage in self.usages)

    @property
    def unreachable(self) -> int:
        """How many entries can never be the first to match, as far as that is known."""
        return sum(bool(usage.unreachable) for usage in self.usages)

    @property
    def unused(self) -> int:
        """How many entries match nothing here, and are not unreachable."""
        return sum(usage.is_unused for usage in self.usages)

    @property
    def shadowed(self) -> int:
        """How many entries matched, but only where an earlier one came first."""
        return sum(not usage.count and bool(usage.shadowed_by) for usage in self.usages)


@dataclass(frozen=True)
class LibraryCoverage:
    """What a shipped library would configure of the dispatches that no spec does.

    Attributes:
        source: how the library is named on a command line.
        dispatches: the names of the dispatches.
    """

    source: str
    dispatches: frozenset[str]


@dataclass(frozen=True)
class Explanation:
    """What specs did to a program.

    Attributes:
        program: what the program is called.
        specs: the specs, in order of precedence; default specs come last.
        dispatches: the dispatches, in order.
        notes: what else is to be said of the whole, such as that there is nothing to configure.
        libraries: the shipped libraries that would configure further dispatches.
    """

    program: str
    specs: tuple[SpecSummary, ...]
    dispatches: tuple[DispatchReport, ...]
    notes: tuple[str, ...] = ()
    libraries: tuple[LibraryCoverage, ...] = ()

    def covered_by(self, library: LibraryCoverage) -> Weight:
        """Return what the dispatches cost that a library would configure."""
        weights = (
            dispatch.weight for dispatch in self.dispatches if dispatch.name in library.dispatches
        )
        return sum(weights, Weight())

    @property
    def advice(self) -> tuple[str, ...]:
        """A sentence on each library that would configure further dispatches, the most useful one first."""
        shares = {
            library.source: self.share(self.covered_by(library)) for library in self.libraries
        }
        return tuple(
            f"'{source}' covers {100 * share:.0f} % of the {self.measure}, in dispatches that no spec "
            f"configures: '--spec {source}' applies it"
            for source, share in sorted(shares.items(), key=lambda each: -each[1])
        )

    def count(self, status: Status) -> int:
        """Return how many dispatches have a status."""
        return sum(dispatch.status is status for dispatch in self.dispatches)

    def weight(self, *statuses: Status) -> Weight:
        """Return what the dispatches with some statuses cost; without any, all of them."""
        dispatches = (
            dispatch for dispatch in self.dispatches if not statuses or dispatch.status in statuses
        )
        return sum((each.weight for each in dispatches), Weight())

    @cached_property
    def rows(self) -> tuple[ProblemRow, ...]:
        """The dispatches, equal ones together; what matters most comes first."""
        groups: dict[object, list[DispatchReport]] = {}
        for dispatch in self.dispatches:
            operations = tuple(
                replace(op, place=None, match=op.match and replace(op.match, provenance=_NOTHING))
                for op in dispatch.operations
            )
            # Without an op, only the dispatch itself tells it from others.
            own = () if operations else (dispatch.name,)
            key = (
                dispatch.target,
                dispatch.status,
                operations,
                dispatch.cost,
                dispatch.microseconds,
                own,
            )
            groups.setdefault(key, []).append(dispatch)
        rows = [
            ProblemRow(tuple(group), sum((each.weight for each in group), Weight()))
            for group in groups.values()
        ]
        return tuple(sorted(rows, key=lambda each: each.weight.impact, reverse=True))

    @property
    def unknown_costs(self) -> int:
        """How many dispatches have a cost that is not known, as it depends on dynamic sizes."""
        return sum(
            dispatch.microseconds is None and not dispatch.cost.is_known
            for dispatch in self.dispatches
        )

    @property
    def measure(self) -> str:
        """What shares are shares of.

        `time` where that of all dispatches is known, `measured time` where it is known of some, `FLOPs`, or `bytes`
        without arithmetic.
        """
        whole = self.weight()
        if whole.microseconds is not None:
            is_complete = all(dispatch.microseconds is not None for dispatch in self.dispatches)
            return "time" if is_complete else "measured time"
        return "FLOPs" if whole.flops else "bytes"

    def share(self, weight: Weight) -> float:
        """Return the part of the whole that some dispatches are, from 0 to 1, in terms of `measure`."""
        part, whole = (self._amount(each) for each in (weight, self.weight()))
        return part / whole if whole else 0.0

    def _amount(self, weight: Weight) -> float:
        amounts = {"FLOPs": weight.flops, "bytes": weight.bytes}
        return amounts.get(self.measure, weight.microseconds or 0.0)


_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
