"""What specs did to a program, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tuninglink.iree.dispatch_cost import DispatchCost
from tuninglink.iree.op_kinds import OpKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.matching.differences import Difference
    from tuninglink.mlir.diagnostics import Place


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
class EntryReference:
    """An entry of a spec.

    Attributes:
        spec: the position of the spec among those of the explanation.
        matcher: the matcher's symbol.
        action: the action's symbol.
        place: where the matcher is defined.
    """

    spec: int
    matcher: str
    action: str
    place: Place | None


@dataclass(frozen=True)
class ConfigurationText:
    """How an operation is compiled. Each attribute is written as MLIR prints it, and empty if there is none.

    Attributes:
        translation_info: what the function around the operation has.
        lowering_config: what the operation has.
        decomposition_config: what an attention has for its two matmuls.
    """

    translation_info: str = ""
    lowering_config: str = ""
    decomposition_config: str = ""

    def lines(self) -> list[str]:
        """Returns the attributes that are there."""
        parts = (self.translation_info, self.lowering_config, self.decomposition_config)
        return [each for each in parts if each]


@dataclass(frozen=True)
class Match:
    """What configured an operation, read from the configured program.

    Attributes:
        spec: the position of the spec among those of the explanation.
        entry: the entry; None if that cannot be told.
        is_own: whether the configuration is the entry's own, all of it; None if that cannot be told.
        provenance: where the configuration comes from, as the matcher says.
    """

    spec: int
    entry: EntryReference | None
    is_own: bool | None
    provenance: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class NearMiss:
    """An entry that does not match an operation, but nearly does.

    Attributes:
        entry: the entry.
        differences: the conditions that do not hold; the first is the first that fails.
        unsure: why it cannot be told what else the entry demands; nothing if all is known.
        excluded: why the entry configures nothing for the target, whatever it matches; nothing if it may.
        is_match: whether its matcher matched, so that nothing but that keeps it from configuring the op.
    """

    entry: EntryReference
    differences: tuple[Difference, ...]
    unsure: str = ""
    excluded: str = ""
    is_match: bool = False

    def __str__(self) -> str:
        if self.is_match:
            return f"matched and configured nothing: {self.excluded}"
        if self.excluded:
            return f"configures nothing: {self.excluded}"
        if not self.differences:
            return f"cannot tell: {self.unsure}"
        more = len(self.differences) - 1
        rest = f" (and {more} more)" if more else ""
        return f"{self.differences[0]}{rest}"


@dataclass(frozen=True)
class KnobRow:
    """A knob of a configuration.

    Attributes:
        name: its place in the configuration, such as `workgroup[0]`.
        value: its value; nothing if the configuration does not set it.
        compilers_value: its value in the compiler's own choice, None if that is not known.
        meaning: what it chooses.
        allowed: the values that are valid while the others stay; None where that was not asked or is not known.
    """

    name: str
    value: str
    compilers_value: str | None = None
    meaning: str = ""
    allowed: tuple[str, ...] | None = None


@dataclass(frozen=True)
class OperationReport:
    """A root op of a dispatch.

    Attributes:
        words: what it computes, for people.
        name: the kind of operation, such as `linalg.generic`.
        kind: what it computes, as the compiler tells ops apart, such as `contraction`.
        types: the types of its operands, as MLIR prints them.
        maps: its indexing maps, likewise.
        place: where it stands in the program.
        configuration: the configuration that it has.
        knobs: the same knob by knob.
        match: the entry that gave it, None for the compiler.
        compilers_choice: the configuration that the compiler would have chosen, if a spec configured it and
            that could be found out.
        shadowed: entries that match as well, and come later.
        nearest: the nearest entries, if none matched.
        cannot_tell: what could not be found out.
    """

    words: str
    name: str
    place: Place | None
    configuration: ConfigurationText
    kind: str = OpKind.OTHER.value
    types: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    knobs: tuple[KnobRow, ...] = ()
    match: Match | None = None
    compilers_choice: ConfigurationText | None = None
    shadowed: tuple[EntryReference, ...] = ()
    nearest: tuple[NearMiss, ...] = ()
    cannot_tell: tuple[str, ...] = ()


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
        return "; ".join(each.words for each in self.operations)

    @property
    def weight(self) -> Weight:
        """What all calls cost."""
        time = None if self.microseconds is None else self.calls * self.microseconds
        flops, moved = self.cost.flops or 0, self.cost.bytes or 0
        return Weight(1, self.calls, self.calls * flops, self.calls * moved, time)


@dataclass(frozen=True)
class Usage:
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
    """

    source: str
    name: str
    kind: str
    is_default: bool
    usages: tuple[Usage, ...]
    configured: int
    covered: int
    dispatches: int

    @property
    def used(self) -> int:
        """How many entries configured something."""
        return sum(each.count > 0 for each in self.usages)

    @property
    def unreachable(self) -> int:
        """How many entries can never be the first to match, as far as that is known."""
        return sum(bool(each.unreachable) for each in self.usages)

    @property
    def unused(self) -> int:
        """How many entries match nothing here, and are not unreachable."""
        return sum(each.is_unused for each in self.usages)

    @property
    def shadowed(self) -> int:
        """How many entries matched, but only where an earlier one came first."""
        return sum(not each.count and bool(each.shadowed_by) for each in self.usages)


@dataclass(frozen=True)
class Explanation:
    """What specs did to a program.

    Attributes:
        program: what the program is called.
        specs: the specs, in order of precedence; default specs come last.
        dispatches: the dispatches, in order.
        notes: what else is to be said of the whole, such as that there is nothing to configure.
    """

    program: str
    specs: tuple[SpecSummary, ...]
    dispatches: tuple[DispatchReport, ...]
    notes: tuple[str, ...] = ()

    def count(self, status: Status) -> int:
        """Returns how many dispatches have a status."""
        return sum(each.status is status for each in self.dispatches)

    def weight(self, *statuses: Status) -> Weight:
        """Returns what the dispatches with some statuses cost; without any, all of them."""
        meant = (each for each in self.dispatches if not statuses or each.status in statuses)
        return sum((each.weight for each in meant), Weight())

    @cached_property
    def rows(self) -> tuple[ProblemRow, ...]:
        """The dispatches, equal ones together; what matters most comes first."""
        groups: dict[object, list[DispatchReport]] = {}
        for each in self.dispatches:
            operations = tuple(
                replace(op, place=None, match=op.match and replace(op.match, provenance=_NOTHING))
                for op in each.operations
            )
            # Without an op, only the dispatch itself tells it from others.
            own = () if operations else (each.name,)
            key = each.target, each.status, operations, each.cost, each.microseconds, own
            groups.setdefault(key, []).append(each)
        rows = [
            ProblemRow(tuple(group), sum((each.weight for each in group), Weight()))
            for group in groups.values()
        ]
        return tuple(sorted(rows, key=lambda each: each.weight.impact, reverse=True))

    @property
    def measure(self) -> str:
        """What shares are shares of: `time` where it was measured, `FLOPs`, or `bytes` without arithmetic."""
        whole = self.weight()
        if whole.microseconds is not None:
            return "time"
        return "FLOPs" if whole.flops else "bytes"

    def share(self, weight: Weight) -> float:
        """Returns the part of the whole that some dispatches are, from 0 to 1, in terms of `measure`."""
        part, whole = (self._amount(each) for each in (weight, self.weight()))
        return part / whole if whole else 0.0

    def _amount(self, weight: Weight) -> float:
        amounts = {"time": weight.microseconds or 0.0, "FLOPs": weight.flops, "bytes": weight.bytes}
        return amounts[self.measure]


_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
