"""The outcome for a dispatch: its cost, and the effects of specs on its root ops, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tuninglink.errors import Place
from tuninglink.iree import DispatchCost, OpKind, PeakRates, Rates
from tuninglink.matching import Difference
from tuninglink.plain_data import FLAT, HIDDEN, named, written
from tuninglink.specs import expected_gain

EXPLANATION: Final = "tuninglink.explanation"
"""The format of explanations as JSON."""


@dataclass(frozen=True)
class ConfigurationText:
    """The configuration of an op. Each attribute is as MLIR prints it, and empty if absent."""

    translation_info: str = ""
    lowering_config: str = ""
    decomposition_config: str = ""

    def lines(self) -> list[str]:
        """Return the texts of the attributes, without the absent ones."""
        parts = (self.translation_info, self.lowering_config, self.decomposition_config)
        return [part for part in parts if part]


@dataclass(frozen=True)
class KnobRow:
    """A knob of a configuration.

    Attributes:
        name: its place in the configuration, such as `workgroup[0]`.
        value: empty if the configuration does not set it.
        compilers_value: its value in the compiler's own choice, None if unknown.
        allowed: the values that are valid if the other knobs stay; None if not requested or unknown.
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
        words: a description of its computation.
        kind: the compiler's kind of the op, such as `contraction`.
        types: the types of its operands, as MLIR prints them; so are the indexing maps.
        match: the match that set the configuration, None for the compiler.
        compilers_choice: the configuration that the compiler would have chosen, if a spec configured the op and the
            compiler's choice is known.
        shadowed: entries that match as well, and come later.
        nearest: the nearest entries, if none matched.
        cannot_tell: the facts that could not be determined.
        rewriting: the change that the entry made to the op in place of a configuration, in words; empty without one. The
            configuration is then the compiler's for the new ops.
        hint: a change to the program that no configuration can replace; empty without a hint.
        invalid: why code generation fails for the configuration that a spec set; empty if that is not proven.
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
    rewriting: str = ""
    hint: str = ""
    invalid: str = ""


class Status(Enum):
    """The outcome for a dispatch; the value is the word in reports."""

    TUNED = "tuned"
    """A spec configured it, or rewrote its op."""
    KEPT = "kept"
    """An entry matched, but the dispatch had a configuration before, and kept it."""
    NO_EFFECT = "no-effect"
    """An entry matched, and its action sets nothing that configures code generation."""
    UNMATCHED = "unmatched"
    """There are entries for ops of its kind, and none matched."""
    NO_ENTRY = "no-entry"
    """No entry is for ops of its kind."""
    NOT_TUNABLE = "not-tunable"
    """It only computes element by element or moves data, or has no op that takes a configuration."""


@dataclass(frozen=True)
class Weight:
    """The cost of dispatches in one run of a program."""

    dispatches: int = 0
    calls: int = 0
    flops: int = 0
    bytes: int = 0
    microseconds: float | None = None

    def __add__(self, other: Weight) -> Weight:
        times = [time for time in (self.microseconds, other.microseconds) if time is not None]
        return Weight(
            self.dispatches + other.dispatches,
            self.calls + other.calls,
            self.flops + other.flops,
            self.bytes + other.bytes,
            sum(times) if times else None,
        )


@dataclass(frozen=True)
class ProblemRow:
    """Dispatches with the same computation and the same outcome, in order, and their total cost."""

    dispatches: tuple[DispatchReport, ...]
    weight: Weight


@dataclass(frozen=True)
class DispatchReport:
    """The outcome for a dispatch.

    Attributes:
        name: the dispatch, such as `@executable::@variant`.
        target: its target; empty if unknown.
        operations: its root ops; usually one.
        calls: the number of its calls, including loops with known trip counts; the cost and the times are those of one.
        microseconds: None if not measured.
        default_microseconds: the same with the compiler's choice, of a dispatch that a spec configured.
        peaks: the peak rates of the device; None if unknown.
        start: a spec to start from, as `tuninglink init` writes it; empty if there is none or it was not requested.
    """

    name: str
    functions: tuple[str, ...]
    target: str
    status: Status
    operations: tuple[OperationReport, ...]
    calls: int = 1
    cost: DispatchCost = field(default=DispatchCost(0, 0), metadata=FLAT)
    microseconds: float | None = None
    default_microseconds: float | None = None
    peaks: PeakRates | None = field(default=None, metadata=HIDDEN)
    start: str = ""

    @property
    @written()
    def rates(self) -> Rates:
        """The rates of a call; unknown without a time."""
        return self.cost.rates(self.microseconds, self.peaks)

    @property
    @written()
    def saved_microseconds(self) -> float | None:
        """The time that the entries save in all calls of one run of the program; None if unknown.

        The saving is measured if both times are known. Otherwise it is the saving that tuning recorded in the entry.
        """
        if self.status is not Status.TUNED:
            return None
        if self.microseconds is not None and self.default_microseconds is not None:
            return self.calls * (self.default_microseconds - self.microseconds)
        provenances = [
            operation.match.provenance for operation in self.operations if operation.match
        ]
        times = [(entry.get("default_us"), entry.get("tuned_us")) for entry in provenances]
        savings = [
            default - tuned
            for default, tuned in times
            if isinstance(default, int | float) and isinstance(tuned, int | float)
        ]
        return self.calls * sum(savings) if savings and len(savings) == len(times) else None

    @property
    def words(self) -> str:
        """A description of its root ops."""
        return "; ".join(operation.words for operation in self.operations)

    @property
    def weight(self) -> Weight:
        """The cost of all calls."""
        time = None if self.microseconds is None else self.calls * self.microseconds
        flops, moved = self.cost.flops or 0, self.cost.bytes or 0
        return Weight(1, self.calls, self.calls * flops, self.calls * moved, time)


