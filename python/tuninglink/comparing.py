"""Comparison of reports: the changes from an explanation, or a tuning report, to a later one."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import Place, error, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    Object = dict[str, Any]


class ChangeKind(Enum):
    """Whether a change is for better or worse."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    CHANGE = "change"


def kind_of(was: str, now: str, best: str) -> ChangeKind:
    """Return the kind of a change between two states, given the best state."""
    if was == best:
        return ChangeKind.REGRESSION
    return ChangeKind.IMPROVEMENT if now == best else ChangeKind.CHANGE


@dataclass(frozen=True)
class Change:
    """A difference between two reports about one dispatch.

    Attributes:
        kind: whether it is for better or worse.
        what: the dispatch, in words.
        text: the old and the new state.
    """

    kind: ChangeKind
    what: str
    text: str


def paired(
    old: Sequence[Object], new: Sequence[Object], key: Callable[[Object], str]
) -> Iterator[tuple[str, Object | None, Object | None]]:
    """Yield dispatches with the same key, in the order of the old report, and then the new ones.

    Names are ignored, as another version of the compiler may number dispatches differently. Dispatches with the same
    key are paired in order.
    """
    numbered = _numbered(new, key)
    for number, dispatch in _numbered(old, key).items():
        yield number[0], dispatch, numbered.pop(number, None)
    for number, dispatch in numbered.items():
        yield number[0], None, dispatch


def _numbered(
    dispatches: Sequence[Object], key: Callable[[Object], str]
) -> dict[tuple[str, int], Object]:
    seen: Counter[str] = Counter()
    numbered = {}
    for dispatch in dispatches:
        name = key(dispatch)
        numbered[name, seen[name]] = dispatch
        seen[name] += 1
    return numbered


_EXPLANATION: Final = "tuninglink.explanation"
_TUNING: Final = "tuninglink.tuning"
_VERSIONS: Final = {_EXPLANATION: 2, _TUNING: 1}
"""The supported version of each format."""

LEAST_CHANGE: Final = 0.05
"""The smallest relevant change of a time, which is about the width of the interval of two runs of the same code."""


def compare_reports(old: Path, new: Path, least: float = LEAST_CHANGE) -> list[Change]:
    """Return the changes from one report to a later one.

    Args:
        old: an explanation or a tuning report, as JSON.
        new: a later one of the same kind.
        least: the smallest relevant change of a time, as a fraction.

    Raises:
        TuninglinkError: a file cannot be read, is not a report, or the reports are of different kinds.
    """
    before, after = _read(old), _read(new)
    kinds = before["format"], after["format"]
    if kinds[0] != kinds[1]:
        notes = [note(f"'{path}': {kind}") for path, kind in zip((old, new), kinds, strict=True)]
        raise TuninglinkError(error("the reports are not of the same kind", notes=notes))
    try:
        if kinds[0] == _EXPLANATION:
            return list(compare_explanations(before, after))
        return list(compare_tunings(before, after, least))
    except (KeyError, TypeError, AttributeError) as failure:
        message = (
            f"'{old}' or '{new}' is not a complete report: {type(failure).__name__}: {failure}"
        )
        raise TuninglinkError(error(message)) from None


def _read(path: Path) -> Object:
    try:
        loads = json.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise TuninglinkError(error(f"cannot read '{path}': {failure.strerror}")) from None
    except UnicodeDecodeError:
        raise TuninglinkError(error(f"'{path}' is not text")) from None
    except json.JSONDecodeError as failure:
        place = Place(str(path), failure.lineno, failure.colno)
        raise TuninglinkError(error(f"invalid JSON: {failure.msg}", place)) from None
    version = _VERSIONS.get(loads.get("format", "")) if isinstance(loads, dict) else None
    if version is None or loads.get("version") != version:
        remedy = note("expected a report of 'tuninglink explain --format json' or 'tune --report'")
        message = f"'{path}' is not a report of a supported version"
        raise TuninglinkError(error(message, notes=[remedy]))
    report: Object = loads
    return report


