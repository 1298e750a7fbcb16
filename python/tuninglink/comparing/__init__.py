"""Comparison of two reports or two specs: the changes from one to a later one; and what became of frozen choices."""

from __future__ import annotations

import math
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from tuninglink.errors import TuninglinkError, reason_for_user
from tuninglink.files import cannot, load_json
from tuninglink.matching import MatcherReader
from tuninglink.mlir import entries_of, error, note, rename_symbols
from tuninglink.pages import render_page
from tuninglink.plain_data import INFINITE, plain, written
from tuninglink.specs import (
    PROVENANCE,
    ReplaceEntry,
    configuration_lines,
    load_spec,
    provenance_of,
    rewriting_words,
    settings_of,
)

if TYPE_CHECKING:
    from tuninglink.specs import Entry, Spec

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


_EXPLANATION: Final = "tuninglink.explanation"
_VERSIONS: Final = {_EXPLANATION: 2, "tuninglink.tuning": 1}
"""The supported version of each format."""


def compare(old: Path, new: Path, least: float = LEAST_CHANGE) -> Comparison:
    """Return the changes from one report or spec to a later one.

    Args:
        old: an explanation or a tuning report, as JSON, a directory with one, or a spec; `-` is standard input.
        new: a later one of the same kind; for a frozen spec, also an explanation of its program with it.
        least: the smallest relevant change of a time, as a fraction.

    Raises:
        TuninglinkError: a file cannot be read, is neither a report nor a spec, or the two are of different kinds.
    """
    old, new = (path / "report.json" if path.is_dir() else path for path in (old, new))
    if str(old) == str(new) == "-":
        raise TuninglinkError(error("standard input can be read once: name one of the two files"))
    before, after = reports = _report(old), _report(new)
    kinds = ["a spec" if isinstance(report, bytes) else report["format"] for report in reports]
    if kinds[0] != kinds[1] and not (isinstance(before, bytes) and kinds[1] == _EXPLANATION):
        notes = [note(f"'{path}': {kind}") for path, kind in zip((old, new), kinds, strict=True)]
        raise TuninglinkError(error("the files are not of the same kind", notes=notes))
    spec = load_spec(before, name=str(old)) if isinstance(before, bytes) else None
    if spec is not None and isinstance(after, bytes):
        return compare_specs(spec, load_spec(after, name=str(new)))
    paths = str(old), str(new)
    try:
        assert not isinstance(after, bytes)
        if spec is not None:
            return compare_frozen(spec, paths, after)
        assert not isinstance(before, bytes)
        if kinds[0] == _EXPLANATION:
            return compare_explanations(paths, before, after)
        return compare_tunings(paths, before, after, least)
    except (LookupError, TypeError, AttributeError, ValueError) as failure:
        message = f"'{old}' or '{new}' is not a complete report: {reason_for_user(failure)}"
        raise TuninglinkError(error(message)) from None


def _report(path: Path) -> Object | bytes:
    """Return a report, or the content of a file that is not JSON, which may be a spec; `-` is standard input."""
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as failure:
        raise TuninglinkError(cannot("read", str(path), failure)) from None
    if path.suffix != ".json" and not content.lstrip().startswith((b"{", b"[")):
        return content
    report: Any = load_json(content, str(path))
    version = _VERSIONS.get(report.get("format", "")) if isinstance(report, dict) else None
    if version is None or report.get("version") != version:
        remedy = note("expected a spec, or a report of 'explain --format json' or 'tune --report'")
        message = f"'{path}' is not a report of a supported version"
        raise TuninglinkError(error(message, notes=[remedy]))
    return dict(report)


def to_html(comparison: Comparison) -> str:
    """Return a comparison as a page."""
    return render_page(__name__, "comparison.html", plain(comparison))