@dataclass(frozen=True)
class NumberedDispatch:
    """A dispatch with its problem."""

    report: DispatchReport = field(metadata=FLAT)
    problem: int


def status_without_match(operations: Sequence[OperationReport]) -> Status:
    """Return the status of a dispatch that no spec configured."""
    near = [miss for operation in operations for miss in operation.nearest]
    if any(miss.is_match for miss in near):
        return Status.NO_EFFECT
    if any(not miss.excluded for miss in near):
        return Status.UNMATCHED
    if any(
        operation.kind not in _TRIVIAL or operation.name.startswith(_COMPUTING)
        for operation in operations
    ):
        return Status.NO_ENTRY
    return Status.NOT_TUNABLE


_TRIVIAL: Final = frozenset({OpKind.ELEMENTWISE.value, OpKind.OTHER.value})


_COMPUTING: Final = "iree_linalg_ext."
"""The dialect of computing ops without their own kind, such as sorts."""


# --- The outcome for the entries of specs: their matches, near misses, and counts ----------------


@dataclass(frozen=True)
class EntryReference:
    """An entry of a spec.

    Attributes:
        spec: the position of the spec among those of the explanation.
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
        entry: None if unknown.
        is_own: whether the configuration came from the entry; None if unknown.
        ignored: the reason why code generation does not use what the entry set; empty if it does.
        provenance: the provenance of the configuration, as recorded in the matcher.
    """

    spec: int
    entry: EntryReference | None
    is_own: bool | None
    ignored: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    @written()
    def expected_gain(self) -> str:
        """The gain that a model expected when it predicted the configuration, in words; empty without a prediction."""
        return expected_gain(self.provenance)


@dataclass(frozen=True)
class NearMiss:
    """An entry that nearly matches an op.

    Attributes:
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
        count: the number of ops that it configured.
        shadowed_by: the entries that came first where it matches, in order of first appearance.
        unreachable: the reason why it is never the first to match in any program; empty if not proven.
    """

    entry: EntryReference = field(metadata=FLAT)
    count: int = field(metadata=named("operations"))
    shadowed_by: tuple[EntryReference, ...] = ()
    unreachable: str = ""


@dataclass(frozen=True)
class SpecSummary:
    """The outcome for a spec.

    Attributes:
        kind: `matcher list`, `opaque spec`, `empty spec` or `preprocessing spec`.
        is_default: whether it is the default spec of a target, not the user's.
        configured: the number of ops that it configured; `covered` is that of dispatches.
        dispatches: the number of dispatches that the spec applied to.
        is_automatic: whether the spec was selected without being named.
        replace_entries: the number of its replace entries, which `entries` does not have.
        used: the number of entries that configured an op.
        unreachable: the number of entries that are proven never to be the first to match.
        unused: the number of reachable entries that configured nothing in this program.
        shadowed: the number of entries that matched only ops that an earlier one configured.
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
    replace_entries: int = 0
    used: int = 0
    unreachable: int = 0
    unused: int = 0
    shadowed: int = 0


@dataclass(frozen=True)
class ReplacedOperation:
    """An op that was replaced by a call of a function of a spec, before there were dispatches.

    Attributes:
        operation: the name of the op; `place` is its place in the program, and `function` that which it was in.
        spec: the source of the spec.
        called: the function of the spec, followed by the kernels that it calls, in words.
        form: what the function does, in words; empty if it does not say so.
    """

    operation: str
    function: str
    place: Place | None
    spec: str
    matcher: str
    matcher_place: Place | None
    called: str
    form: str = ""


@dataclass(frozen=True)
class LibraryCoverage:
    """The unconfigured dispatches that a shipped library would configure."""

    source: str
    dispatches: frozenset[str]


@dataclass(frozen=True)
class LibraryShare:
    """A shipped library that would configure further dispatches."""

    coverage: LibraryCoverage = field(metadata=FLAT)
    share: float
