"""What specs did to a program, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

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
    UNMATCHED = "unmatched"
    """No spec configured it, so the compiler did."""
    UNCONFIGURED = "unconfigured"
    """There is no operation in it that a configuration could be for."""


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
    provenance: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class NearMiss:
    """An entry that does not match an operation, but nearly does.

    Attributes:
        entry: the entry.
        differences: the conditions that do not hold; the first is the first that fails.
        unsure: why it cannot be told what else the entry demands; nothing if all is known.
        excluded: why the entry configures nothing for the target, whatever it matches; nothing if it may.
    """

    entry: EntryReference
    differences: tuple[Difference, ...]
    unsure: str = ""
    excluded: str = ""

    def __str__(self) -> str:
        if self.excluded:
            return f"configures nothing: {self.excluded}"
        if not self.differences:
            return f"cannot tell: {self.unsure}"
        more = len(self.differences) - 1
        rest = f" (and {more} more)" if more else ""
        return f"{self.differences[0]}{rest}"


@dataclass(frozen=True)
class OperationReport:
    """A root op of a dispatch.

    Attributes:
        words: what it computes, for people.
        name: the kind of operation, such as `linalg.generic`.
        place: where it stands in the program.
        configuration: the configuration that it has.
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
    match: Match | None = None
    compilers_choice: ConfigurationText | None = None
    shadowed: tuple[EntryReference, ...] = ()
    nearest: tuple[NearMiss, ...] = ()
    cannot_tell: tuple[str, ...] = ()


@dataclass(frozen=True)
class DispatchReport:
    """What became of a dispatch.

    Attributes:
        name: the dispatch, such as `@executable::@variant`.
        functions: the functions in it.
        target: what it is compiled for; empty if nothing says so.
        status: what became of it.
        operations: its root ops; as a rule one.
    """

    name: str
    functions: tuple[str, ...]
    target: str
    status: Status
    operations: tuple[OperationReport, ...]


@dataclass(frozen=True)
class Usage:
    """What became of an entry.

    Attributes:
        entry: the entry.
        count: how many operations it configured.
        shadowed_by: what came first where it matches; in order of first appearance.
        dead: why it can never be the first to match, whatever the program; nothing if that is not known.
    """

    entry: EntryReference
    count: int
    shadowed_by: tuple[EntryReference, ...] = ()
    dead: str = ""


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
    def dead(self) -> int:
        """How many entries can never be the first to match, as far as that is known."""
        return sum(bool(each.dead) for each in self.usages)

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