def compare_specs(old: Spec, new: Spec) -> Comparison:
    """Return the changes of the entries of two specs in one context, and of the order of replace entries.

    Entries are paired by the conditions of their matchers, or by name if a matcher cannot be read; then by name.
    """
    listed: list[list[tuple[object, tuple[int, Entry | ReplaceEntry, Side]]]] = [[], []]
    sources = []
    for spec, entries in zip((old, new), listed, strict=True):
        facts = {"kind": spec.kind_words, "entries": str(len(spec.entries))}
        facts["replace entries"] = str(len(spec.replace_entries))
        sources.append(Source(spec.source, facts))
        tables = spec.anatomy.table, (spec.replacing or spec.anatomy).table
        readers = [*map(MatcherReader, tables)]
        both: list[Entry | ReplaceEntry] = [*spec.entries, *spec.replace_entries]
        for position, entry in enumerate(both):
            state, lines, kind = "computed", tuple[str, ...](), isinstance(entry, ReplaceEntry)
            recorded = provenance_of(tables[kind], entry.matcher).get("tuned_us")
            time = Estimate(float(recorded)) if isinstance(recorded, int | float) else None
            if isinstance(entry, ReplaceEntry):
                # Linking renames functions.
                used = {entry.action: "action", entry.function: "function"}
                copies = [op.clone().operation for op in map(tables[1].symbols.get, used) if op]
                rename_symbols(copies, used)
                state, lines = "replaces", tuple(map(str, copies))
            elif words := rewriting_words(tables[0], entry.action):
                state, lines = "rewrites", (words,)
            elif (settings := settings_of(spec, entry)) is not None:
                state = "configures" if settings else "configures nothing"
                lines = configuration_lines(spec, entry)
            matcher = readers[kind].read(entry.matcher)
            conditions = matcher.predicates if matcher.stop is None else entry.matcher
            side = Side(state, time, configuration=lines)
            entries.append(((kind, conditions), (position, entry, side)))
    shared = {key for key, _ in listed[0]}.intersection(key for key, _ in listed[1])
    by_name = [
        [(key if key in shared else (type(own[1]), own[1].matcher), own) for key, own in entries]
        for entries in listed
    ]
    items, last = [], (-1, "")
    for key, before, after in paired(*by_name):
        names = [f"@{entry[1].matcher}" for entry in (before, after) if entry is not None]
        what, texts = " → ".join(dict.fromkeys(names)), list[str]()
        if before is None or after is None:
            texts = ["added" if before is None else "removed"]
        else:
            is_replacing = isinstance(after[1], ReplaceEntry)
            part = "function" if is_replacing else "configuration"
            texts += ["matcher changed"] * (key not in shared)
            texts += [f"{part} changed"] * (before[2].configuration != after[2].configuration)
            texts += [f"comes before {last[1]}"] * (is_replacing and after[0] < last[0])
            last = max(last, (after[0], names[-1]))
        changes = tuple(Change(ChangeKind.CHANGE, what, text) for text in texts)
        items.append(ComparedItem(what, before and before[2], after and after[2], changes))
    return Comparison("specs", sources[0], sources[1], tuple(items))


# --- Explanations --------------------------------------------------------------------------------------------

_CONFIGURATION: Final = ("translation_info", "lowering_config", "decomposition_config")


def compare_explanations(paths: tuple[str, str], old: Object, new: Object) -> Comparison:
    """Return the changes of the replaced ops and of the dispatches.

    A tuned dispatch that becomes untuned, or is missing, is a regression, and so is an op that is not replaced any more.
    A newly tuned dispatch is an improvement. One that is only on one side because of a replace entry is a mere change.
    """
    replaced: list[list[tuple[str, Object]]] = [[], []]
    dispatches: list[list[tuple[str, tuple[list[Object], Side, str]]]] = [[], []]
    sources = []
    for at, (path, report) in enumerate(zip(paths, (old, new), strict=True)):
        specs = ", ".join(spec["source"] for spec in report.get("specs", ()))
        facts = {"program": report.get("program"), "specs": specs, "device": report.get("device")}
        sources.append(Source(path, {name: str(fact) for name, fact in facts.items() if fact}))
        for op in report.get("replaced", ()):
            replaced[at].append((f"{op['operation']} in @{op['function']}", op))
        for dispatch in report["dispatches"]:
            operations, time = dispatch["operations"], dispatch.get("microseconds")
            words = ", ".join(operation["words"] for operation in operations)
            texts = (op["configuration"][name] for op in operations for name in _CONFIGURATION)
            estimate = None if time is None else Estimate(time)
            side = Side(dispatch["status"], estimate, configuration=tuple(filter(None, texts)))
            matches = filter(None, (operation["match"] for operation in operations))
            matched = (match["entry"] or {"matcher": match["spec"]} for match in matches)
            entry = ", ".join(str(entry["matcher"]) for entry in matched)
            what = f"{words or dispatch['name']} for {dispatch['target']}"
            dispatches[at].append((what, (operations, side, entry)))
    called = [{op["called"] for _, op in own} for own in replaced]
    items, notes = [], []
    for what, *ops in paired(*replaced):
        states = [f"replaced by @{op['called']}" if op else "not replaced" for op in ops]
        if states[0] != states[1]:
            best = "" if all(ops) else states[ops[0] is None]
            notes.append(Change(kind_of(states[0], states[1], best), what, " → ".join(states)))
    for what, before, after in paired(*dispatches):
        was, now = (None if dispatch is None else dispatch[1] for dispatch in (before, after))
        states = [side.state if side else "missing" for side in (was, now)]
        kind = kind_of(states[0], states[1], "tuned")
        if before is None or after is None:
            # The op may be replaced in the other program, or be of a function that only its own program calls.
            at = before is None
            operations, side, _ = before or after or ([], Side(""), "")
            places = [op["place"] for op in operations if op.get("place")]
            by = [op["called"] for _, op in replaced[not at] if op["place"] in places]
            files = {op["matcher_place"]["file"] for _, op in replaced[at] if op["matcher_place"]}
            of = files.intersection(place["file"] for place in places)
            states[at] = " in ".join([side.state, *of])
            states[not at] = f"replaced by @{by[0]}" if by else "missing"
            if by or (of and called[at] - called[not at]):
                kind = ChangeKind.CHANGE
        elif states[0] == states[1]:
            is_same = before[1].configuration == after[1].configuration
            kind, states = ChangeKind.CHANGE, [] if is_same else ["configuration changed"]
            if before[2] != after[2]:
                states = [f"entry {before[2]}", after[2]]
        text = " → ".join(states)
        changes = (Change(kind, what, text),) if text else ()
        items.append(ComparedItem(what, was, now, changes))
    return Comparison("explanations", sources[0], sources[1], tuple(items), tuple(notes))


