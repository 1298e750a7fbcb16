"""Comparison of two reports or two specs: the changes from one to a later one."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.files import cannot, load_json
from tuninglink.matching import MatcherReader
from tuninglink.mlir import error, note, thread_context
from tuninglink.pages import render_page
from tuninglink.plain_data import INFINITE, plain, written
from tuninglink.specs import load_spec, provenance_of, rewriting_words, settings_of

if TYPE_CHECKING:
    from tuninglink.specs import Spec

    Object = dict[str, Any]


_Key = TypeVar("_Key")
_Item = TypeVar("_Item")

LEAST_CHANGE: Final = 0.01
"""The smallest relevant change of a time: intervals of one run do not contain the drift of clocks between two."""

_WIDTH: Final = 0.05
"""The smallest relevant change where neither time has an interval: about the width of that of two runs of the same code."""


class ChangeKind(Enum):
    """The direction of a change: for better or worse."""

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
    """A difference between two reports about one dispatch, or between two specs about one entry, in words."""

    kind: ChangeKind
    what: str
    text: str


@dataclass(frozen=True)
class Estimate:
    """A measured figure, with the bounds of its interval if it has one."""

    value: float
    low: float | None = None
    high: float | None = None

    def inverse(self, numerator: float = 1.0) -> Estimate:
        """Return a number divided by the figure."""
        low, high = (
            None if bound is None else numerator * (1 / bound) if bound else math.inf
            for bound in (self.high, self.low)
        )
        return Estimate(numerator * (1 / self.value), low, high)


def time_change(old: Estimate, new: Estimate, least: float) -> ChangeKind | None:
    """Return whether a time is longer or shorter than another one; None if the intervals do not show it.

    Times differ if their intervals are disjoint and the change is at least the fraction `least`. The interval of a time
    without bounds is a single point.
    """
    if old.low is None and new.low is None:
        least = max(least, _WIDTH)
    lows = [time.value if time.low is None else time.low for time in (old, new)]
    highs = [time.value if time.high is None else time.high for time in (old, new)]
    if lows[1] > highs[0] and new.value > old.value * (1 + least):
        return ChangeKind.REGRESSION
    if highs[1] < lows[0] and old.value > new.value * (1 + least):
        return ChangeKind.IMPROVEMENT
    return None


@dataclass(frozen=True)
class Side:
    """A dispatch or an entry in one of two reports or specs.

    Attributes:
        state: its status or outcome.
        time: its time with the spec, with an interval if known.
        unit: the unit of the time.
        speedup: the speedup over the compiler's choice; 1 without a winner, None if unknown.
        configuration: its configuration, as MLIR prints it.
    """

    state: str
    time: Estimate | None = None
    unit: str = "µs"
    speedup: Estimate | None = None
    configuration: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparedItem:
    """A dispatch, an entry, or the whole program, in two reports or specs; None where it is missing."""

    what: str
    old: Side | None
    new: Side | None
    changes: tuple[Change, ...]

    @property
    @written()
    def kind(self) -> ChangeKind | None:
        """The kind of the most important change; None without a change."""
        kinds = {change.kind for change in self.changes}
        return next((kind for kind in ChangeKind if kind in kinds), None)


@dataclass(frozen=True)
class Source:
    """One of two reports or specs, with the conditions of its figures, such as the device, by name."""

    path: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """The changes from one report or spec to a later one, as a JSON document.

    Attributes:
        subject: the compared documents.
        old: the old one.
        new: the new one.
        items: the dispatches or entries, in the order of the old one, then the new ones; then the whole program.
        notes: remarks on the whole comparison.
        format: the kind of the document.
        version: its version. Additions do not change it; changes and removals do.
    """

    format: Literal["tuninglink.comparison"] = field(default="tuninglink.comparison", init=False)
    version: Literal[1] = field(default=1, init=False)
    subject: str
    old: Source
    new: Source
    items: tuple[ComparedItem, ...]
    notes: tuple[Change, ...] = ()

    @property
    @written()
    def changes(self) -> tuple[Change, ...]:
        """All changes."""
        return (*self.notes, *(change for item in self.items for change in item.changes))

    @property
    @written()
    def counts(self) -> Mapping[ChangeKind, int]:
        """The number of changes of each kind."""
        numbers = Counter(change.kind for change in self.changes)
        return {kind: numbers[kind] for kind in ChangeKind}


def paired(
    old: Sequence[tuple[_Key, _Item]], new: Sequence[tuple[_Key, _Item]]
) -> Iterator[tuple[_Key, _Item | None, _Item | None]]:
    """Yield the key of each old item, the item, and the new item of that key, if any; then the remaining new items.

    Keys leave out names, since compiler versions may number dispatches differently. Items with the same key are paired
    in order.
    """
    waiting: dict[_Key, deque[_Item]] = {}
    for key, item in new:
        waiting.setdefault(key, deque()).append(item)
    for key, item in old:
        same = waiting.get(key)
        yield key, item, same.popleft() if same else None
    for key, item in new:
        left = waiting[key]
        if left and left[0] is item:
            yield key, None, left.popleft()


# --- Files ---------------------------------------------------------------------------------------

_EXPLANATION: Final = "tuninglink.explanation"
_TUNING: Final = "tuninglink.tuning"
_VERSIONS: Final = {_EXPLANATION: 2, _TUNING: 1}
"""The supported version of each format."""

_SPEC: Final = "a spec"

_REPORT: Final = "report.json"
"""The name of the report in a directory that the tuner writes."""


def compare(old: Path, new: Path, least: float = LEAST_CHANGE) -> Comparison:
    """Return the changes from one report or spec to a later one.

    Args:
        old: an explanation or a tuning report, as JSON, a directory with a tuning report, or a spec.
        new: a later one of the same kind.
        least: the smallest relevant change of a time, as a fraction.

    Raises:
        TuninglinkError: a file cannot be read, is neither a report nor a spec, or the two are of different kinds.
    """
    old, new = (path / _REPORT if path.is_dir() else path for path in (old, new))
    reports = _report(old), _report(new)
    kinds = [_SPEC if report is None else report["format"] for report in reports]
    if kinds[0] != kinds[1]:
        notes = [note(f"'{path}': {kind}") for path, kind in zip((old, new), kinds, strict=True)]
        raise TuninglinkError(error("the files are not of the same kind", notes=notes))
    before, after = reports
    if before is None or after is None:
        context = thread_context()
        return compare_specs(load_spec(old, context=context), load_spec(new, context=context))
    paths = str(old), str(new)
    try:
        if kinds[0] == _EXPLANATION:
            return compare_explanations(paths, before, after)
        return compare_tunings(paths, before, after, least)
    except (LookupError, TypeError, AttributeError, ValueError) as failure:
        message = f"'{old}' or '{new}' is not a complete report: {reason_for_user(failure)}"
        raise TuninglinkError(error(message)) from None


def _report(path: Path) -> Object | None:
    """Return a report; None for a file that is not JSON, which may be a spec."""
    try:
        content = path.read_bytes()
    except OSError as failure:
        raise TuninglinkError(cannot("read", str(path), failure)) from None
    if path.suffix != ".json" and not content.lstrip().startswith((b"{", b"[")):
        return None
    loads = load_json(content, str(path))
    version = _VERSIONS.get(loads.get("format", "")) if isinstance(loads, dict) else None
    if version is None or loads.get("version") != version:
        remedy = note(
            "expected a report of 'tuninglink explain --format json' or 'tune --report', or a spec"
        )
        message = f"'{path}' is not a report of a supported version"
        raise TuninglinkError(error(message, notes=[remedy]))
    report: Object = loads
    return report


def to_html(comparison: Comparison) -> str:
    """Return a comparison as a page."""
    return render_page(__name__, "comparison.html", plain(comparison))


def compare_specs(old: Spec, new: Spec) -> Comparison:
    """Return the changes of the entries of two specs in one context: added and removed ones, and other configurations.

    Entries are paired by the conditions of their matchers, or by name if a matcher cannot be read.
    """
    entries_by_spec: list[list[tuple[object, tuple[str, Side]]]] = []
    for spec in (old, new):
        table = spec.anatomy.table
        reader = MatcherReader(table)
        entries: list[tuple[object, tuple[str, Side]]] = []
        for entry in spec.entries:
            matcher = reader.read(entry.matcher)
            recorded = provenance_of(table, entry.matcher).get("tuned_us")
            time = Estimate(float(recorded)) if isinstance(recorded, int | float) else None
            if words := rewriting_words(table, entry.action):
                side = Side("rewrites", time, configuration=(words,))
            elif (settings := settings_of(spec, entry)) is None:
                side = Side("computed", time)
            else:
                lines = tuple(f"{name} = {value}" for name, value in settings.items())
                state = "configures" if settings else "configures nothing"
                side = Side(state, time, configuration=lines)
            conditions = matcher.predicates if matcher.stop is None else entry.matcher
            entries.append((conditions, (f"@{entry.matcher}", side)))
        entries_by_spec.append(entries)
    items = []
    for _, before, after in paired(*entries_by_spec):
        names = [entry[0] for entry in (before, after) if entry is not None]
        was, now = (None if entry is None else entry[1] for entry in (before, after))
        what, text = " → ".join(dict.fromkeys(names)), ""
        if was is None or now is None:
            text = "added" if was is None else "removed"
        elif was.configuration != now.configuration:
            text = "configuration changed"
        changes = (Change(ChangeKind.CHANGE, what, text),) if text else ()
        items.append(ComparedItem(what, was, now, changes))
    old_source, new_source = (
        Source(spec.source, {"kind": spec.kind_words, "entries": str(len(spec.entries))})
        for spec in (old, new)
    )
    return Comparison("specs", old_source, new_source, tuple(items))


# --- Explanations --------------------------------------------------------------------------------------------

_Explained: TypeAlias = "tuple[Object, Side, list[list[str | None]]]"
"""A dispatch, in brief, and the configurations of its operations."""

_CONFIGURATION: Final = ("translation_info", "lowering_config", "decomposition_config")


def compare_explanations(paths: tuple[str, str], old: Object, new: Object) -> Comparison:
    """Return the changes of the dispatches.

    A tuned dispatch that becomes untuned, or is missing, is a regression. A newly tuned dispatch is an improvement.
    """
    dispatches: list[list[tuple[str, _Explained]]] = [[], []]
    for report, named in zip((old, new), dispatches, strict=True):
        for dispatch in report["dispatches"]:
            words = ", ".join(operation["words"] for operation in dispatch["operations"])
            time = dispatch.get("microseconds")
            estimate = None if time is None else Estimate(time)
            configurations = [
                [operation["configuration"][name] for name in _CONFIGURATION]
                for operation in dispatch["operations"]
            ]
            texts = (text for values in configurations for text in values if text)
            side = Side(dispatch["status"], estimate, configuration=tuple(texts))
            what = f"{words or dispatch['name']} for {dispatch['target']}"
            named.append((what, (dispatch, side, configurations)))
    items = []
    for what, before, after in paired(*dispatches):
        was, now = (None if dispatch is None else dispatch[1] for dispatch in (before, after))
        kind, text = ChangeKind.CHANGE, ""
        if before is None or after is None or before[1].state != after[1].state:
            first, second = (side.state if side else "missing" for side in (was, now))
            kind, text = kind_of(first, second, "tuned"), f"{first} → {second}"
        elif before[0]["operations"] != after[0]["operations"]:
            entries = []
            for dispatch, _, _ in (before, after):
                matches = [operation["match"] for operation in dispatch["operations"]]
                entries.append(
                    ", ".join(
                        match["entry"]["matcher"] if match["entry"] else match["spec"]
                        for match in matches
                        if match
                    )
                )
            if entries[0] != entries[1]:
                text = f"entry {entries[0]} → {entries[1]}"
            elif before[2] != after[2]:
                text = "configuration changed"
        changes = (Change(kind, what, text),) if text else ()
        items.append(ComparedItem(what, was, now, changes))
    sources = []
    for path, report in zip(paths, (old, new), strict=True):
        specs = ", ".join(spec["source"] for spec in report.get("specs", ()))
        facts = {"program": report.get("program"), "specs": specs, "device": report.get("device")}
        sources.append(Source(path, {name: str(fact) for name, fact in facts.items() if fact}))
    return Comparison("explanations", sources[0], sources[1], tuple(items))


# --- Reports of tuning ---------------------------------------------------------------------------------------

_WON: Final = "won"
_SAME_DEFAULT: Final = ("device", "driver", "compiler")


def compare_tunings(paths: tuple[str, str], old: Object, new: Object, least: float) -> Comparison:
    """Return the changes of the problems, and of the program.

    Under one compiler and driver, the compiler's choice is the same code in both reports, and the speedups over it are
    compared, since clock differences between the runs cancel. Otherwise times are compared.
    """
    notes: tuple[Change, ...] = ()
    if old["device"] != new["device"]:
        devices = f"{old['device']} → {new['device']}"
        text = f"{devices}; times are not compared"
        notes = (Change(ChangeKind.CHANGE, "device", text),)
        least = float("inf")
    taken = [
        [flags["flags"] for flags in report.get("flag_sets", ()) if flags["taken"]]
        for report in (old, new)
    ]
    has_same_default = taken[0] == taken[1] and all(
        old.get(name) == new.get(name) for name in _SAME_DEFAULT
    )
    problems: list[list[tuple[str, Side]]] = [[], []]
    for report, sides in zip((old, new), problems, strict=True):
        for problem in report["dispatches"]:
            # The time under the spec: the winner's, or else the time of the compiler's choice.
            if problem["outcome"] == _WON and problem["tuned_us"] is not None:
                side = _side(problem, problem["outcome"], "µs")
            else:
                time = _estimate(problem["default_us"], problem.get("default_interval"))
                side = Side(problem["outcome"], time, speedup=Estimate(1.0, 1.0, 1.0))
            sides.append((f"{problem['problem']} for {problem['target']}", side))
    items = []
    for what, was, now in paired(*problems):
        changes: list[Change] = []
        if was is None or now is None:
            is_lost = was is not None and was.state == _WON
            kind = ChangeKind.REGRESSION if is_lost else ChangeKind.CHANGE
            changes.append(Change(kind, what, "new" if was is None else "gone"))
        else:
            if was.state != now.state:
                kind = kind_of(was.state, now.state, _WON)
                changes.append(Change(kind, what, f"{was.state} → {now.state}"))
            changes += _time_changes(what, was, now, least, has_same_default=has_same_default)
        items.append(ComparedItem(what, was, now, tuple(changes)))
    if old["model"] and new["model"]:
        first, second = (
            _side(report["model"], report["model"].get("failure") or "runs", "ms")
            for report in (old, new)
        )
        changed = _time_changes("program", first, second, least, has_same_default=has_same_default)
        items.append(ComparedItem("program", first, second, tuple(changed)))
    names = ("program", *_SAME_DEFAULT, "date")
    old_source, new_source = (
        Source(path, {name: str(report[name]) for name in names if report.get(name)})
        for path, report in zip(paths, (old, new), strict=True)
    )
    return Comparison("reports of tuning", old_source, new_source, tuple(items), notes)


def _side(measured: Object, state: str, unit: str) -> Side:
    """Return what a spec was tuned for, a problem or the program, with its tuned time and its speedup."""
    time = _estimate(
        measured["tuned_us" if unit == "µs" else "tuned_ms"], measured.get("tuned_interval")
    )
    value = measured.get("speedup")
    speedup = _estimate(value, measured.get("interval")) if value else None
    if time.low is None and speedup is not None:
        time = speedup.inverse(speedup.value * time.value)
    configuration = measured.get("configuration")
    return Side(state, time, unit, speedup, (configuration,) if configuration else ())


def _estimate(value: float | str, interval: list[float | str] | None) -> Estimate:
    if interval is None:
        return Estimate(float(value))
    low, high = (float("inf") if bound == INFINITE else float(bound) for bound in interval)
    return Estimate(float(value), low, high)


def _time_changes(
    what: str, old: Side, new: Side, least: float, *, has_same_default: bool
) -> Iterator[Change]:
    assert old.time is not None
    assert new.time is not None
    text = f"{old.time.value:.4g} {old.unit} → {new.time.value:.4g} {new.unit}"
    was, now = old.time, new.time
    if has_same_default and old.speedup is not None and new.speedup is not None:
        was, now = old.speedup.inverse(), new.speedup.inverse()
        speedups = [
            f"{speedup.value:.2f}"
            if speedup.low is None or speedup.low == speedup.high
            else f"{speedup.value:.2f} [{speedup.low:.2f}, {speedup.high:.2f}]"
            for speedup in (old.speedup, new.speedup)
        ]
        text += f", speedup {speedups[0]} → {speedups[1]}"
    kind = time_change(was, now, least)
    if kind is not None:
        yield Change(kind, what, text)
