"""Effects of specs on a program, as data: `Explanation` with its JSON document and schema; and measured times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal, Protocol

from tuninglink.explaining.dispatch_report import (
    EXPLANATION,
    DispatchReport,
    NumberedDispatch,
    ProblemRow,
    Status,
    Weight,
)
from tuninglink.explaining.profiles import Profile, runs_of
from tuninglink.explaining.spec_report import LibraryCoverage, LibraryShare, SpecSummary
from tuninglink.iree.peak_rates import PeakRates, peaks_of_device
from tuninglink.plain_data import HIDDEN, named, written


@dataclass(frozen=True)
class Summary:
    """The dispatches by status, and their cost.

    Attributes:
        dispatches: the number of dispatches.
        tuned: of these, the number configured by a spec.
        kept: the number that matched an entry, but had a configuration before and kept it.
        no_effect: the number that matched an entry whose action sets no configuration.
        unmatched: the number with entries for ops of their kind, none of which matched.
        no_entry: the number without an entry for ops of their kind.
        not_tunable: the number that compute element by element, move data, or have no op that takes a configuration.
        measure: the measure that shares refer to: `time` if known for all dispatches, `measured time` if known for some,
            `FLOPs`, or `bytes` without arithmetic.
        tuned_share: the tuned share of the program, from 0 to 1.
        total: the cost of the program.
        tuned_total: the cost of the tuned dispatches.
    """

    dispatches: int
    tuned: int
    kept: int
    no_effect: int = field(metadata=named("no-effect"))
    unmatched: int
    no_entry: int = field(metadata=named("no-entry"))
    not_tunable: int = field(metadata=named("not-tunable"))
    measure: str
    tuned_share: float
    total: Weight
    tuned_total: Weight


@dataclass(frozen=True)
class Explanation:
    """The effects of specs on a program.

    Attributes:
        program: the name of the program.
        specs: the specs, in order of precedence; default specs come last.
        dispatches: the dispatches, in order.
        notes: notes on the whole program, such as that there is nothing to configure.
        libraries: the shipped libraries that would configure further dispatches.
        device: the device that the times are from; empty if unknown.
        format: the kind of the document.
        version: its version. Additions do not change it; changes and removals do.
    """

    format: Literal["tuninglink.explanation"] = field(default=EXPLANATION, init=False)
    version: Literal[2] = field(default=2, init=False)
    program: str
    specs: tuple[SpecSummary, ...]
    dispatches: tuple[DispatchReport, ...] = field(metadata=HIDDEN)
    notes: tuple[str, ...] = field(default=(), metadata=HIDDEN)
    libraries: tuple[LibraryCoverage, ...] = field(default=(), metadata=HIDDEN)
    device: str = ""

    @property
    @written()
    def peaks(self) -> Mapping[str, PeakRates]:
        """The known peak rates by target."""
        return {dispatch.target: dispatch.peaks for dispatch in self.dispatches if dispatch.peaks}

    @property
    @written()
    def summary(self) -> Summary:
        """The program as a whole: dispatches by status, and cost."""
        tuned = self.weight(Status.TUNED)
        return Summary(
            len(self.dispatches),
            tuned=self.count(Status.TUNED),
            kept=self.count(Status.KEPT),
            no_effect=self.count(Status.NO_EFFECT),
            unmatched=self.count(Status.UNMATCHED),
            no_entry=self.count(Status.NO_ENTRY),
            not_tunable=self.count(Status.NOT_TUNABLE),
            measure=self.measure,
            tuned_share=self.share(tuned),
            total=self.weight(),
            tuned_total=tuned,
        )

    @written("notes")
    def remarks(self) -> tuple[str, ...]:
        """Return the notes on the whole program, with advice."""
        return (*self.notes, *self.advice)

    @written("libraries")
    def library_shares(self) -> Iterator[LibraryShare]:
        """Yield the shipped libraries that would configure further dispatches."""
        for library in self.libraries:
            yield LibraryShare(library, self.share(self.covered_by(library)))

    @written("dispatches")
    def numbered_dispatches(self) -> Iterator[NumberedDispatch]:
        """Yield the dispatches by problem, most important first."""
        for number, row in enumerate(self.rows):
            for dispatch in row.dispatches:
                yield NumberedDispatch(dispatch, number)

    def covered_by(self, library: LibraryCoverage) -> Weight:
        """Return the cost of the dispatches that a library would configure."""
        weights = (
            dispatch.weight for dispatch in self.dispatches if dispatch.name in library.dispatches
        )
        return sum(weights, Weight())

    @property
    def advice(self) -> tuple[str, ...]:
        """A sentence on each library that would configure further dispatches, most useful first."""
        shares = {
            library.source: self.share(self.covered_by(library)) for library in self.libraries
        }
        return tuple(
            f"'{source}' covers {100 * share:.0f} % of the {self.measure}, in dispatches that no spec "
            f"configures: '--spec {source}' applies it"
            for source, share in sorted(shares.items(), key=lambda each: -each[1])
        )

    def count(self, status: Status) -> int:
        """Return the number of dispatches with a status."""
        return sum(dispatch.status is status for dispatch in self.dispatches)

    def weight(self, *statuses: Status) -> Weight:
        """Return the cost of the dispatches with some statuses; without any, of all dispatches."""
        dispatches = (
            dispatch for dispatch in self.dispatches if not statuses or dispatch.status in statuses
        )
        return sum((dispatch.weight for dispatch in dispatches), Weight())

    @cached_property
    def rows(self) -> tuple[ProblemRow, ...]:
        """The dispatches, grouped if equal, most important first."""
        groups: dict[object, list[DispatchReport]] = {}
        for dispatch in self.dispatches:
            operations = tuple(
                replace(op, place=None, match=op.match and replace(op.match, provenance=_NOTHING))
                for op in dispatch.operations
            )
            # Dispatches without an op are distinguished by themselves only.
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
        """The number of dispatches with an unknown cost, which depends on dynamic sizes."""
        return sum(
            dispatch.microseconds is None and not dispatch.cost.is_known
            for dispatch in self.dispatches
        )

    @property
    def measure(self) -> str:
        """The measure that shares refer to.

        `time` if known for all dispatches, `measured time` if known for some, `FLOPs`, or `bytes`
        without arithmetic.
        """
        whole = self.weight()
        if whole.microseconds is not None:
            is_complete = all(dispatch.microseconds is not None for dispatch in self.dispatches)
            return "time" if is_complete else "measured time"
        return "FLOPs" if whole.flops else "bytes"

    def share(self, weight: Weight) -> float:
        """Return the share of a weight in the total, from 0 to 1, in terms of `measure`."""
        part, whole = map(self._amount, (weight, self.weight()))
        return part / whole if whole else 0.0

    def _amount(self, weight: Weight) -> float:
        amounts = {"FLOPs": weight.flops, "bytes": weight.bytes}
        return amounts.get(self.measure, weight.microseconds or 0.0)


_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


class MeasuredTimes(Protocol):
    """A source of measured times of dispatches."""

    @property
    def device(self) -> str:
        """The device that was measured; empty if unknown."""

    def microseconds(self, dispatch: DispatchReport) -> float | None:
        """Return the time of one call; None if it was not measured."""

    def default_microseconds(self, dispatch: DispatchReport) -> float | None:
        """Return the time of one call with the compiler's choice; None if it was not measured."""