_TUNED: Final = "tuned"
_CONFIGURATION: Final = ("translation_info", "lowering_config", "decomposition_config")


def compare_explanations(old: Object, new: Object) -> Iterator[Change]:
    """Yield the changes, in the order of the dispatches.

    A dispatch that was tuned and now is not, or is missing, is a regression. One that is newly tuned is an improvement.

    Args:
        old: an explanation, as `tuninglink explain` writes it.
        new: a later one.
    """
    for what, before, after in paired(old["dispatches"], new["dispatches"], _dispatch_name):
        change = _change(before, after)
        if change is not None:
            yield Change(change[0], what, change[1])


def _dispatch_name(dispatch: Object) -> str:
    words = ", ".join(operation["words"] for operation in dispatch["operations"])
    return f"{words or dispatch['name']} for {dispatch['target']}"


def _change(before: Object | None, after: Object | None) -> tuple[ChangeKind, str] | None:
    was = before["status"] if before else "missing"
    status = after["status"] if after else "missing"
    if was != status:
        return kind_of(was, status, _TUNED), f"{was} → {status}"
    if not before or not after or before["operations"] == after["operations"]:
        return None
    entries = [_entries(dispatch) for dispatch in (before, after)]
    if entries[0] != entries[1]:
        return ChangeKind.CHANGE, f"entry {entries[0]} → {entries[1]}"
    if _configurations(before) != _configurations(after):
        return ChangeKind.CHANGE, "configuration changed"
    return None


def _entries(dispatch: Object) -> str:
    matches = [operation["match"] for operation in dispatch["operations"] if operation["match"]]
    return ", ".join(
        match["entry"]["matcher"] if match["entry"] else match["spec"] for match in matches
    )


def _configurations(dispatch: Object) -> list[list[str | None]]:
    configurations = [operation["configuration"] for operation in dispatch["operations"]]
    return [[configuration[name] for name in _CONFIGURATION] for configuration in configurations]


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
    for what, before, after in paired(old["dispatches"], new["dispatches"], _problem_name):
        if before and after:
            yield from _problem_changes(what, before, after, least)
        else:
            dispatch, text = (before, "gone") if before else (after, "new")
            is_lost = dispatch is before and dispatch is not None and dispatch["outcome"] == _WON
            kind = ChangeKind.REGRESSION if is_lost else ChangeKind.CHANGE
            yield Change(kind, what, text)
    models = old["model"], new["model"]
    if all(models):
        times = [model["tuned_ms"] for model in models]
        yield from _time_changes("program", times[0], times[1], "ms", least)


def _problem_name(dispatch: Object) -> str:
    return f"{dispatch['problem']} for {dispatch['target']}"


def _problem_changes(what: str, before: Object, after: Object, least: float) -> Iterator[Change]:
    was, outcome = before["outcome"], after["outcome"]
    if was != outcome:
        yield Change(kind_of(was, outcome, _WON), what, f"{was} → {outcome}")
    yield from _time_changes(what, _best_us(before), _best_us(after), "µs", least)


def _best_us(dispatch: Object) -> float:
    """Return the time with the spec: that of the winner, or that of the compiler's choice."""
    tuned = dispatch["tuned_us"] if dispatch["outcome"] == _WON else None
    return float(tuned if tuned is not None else dispatch["default_us"])


def _time_changes(
    what: str, before: float, after: float, unit: str, least: float
) -> Iterator[Change]:
    text = f"{before:.4g} {unit} → {after:.4g} {unit}"
    if after > before * (1 + least):
        yield Change(ChangeKind.REGRESSION, what, text)
    elif before > after * (1 + least):
        yield Change(ChangeKind.IMPROVEMENT, what, text)


__all__ = ["Change", "ChangeKind", "compare_reports"]