# --- Frozen specs ----------------------------------------------------------------------------------


def compare_frozen(spec: Spec, paths: tuple[str, str], report: Object) -> Comparison:
    """Return what became of the choices of a frozen spec, from an explanation with it by another compiler.

    An entry without effect is a regression. The cost of what is not kept is the share of the dispatches that fall back
    to the compiler's choice in the estimated work of the program, and their time if the explanation has times.

    Raises:
        TuninglinkError: the spec is not a frozen one, or has no entry in the explanation.
    """
    table = spec.anatomy.table
    recorded = _recorded(spec, paths, report)
    measure, unit = ("flops", "FLOPs") if recorded["flops"] else ("bytes", "bytes")

    def share(dispatches: Sequence[Object]) -> str:
        """Return the cost of dispatches in words."""
        amounts = [
            sum(dispatch["calls"] * (dispatch[measure] or 0) for dispatch in some)
            for some in (dispatches, report["dispatches"])
        ]
        text = f"{amounts[0] / (amounts[1] or 1):.1%} of the {unit}"
        times = [dispatch["calls"] * (dispatch["microseconds"] or 0) for dispatch in dispatches]
        return f"{text}, {sum(times):.4g} µs" if any(times) else text

    # 1. The dispatches that the entries configure, and those that they do not.
    own = {entry.matcher for entry in spec.entries}
    configured: dict[str, list[Object]] = {}
    others: list[Object] = []
    differing: list[Object] = []
    for dispatch in report["dispatches"]:
        operations = dispatch["operations"]
        matches = [op["match"] for op in operations if op["match"]]
        matchers = {match["entry"]["matcher"] for match in matches if match["entry"]} & own
        for matcher in matchers:
            configured.setdefault(matcher, []).append(dispatch)
        if not matchers:
            others.append(dispatch)
        elif any(op["compilers_choice"] not in (None, op["configuration"]) for op in operations):
            differing.append(dispatch)
    # 2. What became of each entry.
    items, lost, fallen = [], [], []
    for entry in spec.entries:
        record: Any = provenance_of(table, entry.matcher)
        lines = () if rewriting_words(table, entry.action) else configuration_lines(spec, entry)
        what = str(record.get("operation", f"@{entry.matcher}"))
        dispatches = configured.get(entry.matcher, [])
        reasons = [
            op["invalid"] or (op["match"] or {}).get("ignored", "")
            for dispatch in dispatches
            for op in dispatch["operations"]
        ]
        text = next(filter(None, reasons), "")
        if text:
            lost += dispatches
            text = f"not valid: {text}; {share(dispatches)}"
        elif not dispatches:
            part = record.get(measure, 0) / (recorded[measure] or 1)
            text = f"it configures no dispatch; it was {part:.1%} of the {unit}"
        changes = (Change(ChangeKind.REGRESSION, what, text),) if text else ()
        side = Side("not kept" if text else "kept", configuration=lines)
        items.append(ComparedItem(what, Side("kept", configuration=lines), side, changes))
    # 3. The dispatches that have an entry no more, and those that never had one.
    attribute: Any = entries_of(spec.module.attributes[PROVENANCE])["left_out"]
    words_of: list[Any] = [entries_of(record).get("operation") for record in attribute]
    left_out = [words.value for words in words_of if words]
    for dispatch in others:
        words = ", ".join(operation["words"] for operation in dispatch["operations"])
        if words and words not in left_out:
            fallen.append(dispatch)
            text = f"new: the compiler's choice; {share([dispatch])}"
            change = Change(ChangeKind.CHANGE, words, text)
            items.append(ComparedItem(words, None, Side(dispatch["status"]), (change,)))
    kept = len(spec.entries) - sum(bool(item.changes) for item in items if item.old)
    text = f"{kept} of {len(spec.entries)} entries kept"
    if differing:
        text += f"; the compiler would choose otherwise for {share(differing)}"
    if lost or fallen:
        text += f"; the compiler's choice is used for {share([*lost, *fallen])}"
    facts = {name: str(recorded[name]) for name in ("compiler", "program")}
    facts["targets"] = ", ".join(recorded["targets"])
    sources = Source(paths[0], facts), Source(paths[1], {"program": str(report["program"])})
    notes = (Change(ChangeKind.CHANGE, "program", text),)
    return Comparison("frozen choices", *sources, tuple(items), notes)


