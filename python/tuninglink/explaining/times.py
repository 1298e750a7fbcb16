"""Explanations with measured times of dispatches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from tuninglink.explaining.dispatch_report import DispatchReport
from tuninglink.explaining.explanation import Explanation
from tuninglink.explaining.profiles import Profile, runs_of
from tuninglink.iree.peak_rates import PeakRates, peaks_of_device


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
    if sources and not any(each.microseconds is not None for each in dispatches):
        notes = (*explanation.notes, "no time is known of any dispatch of the program")
        return replace(explanation, notes=notes)
    timed = sum(each.microseconds is not None for each in dispatches)
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
