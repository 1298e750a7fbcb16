"""The outcome for the entries of specs: their matches, near misses, and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuninglink.matching.differences import Difference
from tuninglink.mlir.diagnostics import Place
from tuninglink.plain_data import FLAT, HIDDEN, named, written


@dataclass(frozen=True)
class EntryReference:
    """An entry of a spec.

    Attributes:
        spec: the position of the spec among those of the explanation.
        matcher: the matcher's symbol.
        action: the action's symbol.
        place: the location of the matcher.
    """

    spec: int
    matcher: str
    action: str
    place: Place | None


@dataclass(frozen=True)
class Match:
    """The match that configured an op, read from the configured program.

    Attributes:
        spec: the position of the spec among those of the explanation.
        entry: the entry; None if unknown.
        is_own: whether the configuration came from the entry; None if unknown.
        ignored: the reason why code generation does not use what the entry set; empty if it does.
        provenance: the provenance of the configuration, as recorded in the matcher.
    """

    spec: int
    entry: EntryReference | None
    is_own: bool | None
    ignored: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class NearMiss:
    """An entry that nearly matches an op.

    Attributes:
        entry: the entry.
        differences: the conditions that do not hold, in order of evaluation.
        unsure: the reason why further conditions of the entry are unknown; empty if all are known.
        excluded: the reason why the entry cannot apply to the target; empty if it can.
        is_match: whether its matcher matched, so that `excluded` is the only obstacle.
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
class EntryUsage:
    """The outcome for an entry.

    Attributes:
        entry: the entry.
        count: the number of ops that it configured.
        shadowed_by: the entries that came first where it matches, in order of first appearance.
        unreachable: the reason why it is never the first to match in any program; empty if not proven.
    """

    entry: EntryReference = field(metadata=FLAT)
    count: int = field(metadata=named("operations"))
    shadowed_by: tuple[EntryReference, ...] = ()
    unreachable: str = ""

    @property
    def is_unused(self) -> bool:
        """Whether it configured nothing in this program, but may configure others."""
        return not (self.count or self.shadowed_by or self.unreachable)


@dataclass(frozen=True)
class SpecSummary:
    """The outcome for a spec.

    Attributes:
        source: its origin.
        name: its name.
        kind: `matcher list`, `opaque spec` or `empty spec`.
        is_default: whether it is the default spec of a target, not the user's.
        usages: its entries, in order.
        configured: the number of ops that it configured.
        covered: the number of dispatches that it configured.
        dispatches: the number of dispatches that the spec applied to.
        is_automatic: whether the spec was selected without being named.
    """

    source: str
    name: str
    kind: str
    is_default: bool = field(metadata=named("default"))
    usages: tuple[EntryUsage, ...] = field(metadata=named("entries"))
    configured: int = field(metadata=named("operations"))
    covered: int
    dispatches: int
    is_automatic: bool = field(default=False, metadata=HIDDEN)

    @property
    @written()
    def used(self) -> int:
        """The number of entries that configured an op."""
        return sum(usage.count > 0 for usage in self.usages)

    @property
    @written()
    def unreachable(self) -> int:
        """The number of entries that are proven never to be the first to match."""
        return sum(bool(usage.unreachable) for usage in self.usages)

    @property
    @written()
    def unused(self) -> int:
        """The number of reachable entries that configured nothing in this program."""
        return sum(usage.is_unused for usage in self.usages)

    @property
    @written()
    def shadowed(self) -> int:
        """The number of entries that matched only ops that an earlier one configured."""
        return sum(not usage.count and bool(usage.shadowed_by) for usage in self.usages)


@dataclass(frozen=True)
class LibraryCoverage:
    """The unconfigured dispatches that a shipped library would configure.

    Attributes:
        source: the argument for the library on a command line.
        dispatches: the names of the dispatches.
    """

    source: str
    dispatches: frozenset[str]


@dataclass(frozen=True)
class LibraryShare:
    """A shipped library that would configure further dispatches.

    Attributes:
        coverage: the dispatches.
        share: their share of the program, in terms of the measure of the summary.
    """

    coverage: LibraryCoverage = field(metadata=FLAT)
    share: float