def with_times(explanation: Explanation, times: Iterable[MeasuredTimes]) -> Explanation:
    """Return an explanation with times; the first source that has a dispatch wins.

    The calls of dispatches are those that a profile counted: a loop of unknown length counts once in the program.
    """
    sources = list(times)
    # The first profile also gives the numbers of calls.
    for profile in [source for source in sources if isinstance(source, Profile)][:1]:
        explanation = _with_calls(explanation, profile)
    device = next((source.device for source in sources if source.device), "")
    peaks = peaks_of_device(device)
    # Earlier sources take precedence.
    dispatches = [
        replace(
            dispatch,
            microseconds=_first(source.microseconds(dispatch) for source in sources),
            default_microseconds=_first(
                source.default_microseconds(dispatch) for source in sources
            ),
            peaks=peaks or dispatch.peaks,
        )
        for dispatch in explanation.dispatches
    ]
    # Name the dispatches without a time.
    if sources and all(dispatch.microseconds is None for dispatch in dispatches):
        notes = (*explanation.notes, "no time is known of any dispatch of the program")
        return replace(explanation, notes=notes)
    timed = sum(dispatch.microseconds is not None for dispatch in dispatches)
    notes = explanation.notes
    if sources and timed < len(dispatches):
        of_all = f"{timed:,} of {len(dispatches):,} dispatches"
        notes = (
            *notes,
            f"times are known of {of_all}; shares of the measured time leave out the others",
        )
    return replace(explanation, dispatches=tuple(dispatches), notes=notes, device=device)


def with_peaks(explanation: Explanation, peaks: PeakRates) -> Explanation:
    """Return an explanation with the peak rates of the device that its times are from."""
    dispatches = tuple(replace(dispatch, peaks=peaks) for dispatch in explanation.dispatches)
    return replace(explanation, dispatches=dispatches)


def _first(times: Iterable[float | None]) -> float | None:
    return next((time for time in times if time is not None), None)


def _with_calls(explanation: Explanation, profile: Profile) -> Explanation:
    """Return an explanation with the calls that a profile counted, where these differ from those in the program."""
    counts = {
        dispatch.name: count
        for dispatch in explanation.dispatches
        if (count := profile.count_of(dispatch.name, dispatch.functions)) is not None
    }
    static = {dispatch.name: dispatch.calls for dispatch in explanation.dispatches}
    runs = profile.runs or runs_of(counts, static)
    if not runs:
        return explanation
    # Initialization runs once, and a branch may not be taken in each run.
    calls = {name: round(count / runs) for name, count in counts.items() if count >= runs}
    changed = [name for name, count in calls.items() if count != static[name]]
    if not changed:
        return explanation
    dispatches = tuple(
        replace(dispatch, calls=calls.get(dispatch.name, dispatch.calls))
        for dispatch in explanation.dispatches
    )
    of = "1 dispatch" if len(changed) == 1 else f"{len(changed):,} dispatches"
    message = f"the calls of {of} are those that the profile counted: they depend on values"
    return replace(explanation, dispatches=dispatches, notes=(*explanation.notes, message))
