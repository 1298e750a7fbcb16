"""Comparison of tuning reports: problems and programs that became slower or faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tuninglink.comparing.changes import Change, ChangeKind, kind_of
from tuninglink.comparing.pairing import paired

if TYPE_CHECKING:
    from collections.abc import Iterator

    Object = dict[str, Any]

_WON: Final = "won"


def compare_tunings(old: Object, new: Object, least: float) -> Iterator[Change]:
    """Yield the changes of the problems, in order, and then those of the program.

    Args:
        old: a report, as `tuninglink tune` writes it.
        new: a later one.
        least: the smallest relevant change of a time, as a fraction.
    """
    if old["device"] != new["device"]:
        devices = f"{old['device']} → {new['device']}"
        yield Change(ChangeKind.CHANGE, "device", f"{devices}; times are not compared")
        least = float("inf")
    for what, before, after in paired(old["dispatches"], new["dispatches"], _key):
        if before and after:
            yield from _problem(what, before, after, least)
        else:
            dispatch, text = (before, "gone") if before else (after, "new")
            is_lost = dispatch is before and dispatch is not None and dispatch["outcome"] == _WON
            kind = ChangeKind.REGRESSION if is_lost else ChangeKind.CHANGE
            yield Change(kind, what, text)
    models = old["model"], new["model"]
    if all(models):
        times = [model["tuned_ms"] for model in models]
        yield from _times("program", times[0], times[1], "ms", least)


def _key(dispatch: Object) -> str:
    return f"{dispatch['problem']} for {dispatch['target']}"


def _problem(what: str, before: Object, after: Object, least: float) -> Iterator[Change]:
    was, outcome = before["outcome"], after["outcome"]
    if was != outcome:
        yield Change(kind_of(was, outcome, _WON), what, f"{was} → {outcome}")
    yield from _times(what, _best_us(before), _best_us(after), "µs", least)


def _best_us(dispatch: Object) -> float:
    """Return the time with the spec: that of the winner, or that of the compiler's choice."""
    tuned = dispatch["tuned_us"] if dispatch["outcome"] == _WON else None
    return float(tuned if tuned is not None else dispatch["default_us"])


def _times(what: str, before: float, after: float, unit: str, least: float) -> Iterator[Change]:
    text = f"{before:.4g} {unit} → {after:.4g} {unit}"
    if after > before * (1 + least):
        yield Change(ChangeKind.REGRESSION, what, text)
    elif before > after * (1 + least):
        yield Change(ChangeKind.IMPROVEMENT, what, text)
