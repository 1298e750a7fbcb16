"""The results of retuning: as data, as new specs, and as the rows of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal

from tuninglink.emission.spec_writer import write_spec
from tuninglink.errors import TuninglinkError
from tuninglink.plain_data import FLAT, HIDDEN, named, written
from tuninglink.specs.revision import Revision
from tuninglink.specs.spec import Spec
from tuninglink.specs.structure import Entry
from tuninglink.tuning.candidates import Candidate
from tuninglink.tuning.deciding import Decision
from tuninglink.tuning.deciding.defaults import MeasuredTask
from tuninglink.tuning.programs.benchmark import Benchmark
from tuninglink.tuning.results import Failure
from tuninglink.tuning.retuning import EntryTask, ProblemSource

_CHANGING: Final = ("compiler", "device", "driver", "default_us", "tuned_us")
"""The provenance fields whose changes since the last measurement are reported."""


class Standing(Enum):
    """The standing of an entry against the compiler's choice on one problem."""

    FASTER = "faster"
    NOT_FASTER = "not-faster"
    """Its gain is too small for an entry."""

    SLOWER = "slower"
    SAME = "same"
    """Both give the same code."""

    UNDECIDED = "undecided"
    FAILED = "failed"
    """Its configuration does not compile, fails, or computes a wrong result."""


@dataclass(frozen=True)
class EntryComparison:
    """The comparison of an entry with the compiler's choice on one problem.

    Attributes:
        task: the problem.
        standing: the standing of the entry.
        measured: the compiler's choice.
        decision: the decision of the race; None without a race.
        benchmark: the benchmark with the entry; None if it does not compile.
        failure: the failure with the entry; None without one.
    """

    task: EntryTask = field(metadata=HIDDEN)
    standing: Standing
    measured: MeasuredTask = field(metadata=HIDDEN)
    decision: Decision | None = field(default=None, metadata=FLAT)
    benchmark: Benchmark | None = field(default=None, metadata=HIDDEN)
    failure: Failure | None = field(default=None, metadata=HIDDEN)

    @written()
    def problem(self) -> str:
        """Return the problem in words."""
        return str(self.task.spaces.problem)

    @written()
    def source(self) -> ProblemSource:
        """Return the source of the problem."""
        return self.task.source

    @written()
    def default_us(self) -> float:
        """Return the median time of the compiler's choice."""
        return self.decision.default_us if self.decision else self.measured.default_us

    @written("failure")
    def failure_message(self) -> str | None:
        """Return the failure with the entry; None without one."""
        return self.failure.message if self.failure else None

    def __str__(self) -> str:
        problem = f"{self.task.spaces.problem} ({self.task.source.value})"
        if self.failure is not None:
            return f"{problem}: {self.failure.message}"
        if self.decision is not None:
            return f"{problem}: {self.decision}"
        return problem


class EntryVerdict(Enum):
    """The verdict on an entry."""

    DROPPED = "dropped"
    KEPT = "kept"
    IMPROVED = "improved"
    UNDECIDED = "undecided"
    """It stays, since the comparison was undecided."""

    UNTOUCHED = "untouched"
    """It stays, since it was not measured."""


@dataclass(frozen=True)
class EntryResult:
    """The result for an entry.

    Attributes:
        spec: its spec.
        position: its position in the spec.
        verdict: the verdict.
        reason: the reason; empty if the comparisons show it.
        before: its previous provenance.
        after: its provenance with the new measurements.
        comparisons: the comparisons with the compiler's choice.
        configuration: the better configuration of an improved entry; None for others.
    """

    spec: Spec = field(metadata=HIDDEN)
    position: int = field(metadata=HIDDEN)
    verdict: EntryVerdict
    reason: str = ""
    before: Mapping[str, object] = field(default_factory=dict)
    after: Mapping[str, object] = field(default_factory=dict)
    comparisons: tuple[EntryComparison, ...] = field(default=(), metadata=named("problems"))
    configuration: Candidate | None = field(default=None, metadata=HIDDEN)

    @property
    def entry(self) -> Entry:
        """The entry."""
        return self.spec.anatomy.entry(self.position)

    @written("spec")
    def source(self) -> str:
        """Return the origin of the spec."""
        return self.spec.source

    @written("entry")
    def matcher(self) -> str:
        """Return the symbol of the matcher."""
        return self.entry.matcher

    @written()
    def line(self) -> int | None:
        """Return the line of the matcher, None if unknown."""
        return self.entry.place.line if self.entry.place else None

    @property
    def stays(self) -> bool:
        """Whether the entry is in the new spec."""
        return self.verdict is not EntryVerdict.DROPPED

    @property
    def changes(self) -> list[str]:
        """The changes since the last measurement of the entry, in words."""
        return [
            f"{name} {_shown(self.before[name])} -> {_shown(self.after[name])}"
            for name in _CHANGING
            if name in self.before and name in self.after and self.before[name] != self.after[name]
        ]


