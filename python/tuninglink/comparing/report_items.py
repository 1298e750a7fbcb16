"""Comparison of reports: explanations, and reports of tuning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tuninglink.comparing.changes import (
    Change,
    ChangeKind,
    ComparedItem,
    Comparison,
    Estimate,
    Side,
    Source,
    kind_of,
    paired,
    time_change,
)
from tuninglink.plain_data import INFINITE

if TYPE_CHECKING:
    Object = dict[str, Any]

_MISSING: Final = "missing"

# --- Explanations --------------------------------------------------------------------------------------------

_TUNED: Final = "tuned"
_CONFIGURATION: Final = ("translation_info", "lowering_config", "decomposition_config")


def compare_explanations(paths: tuple[str, str], old: Object, new: Object) -> Comparison:
    """Return the changes of the dispatches.

    A tuned dispatch that becomes untuned, or is missing, is a regression. A newly tuned dispatch is an improvement.

    Args:
        paths: the paths of the reports.
        old: an explanation, as `tuninglink explain` writes it.
        new: a later one.
    """
    items = []
    for before, after in paired(old["dispatches"], new["dispatches"], _dispatch_name):
        what = _dispatch_name(before or after or {})
        change = _change(before, after)
        changes = () if change is None else (Change(change[0], what, change[1]),)
        items.append(ComparedItem(what, _explained(before), _explained(after), changes))
    old_source, new_source = (
        Source(
            path,
            _facts(
                {
                    "program": report.get("program"),
                    "specs": ", ".join(spec["source"] for spec in report.get("specs", ())),
                    "device": report.get("device"),
                }
            ),
        )
        for path, report in zip(paths, (old, new), strict=True)
    )
    return Comparison("explanations", old_source, new_source, tuple(items))


def _facts(facts: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in facts.items() if value}


def _dispatch_name(dispatch: Object) -> str:
    words = ", ".join(operation["words"] for operation in dispatch["operations"])
    return f"{words or dispatch['name']} for {dispatch['target']}"


def _explained(dispatch: Object | None) -> Side | None:
    if dispatch is None:
        return None
    time = dispatch.get("microseconds")
    configuration = tuple(text for texts in _configurations(dispatch) for text in texts if text)
    return Side(
        dispatch["status"], None if time is None else Estimate(time), configuration=configuration
    )


def _change(before: Object | None, after: Object | None) -> tuple[ChangeKind, str] | None:
    was = before["status"] if before else _MISSING
    status = after["status"] if after else _MISSING
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


# --- Reports of tuning ---------------------------------------------------------------------------------------

_WON: Final = "won"
_SAME_DEFAULT: Final = ("device", "driver", "compiler")


def compare_tunings(paths: tuple[str, str], old: Object, new: Object, least: float) -> Comparison:
    """Return the changes of the problems, and of the program.

    Under one compiler and driver, the compiler's choice is the same code in both reports, and the speedups over it are
    compared, since clock differences between the runs cancel. Otherwise times are compared.

    Args:
        paths: the paths of the reports.
        old: a report, as `tuninglink tune` writes it.
        new: a later one.
        least: the smallest relevant change of a time, as a fraction.
    """
    notes: tuple[Change, ...] = ()
    if old["device"] != new["device"]:
        devices = f"{old['device']} → {new['device']}"
        text = f"{devices}; times are not compared"
        notes = (Change(ChangeKind.CHANGE, "device", text),)
        least = float("inf")
    has_same_default = _taken_flags(old) == _taken_flags(new) and all(
        old.get(name) == new.get(name) for name in _SAME_DEFAULT
    )
    items = [
        _compared_problem(before, after, least, has_same_default=has_same_default)
        for before, after in paired(old["dispatches"], new["dispatches"], _problem_name)
    ]
    if old["model"] and new["model"]:
        sides = [_program(report["model"]) for report in (old, new)]
        changes = tuple(
            _time_changes("program", sides[0], sides[1], least, has_same_default=has_same_default)
        )
        items.append(ComparedItem("program", sides[0], sides[1], changes))
    names = ("program", *_SAME_DEFAULT, "date")
    old_source, new_source = (
        Source(path, _facts({name: report.get(name) for name in names}))
        for path, report in zip(paths, (old, new), strict=True)
    )
    return Comparison("reports of tuning", old_source, new_source, tuple(items), notes)


def _taken_flags(report: Object) -> list[list[str]]:
    return [result["flags"] for result in report.get("flag_sets", ()) if result["taken"]]


def _problem_name(dispatch: Object) -> str:
    return f"{dispatch['problem']} for {dispatch['target']}"


def _compared_problem(
    before: Object | None, after: Object | None, least: float, *, has_same_default: bool
) -> ComparedItem:
    what = _problem_name(before or after or {})
    old, new = _problem(before), _problem(after)
    changes: list[Change] = []
    if old is None or new is None:
        is_lost = old is not None and old.state == _WON
        kind = ChangeKind.REGRESSION if is_lost else ChangeKind.CHANGE
        changes.append(Change(kind, what, "new" if old is None else "gone"))
    else:
        if old.state != new.state:
            kind = kind_of(old.state, new.state, _WON)
            changes.append(Change(kind, what, f"{old.state} → {new.state}"))
        changes += _time_changes(what, old, new, least, has_same_default=has_same_default)
    return ComparedItem(what, old, new, tuple(changes))


def _problem(dispatch: Object | None) -> Side | None:
    """Return a problem and its time under the spec: the winner's, or else the time of the compiler's choice."""
    if dispatch is None:
        return None
    outcome, tuned = dispatch["outcome"], dispatch["tuned_us"]
    if outcome != _WON or tuned is None:
        time = _estimate(float(dispatch["default_us"]), dispatch.get("default_interval"))
        return Side(outcome, time, speedup=Estimate(1.0, 1.0, 1.0))
    speedup = _speedup(dispatch)
    time = _estimate(float(tuned), dispatch.get("tuned_interval"))
    if time.low is None and speedup is not None:
        time = speedup.inverse.scaled(speedup.value * time.value)
    configuration = dispatch.get("configuration")
    return Side(outcome, time, "µs", speedup, (configuration,) if configuration else ())


def _program(model: Object) -> Side:
    time, speedup = Estimate(float(model["tuned_ms"])), _speedup(model)
    if speedup is not None:
        time = speedup.inverse.scaled(speedup.value * time.value)
    return Side(model.get("failure") or "runs", time, "ms", speedup)


def _speedup(measured: Object) -> Estimate | None:
    value = measured.get("speedup")
    return _estimate(float(value), measured.get("interval")) if value else None


def _estimate(value: float, interval: list[float | str] | None) -> Estimate:
    if interval is None:
        return Estimate(value)
    low, high = (float("inf") if bound == INFINITE else float(bound) for bound in interval)
    return Estimate(value, low, high)


def _time_changes(
    what: str, old: Side, new: Side, least: float, *, has_same_default: bool
) -> Iterator[Change]:
    assert old.time is not None
    assert new.time is not None
    text = f"{old.time.value:.4g} {old.unit} → {new.time.value:.4g} {new.unit}"
    if has_same_default and old.speedup is not None and new.speedup is not None:
        kind = time_change(old.speedup.inverse, new.speedup.inverse, least)
        text += f", speedup {_text(old.speedup)} → {_text(new.speedup)}"
    else:
        kind = time_change(old.time, new.time, least)
    if kind is not None:
        yield Change(kind, what, text)


def _text(estimate: Estimate) -> str:
    if estimate.low is None or estimate.low == estimate.high:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