def _recorded(spec: Spec, paths: tuple[str, str], report: Object) -> Any:
    """Return the record of a frozen spec, or raise an error: it has none, or an explanation cannot show its effect."""
    recorded: Any = provenance_of(spec.anatomy.table)
    if "left_out" not in recorded:
        message = f"'{spec.source}' is not a frozen spec, and compared with specs only"
        raise TuninglinkError(error(message, notes=[note("'tuninglink init --all' writes one")]))
    own = {entry.matcher for entry in spec.entries}
    entries = (entry for item in report["specs"] for entry in item["entries"])
    used = [entry["operations"] for entry in entries if entry["matcher"] in own]
    given = {dispatch["target"] for dispatch in report["dispatches"]}
    if own and not any(used) and (not used or given.isdisjoint(recorded["targets"])):
        targets = ", ".join(recorded["targets"])
        remedy = note(f"expected 'tuninglink explain PROGRAM --spec {paths[0]}' for {targets}")
        message = f"'{paths[1]}' does not explain what '{paths[0]}' does on {targets}"
        raise TuninglinkError(error(message, notes=[remedy]))
    return recorded


_WON: Final = "won"
_SAME_DEFAULT: Final = ("device", "driver", "compiler")


def compare_tunings(paths: tuple[str, str], old: Object, new: Object, least: float) -> Comparison:
    """Return the changes of the problems, and of the program.

    Under one compiler and driver, the compiler's choice is the same code in both reports, and the speedups over it are
    compared, since clock differences between the runs cancel. Otherwise times are compared.
    """
    notes: list[Change] = []
    if old["device"] != new["device"]:
        text = f"{old['device']} → {new['device']}; times are not compared"
        notes.append(Change(ChangeKind.CHANGE, "device", text))
        least = math.inf
    taken = [
        [(item["name"], *item["flags"]) for item in report.get("flag_sets", ()) if item["taken"]]
        for report in (old, new)
    ]
    if taken[0] != taken[1]:
        sets = (", ".join(name for name, *_ in own) or "default" for own in taken)
        notes.append(Change(ChangeKind.CHANGE, "flags", " → ".join(sets)))
    has_same_default = taken[0] == taken[1] and all(
        old.get(name) == new.get(name) for name in _SAME_DEFAULT
    )
    problems: list[list[tuple[str, Side]]] = [[], []]
    sources = []
    for path, report, sides in zip(paths, (old, new), problems, strict=True):
        names = (name for name in ("program", *_SAME_DEFAULT, "date") if report.get(name))
        sources.append(Source(path, {name: str(report[name]) for name in names}))
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
            is_lost = was is not None and was.state == _WON and taken[0] == taken[1]
            kind = ChangeKind.REGRESSION if is_lost else ChangeKind.CHANGE
            changes.append(Change(kind, what, "new" if was is None else "gone"))
        else:
            if was.state != now.state:
                kind = kind_of(was.state, now.state, _WON)
                changes.append(Change(kind, what, f"{was.state} → {now.state}"))
            changes += _time_changes(what, was, now, least, has_same_default=has_same_default)
        items.append(ComparedItem(what, was, now, tuple(changes)))
    if all(models := (old["model"], new["model"])):
        first, second = (_side(model, model.get("failure") or "runs", "ms") for model in models)
        changed = _time_changes("program", first, second, least, has_same_default=has_same_default)
        items.append(ComparedItem("program", first, second, tuple(changed)))
    return Comparison("reports of tuning", sources[0], sources[1], tuple(items), tuple(notes))


def _side(measured: Object, state: str, unit: str) -> Side:
    """Return what a spec was tuned for, a problem or the program, with its tuned time and its speedup."""
    value = measured["tuned_us" if unit == "µs" else "tuned_ms"]
    time = _estimate(value, measured.get("tuned_interval"))
    ratio = measured.get("speedup")
    speedup = _estimate(ratio, measured.get("interval")) if ratio else None
    if time.low is None and speedup is not None:
        time = speedup.inverse(speedup.value * time.value)
    configuration = measured.get("configuration")
    return Side(state, time, unit, speedup, (configuration,) if configuration else ())


def _estimate(value: float | str, interval: list[float | str] | None) -> Estimate:
    bounds = (math.inf if bound == INFINITE else float(bound) for bound in interval or ())
    return Estimate(float(value), *bounds)


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