@dataclass(frozen=True)
class RetuningResult:
    """The result of retuning specs.

    Attributes:
        entries: the results for all entries of all specs, in order.
        failure: the error that ended it early, such as a lost device; None without one.
        schema: the version of the JSON; increased when a field is changed or removed, not when one is added.
    """

    schema: Literal[1] = field(default=1, init=False)
    entries: Sequence[EntryResult]
    failure: TuninglinkError | None = field(default=None, metadata=HIDDEN)

    def of(self, spec: Spec) -> list[EntryResult]:
        """Return the results for the entries of a spec."""
        return [entry for entry in self.entries if entry.spec is spec]


_VERDICTS: Final = {
    Standing.FAILED: (EntryVerdict.DROPPED, "it fails on"),
    Standing.SLOWER: (EntryVerdict.DROPPED, "it is slower than the compiler's choice on"),
    Standing.FASTER: (EntryVerdict.KEPT, ""),
    Standing.UNDECIDED: (EntryVerdict.UNDECIDED, "the rounds do not show whether it is faster on"),
    Standing.NOT_FASTER: (EntryVerdict.DROPPED, "it is not faster than the compiler's choice on"),
    Standing.SAME: (EntryVerdict.DROPPED, "the compiler's own choice gives the same code on"),
}
"""The verdict and reason for an entry, by the first of these standings that it has on any problem."""


def judge(comparisons: Sequence[EntryComparison]) -> tuple[EntryVerdict, str]:
    """Return the verdict on an entry.

    The entry is dropped if it fails or is slower on any problem, or is faster on none.

    Args:
        comparisons: its comparisons, at least one.

    Returns:
        The verdict, and the reason.

    Raises:
        ValueError: there are no comparisons.
    """
    for standing, (verdict, words) in _VERDICTS.items():
        for comparison in comparisons:
            if comparison.standing is standing:
                return verdict, f"{words} {comparison}" if words else ""
    raise ValueError("there is no verdict without a comparison")


def _shown(value: object) -> str:
    return f"{value:.4g} us" if isinstance(value, float) else str(value)


COLUMNS: Final = ("line", "verdict", "default us", "tuned us", "speedup", "entry", "what changed")
_UNKNOWN: Final = ""


def retuned_spec(spec: Spec, results: Sequence[EntryResult]) -> str:
    """Return a spec with the outcomes for its entries, as text.

    Without changes, the text stays the same. Without entries, the spec does nothing.

    Args:
        spec: the original spec.
        results: the outcomes for all its entries, in order.
    """
    if all(
        result.verdict in (EntryVerdict.UNTOUCHED, EntryVerdict.UNDECIDED) for result in results
    ):
        return spec.text()
    kept = [result.position for result in results if result.stays]
    if not kept:
        return write_spec(spec.name, [])
    revision = Revision(spec)
    for result in results:
        if result.configuration is not None:
            revision.configure(result.position, result.configuration.attributes)
        if result.verdict in (EntryVerdict.KEPT, EntryVerdict.IMPROVED):
            revision.set_provenance(result.position, result.after)
    return revision.finish(kept).text()


def rows(results: Sequence[EntryResult]) -> list[tuple[str, ...]]:
    """Return the report as rows of a table, under `COLUMNS`."""
    return [_row(result) for result in results]


def _row(result: EntryResult) -> tuple[str, ...]:
    decision = next(
        (comparison.decision for comparison in result.comparisons if comparison.decision), None
    )
    place = result.entry.place
    return (
        str(place.line) if place else "?",
        result.verdict.value,
        f"{decision.default_us:.4g}" if decision else _UNKNOWN,
        f"{decision.tuned_us:.4g}" if decision else _UNKNOWN,
        str(decision.speedup) if decision else _UNKNOWN,
        result.entry.matcher,
        "; ".join(filter(None, (result.reason, *result.changes))),
    )
