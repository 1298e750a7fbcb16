"""What comes of retuning, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.errors import TuninglinkError
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry
    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.deciding.decision import Decision
    from tuninglink.tuning.deciding.defaults import MeasuredTask
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.results.failures import Failure
    from tuninglink.tuning.retuning.entry_task import EntryTask

_CHANGING: Final = ("compiler", "device", "driver", "default_us", "tuned_us")
"""What is worth saying if it is not what it was when an entry was measured last."""


class Standing(Enum):
    """How an entry stands against the compiler's choice on one problem."""

    FASTER = "faster"
    NOT_FASTER = "not-faster"
    """It gains less than what is worth an entry."""

    SLOWER = "slower"
    SAME = "same"
    """Both give the same code."""

    UNDECIDED = "undecided"
    FAILED = "failed"
    """What it configures does not compile, fails, or computes something else."""


@dataclass(frozen=True)
class EntryComparison:
    """An entry against the compiler's choice on one problem.

    Attributes:
        task: the problem.
        standing: how the entry stands.
        measured: the compiler's choice.
        decision: the rounds that say so; None if there was no race.
        benchmark: what the entry configures; None if it does not compile.
        failure: what is wrong with it, None for nothing.
    """

    task: EntryTask
    standing: Standing
    measured: MeasuredTask
    decision: Decision | None = None
    benchmark: Benchmark | None = None
    failure: Failure | None = None

    def __str__(self) -> str:
        problem = f"{self.task.spaces.problem} ({self.task.source.value})"
        if self.failure is not None:
            return f"{problem}: {self.failure.message}"
        if self.decision is not None:
            return f"{problem}: {self.decision}"
        return problem


class EntryVerdict(Enum):
    """What becomes of an entry."""

    DROPPED = "dropped"
    KEPT = "kept"
    IMPROVED = "improved"
    UNDECIDED = "undecided"
    """It stays, as nothing was decided about it."""

    UNTOUCHED = "untouched"
    """It stays, as it was not measured."""


@dataclass(frozen=True)
class EntryResult:
    """What becomes of an entry.

    Attributes:
        spec: its spec.
        position: its position there.
        verdict: what becomes of it.
        reason: why; empty where the comparisons say it.
        before: the provenance that it had.
        after: the provenance with what was measured now.
        comparisons: how it stands against the compiler's choice.
        configuration: the better configuration of an entry that was improved; None for any other.
    """

    spec: Spec
    position: int
    verdict: EntryVerdict
    reason: str = ""
    before: Mapping[str, object] = field(default_factory=dict)
    after: Mapping[str, object] = field(default_factory=dict)
    comparisons: tuple[EntryComparison, ...] = ()
    configuration: Candidate | None = None

    @property
    def entry(self) -> Entry:
        """The entry."""
        return self.spec.anatomy.entry(self.position)

    @property
    def stays(self) -> bool:
        """Whether the entry is in the new spec."""
        return self.verdict is not EntryVerdict.DROPPED

    @property
    def changes(self) -> list[str]:
        """What is not what it was when the entry was measured last, in words."""
        return [
            f"{name} {_shown(self.before[name])} -> {_shown(self.after[name])}"
            for name in _CHANGING
            if name in self.before and name in self.after and self.before[name] != self.after[name]
        ]


@dataclass(frozen=True)
class RetuningResult:
    """What comes of retuning specs.

    Attributes:
        entries: what becomes of each entry of each spec, in order.
        failure: what ended it early, such as a device that is gone; None if nothing did.
    """

    entries: Sequence[EntryResult]
    failure: TuninglinkError | None = None

    def of(self, spec: Spec) -> list[EntryResult]:
        """Return what becomes of the entries of a spec."""
        return [entry for entry in self.entries if entry.spec is spec]


_VERDICTS: Final = {
    Standing.FAILED: (EntryVerdict.DROPPED, "it fails on"),
    Standing.SLOWER: (EntryVerdict.DROPPED, "it is slower than the compiler's choice on"),
    Standing.FASTER: (EntryVerdict.KEPT, ""),
    Standing.UNDECIDED: (EntryVerdict.UNDECIDED, "the rounds do not tell on"),
    Standing.NOT_FASTER: (EntryVerdict.DROPPED, "it is not faster than the compiler's choice on"),
    Standing.SAME: (EntryVerdict.DROPPED, "the compiler's own choice gives the same code on"),
}
"""What becomes of an entry for the first of these standings that it has on any problem, and why."""


def judge(comparisons: Sequence[EntryComparison]) -> tuple[EntryVerdict, str]:
    """Decide about an entry.

    It is dropped if it fails or is slower on any problem, or gains nothing on all of them.

    Args:
        comparisons: how it stands, at least on one problem.

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
